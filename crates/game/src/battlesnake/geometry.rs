//! Neighbour tables of a board, with plain or wrapped edges.
//!
//! Cell `(x, y)` has index `y * width + x`. The tables cover every index that the size class can
//! hold, so that a state of another board size never indexes past them.

use super::position::Point;
use crate::grid::{Bits, STEPS};

/// The value of [`Geometry::ahead`] beyond a wall.
pub const WALL: u16 = u16::MAX;

/// Tables of one board. `W` is the number of words of a set of cells.
#[derive(Clone, Debug)]
pub struct Geometry<const W: usize> {
    width: usize,
    height: usize,
    /// Neighbours under the ruleset: [`WALL`] or the wrapped cell beyond an edge.
    ahead: [[[u16; 4]; 64]; W],
    /// Neighbours on the torus, which body directions refer to under every ruleset.
    torus: [[[u16; 4]; 64]; W],
    /// The up to four neighbours within the board.
    around: [[Bits<W>; 64]; W],
    board: Bits<W>,
    first_column: Bits<W>,
    last_column: Bits<W>,
    wrapped: bool,
}

impl<const W: usize> Geometry<W> {
    /// The tables of a board of at most `64 * W` cells.
    pub fn new(width: u8, height: u8, wrapped: bool) -> Self {
        let (width, height) = (usize::from(width), usize::from(height));
        let mut geometry = Self {
            width,
            height,
            ahead: [[[WALL; 4]; 64]; W],
            torus: [[[0; 4]; 64]; W],
            around: [[Bits::EMPTY; 64]; W],
            board: Bits::first(width * height),
            first_column: Bits::EMPTY,
            last_column: Bits::EMPTY,
            wrapped,
        };
        for row in 0..height {
            geometry.first_column.insert(row * width);
            geometry.last_column.insert(row * width + width - 1);
        }
        for cell in 0..width * height {
            let at = geometry.point(cell);
            for (direction, (dx, dy)) in STEPS.into_iter().enumerate() {
                let next = Point { x: at.x + dx, y: at.y + dy };
                let inside = geometry.cell(next);
                let around = torus_cell(cell, direction, width, height) as u16;
                geometry.torus[cell / 64][cell % 64][direction] = around;
                let ahead = if wrapped { around } else { inside.map_or(WALL, |cell| cell as u16) };
                geometry.ahead[cell / 64][cell % 64][direction] = ahead;
                if let Some(inside) = inside {
                    geometry.around[cell / 64][cell % 64].insert(inside);
                }
            }
        }
        geometry
    }

    /// Number of columns.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Number of rows.
    pub fn height(&self) -> usize {
        self.height
    }

    /// Number of cells.
    pub fn cells(&self) -> usize {
        self.width * self.height
    }

    /// All cells of the board.
    #[inline]
    pub fn board(&self) -> Bits<W> {
        self.board
    }

    /// The cells of column `x`.
    pub fn column(&self, x: usize) -> Bits<W> {
        self.first_column.raised(x) & self.board
    }

    /// The cells of row `y`.
    pub fn row(&self, y: usize) -> Bits<W> {
        Bits::first(self.width).raised(y * self.width) & self.board
    }

    /// Whether opposite edges are joined for heads.
    pub fn is_wrapped(&self) -> bool {
        self.wrapped
    }

    /// Every cell that a head on one of `cells` can enter: all neighbours, across edges only on
    /// a wrapped board.
    #[inline]
    pub fn spread(&self, cells: Bits<W>) -> Bits<W> {
        // No board has 64 columns.
        let width = self.width;
        let reached = cells.without(self.last_column).raised_little(1)
            | cells.without(self.first_column).lowered_little(1)
            | cells.raised_little(width)
            | cells.lowered_little(width);
        if self.wrapped {
            return (reached | self.spread_across_edges(cells)) & self.board;
        }
        reached & self.board
    }

    /// The cells that a head on one of `cells` enters across an edge of a wrapped board.
    #[inline(never)]
    fn spread_across_edges(&self, cells: Bits<W>) -> Bits<W> {
        let width = self.width;
        let height = width * (self.height - 1);
        (cells & self.first_column).raised(width - 1)
            | (cells & self.last_column).lowered(width - 1)
            | cells.raised(height)
            | cells.lowered(height)
    }

