//! Self-play on CPUs.
//!
//! An actor asks the arena for the newest weights and the pool, plays many games at once on
//! each of its threads, and pushes every finished game to the learner. It keeps what the
//! learner has not acknowledged and sends it again after a reconnect; when the learner does
//! not read, the actor's threads park.
//!
//! The cores are plain state machines: [`Roster`] chooses opponents, [`Worker`] plays,
//! [`Outbox`] holds what is not acknowledged. [`Cache`] keeps weights over restarts, and
//! [`run`] moves the bytes.

pub mod cache;
pub mod config;
pub mod counters;
pub mod error;
pub mod outbox;
pub mod roster;
pub mod run;
pub mod waves;
pub mod worker;

mod append_file;
mod dead_letters;
mod loader;
mod pool_watch;
mod push;
mod send_log;
#[cfg(test)]
mod testing;

pub use cache::Cache;
pub use config::{ActorConfig, CacheConfig, DrainConfig};
pub use counters::{ActorCounters, ActorSnapshot};
pub use error::ActorError;
pub use outbox::Outbox;
pub use roster::{Entry, Member, Roster};
pub use run::Actor;
pub use waves::Waves;
pub use worker::{FinishedGame, Worker, WorkerError, WorkerSettings, WorkerStats};
