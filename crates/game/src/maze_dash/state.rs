//! A position of a game.
//!
//! The board is shared by all states of a game. A state holds one bit for each cell that is still to
//! visit, so its clone copies an eighth of a byte per cell, and a slide tests and clears one bit per
//! cell that it visits.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::board::Board;
use super::direction::Direction;
use super::snapshot::Snapshot;
use crate::digest::WordHasher;
use crate::symmetry::Symmetry;

/// The free cells of a board, as a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) width: u16,
    pub(super) height: u16,
    /// Number of free cells.
    pub(super) cells: u32,
    /// One bit per cell `y * width + x`.
    free: Box<[u64]>,
}

impl Field {
    /// A field whose free cells are given in ascending order or not.
    pub(super) fn new(width: u16, height: u16, free: impl Iterator<Item = usize>) -> Self {
        let size = usize::from(width) * usize::from(height);
        let mut field = Self { width, height, cells: 0, free: vec![0; size.div_ceil(64)].into() };
        for cell in free {
            insert(&mut field.free, cell);
        }
        field.cells = field.free.iter().map(|word| word.count_ones()).sum();
        field
    }

    /// Number of cells, free or not.
    pub(super) fn size(&self) -> usize {
        usize::from(self.width) * usize::from(self.height)
    }

    /// Whether `cell`, which is on the board, is free.
    pub(super) fn is_free(&self, cell: usize) -> bool {
        contains(&self.free, cell)
    }

    fn image(&self, symmetry: Symmetry) -> Self {
        let free = (0..self.size()).filter(|&cell| self.is_free(cell));
        let (width, height) = self.image_size(symmetry);
        Self::new(width, height, free.map(|cell| self.image_cell(cell, symmetry)))
    }

    fn image_size(&self, symmetry: Symmetry) -> (u16, u16) {
        match symmetry {
            Symmetry::Rotate90
            | Symmetry::Rotate270
            | Symmetry::Transpose
            | Symmetry::AntiTranspose => (self.height, self.width),
            _ => (self.width, self.height),
        }
    }

    fn image_cell(&self, cell: usize, symmetry: Symmetry) -> usize {
        let (width, height) = (usize::from(self.width), usize::from(self.height));
        let (x, y) = symmetry.cell(cell % width, cell / width, width, height);
        y * usize::from(self.image_size(symmetry).0) + x
    }
}

impl From<&Board> for Field {
    /// The sides of the board are at most those of a game.
    fn from(board: &Board) -> Self {
        let (width, height) = (board.width() as u16, board.height() as u16);
        Self::new(
            width,
            height,
            (0..board.width() * board.height()).filter(|&cell| board.is_free(cell)),
        )
    }
}

/// A board, the cells that are still to visit, and the head of the path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Snapshot", into = "Snapshot")]
pub struct State {
    pub(super) field: Arc<Field>,
    /// Free cells that are not visited.
    left: Box<[u64]>,
    /// Number of cells in `left`.
    pub(super) left_count: u32,
    /// Actions so far: slides, and the choice of the start if it is free.
    pub(super) elapsed: u32,
    /// The cell that the path ends on; `None` before the start is chosen.
    pub(super) head: Option<u16>,
}

impl State {
    /// Bytes of a state of a board with so many cells, besides the field, which all states share.
    pub(super) fn bytes(cells: usize) -> usize {
        size_of::<Self>() + 8 * cells.div_ceil(64)
    }

    /// No cell of the field is visited.
    pub(super) fn new(field: Arc<Field>) -> Self {
        Self { left: field.free.clone(), left_count: field.cells, elapsed: 0, head: None, field }
    }

    /// Columns.
    pub fn width(&self) -> usize {
        self.field.width.into()
    }

    /// Rows.
    pub fn height(&self) -> usize {
        self.field.height.into()
    }

    /// Number of free cells of the board, visited or not.
    pub fn cells(&self) -> usize {
        self.field.cells as usize
    }

    /// Number of visited cells.
    pub fn visited(&self) -> usize {
        (self.field.cells - self.left_count) as usize
    }

    /// The cell that the path ends on; `None` before the start is chosen.
    pub fn head(&self) -> Option<usize> {
        self.head.map(usize::from)
    }

    /// Actions so far.
    pub fn elapsed(&self) -> u32 {
        self.elapsed
    }

    /// Whether a cell of the board is free, visited or not.
    pub fn is_free(&self, cell: usize) -> bool {
        cell < self.field.size() && self.field.is_free(cell)
    }

    /// Whether a cell of the board is free and not visited.
    #[inline]
    pub fn is_left(&self, cell: usize) -> bool {
        cell < self.field.size() && contains(&self.left, cell)
    }

    /// The next cell that is not visited, if the neighbour of `cell` is one.
    #[inline]
    pub(super) fn next(&self, cell: usize, direction: Direction) -> Option<usize> {
        let width = self.width();
        let next = match direction {
            Direction::Up => cell + width,
            Direction::Down => cell.checked_sub(width)?,
            Direction::Left if cell.is_multiple_of(width) => return None,
            Direction::Left => cell - 1,
            Direction::Right if (cell + 1).is_multiple_of(width) => return None,
            Direction::Right => cell + 1,
        };
        self.is_left(next).then_some(next)
    }

    /// The directions of possible slides as a set of four bits; none before the start is chosen.
    #[inline]
    pub(super) fn options(&self) -> u8 {
        let Some(head) = self.head() else { return 0 };
        Direction::ALL.into_iter().fold(0, |options, direction| {
            options | u8::from(self.next(head, direction).is_some()) << direction as u8
        })
    }

    /// Moves the head to `cell`, which is free and not visited.
    #[inline]
    pub(super) fn visit(&mut self, cell: usize) {
        debug_assert!(self.is_left(cell), "only cells that are left are visited");
        self.left[cell / 64] &= !(1 << (cell % 64));
        self.left_count -= 1;
        self.head = Some(cell as u16);
    }

    /// Slides as far as possible.
    #[inline]
    pub(super) fn slide(&mut self, direction: Direction) {
        while let Some(next) = self.head().and_then(|head| self.next(head, direction)) {
            self.visit(next);
        }
    }

    /// The image of the board and the path.
    pub(super) fn image(&self, symmetry: Symmetry) -> Self {
        let cell = |cell| self.field.image_cell(cell, symmetry);
        let mut left = vec![0; self.left.len()].into_boxed_slice();
        for from in (0..self.field.size()).filter(|&cell| self.is_left(cell)) {
            insert(&mut left, cell(from));
        }
        Self {
            field: Arc::new(self.field.image(symmetry)),
            left,
            head: self.head().map(|head| cell(head) as u16),
            ..*self
        }
    }

    /// The digest of all fields.
    pub(super) fn digest(&self) -> u64 {
        let mut hasher = WordHasher::new();
        let Field { width, height, free, .. } = &*self.field;
        hasher.add(u64::from(*width) << 16 | u64::from(*height));
        for &word in free.iter().chain(&self.left) {
            hasher.add(word);
        }
        let head = self.head.map_or(u64::MAX, u64::from);
        hasher.add(head);
        hasher.add(self.elapsed.into());
        hasher.finish()
    }
}

fn contains(set: &[u64], cell: usize) -> bool {
    set[cell / 64] >> (cell % 64) & 1 == 1
}

fn insert(set: &mut [u64], cell: usize) {
    set[cell / 64] |= 1 << (cell % 64);
}
