//! Solvable boards with an exact number of obstacles, from a seed.
//!
//! A slide path grows from a random cell over cells that are not decided yet. Where it stops early,
//! the cell ahead becomes an obstacle. The path ends when it has visited as many cells as the board
//! must have free; all undecided cells then become obstacles. This is the paper's random walk
//! (arXiv 2005.14156, section IV) with look-ahead: a step is refused if it would leave fewer
//! undecided cells within reach than the path still has to visit. If every step is refused, the
//! path is taken back by a random number of cells.
//!
//! Such a path leaves large areas of obstacles. So detours are inserted: a straight part of the path
//! is led around obstacles of its own, and the end of the path is cut off to keep its length. This
//! spreads the obstacles over the board.

use super::board::{Board, BoardError, MAX_SIDE};
use crate::rng::Rng;

mod detours;
mod growth;

use detours::Detours;
use growth::Growth;

/// Paths that are tried before a number of obstacles counts as out of reach.
const ATTEMPTS: u64 = 200;

/// A board that cannot be generated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GenerateError {
    /// The size or the number of obstacles is out of range.
    #[error("{0}")]
    Board(#[from] BoardError),
    /// No cell would be free.
    #[error("{obstacles} obstacles are asked on {cells} cells; leave at least one cell free")]
    Obstacles {
        /// Obstacles asked for.
        obstacles: usize,
        /// Cells of the board.
        cells: usize,
    },
    /// No path of the length was found.
    #[error(
        "no board of {width}x{height} with {obstacles} obstacles was found; ask for more obstacles"
    )]
    OutOfReach {
        /// Columns.
        width: usize,
        /// Rows.
        height: usize,
        /// Obstacles asked for.
        obstacles: usize,
    },
}

/// Generates a board with a given start and the path that solves it.
///
/// The same arguments give the same board on every machine. The start is the first cell of the
/// path; [`Board::with_start`] removes it.
pub fn generate(
    width: usize,
    height: usize,
    obstacles: usize,
    seed: u64,
) -> Result<(Board, Vec<usize>), GenerateError> {
    if !(1..=MAX_SIDE).contains(&width) || !(1..=MAX_SIDE).contains(&height) {
        return Err(BoardError::Size { width, height }.into());
    }
    let cells = width * height;
    if obstacles >= cells {
        return Err(GenerateError::Obstacles { obstacles, cells });
    }
    for attempt in 0..ATTEMPTS {
        let mut rng = Rng::indexed(seed, "maze dash board", attempt);
        let growth = Growth::new(width, height, obstacles, &mut rng);
        if let Some(path) = growth.run(&mut rng) {
            let path = Detours::new(width, height, path).insert(&mut rng);
            let mut free = vec![false; cells];
            path.iter().for_each(|&cell| free[cell] = true);
            let board = Board::new(width, height, free, path.first().copied())?;
            return Ok((board, path));
        }
    }
    Err(GenerateError::OutOfReach { width, height, obstacles })
}