    /// Every cell that a head at `cell` can enter: the [`spread`](Self::spread) of a single cell. On
    /// a plain board it is a lookup.
    #[inline]
    pub fn spread_from(&self, cell: usize) -> Bits<W> {
        if self.wrapped { self.spread(Bits::one(cell)) } else { self.around(cell) }
    }

    /// The cell that a head at `cell` enters, or [`WALL`].
    #[inline]
    pub fn ahead(&self, cell: usize) -> [u16; 4] {
        self.ahead.as_flattened()[cell]
    }

    /// The neighbour with opposite edges joined.
    #[inline]
    pub fn torus(&self, cell: usize, direction: usize) -> usize {
        usize::from(self.torus.as_flattened()[cell][direction & 3])
    }

    /// The neighbours within the board; edges are never joined.
    #[inline]
    pub fn around(&self, cell: usize) -> Bits<W> {
        self.around.as_flattened()[cell]
    }

    /// Coordinates of a cell.
    pub fn point(&self, cell: usize) -> Point {
        Point { x: (cell % self.width) as i32, y: (cell / self.width) as i32 }
    }

    /// The cell at a point, if it lies on the board.
    pub fn cell(&self, point: Point) -> Option<usize> {
        let x = usize::try_from(point.x).ok().filter(|&x| x < self.width)?;
        let y = usize::try_from(point.y).ok().filter(|&y| y < self.height)?;
        Some(y * self.width + x)
    }
}

/// The neighbour of a cell on a board whose opposite edges are joined.
pub(super) fn torus_cell(cell: usize, direction: usize, width: usize, height: usize) -> usize {
    let (x, y) = (cell % width, cell / width);
    match direction & 3 {
        0 => (y + 1) % height * width + x,
        1 => (y + height - 1) % height * width + x,
        2 => y * width + (x + width - 1) % width,
        _ => y * width + (x + 1) % width,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walls_stop_a_head_on_a_plain_board_and_join_edges_on_a_wrapped_one() {
        let (plain, wrapped) = (Geometry::<2>::new(3, 4, false), Geometry::<2>::new(3, 4, true));
        assert_eq!(plain.ahead(0), [3, WALL, WALL, 1]);
        assert_eq!(wrapped.ahead(0), [3, 9, 2, 1]);
        assert_eq!(plain.torus(0, 1), 9);
        assert_eq!(wrapped.around(0).iter().collect::<Vec<_>>(), [1, 3]);
    }

    #[test]
    fn a_set_spreads_to_what_heads_on_it_can_enter() {
        for (width, height) in [(3, 3), (7, 7), (11, 11), (5, 25), (25, 3), (25, 25)] {
            for wrapped in [false, true] {
                let geometry = Geometry::<10>::new(width, height, wrapped);
                for cell in 0..geometry.cells() {
                    let mut ahead = Bits::EMPTY;
                    let entered = geometry.ahead(cell).into_iter().filter(|&next| next != WALL);
                    entered.for_each(|next| ahead.insert(next.into()));
                    let mut alone = Bits::EMPTY;
                    alone.insert(cell);
                    assert_eq!(geometry.spread(alone), ahead, "{width}x{height} {cell}");
                    assert_eq!(geometry.spread_from(cell), ahead, "{width}x{height} {cell}");
                }
            }
        }
        let geometry = Geometry::<2>::new(3, 4, false);
        assert_eq!(geometry.column(2).iter().collect::<Vec<_>>(), [2, 5, 8, 11]);
        assert_eq!(geometry.row(1).iter().collect::<Vec<_>>(), [3, 4, 5]);
    }

    #[test]
    fn points_and_cells_are_inverse() {
        let geometry = Geometry::<10>::new(25, 25, false);
        for cell in 0..625 {
            assert_eq!(geometry.cell(geometry.point(cell)), Some(cell));
        }
        assert_eq!(geometry.cell(Point { x: 25, y: 0 }), None);
        assert_eq!(geometry.cell(Point { x: 0, y: -1 }), None);
    }
}
