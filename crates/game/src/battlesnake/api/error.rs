//! Errors of requests and replies.

use super::wire::Coord;
use crate::battlesnake::position::PositionError;
use crate::battlesnake::snapshot::StateError;
use crate::error::one_line;

/// Longest request body that is read: several times that of the fullest 25×25 board.
pub const MAX_REQUEST_BYTES: usize = 512 * 1024;

/// Reason why a message is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ApiError {
    /// More bytes than any game needs.
    #[error("message has {bytes} bytes; at most {limit} are read")]
    TooLarge {
        /// Bytes that were given.
        bytes: usize,
        /// Most bytes that are read.
        limit: usize,
    },
    /// The JSON ends in the middle.
    #[error("message ends early, at line {line} column {column}; was it sent whole?")]
    Truncated {
        /// Line of the end, from 1.
        line: usize,
        /// Column of the end.
        column: usize,
    },
    /// Not JSON.
    #[error("message is not JSON: {problem}")]
    Syntax {
        /// The parser's message, with line and column.
        problem: String,
    },
    /// A field is missing or has the wrong type.
    #[error("{field}: {problem}")]
    Field {
        /// Path of the field.
        field: String,
        /// The parser's message.
        problem: String,
    },
    /// A number that the game does not allow.
    #[error("{field} is {value}; it must be {least} to {most}")]
    OutOfRange {
        /// Path of the field.
        field: String,
        /// The value that was given.
        value: i64,
        /// Least value allowed.
        least: i64,
        /// Greatest value allowed.
        most: i64,
    },
    /// There are no snakes, or too many.
    #[error("board.snakes has {count} entries; a game has 1 to 16")]
    SnakeCount {
        /// Entries that were given.
        count: usize,
    },
    /// Two snakes with one id.
    #[error("board.snakes[{snake}].id is {id:?}, as is board.snakes[{other}].id; ids must differ")]
    DuplicateId {
        /// Index of the later snake.
        snake: usize,
        /// Index of the earlier snake.
        other: usize,
        /// The id.
        id: String,
    },
    /// The requested snake is not among the living.
    #[error("you.id is {id:?}, which is not on the board; request a move for a living snake")]
    NotOnBoard {
        /// The id.
        id: String,
    },
    /// A snake on the board that was not in the game before.
    #[error(
        "board.snakes[{snake}].id is {id:?}, which has no seat in this game; no snake joins a game later"
    )]
    NoSeat {
        /// Index of the snake.
        snake: usize,
        /// The id.
        id: String,
    },
    /// `head` is not the first cell of the body.
    #[error("board.snakes[{snake}].head is ({}, {}); it must equal body[0]", head.x, head.y)]
    Head {
        /// Index of the snake.
        snake: usize,
        /// The value of `head`.
        head: Coord,
    },
    /// `length` is not the number of body cells.
    #[error("board.snakes[{snake}].length is {length}; the body has {cells} cells")]
    Length {
        /// Index of the snake.
        snake: usize,
        /// The value of `length`.
        length: i64,
        /// Cells of the body.
        cells: usize,
    },
    /// The position is invalid.
    #[error("board.{0}")]
    Position(#[from] PositionError),
    /// The position is valid, but the largest class of board does not hold it.
    #[error("board.{0}")]
    State(#[from] StateError),
    /// A reply with an unknown move.
    #[error("move is {given:?}; it must be up, down, left or right")]
    Move {
        /// What was given, cut to 32 characters.
        given: String,
    },
    /// A shout that is too long.
    #[error("shout has {chars} characters; at most {limit} are allowed")]
    Shout {
        /// Characters that were given.
        chars: usize,
        /// Most characters allowed.
        limit: usize,
    },
    /// A seat that the game does not have.
    #[error("seat is {seat}; the position has {snakes} snakes and {identities} are named")]
    Seat {
        /// The requested seat.
        seat: usize,
        /// Snakes of the position.
        snakes: usize,
        /// Identities of the host.
        identities: usize,
    },
}

impl ApiError {
    /// Path of the invalid field, if the error concerns a single field.
    pub fn field(&self) -> Option<String> {
        match self {
            Self::TooLarge { .. } | Self::Truncated { .. } | Self::Syntax { .. } => None,
            Self::Field { field, .. } | Self::OutOfRange { field, .. } => Some(field.clone()),
            _ => self.to_string().split(' ').next().map(str::to_owned),
        }
    }
}

/// Reads JSON; an error holds the path of the first field that does not fit.
pub(super) fn from_json<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> Result<T, ApiError> {
    if bytes.len() > MAX_REQUEST_BYTES {
        return Err(ApiError::TooLarge { bytes: bytes.len(), limit: MAX_REQUEST_BYTES });
    }
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let field = error.path().to_string();
        classify(&error.into_inner(), field)
    })?;
    reader.end().map_err(|error| classify(&error, ".".to_owned()))?;
    Ok(value)
}

fn classify(error: &serde_json::Error, field: String) -> ApiError {
    use serde_json::error::Category;
    match error.classify() {
        Category::Eof => ApiError::Truncated { line: error.line(), column: error.column() },
        Category::Data => ApiError::Field { field, problem: one_line(&error.to_string()) },
        Category::Syntax | Category::Io => ApiError::Syntax { problem: error.to_string() },
    }
}
