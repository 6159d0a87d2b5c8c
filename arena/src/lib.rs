//! The arena: the checkpoint pool, matches, promotions and ratings.
//!
//! A published checkpoint is a candidate. A thread plays its match against the champion, in clusters
//! of games that share a seed with the seats exchanged. [`ouro_rating::Gate`] turns the results into
//! a verdict, and the [`store`] makes a promotion one durable step of a log. All other state can be
//! replayed from that log. The candidate then plays the anchors, players that never change.
//!
//! [`ouro_rating::Ratings`] computes the Elo of all players from all games, and [`matchmaking`]
//! chooses the pairings from which the ratings gain most. [`Arena`] serves all of this over gRPC and
//! as a [web] page.
//!
//! Every promotion is earned. Until a candidate passes the gate against `random`, there is no
//! champion and the pool is empty. That holds for generation 0, the untrained network, too.

pub mod config;
pub mod error;
pub mod event;
pub mod matches;
pub mod matchmaking;
pub mod player_id;
pub mod run;
pub mod showcase;
pub mod store;
pub mod web;

mod condition;
mod live_feed;
mod match_runner;
mod service;
mod side;
mod state;
#[cfg(test)]
mod testing;

pub use condition::Condition;
pub use config::ArenaConfig;
pub use error::ArenaError;
pub use event::ArenaEvent;
pub use player_id::{ANCHOR, MatchKey, MatchKind, PlayerId};
pub use run::Arena;
