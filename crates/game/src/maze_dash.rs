//! Maze Dash, the puzzle of arXiv 2005.14156, known as Mortal Coil if the start is free.
//!
//! A board is a rectangle of free cells and obstacles. A path starts on a free cell and visits
//! every free cell once, in unit steps. **It turns only where the cell straight ahead is an
//! obstacle, outside of the board or visited already.** A path is therefore a sequence of *slides*,
//! each of which ends where the next cell is not free. At a stop with one free side the next slide
//! is forced; all others are *decisions*.
//!
//! [`Board`] is the puzzle. [`Solution`] is a path in the public notation, and [`Solution::check`]
//! decides whether it solves a board. [`generate`] makes solvable boards with an exact number of
//! obstacles from a seed. [`MazeDash`] is the game for one player.
//!
//! # The game
//!
//! An action is a slide: 0 up, 1 down, 2 left, 3 right. If the start is free, the action space has one
//! more action for each cell of the board, and the first action is one of these. So the choice of the
//! start is a move like any other for a search, and games with a given start keep four actions. The
//! game is over when no slide is possible. Forced slides are states like any other; a search plays
//! them through ([`Game::collapse_forced`](crate::Game::collapse_forced)).

mod board;
mod config;
mod direction;
mod format;
mod game;
mod generator;
mod observe;
mod snapshot;
mod solution;
mod state;
mod trail;

pub use board::{Board, BoardError, MAX_SIDE};
pub use config::{Config, MAX_GAME_SIDE, Start};
pub use direction::Direction;
pub use game::MazeDash;
pub use generator::{GenerateError, Style, generate, generate_in_style};
pub use snapshot::{Snapshot, StateError};
pub use solution::{Solution, SolutionError};
pub use state::State;
pub use trail::Trail;
