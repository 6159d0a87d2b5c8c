//! The arena: the checkpoint pool, matches, promotions and ratings.
//!
//! A published checkpoint is a candidate. A thread plays its match against the champion in
//! clusters: games of one seed with the seats exchanged. [`ouro_rating::Gate`] turns the results
//! into a verdict. The [`store`] records a promotion as one durable line of a log, from which the
//! pool, the matches and the ratings can be replayed. The candidate then plays the anchors, which
//! are players that never change.
//!
//! [`ouro_rating::Ratings`] computes the Elo of all players from all games, and [`matchmaking`]
//! chooses the pairings that reduce the uncertainty of the ratings most. [`Arena`] serves all of
//! this over gRPC and as a [web] page.
//!
//! Every promotion requires a passed gate, also for generation 0, the untrained network. Until a
//! candidate passes the gate against `random`, there is no champion and the pool is empty.

pub mod config;
pub mod error;
pub mod event;
pub mod matches;
pub mod matchmaking;
pub mod metrics;
pub mod player_id;
pub mod run;
pub mod showcase;
pub mod store;
pub mod web;
pub mod workers;

mod condition;
mod duty_cycle;
mod figures;
mod learner_watch;
mod live_feed;
mod match_runner;
mod opening;
mod outgoing;
mod service;
mod side;
#[cfg(feature = "simulation")]
mod simulation;
mod state;
#[cfg(test)]
mod testing;

pub use condition::Condition;
pub use config::ArenaConfig;
pub use error::ArenaError;
pub use event::ArenaEvent;
pub use player_id::{ANCHOR, MatchKey, MatchKind, PlayerId};
pub use run::Arena;
#[cfg(feature = "simulation")]
pub use simulation::SimulatedArena;
