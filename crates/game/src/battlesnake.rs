//! Battlesnake, exact to the official engine.
//!
//! All official rulesets on boards of 3×3 to 25×25 with 1 to 16 snakes. Snakes move
//! simultaneously. Actions are 0 up, 1 down, 2 left, 3 right, and every living snake may take
//! any of them. Food and the sides of a royale board are chance nodes.
//!
//! [`Battlesnake`] is the rules, in two size classes: [`Small`] and [`Large`]. [`State`] is one
//! position as plain data of fixed size, which steps without allocation. [`Position`] is the
//! portable form for people, records and servers.
#![expect(
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "sides, cells and lengths are validated once to fit every type they are kept in"
)]

pub mod api;
pub mod config;
pub mod conform;
mod dead_bodies;
mod digest;
pub mod features;
mod flood;
mod food;
mod game;
mod geometry;
mod hazards;
mod moves;
mod observe;
mod placement;
pub mod position;
mod random_play;
mod render;
mod rules;
mod score;
mod snapshot;
mod state;
mod step;
mod transform;

pub use crate::grid::{Bits, DIRECTIONS, STEPS};
pub use config::{Config, Map, NAME, Rewards, Ruleset};
pub use dead_bodies::{DeadBodies, StepObserver};
pub use flood::{Territory, flood};
pub use geometry::{Geometry, WALL};
pub use position::{Cause, Death, Point, Position, PositionError, Snake};
pub use rules::Battlesnake;
pub use snapshot::{Snapshot, StateError};
pub use state::{Cell, Pending, State};

/// Boards of at most 128 cells with at most 8 snakes: 7×7, 11×11, 10×10.
pub type Small = Battlesnake<u8, 2, 8>;
/// Every other board, up to 25×25 with 16 snakes.
pub type Large = Battlesnake<u16, 10, 16>;

/// Cells of a snake at the start, all on one cell of the board.
pub const START_LENGTH: u16 = 3;
