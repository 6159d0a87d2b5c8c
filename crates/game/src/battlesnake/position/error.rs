//! Errors of positions, and the limits of their fields.
//!
//! Every message starts with the path of the field, so that the sender can find the value.

use super::Point;

/// Shortest side of a board.
pub const MIN_SIDE: u8 = 3;
/// Longest side of a board.
pub const MAX_SIDE: u8 = 25;
/// Most snakes in a game.
pub const MAX_SNAKES: usize = 16;
/// Most food on one cell.
pub const MAX_FOOD_PER_CELL: usize = 15;
/// Most repetitions of a snake's last cell, now and after it has eaten all repeated food.
pub const MAX_TAIL_STACK: usize = 255;
/// Most entries of the list of hazards. The official map `snail_mode` stacks as many on a cell as a snake
/// is long.
pub const MAX_HAZARDS: usize = 40_000;
/// Latest turn: far beyond any game, and small enough that turn numbers cannot overflow.
pub const MAX_TURN: u32 = 1 << 30;

/// An invalid field of a position.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PositionError {
    /// A side of the board is too short or too long.
    #[error("{side} is {value}; a board side is {MIN_SIDE} to {MAX_SIDE} cells")]
    BoardSize {
        /// `width` or `height`.
        side: &'static str,
        /// The value that was given.
        value: u8,
    },
    /// The turn number is out of range.
    #[error("turn is {value}; the last turn is {MAX_TURN}")]
    Turn {
        /// The value that was given.
        value: u32,
    },
    /// There are no snakes, or too many.
    #[error("snakes has {count} entries; a game has 1 to {MAX_SNAKES}")]
    SnakeCount {
        /// Entries that were given.
        count: usize,
    },
    /// Health that a living or dead snake cannot have.
    #[error("snakes[{snake}].health is {value}; it must be {least} to 100")]
    Health {
        /// Index of the snake.
        snake: usize,
        /// The value that was given.
        value: i32,
        /// Least health: 1 for the living, 0 for the dead.
        least: i32,
    },
    /// A living snake without cells.
    #[error("snakes[{snake}].body is empty; a living snake has at least a head")]
    EmptyBody {
        /// Index of the snake.
        snake: usize,
    },
    /// A body with more cells than the board and a tail stack can hold.
    #[error("snakes[{snake}].body has {length} cells; at most {limit} fit this board")]
    BodyLength {
        /// Index of the snake.
        snake: usize,
        /// Cells that were given.
        length: usize,
        /// Cells of the board plus the longest tail stack.
        limit: usize,
    },
    /// A body cell outside the board.
    #[error("snakes[{snake}].body[{segment}] is {cell}; the board is {width}x{height}")]
    BodyOffBoard {
        /// Index of the snake.
        snake: usize,
        /// Index of the cell, head 0.
        segment: usize,
        /// The cell.
        cell: Point,
        /// Columns.
        width: u8,
        /// Rows.
        height: u8,
    },
    /// Two consecutive body cells that do not touch.
    #[error(
        "snakes[{snake}].body[{segment}] is {cell}; it must be next to body[{}], {previous}",
        segment - 1
    )]
    Gap {
        /// Index of the snake.
        snake: usize,
        /// Index of the cell, head 0.
        segment: usize,
        /// The cell.
        cell: Point,
        /// The cell before it.
        previous: Point,
    },
    /// A cell repeated before the tail.
    #[error("snakes[{snake}].body[{segment}] repeats {cell}; only the last cell may be stacked")]
    Repeated {
        /// Index of the snake.
        snake: usize,
        /// Index of the second of the equal cells.
        segment: usize,
        /// The cell.
        cell: Point,
    },
    /// A living snake that lies on itself.
    #[error(
        "snakes[{snake}].body[{segment}] is {cell}, where body[{earlier}] lies; a living snake does not cross itself"
    )]
    SelfOverlap {
        /// Index of the snake.
        snake: usize,
        /// Index of the later cell.
        segment: usize,
        /// Index of the earlier cell.
        earlier: usize,
        /// The cell.
        cell: Point,
    },
    /// Two living snakes on one cell.
    #[error(
        "snakes[{snake}].body[{segment}] is {cell}, where snakes[{other}].body[{other_segment}] lies; living snakes do not share a cell"
    )]
    Overlap {
        /// Index of the later snake.
        snake: usize,
        /// Index of its cell.
        segment: usize,
        /// Index of the earlier snake.
        other: usize,
        /// Index of that snake's cell.
        other_segment: usize,
        /// The cell.
        cell: Point,
    },
    /// Too many repetitions of the last cell.
    #[error(
        "snakes[{snake}].body ends with {count} equal cells; at most {} can be stacked",
        MAX_TAIL_STACK + 1
    )]
    TailStack {
        /// Index of the snake.
        snake: usize,
        /// Equal cells at the end.
        count: usize,
    },
    /// A tail that repeated food could stack too high.
    #[error(
        "snakes[{snake}].body could end with {count} equal cells after all repeated food is eaten; at \
         most {} can be stacked",
        MAX_TAIL_STACK + 1
    )]
    TailGrowth {
        /// Index of the snake.
        snake: usize,
        /// Equal cells at the end, if the snake eats everything that lies on a cell with other food.
        count: usize,
    },
    /// A killer that does not fit the cause of a death.
    #[error("snakes[{snake}].death.by is {}; {remedy}", Killer(*by))]
    DeathBy {
        /// Index of the dead snake.
        snake: usize,
        /// The killer that was given.
        by: Option<u8>,
        /// The value that the cause requires.
        remedy: &'static str,
    },
    /// A death in the future or before the first turn.
    #[error("snakes[{snake}].death.on is {on}; it must be 1 to the turn, {turn}")]
    DeathOn {
        /// Index of the dead snake.
        snake: usize,
        /// The turn that was given.
        on: u32,
        /// The position's turn.
        turn: u32,
    },
    /// Food outside the board.
    #[error("food[{index}] is {cell}; the board is {width}x{height}")]
    FoodOffBoard {
        /// Index of the food.
        index: usize,
        /// The cell.
        cell: Point,
        /// Columns.
        width: u8,
        /// Rows.
        height: u8,
    },
    /// Too much food on one cell.
    #[error("food[{index}] is one too many on {cell}; at most {MAX_FOOD_PER_CELL} fit a cell")]
    FoodStack {
        /// Index of the food.
        index: usize,
        /// The cell.
        cell: Point,
    },
    /// Too many hazards.
    #[error("hazards has {count} entries; at most {MAX_HAZARDS} are read")]
    HazardCount {
        /// Entries that were given.
        count: usize,
    },
    /// More shrinks than turns.
    #[error(
        "shrunk adds up to {total}; a board shrinks at most once a turn, and the turn is {turn}"
    )]
    Shrunk {
        /// Sum of the four counters.
        total: u32,
        /// The position's turn.
        turn: u32,
    },
}

/// Shows an index or its absence.
struct Killer(Option<u8>);

impl std::fmt::Display for Killer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(index) => write!(f, "{index}"),
            None => f.write_str("absent"),
        }
    }
}

impl PositionError {
    /// Path of the field that is wrong: the text before the first space of the message.
    pub fn field(&self) -> String {
        let message = self.to_string();
        message.split(' ').next().unwrap_or_default().to_owned()
    }
}
