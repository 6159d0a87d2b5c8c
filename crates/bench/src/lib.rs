//! Benchmark cases and the loops that time them.
//!
//! `ouro bench` and the examples of this crate report the figures. The measured libraries contain
//! no measuring code.
//!
//! * [`networks`] lists the networks of benchmarks; [`EngineBench`] times the CPU engine on them.
//! * [`accuracy`](accuracy()) compares the engine with the reference in f64.
//! * [`random_games`](random_games()) makes games to push to a learner.
//! * [`search`] lists the cases of tree search; [`self_play`] times searches in self-play.
//!
//! The crate reads no clock: callers pass one in.

pub mod accuracy;
pub mod engine;
pub mod networks;
pub mod random_games;
pub mod search;
pub mod self_play;

pub use accuracy::{Accuracy, accuracy, duel_positions};
pub use engine::EngineBench;
pub use networks::{BATCHES, NetworkCase, network_cases, training_cases};
pub use random_games::random_games;
