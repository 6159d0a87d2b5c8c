//! Requests and replies of the Battlesnake HTTP API, version 1.
//!
//! [`GameState::parse`] reads a request body. It is lenient where servers differ (missing
//! settings, unknown fields, `null` for an empty list, unknown ruleset names) and strict where
//! the meaning of the game would change. [`GameState::setup`] converts a request to a
//! configuration that starts at the position shown, so that any player can choose a move.
//! [`Host::request`] is the inverse. Every error names the field.
//!
//! The API lists living snakes only. [`GameState::setup`] counts seats among the living ones, and
//! [`GameState::setup_for`] keeps the seats of dead snakes.

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
