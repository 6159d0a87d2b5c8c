//! A board: free cells, obstacles and a start that may be given.

use super::direction::Direction;

/// Largest width and height.
pub const MAX_SIDE: usize = 1_000;

/// A puzzle. Cell `(x, y)` has index `y * width + x`; (0, 0) is bottom-left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Board {
    width: usize,
    height: usize,
    free: Vec<bool>,
    start: Option<usize>,
    cells: usize,
}

/// A board that cannot be read, or that has no solution at first sight.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BoardError {
    /// A side is 0 or larger than [`MAX_SIDE`].
    #[error("the board is {width}x{height}; sides are 1 to {MAX_SIDE}")]
    Size {
        /// Columns.
        width: usize,
        /// Rows.
        height: usize,
    },
    /// All cells are obstacles.
    #[error("the board has no free cell; a free cell is '.'")]
    NoFreeCell,
    /// The free cells are not connected.
    #[error("{unreachable} of {cells} free cells cannot be reached; make them obstacles")]
    Unreachable {
        /// Columns.
        width: usize,
        /// Rows.
        height: usize,
        /// Free cells outside of the largest connected part, or of the part of the start.
        unreachable: usize,
        /// All free cells.
        cells: usize,
    },
    /// The start is outside of the board or an obstacle.
    #[error("the start ({x}, {y}) is not a free cell; choose a free cell")]
    Start {
        /// Column.
        x: usize,
        /// Row.
        y: usize,
    },
    /// The text has no known format. The text completes the message.
    #[error("the board cannot be read: {0}")]
    Format(String),
}

impl Board {
    /// A board of `width * height` cells, `free[y * width + x]` telling which are free.
    pub fn new(
        width: usize,
        height: usize,
        free: Vec<bool>,
        start: Option<usize>,
    ) -> Result<Self, BoardError> {
        if !(1..=MAX_SIDE).contains(&width) || !(1..=MAX_SIDE).contains(&height) {
            return Err(BoardError::Size { width, height });
        }
        if free.len() != width * height {
            let problem = format!("{} cells are given for {width}x{height}", free.len());
            return Err(BoardError::Format(problem));
        }
        let cells = free.iter().filter(|&&free| free).count();
        if cells == 0 {
            return Err(BoardError::NoFreeCell);
        }
        let board = Self { width, height, free, start, cells };
        if let Some(start) = start
            && !board.free.get(start).is_some_and(|&free| free)
        {
            return Err(BoardError::Start { x: start % width, y: start / width });
        }
        let reached = board.largest_part();
        if reached < cells {
            let unreachable = cells - reached;
            return Err(BoardError::Unreachable { width, height, unreachable, cells });
        }
        Ok(board)
    }

    /// Columns.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Rows.
    pub fn height(&self) -> usize {
        self.height
    }

    /// Number of free cells, at least 1.
    pub fn cells(&self) -> usize {
        self.cells
    }

    /// Number of obstacles.
    pub fn obstacles(&self) -> usize {
        self.free.len() - self.cells
    }

    /// The given start; `None` if any free cell may be it.
    pub fn start(&self) -> Option<usize> {
        self.start
    }

    /// The same board with another start.
    pub fn with_start(&self, start: Option<usize>) -> Result<Self, BoardError> {
        Self::new(self.width, self.height, self.free.clone(), start)
    }

    /// Whether `cell` is free; false outside of the board.
    pub fn is_free(&self, cell: usize) -> bool {
        self.free.get(cell).is_some_and(|&free| free)
    }

    /// The cell one step from `cell`, obstacle or not; `None` outside of the board.
    pub fn neighbour(&self, cell: usize, direction: Direction) -> Option<usize> {
        let (dx, dy) = direction.step();
        let x = (cell % self.width).checked_add_signed(dx as isize)?;
        let y = (cell / self.width).checked_add_signed(dy as isize)?;
        (x < self.width && y < self.height).then_some(y * self.width + x)
    }

    /// Cells of the part of the start, or of the largest part if no start is given.
    fn largest_part(&self) -> usize {
        let mut seen = vec![false; self.free.len()];
        let mut largest = 0;
        let mut queue = Vec::new();
        let roots = match self.start {
            Some(start) => start..start + 1,
            None => 0..self.free.len(),
        };
        for root in roots {
            if !self.free[root] || seen[root] {
                continue;
            }
            let mut size = 0;
            seen[root] = true;
            queue.push(root);
            while let Some(cell) = queue.pop() {
                size += 1;
                for direction in Direction::ALL {
                    if let Some(next) = self.neighbour(cell, direction)
                        && self.free[next]
                        && !seen[next]
                    {
                        seen[next] = true;
                        queue.push(next);
                    }
                }
            }
            largest = largest.max(size);
        }
        largest
    }
}
