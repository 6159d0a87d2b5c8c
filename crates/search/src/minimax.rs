//! The minimax family over any game: plain minimax, paranoid alpha-beta and MaxN.
//!
//! # The tree
//!
//! Simultaneous moves are serialised: the searching player first, then the others by seat. In the
//! tree, opponents therefore react to a move that they could not have seen in the game. The
//! position is resolved once all of its movers have chosen. A *ply* is one choice and a *turn* one
//! resolved position, so with four snakes a turn is four plies. Depths count turns.
//!
//! A chance node is not a ply. The [`Heuristic`](crate::Heuristic) may resolve it by an assumption.
//! Otherwise its value is the expectation over its outcomes. If outcomes cannot be listed, it is the
//! mean over [`CHANCE_SAMPLES`] draws from a generator that the position determines.
//!
//! # Values
//!
//! A finished game has the value of its outcome in −1 to 1, shrunk by 1/100,000 for every turn
//! from the root, so that a sooner win and a later loss are better. Unfinished positions at the
//! horizon have the value of the heuristic, clamped to ±[`UNDECIDED`]: less than a win, more than
//! a loss. A draw has value 0. An eliminated player has the value of its outcome in the turn of
//! its elimination, though others continue.
//!
//! # Contract
//!
//! Searches are deterministic unless they meet a deadline. A search with a deadline ends before it
//! when no other action can become the best one. A deadline may come before any root action has been
//! searched. The result is then that of a look at the first eight root actions: the score of the
//! position after the action and the first candidate of every other mover. Of several best actions the
//! lowest is found.
//! [`Paranoid`] finds the same action and value as [`Plain`] in less time, except as
//! [best-reply search](Paranoid::best_reply) or with [reductions](Paranoid::with_reductions). After
//! the first search a searcher allocates nothing per node.

mod chance;
mod deepening;
mod first_look;
mod frame;
mod max_n;
mod node_counter;
mod ordering;
mod paranoid;
mod plain;
mod query;
mod table;
mod tree_size;

pub use chance::CHANCE_SAMPLES;
pub use max_n::MaxN;
pub use node_counter::NODES_PER_CLOCK_CHECK;
pub use paranoid::Paranoid;
pub use plain::Plain;
pub use query::{Limits, MinimaxResult, NotToMove, Query, Searcher, Step, UNDECIDED};
pub use tree_size::{Replies, largest_tree};
