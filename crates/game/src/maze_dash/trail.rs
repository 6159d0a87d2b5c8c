//! A partial path on a board: the cells it has visited, its head and its slides.

use super::board::Board;
use super::direction::Direction;

/// A path from a start. It grows by whole slides and never enters a visited cell or an obstacle.
#[derive(Clone, Debug)]
pub struct Trail<'a> {
    board: &'a Board,
    visited: Vec<bool>,
    path: Vec<usize>,
}

impl<'a> Trail<'a> {
    /// The path that holds `start` alone; `None` if `start` is not a free cell of the board.
    pub fn new(board: &'a Board, start: usize) -> Option<Self> {
        board.is_free(start).then(|| {
            let mut visited = vec![false; board.width() * board.height()];
            visited[start] = true;
            Self { board, visited, path: vec![start] }
        })
    }

    /// The cell that the path ends on.
    pub fn head(&self) -> usize {
        self.path[self.path.len() - 1]
    }

    /// All visited cells in order.
    pub fn path(&self) -> &[usize] {
        &self.path
    }

    /// Whether every free cell is visited.
    pub fn is_complete(&self) -> bool {
        self.path.len() == self.board.cells()
    }

    /// The directions in which the next slide can go, in the order of [`Direction::ALL`].
    pub fn options(&self) -> impl Iterator<Item = Direction> + '_ {
        let head = self.head();
        Direction::ALL.into_iter().filter(move |&direction| self.next(head, direction).is_some())
    }

    /// Slides to the end. Returns the number of cells visited, 0 if the first is not free.
    pub fn slide(&mut self, direction: Direction) -> usize {
        let before = self.path.len();
        while let Some(next) = self.next(self.head(), direction) {
            self.visited[next] = true;
            self.path.push(next);
        }
        self.path.len() - before
    }

    /// Makes forced slides until the path ends or a decision is due. Calls `each` with them.
    pub fn slide_while_forced(&mut self, mut each: impl FnMut(Direction)) {
        loop {
            let mut options = self.options();
            let (Some(only), None) = (options.next(), options.next()) else { return };
            drop(options);
            self.slide(only);
            each(only);
        }
    }

    /// The neighbour of `cell` if it is free and not visited.
    fn next(&self, cell: usize, direction: Direction) -> Option<usize> {
        let next = self.board.neighbour(cell, direction)?;
        (self.board.is_free(next) && !self.visited[next]).then_some(next)
    }
}
