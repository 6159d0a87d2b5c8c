//! Snake for one player on an n×n board, n = 2 to 21: the game of the `AlphaSnake` paper
//! (Du, Gemp, Wu and Wu 2022, arXiv 2211.09622) on any size.
//!
//! The snake starts with two cells and grows by one with each apple. The next apple appears on a
//! uniformly drawn empty cell: a chance node with one outcome per empty cell. Actions are 0 up,
//! 1 down, 2 left, 3 right. **The tail's cell cannot be entered** although the tail is about to
//! leave it, so at most three actions are legal. A game ends, checked in this order,
//!
//! 1. won, if the snake fills the board: reward +10, outcome 1;
//! 2. out of time, after [`Config::time_limit`] steps: no reward, outcome 0;
//! 3. lost, if no action is legal: reward −10, outcome −1.
//!
//! Every apple gives +1. The game contains states with one legal action like any other state. A
//! search plays them through ([`Game::collapse_forced`](crate::Game::collapse_forced)) and
//! discounts by [`DISCOUNT`] to the power of the elapsed time.
//!
//! [`Snake`] is the rules, in two size classes: [`Small`] and [`Large`].
//! Two is the smallest side with room for a snake and an apple; 21 is the largest whose cells
//! fit seven words, and covers the 20×20 boards of the literature.

mod config;
mod game;
mod observe;
mod rules;
mod snapshot;
mod state;

pub use config::{Config, DISCOUNT, MAX_SIZE, MAX_TIME_LIMIT, MIN_SIZE, Rewards};
pub use rules::{Ending, Snake};
pub use snapshot::{Snapshot, StateError};
pub use state::State;

/// Boards of at most 128 cells: up to 11×11.
pub type Small = Snake<2>;
/// Every other board, up to 21×21.
pub type Large = Snake<7>;
