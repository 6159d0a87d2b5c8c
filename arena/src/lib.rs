//! The arena: keeps the checkpoint pool, decides promotions, rates everybody.
//!
//! A published checkpoint is a candidate. The evaluator's thread plays it against `random`, some
//! members of the pool and the champion, in pairs of games that share a seed and swap seats;
//! the pure [`gate`] turns the champion's match into a verdict; the [`store`] makes a promotion
//! one durable step; [`rating`] computes everyone's Elo from all games, [`comparison`] that of two
//! players with its error. [`Arena`] serves this over gRPC.
//!
//! A promotion is always earned: until somebody passes the gate against `random`, there is no
//! champion and the pool is empty. That holds for generation 0, the untrained network, too.

pub mod comparison;
pub mod config;
pub mod error;
pub mod event;
pub mod gate;
pub mod interval;
pub mod matches;
pub mod player_id;
pub mod rating;
pub mod run;
pub mod store;

mod evaluator;
mod keeper;
mod service;

pub use config::ArenaConfig;
pub use error::ArenaError;
pub use event::ArenaEvent;
pub use player_id::{ANCHOR, MatchId, PlayerId};
pub use run::Arena;
