//! The Battlesnake HTTP API, version 1: what a server is asked and what it answers.
//!
//! [`GameState::parse`] reads a request body: leniently where servers differ (settings that
//! are left out, unknown fields, `null` for an empty list, unknown ruleset names), strictly
//! where the game would be another one. [`GameState::setup`] turns it into a configuration
//! that starts at the position shown, so that any player can be asked for a move, and
//! [`Host::request`] goes the other way. Every refusal names the field.
//!
//! The API shows living snakes only. A position read from a request therefore holds no dead
//! snakes, and seats are counted among the living.

mod error;
mod host;
mod names;
mod reply;
mod royale;
mod setup;
mod wire;

pub use error::{ApiError, MAX_REQUEST_BYTES};
pub use host::{Host, Identity};
pub use reply::{Info, MAX_SHOUT_CHARS, Reply};
pub use setup::Setup;
pub use wire::{
    Battlesnake, Board, Coord, Customizations, GameInfo, GameState, RoyaleSettings, RulesetInfo,
    RulesetSettings, SquadSettings,
};
