//! Strategies for SNAKGAME against Chef.
//!
//! Every strategy implements [`Strategy`](ouro_game::snakgame::Strategy). [`Named`] lists them. The
//! simple ones extend the current snake by a local rule. [`Editorial`] follows two long paths, one
//! from each end, as the contest's editorial describes. [`PlanRepair`] repairs such paths near each
//! break and lengthens them by detours.
#![warn(clippy::pedantic)]
#![expect(
    clippy::must_use_candidate,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "boards have at most 362,404 cells, which fit the narrow types"
)]

mod attach;
mod editorial;
mod escape;
mod field;
mod inflate;
mod named;
mod plan;
mod plan_repair;
mod repair;
mod simple;
mod splice;
mod sweep;
mod walk;

pub use editorial::Editorial;
pub use named::Named;
pub use plan_repair::PlanRepair;
pub use simple::{ChefLike, DirectionPriority, FewestFree, RandomExtension};

#[cfg(test)]
mod tests;
