//! A position, and the checks for a position from outside.

use serde::{Deserialize, Serialize};

use super::board::Board;

/// One position: the board's size and the stones of both players.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Portable", into = "Portable")]
pub struct State {
    pub(super) board: Board,
    /// Stones of each player, one bit per cell.
    pub(super) stones: [u64; 2],
}

/// The JSON form of a position.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Portable {
    width: u8,
    height: u8,
    stones: [u64; 2],
}

/// Reason why stones are not a valid position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    /// The board is too small or too large.
    #[error(
        "board is {width}x{height}; it must be 4x4 or more with width * (height + 1) at most 64"
    )]
    Board {
        /// Columns given.
        width: u8,
        /// Rows given.
        height: u8,
    },
    /// A stone lies outside the board.
    #[error("a stone lies off the board")]
    OffBoard,
    /// A cell holds two stones.
    #[error("a cell holds stones of both players")]
    Shared,
    /// A stone has an empty cell below it.
    #[error("column {column} has a stone above an empty cell")]
    Floating {
        /// Column, from 1.
        column: usize,
    },
    /// Numbers of stones that alternate moves cannot produce.
    #[error("{first} stones against {second}: players have not moved in turn")]
    OutOfTurn {
        /// Stones of player 0.
        first: u32,
        /// Stones of player 1.
        second: u32,
    },
    /// Stones were dropped after a line was complete.
    #[error("the game continued after player {winner} had four in a row")]
    PlayedOn {
        /// The player with the line.
        winner: usize,
    },
}

impl From<State> for Portable {
    fn from(state: State) -> Self {
        let (width, height) = (state.board.width() as u8, state.board.height() as u8);
        Self { width, height, stones: state.stones }
    }
}

impl TryFrom<Portable> for State {
    type Error = StateError;

    fn try_from(Portable { width, height, stones }: Portable) -> Result<Self, StateError> {
        let board = Board::new(width, height).ok_or(StateError::Board { width, height })?;
        let state = Self { board, stones };
        state.validate()?;
        Ok(state)
    }
}

impl State {
    /// The empty board.
    pub(super) fn empty(board: Board) -> Self {
        Self { board, stones: [0; 2] }
    }

    /// The board this position is on.
    pub fn board(&self) -> Board {
        self.board
    }

    /// Number of stones on the board.
    pub fn plies(&self) -> u32 {
        self.taken().count_ones()
    }

    /// The player whose turn it is, or would be had the game not ended.
    pub fn mover(&self) -> usize {
        self.plies() as usize % 2
    }

    /// Whether a player has four in a row.
    pub fn has_line(&self, player: usize) -> bool {
        self.stones.get(player).is_some_and(|&stones| self.board.has_line(stones))
    }

    /// Whether a player has won or the board is full.
    pub fn is_over(&self) -> bool {
        // Only the last player to move can have completed a line.
        self.has_line(1 - self.mover()) || self.taken() == self.board.full()
    }

    /// The player whose stone is on a cell; row 0 is the lowest. `None` if the cell is empty or
    /// off the board.
    pub fn owner(&self, column: usize, row: usize) -> Option<usize> {
        let on_board = column < self.board.width() && row < self.board.height();
        let cell = if on_board { self.board.cell(column, row) } else { 0 };
        self.stones.iter().position(|stones| stones & cell != 0)
    }

    /// Stones of both players.
    pub(super) fn taken(&self) -> u64 {
        self.stones[0] | self.stones[1]
    }

    /// Drops a stone of the mover; `false`, and nothing changes, if the column is full or
    /// off the board.
    pub(super) fn drop_stone(&mut self, column: usize) -> bool {
        if column >= self.board.width() {
            return false;
        }
        let cell = self.board.playable(self.taken()) & self.board.column(column);
        self.stones[self.mover()] |= cell;
        cell != 0
    }

    fn validate(&self) -> Result<(), StateError> {
        let Self { board, stones: [first, second] } = *self;
        let taken = first | second;
        if taken & !board.full() != 0 {
            return Err(StateError::OffBoard);
        }
        if first & second != 0 {
            return Err(StateError::Shared);
        }
        for column in 0..board.width() {
            let above = (taken & board.column(column)) >> (column as u32 * board.stride());
            if above & (above + 1) != 0 {
                return Err(StateError::Floating { column: column + 1 });
            }
        }
        let (first, second) = (first.count_ones(), second.count_ones());
        if first != second && first != second + 1 {
            return Err(StateError::OutOfTurn { first, second });
        }
        let (mover, last) = (self.mover(), 1 - self.mover());
        if self.has_line(mover) {
            return Err(StateError::PlayedOn { winner: mover });
        }
        // Some stone on top of its column must be the last one, which completed the line.
        let tops = taken & !(taken >> 1) & self.stones[last];
        let won_by_last_stone = (0..board.width()).any(|column| {
            let top = tops & board.column(column);
            top != 0 && !board.has_line(self.stones[last] & !top)
        });
        if self.has_line(last) && !won_by_last_stone {
            return Err(StateError::PlayedOn { winner: last });
        }
        Ok(())
    }
}
