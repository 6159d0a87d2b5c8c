//! Moves and their text in the contest's protocol.

use std::fmt;
use std::str::FromStr;

use super::cell::Cell;

/// What a side does in its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// Starts a new snake; the current one is then dead.
    New(Cell),
    /// Extends the current snake.
    Extend {
        /// An end of the snake.
        from: Cell,
        /// An empty neighbour of that end.
        to: Cell,
    },
    /// Ends the game.
    Exit,
    /// Does nothing for so many turns, this one included. Only Chef freezes.
    Freeze(u8),
}

/// A line that is no move.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line:?} is no move; write NEW x y, MOVE fx fy tx ty or EXIT")]
pub struct ParseMoveError {
    /// The line, at most its first 60 characters.
    pub line: String,
}

impl ParseMoveError {
    /// The error for a line.
    pub(super) fn new(line: &str) -> Self {
        Self { line: line.chars().take(60).collect() }
    }
}

impl fmt::Display for Move {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::New(cell) => write!(f, "NEW {cell}"),
            Self::Extend { from, to } => write!(f, "MOVE {from} {to}"),
            Self::Exit => write!(f, "EXIT"),
            Self::Freeze(turns) => write!(f, "FREEZE {turns}"),
        }
    }
}

impl FromStr for Move {
    type Err = ParseMoveError;

    fn from_str(line: &str) -> Result<Self, Self::Err> {
        let error = || ParseMoveError::new(line);
        let mut words = line.split_ascii_whitespace();
        let verb = words.next().ok_or_else(error)?;
        // At most four numbers are read, so a long line costs no memory.
        let mut numbers = [0_u16; 4];
        let mut count = 0;
        for word in words {
            *numbers.get_mut(count).ok_or_else(error)? = word.parse().map_err(|_| error())?;
            count += 1;
        }
        let [a, b, c, d] = numbers;
        match (verb, count) {
            ("NEW", 2) => Ok(Self::New(Cell::new(a, b))),
            ("MOVE", 4) => Ok(Self::Extend { from: Cell::new(a, b), to: Cell::new(c, d) }),
            ("EXIT", 0) => Ok(Self::Exit),
            ("FREEZE", 1) => u8::try_from(a).map(Self::Freeze).map_err(|_| error()),
            _ => Err(error()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_move_gives_the_move() {
        for line in ["NEW 1 250", "MOVE 3 4 3 5", "EXIT", "FREEZE 50"] {
            assert_eq!(line.parse::<Move>().unwrap().to_string(), line);
        }
    }

    #[test]
    fn garbage_is_refused_with_its_text() {
        let long = "9".repeat(1_000);
        let lines = ["", "NEW", "NEW 1", "NEW 1 2 3", "MOVE 1 2 3", "MOVE 1 2 3 4 5", "EXIT 1"];
        for line in lines.into_iter().chain(["FREEZE 256", "new 1 2", "NEW -1 2", "NEW 1 x", &long])
        {
            let error = line.parse::<Move>().unwrap_err();
            assert!(error.to_string().contains("is no move; write NEW"), "{error}");
            assert!(error.to_string().len() < 130);
        }
    }
}
