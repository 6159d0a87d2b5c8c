//! Hazards: those of the starting position, or the cells that a royale board has lost.
//!
//! Hazards of the start never move and are kept as a count per cell. Entries off the board stay
//! in the list and have no effect. A royale board is a rectangle that loses one side at a time;
//! every cell outside it is a hazard.

use super::geometry::Geometry;
use super::position::Point;
use crate::grid::Bits;
use crate::symmetry::Symmetry;

/// The static hazards of a game, and the geometry of shrinking.
#[derive(Clone, Debug)]
pub(super) struct Hazards<const W: usize> {
    listed: Vec<Point>,
    counts: [[u16; 64]; W],
    cells: Bits<W>,
}

impl<const W: usize> Hazards<W> {
    pub(super) fn new(geometry: &Geometry<W>, listed: &[Point]) -> Self {
        let mut hazards =
            Self { listed: listed.to_vec(), counts: [[0; 64]; W], cells: Bits::EMPTY };
        for cell in listed.iter().filter_map(|&point| geometry.cell(point)) {
            hazards.counts[cell / 64][cell % 64] += 1;
            hazards.cells.insert(cell);
        }
        hazards
    }

    /// The hazards of the start, in order.
    pub(super) fn listed(&self) -> &[Point] {
        &self.listed
    }

    /// Cells with a hazard of the start.
    pub(super) fn cells(&self) -> Bits<W> {
        self.cells
    }

    /// Whether no hazard of the start is on the board.
    pub(super) fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Number of hazards of the start on a cell.
    pub(super) fn stack(&self, cell: usize) -> u16 {
        self.counts.as_flattened()[cell]
    }

    /// Whether the static hazards are invariant under a symmetry of the board.
    pub(super) fn is_invariant(&self, geometry: &Geometry<W>, symmetry: Symmetry) -> bool {
        let (width, height) = (geometry.width(), geometry.height());
        self.cells.iter().all(|cell| {
            let (x, y) = symmetry.cell(cell % width, cell / width, width, height);
            self.stack(y * width + x) == self.stack(cell)
        })
    }
}

/// Whether a cell lies outside the rectangle that remains after `shrunk` losses of the left,
/// right, bottom and top side.
pub(super) fn is_outside<const W: usize>(
    geometry: &Geometry<W>,
    shrunk: [u16; 4],
    cell: usize,
) -> bool {
    let (x, y) = (cell % geometry.width(), cell / geometry.width());
    let [left, right, bottom, top] = shrunk.map(usize::from);
    x < left || y < bottom || x + right >= geometry.width() || y + top >= geometry.height()
}

/// The set of cells outside the rectangle.
pub(super) fn outside_cells<const W: usize>(geometry: &Geometry<W>, shrunk: [u16; 4]) -> Bits<W> {
    let (width, height) = (geometry.width(), geometry.height());
    let [left, right, bottom, top] = shrunk.map(usize::from);
    let mut cells = Bits::EMPTY;
    for x in (0..left.min(width)).chain(width.saturating_sub(right)..width) {
        cells |= geometry.column(x);
    }
    for y in (0..bottom.min(height)).chain(height.saturating_sub(top)..height) {
        cells |= geometry.row(y);
    }
    cells
}

/// The cells outside the rectangle, column by column.
pub(super) fn outside<const W: usize>(geometry: &Geometry<W>, shrunk: [u16; 4]) -> Vec<Point> {
    let column = |x| (0..geometry.height() as i32).map(move |y| Point { x, y });
    let hurts = |&point: &Point| {
        geometry.cell(point).is_some_and(|cell| is_outside(geometry, shrunk, cell))
    };
    (0..geometry.width() as i32).flat_map(column).filter(hurts).collect()
}
