//! Strategies for SNAKGAME against Chef.
//!
//! Every strategy implements [`Strategy`](ouro_game::snakgame::Strategy). [`Named`] lists them. The
//! simple ones extend the current snake by a local rule. [`Editorial`] follows two long paths, one
//! from each end, as the contest's editorial describes.
#![warn(clippy::pedantic)]
#![expect(
    clippy::must_use_candidate,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "boards have at most 362,404 cells, which fit the narrow types"
)]

mod editorial;
mod field;
mod named;
mod simple;
mod walk;

pub use editorial::Editorial;
pub use named::Named;
pub use simple::{ChefLike, DirectionPriority, FewestFree, RandomExtension};
