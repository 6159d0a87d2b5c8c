//! Search over any [`Game`](ouro_game::Game): the minimax family and Monte Carlo tree search.
//!
//! Searches are pure: randomness comes as a seeded generator, time as a [`Clock`].
//!
//! * [`minimax`]: plain minimax, paranoid alpha-beta and MaxN to a depth or a deadline, with a
//!   [`Heuristic`]; [`AreaControl`] is the heuristic for Battlesnake.
//! * [`mcts`]: Monte Carlo tree search for every kind of game, with an [`Evaluator`] that takes
//!   batches of leaves from many trees.

pub mod area_control;
pub mod clock;
pub mod evaluator;
pub mod heuristic;
pub mod mcts;
pub mod minimax;

pub use area_control::AreaControl;
pub use clock::{Clock, Deadline};
pub use evaluator::{Cached, Estimate, Estimates, Evaluator, Leaf, Rollout, Uniform};
pub use heuristic::{Heuristic, OutcomeOnly};
pub use mcts::{Scheduler, Search, SearchConfig, SearchResult};
pub use minimax::{Limits, MaxN, MinimaxResult, NotToMove, Paranoid, Plain, Query, Searcher};
