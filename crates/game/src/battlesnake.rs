//! Battlesnake, exact to the official engine.

pub mod config;
pub mod position;

pub use config::{Config, Map, Ruleset};
pub use position::{Cause, Death, Point, Position, PositionError, Snake};
