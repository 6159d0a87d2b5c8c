//! The arena: keeps the checkpoint pool, decides promotions, rates everybody.
//!
//! A published checkpoint is a candidate. The evaluator's thread plays it against the champion, in
//! clusters of games that share a seed and exchange seats; the pure [`gate`] turns them into a
//! verdict; the [`store`] makes a promotion one durable step of a log from which everything else
//! can be replayed. Then it plays the anchors, players that never change. [`rating`] computes
//! everyone's Elo from all games, [`matchmaking`] says where spare games teach most,
//! [`comparison`] how much stronger one of two players is, with its error. [`Arena`] serves this
//! over gRPC, and as a [web] page.
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
pub mod matchmaking;
pub mod player_id;
pub mod rating;
pub mod run;
pub mod showcase;
pub mod store;
pub mod web;

mod contestant;
mod evaluator;
mod keeper;
mod ledger;
mod live;
mod service;
#[cfg(test)]
mod testing;

pub use config::ArenaConfig;
pub use error::ArenaError;
pub use event::ArenaEvent;
pub use player_id::{ANCHOR, MatchKey, MatchKind, PlayerId};
pub use run::{Arena, Waiting};
