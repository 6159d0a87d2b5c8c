//! Self-play on CPUs.
//!
//! An actor fetches the newest weights and the pool from the arena. It plays many games at once on
//! each of its threads and pushes every finished game to the learner. Games that the learner has
//! not acknowledged are kept and sent again after a reconnect. If the learner stops reading, the
//! threads block.
//!
//! The cores are plain state machines: [`Roster`] chooses opponents, [`Worker`] plays, and
//! [`Outbox`] holds unacknowledged games. [`Cache`] keeps weights across restarts. [`run`] does the
//! I/O.

pub mod cache;
pub mod config;
pub mod counters;
pub mod error;
pub mod metrics;
pub mod outbox;
pub mod roster;
pub mod run;
pub mod waves;
pub mod worker;

mod append_file;
mod dead_letters;
mod game_traces;
mod loader;
mod play_thread;
mod pool_watch;
mod push;
mod send_log;
#[cfg(feature = "simulation")]
mod simulation;
#[cfg(test)]
mod testing;

pub use cache::Cache;
pub use config::{ActorConfig, CacheConfig, DrainConfig};
pub use counters::{ActorCounters, ActorSnapshot};
pub use error::ActorError;
pub use outbox::Outbox;
pub use roster::{Entry, Member, Roster};
pub use run::Actor;
#[cfg(feature = "simulation")]
pub use simulation::{Dial, SimulatedActor};
pub use waves::Waves;
pub use worker::{FinishedGame, Worker, WorkerError, WorkerSettings, WorkerStats};
