//! A position of a game in packed form.
//!
//! The body is not a list of cells. One bit per cell says whether the snake occupies it, and two
//! more bits hold the direction of the next cell towards the head. A step therefore touches a few
//! words, whatever the length. Unused bits are zero, so that equal states are equal bytes.

use serde::{Deserialize, Serialize};

use super::snapshot::Snapshot;
use crate::digest::WordHasher;
use crate::grid::{Bits, turned};
use crate::symmetry::Symmetry;

/// Value of the apple's cell while there is no apple.
const NO_APPLE: u16 = u16::MAX;

/// A snake and an apple on a board of at most `64 * W` cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Snapshot", into = "Snapshot")]
pub struct State<const W: usize> {
    /// Cells of the snake.
    pub(super) occupied: Bits<W>,
    /// Low and high bit of the direction towards the head; zero at the head.
    pub(super) toward: [Bits<W>; 2],
    /// Time steps since the start.
    pub(super) elapsed: u32,
    pub(super) head: u16,
    pub(super) tail: u16,
    apple: u16,
    pub(super) length: u16,
    pub(super) size: u8,
}

impl<const W: usize> State<W> {
    /// A snake of one cell without an apple, for callers that add the other cells.
    pub(super) fn single_cell(size: u8, cell: usize) -> Self {
        let mut occupied = Bits::EMPTY;
        occupied.insert(cell);
        Self {
            occupied,
            toward: [Bits::EMPTY; 2],
            elapsed: 0,
            head: cell as u16,
            tail: cell as u16,
            apple: NO_APPLE,
            length: 1,
            size,
        }
    }

    /// Rows and columns of the board.
    pub fn size(&self) -> usize {
        self.size.into()
    }

    /// Cells of the board.
    pub fn cells(&self) -> usize {
        self.size() * self.size()
    }

    /// Cells of the snake.
    pub fn length(&self) -> usize {
        self.length.into()
    }

    /// Time steps since the start.
    pub fn elapsed(&self) -> u32 {
        self.elapsed
    }

    /// Cell of the head.
    pub fn head(&self) -> usize {
        self.head.into()
    }

    /// Cell of the tail.
    pub fn tail(&self) -> usize {
        self.tail.into()
    }

    /// Cell of the apple, unless it has just been eaten.
    pub fn apple(&self) -> Option<usize> {
        (self.apple != NO_APPLE).then_some(self.apple.into())
    }

    /// Cells of the snake, as a set.
    pub fn occupied(&self) -> Bits<W> {
        self.occupied
    }

    /// Cells of the snake, tail first.
    pub fn trail(&self) -> impl Iterator<Item = usize> + '_ {
        let next = |&cell: &usize| Some(neighbour(cell, self.direction(cell), self.size()));
        std::iter::successors(Some(self.tail()), next).take(self.length())
    }

    /// Places an apple on an empty cell, or removes it.
    pub(super) fn set_apple(&mut self, cell: Option<usize>) {
        self.apple = cell.map_or(NO_APPLE, |cell| cell as u16);
    }

    /// Direction towards the head of the body cell at `cell`.
    #[inline]
    pub(super) fn direction(&self, cell: usize) -> usize {
        usize::from(self.toward[0].contains(cell)) | usize::from(self.toward[1].contains(cell)) << 1
    }

    /// Moves the head to the next cell in `direction`, which is empty.
    #[inline]
    pub(super) fn push_head(&mut self, direction: usize, next: usize) {
        let head = self.head();
        self.toward[0].set(head, direction & 1 == 1);
        self.toward[1].set(head, direction & 2 == 2);
        self.occupied.insert(next);
        self.head = next as u16;
    }

    /// Removes the tail cell; the snake has at least two cells.
    #[inline]
    pub(super) fn pop_tail(&mut self) {
        let tail = self.tail();
        self.tail = neighbour(tail, self.direction(tail), self.size()) as u16;
        self.occupied.remove(tail);
        self.toward[0].remove(tail);
        self.toward[1].remove(tail);
    }

    /// The image of the whole board.
    pub(super) fn image(&self, symmetry: Symmetry) -> Self {
        let size = self.size();
        let cell = |cell: usize| {
            let (x, y) = symmetry.cell(cell % size, cell / size, size, size);
            y * size + x
        };
        let directions: [usize; 4] = std::array::from_fn(|direction| turned(direction, symmetry));
        let mut image = Self {
            occupied: Bits::EMPTY,
            toward: [Bits::EMPTY; 2],
            head: cell(self.head()) as u16,
            tail: cell(self.tail()) as u16,
            ..*self
        };
        image.set_apple(self.apple().map(cell));
        for from in self.occupied.iter() {
            let (to, direction) = (cell(from), directions[self.direction(from)]);
            image.occupied.insert(to);
            if from != self.head() {
                image.toward[0].set(to, direction & 1 == 1);
                image.toward[1].set(to, direction & 2 == 2);
            }
        }
        image
    }

    /// The digest of all fields.
    pub(super) fn digest(&self) -> u64 {
        let mut hasher = WordHasher::new();
        for bits in [&self.occupied, &self.toward[0], &self.toward[1]] {
            bits.0.iter().for_each(|&word| hasher.add(word));
        }
        let ends = [self.head, self.tail, self.apple, self.length];
        hasher.add(ends.iter().fold(0, |word, &end| word << 16 | u64::from(end)));
        hasher.add(u64::from(self.elapsed) | u64::from(self.size) << 32);
        hasher.finish()
    }
}

/// The cell next to `cell` on a board of `size` columns. The result must be on the board.
#[inline]
fn neighbour(cell: usize, direction: usize, size: usize) -> usize {
    match direction & 3 {
        0 => cell + size,
        1 => cell.wrapping_sub(size),
        2 => cell.wrapping_sub(1),
        _ => cell + 1,
    }
}
