//! SNAKGAME of the `CodeChef` contest APRIL16: two sides fill a grid with snakes.
//!
//! The sides move alternately. A side starts a new snake on an empty cell or extends one end of its
//! current snake to an empty neighbour. Blocked cells and the cells of all snakes, live or dead, are
//! not empty. The game ends when no cell is empty or a side exits. **A snake of L cells scores
//! (L − 1)·⌊√L⌋**, so one long snake is worth more than many short ones.
//!
//! [`Position`] holds the rules for any two sides. [`OfficialGame`] is the contest's game, in which a
//! [`Strategy`] plays against [`Chef`], a random policy that sometimes freezes; only the score of
//! the strategy counts. [`Referee`] judges that game for an external program. [`generate_official`]
//! draws the contest's boards. [`Snakgame`] is the same game as a [`Game`](crate::Game), for search and
//! training; it has a duel mode, too. Coordinates and the text of moves are those of the contest's
//! protocol: `x` is the row, and counting starts at 1.

mod board;
mod cell;
mod cell_set;
mod chance;
mod chef;
mod config;
mod direction;
mod empty_cells;
mod game;
mod generator;
mod moves;
mod observe;
mod official;
mod position;
mod random_play;
mod referee;
mod rules;
mod side;
mod snapshot;
mod state;

pub use board::{Board, BoardError, Content, MAX_SIDE, MIN_SIDE};
pub use cell::Cell;
pub use cell_set::Words;
pub use chef::Chef;
pub use config::{Config, MAX_BLOCKED, Mode, NewSnakes};
pub use generator::{BoardType, generate, generate_official};
pub use moves::{Move, ParseMoveError};
pub use official::{OfficialGame, OfficialResult, Strategy, play_official};
pub use position::{MoveError, Position, one_snake_bound};
pub use referee::{Loss, MAX_LINE, Referee, Reply};
pub use rules::Snakgame;
pub use side::{Side, Snake, Snakes, snake_score};
pub use snapshot::{SnakesSnapshot, Snapshot, StateError};
pub use state::State;

/// Boards of at most 1,024 cells: up to 32×32. A state needs no memory outside of itself.
pub type Small = Snakgame<[u64; 16]>;
/// Every other board, up to 600×600.
pub type Large = Snakgame<Box<[u64]>>;
