//! The cells of a board during a search: which are visited, and how many free sides each has.

use ouro_game::maze_dash::Board;

use crate::refuted::cell_key;

/// A board with a border of obstacles. Cells are indices of this padded grid.
#[derive(Debug)]
pub(crate) struct Field {
    /// Offsets of the four directions.
    pub(crate) steps: [isize; 4],
    stride: usize,
    /// Whether a cell is free and not visited.
    open: Vec<bool>,
    /// Open neighbours of each cell.
    sides: Vec<u8>,
    /// Open cells.
    left: usize,
    /// Open cells with at most one open neighbour.
    ends: usize,
    /// Visited cells in order.
    path: Vec<u32>,
    /// Sum of the keys of all open cells, modulo 2⁶⁴.
    open_key: u64,
}

impl Field {
    /// The field in which no cell is visited.
    pub(crate) fn new(board: &Board) -> Self {
        let stride = board.width() + 2;
        let size = stride * (board.height() + 2);
        let mut field = Self {
            steps: [stride as isize, -(stride as isize), -1, 1],
            stride,
            open: vec![false; size],
            sides: vec![0; size],
            left: 0,
            ends: 0,
            path: Vec::with_capacity(board.cells()),
            open_key: 0,
        };
        field.load(|cell| board.is_free(cell));
        field
    }

    /// Empties the path and opens the cells of the board for which `is_open` holds.
    pub(crate) fn load(&mut self, is_open: impl Fn(usize) -> bool) {
        let (width, height) = (self.stride - 2, self.size() / self.stride - 2);
        (self.left, self.ends, self.open_key) = (0, 0, 0);
        self.path.clear();
        for cell in 0..width * height {
            let at = self.padded(cell);
            self.open[at] = is_open(cell);
            if self.open[at] {
                self.left += 1;
                self.open_key = self.open_key.wrapping_add(cell_key(at));
            }
        }
        for cell in 0..width * height {
            let at = self.padded(cell);
            let sides = self.around(at).into_iter().filter(|&next| self.open[next]).count();
            self.sides[at] = sides as u8;
            self.ends += usize::from(self.open[at] && sides <= 1);
        }
    }

    /// The padded index of a cell of the board.
    pub(crate) fn padded(&self, cell: usize) -> usize {
        let width = self.stride - 2;
        (cell / width + 1) * self.stride + cell % width + 1
    }

    /// The visited cells in order, as cells of the board.
    pub(crate) fn board_path(&self) -> Vec<usize> {
        let width = self.stride - 2;
        let cell = |&cell: &u32| {
            let cell = cell as usize;
            (cell / self.stride - 1) * width + cell % self.stride - 1
        };
        self.path.iter().map(cell).collect()
    }

    /// The four neighbours of a cell that is not on the border.
    pub(crate) fn around(&self, cell: usize) -> [usize; 4] {
        self.steps.map(|step| cell.wrapping_add_signed(step))
    }

    /// Number of cells of the padded grid.
    pub(crate) fn size(&self) -> usize {
        self.open.len()
    }

    /// Whether a cell is free and not visited.
    pub(crate) fn is_open(&self, cell: usize) -> bool {
        self.open[cell]
    }

    /// Open neighbours of a cell.
    pub(crate) fn sides(&self, cell: usize) -> u8 {
        self.sides[cell]
    }

    /// Open cells.
    pub(crate) fn left(&self) -> usize {
        self.left
    }

    /// Whether the cell is one of the two colours of a chessboard.
    pub(crate) fn is_dark(&self, cell: usize) -> bool {
        (cell / self.stride + cell % self.stride) % 2 == 1
    }

    /// The cell visited last; 0, which is on the border, before the first.
    pub(crate) fn head(&self) -> usize {
        self.path.last().map_or(0, |&cell| cell as usize)
    }

    /// The key of the position: the head and the open cells.
    pub(crate) fn key(&self) -> u64 {
        self.open_key ^ cell_key(self.open.len() + self.head())
    }

    /// Number of visited cells.
    pub(crate) fn len(&self) -> usize {
        self.path.len()
    }

    /// Whether at most one open cell beside the head's neighbours is a dead end. Two dead ends
    /// cannot both be the end of the path.
    pub(crate) fn may_end(&self) -> bool {
        let near = self
            .around(self.head())
            .into_iter()
            .filter(|&next| self.open[next] && self.sides[next] <= 1)
            .count();
        self.ends - near <= 1
    }

    /// Visits an open cell.
    pub(crate) fn visit(&mut self, cell: usize) {
        self.open[cell] = false;
        self.open_key = self.open_key.wrapping_sub(cell_key(cell));
        self.left -= 1;
        self.ends -= usize::from(self.sides[cell] <= 1);
        for next in self.around(cell) {
            self.sides[next] = self.sides[next].wrapping_sub(1);
            self.ends += usize::from(self.open[next] && self.sides[next] == 1);
        }
        self.path.push(cell as u32);
    }

    /// Slides in direction `step` until the next cell is not open. Asks `leave` before it leaves each
    /// cell.
    pub(crate) fn slide<E>(
        &mut self,
        step: usize,
        mut leave: impl FnMut(usize) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut next = self.head().wrapping_add_signed(self.steps[step]);
        while self.open[next] {
            leave(self.head())?;
            self.visit(next);
            next = next.wrapping_add_signed(self.steps[step]);
        }
        Ok(())
    }

    /// Whether any cell visited after the first `length` may separate open cells: its open neighbours
    /// are not joined by the eight cells around it.
    pub(crate) fn separates(&self, length: usize) -> bool {
        let s = self.stride as isize;
        let ring = [s, s + 1, 1, 1 - s, -s, -s - 1, -1, s - 1];
        self.path[length..].iter().any(|&cell| {
            let open = ring.map(|step| self.open[(cell as usize).wrapping_add_signed(step)]);
            let runs = (0..4)
                .filter(|side| open[2 * side] && !(open[2 * side + 1] && open[(2 * side + 2) % 8]));
            runs.count() > 1
        })
    }

    /// The directions whose next cell is open, as a bit mask.
    pub(crate) fn options(&self) -> u8 {
        let around = self.around(self.head());
        (0..4).map(|step| u8::from(self.open[around[step]]) << step).sum()
    }

    /// Takes the visited cells back until `length` are left.
    pub(crate) fn shorten(&mut self, length: usize) {
        while self.path.len() > length {
            let Some(cell) = self.path.pop() else { return };
            let cell = cell as usize;
            for next in self.around(cell) {
                self.ends -= usize::from(self.open[next] && self.sides[next] == 1);
                self.sides[next] = self.sides[next].wrapping_add(1);
            }
            self.open[cell] = true;
            self.open_key = self.open_key.wrapping_add(cell_key(cell));
            self.left += 1;
            self.ends += usize::from(self.sides[cell] <= 1);
        }
    }
}
