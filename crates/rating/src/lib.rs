//! The statistics of matches: intervals, comparisons, the promotion gate and Elo ratings.
//!
//! Everything here is a pure function of results. Nothing knows of services, stores, clocks or
//! random numbers, so the arena and `ouro match` share it.
//!
//! * [`interval`]: means and shares with 95 % intervals.
//! * [`score`] and [`cluster`]: what a game and the games of one seed came to.
//! * [`comparison`]: how much stronger one of two players is.
//! * [`gate`]: whether a candidate is promoted, with an early end by a sequential test.
//! * [`ratio`]: how many times better scores of the same seeds are.
//! * [`ratings`]: the strength of all players from all games at once.

pub mod cluster;
pub mod comparison;
pub mod gate;
pub mod interval;
pub mod ratings;
pub mod ratio;
pub mod score;

pub use cluster::{ClusterResult, ClusterShape, DistinctGames, GameResult, Ranking};
pub use comparison::Comparison;
pub use gate::{Gate, GateConfig, GateConfigError, GateReport};
pub use interval::{Estimate, Mean};
pub use ratings::{Rating, RatingTable, Ratings};
pub use ratio::paired_ratio;
pub use score::{GameOutcome, Score};
