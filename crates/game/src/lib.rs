//! Games as pure, seeded state machines.
//!
//! Play, search, replay and training all use one trait, [`Game`]. A game is *deterministic*: the
//! same configuration, seed and actions give the same bytes on every machine. A game is *total*:
//! no input panics it. An action that the rules do not allow is an error that names the player
//! and the action.
//!
//! To add your own game, read [`game`](mod@game) and `docs/your-own-game.md`, which walks
//! through the example in `examples/stakes`.
#![warn(clippy::pedantic)]
#![expect(
    clippy::module_name_repetitions,
    clippy::must_use_candidate,
    clippy::missing_errors_doc,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "errors are documented on their types; board sizes are validated once to fit the narrow types"
)]

pub mod action;
pub mod battlesnake;
pub mod catalog;
pub mod connect_four;
pub mod digest;
pub mod error;
pub mod game;
pub mod grid;
pub mod laws;
pub mod maze_dash;
pub mod player_set;
pub mod record;
pub mod rng;
pub mod rollout;
pub mod snake;
pub mod snakgame;
pub mod symmetry;
pub mod tic_tac_toe;

pub use action::{Action, ActionMask};
pub use catalog::{GameConfig, GameVisitor};
pub use error::{ConfigError, StepError};
pub use game::{Chance, Game, PlaneShape, Turn, outcome_value};
pub use laws::check_laws;
pub use player_set::PlayerSet;
pub use record::GameRecord;
pub use rng::Rng;
pub use rollout::RolloutBuffer;
pub use symmetry::Symmetry;
