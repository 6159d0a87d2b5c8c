//! The board as the strategies see it: indices instead of coordinates.

use ouro_game::snakgame::{Board, Content, Move};

/// Marks a cell that is on no path.
pub(crate) const NONE: u32 = u32::MAX;

/// A borrowed board with its index arithmetic.
#[derive(Clone, Copy)]
pub(crate) struct Field<'a> {
    board: &'a Board,
    contents: &'a [Content],
    /// Index differences of the four directions, clockwise from up.
    steps: [isize; 4],
}

impl<'a> Field<'a> {
    pub(crate) fn new(board: &'a Board) -> Self {
        let stride = board.stride() as isize;
        Self { board, contents: board.contents(), steps: [-stride, 1, stride, -1] }
    }

    /// Cells of the array, the border included.
    pub(crate) fn len(&self) -> usize {
        self.contents.len()
    }

    #[inline]
    pub(crate) fn is_empty(&self, cell: u32) -> bool {
        self.contents[cell as usize] == Content::Empty
    }

    /// The cell one step from `cell`, a cell of the grid, in a direction modulo 4.
    #[inline]
    pub(crate) fn step(&self, cell: u32, direction: u8) -> u32 {
        (cell as isize + self.steps[usize::from(direction & 3)]) as u32
    }

    /// The four neighbours, clockwise from up.
    #[inline]
    pub(crate) fn neighbours(&self, cell: u32) -> [u32; 4] {
        self.steps.map(|step| (cell as isize + step) as u32)
    }

    /// Steps between two cells if all cells were empty.
    pub(crate) fn distance(&self, first: u32, second: u32) -> usize {
        let stride = self.steps[2] as usize;
        let (first, second) = (first as usize, second as usize);
        (first / stride).abs_diff(second / stride) + (first % stride).abs_diff(second % stride)
    }

    /// Number of empty neighbours.
    pub(crate) fn empty_degree(&self, cell: u32) -> usize {
        self.neighbours(cell).into_iter().filter(|&near| self.is_empty(near)).count()
    }

    pub(crate) fn new_snake(&self, cell: u32) -> Move {
        Move::New(self.board.cell(cell as usize))
    }

    pub(crate) fn extension(&self, from: u32, to: u32) -> Move {
        Move::Extend { from: self.board.cell(from as usize), to: self.board.cell(to as usize) }
    }
}
