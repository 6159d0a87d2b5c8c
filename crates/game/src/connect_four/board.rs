//! Bitboard geometry: bits of cells, and lines of four.
//!
//! Columns are consecutive, `height + 1` bits each, lowest row first. The extra bit on top of
//! each column stays empty, so that a shift never carries a line from one column into the next.
//! The layout is John Tromp's.

/// The size of a board and its masks. Every state holds a copy, so that it can be interpreted
/// without the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Board {
    /// The lowest cell of every column.
    bottom: u64,
    width: u8,
    height: u8,
}

impl Board {
    /// Stones in a row that win.
    pub const LINE: usize = 4;
    /// Most columns of a board: 64 bits of at least five.
    pub(super) const MOST_COLUMNS: usize = 12;

    /// A board of at least 4×4 whose `width * (height + 1)` bits fit 64, or `None`.
    pub const fn new(width: u8, height: u8) -> Option<Self> {
        if width < 4 || height < 4 || width as u32 * (height as u32 + 1) > 64 {
            return None;
        }
        let mut bottom = 0;
        let mut column = 0;
        while column < width {
            bottom |= 1 << (column * (height + 1));
            column += 1;
        }
        Some(Self { bottom, width, height })
    }

    /// Columns.
    pub const fn width(self) -> usize {
        self.width as usize
    }

    /// Rows.
    pub const fn height(self) -> usize {
        self.height as usize
    }

    /// Number of cells.
    pub const fn cells(self) -> u32 {
        self.width as u32 * self.height as u32
    }

    /// Bits from one column to the next.
    pub(super) const fn stride(self) -> u32 {
        self.height as u32 + 1
    }

    /// All cells.
    pub(super) const fn full(self) -> u64 {
        // Each column of `bottom` times 2^height - 1 fills that column.
        self.bottom * ((1 << self.height) - 1)
    }

    /// The cells of one column.
    pub(super) const fn column(self, column: usize) -> u64 {
        ((1 << self.height) - 1) << (column as u32 * self.stride())
    }

    /// The bit of a cell.
    pub(super) const fn cell(self, column: usize, row: usize) -> u64 {
        1 << (column as u32 * self.stride() + row as u32)
    }

    /// The upper cells when each column is cut into pairs from the top: rows `height - 1`,
    /// `height - 3` and so on.
    pub(super) const fn upper_rows(self) -> u64 {
        let rows = 0x5555_5555 << (1 - self.height % 2);
        self.bottom * (rows & ((1 << self.height) - 1))
    }

    /// Where the next stone of each column would land, given all stones.
    pub(super) const fn playable(self, stones: u64) -> u64 {
        // Adding one to a column of n ones carries into its bit n.
        (stones + self.bottom) & self.full()
    }

    /// Whether a set of stones holds four in a row.
    pub(super) const fn has_line(self, stones: u64) -> bool {
        let stride = self.stride();
        let vertical = stones & stones >> 1;
        let horizontal = stones & stones >> stride;
        let falling = stones & stones >> (stride - 1);
        let rising = stones & stones >> (stride + 1);
        vertical & vertical >> 2
            | horizontal & horizontal >> (2 * stride)
            | falling & falling >> (2 * (stride - 1))
            | rising & rising >> (2 * (stride + 1))
            != 0
    }

    /// The empty cells that would complete four in a row for the owner of `own`, whether a stone
    /// can reach them now or not.
    pub(super) const fn completing(self, own: u64, stones: u64) -> u64 {
        let below = own << 1 & own << 2 & own << 3;
        let stride = self.stride();
        let cells = below
            | Self::completing_along(own, stride - 1)
            | Self::completing_along(own, stride)
            | Self::completing_along(own, stride + 1);
        cells & (self.full() & !stones)
    }

    /// The cells that complete four in a row in the direction of `step`.
    const fn completing_along(own: u64, step: u32) -> u64 {
        let two_before = own << step & own << (2 * step);
        let two_after = own >> step & own >> (2 * step);
        two_before & own << (3 * step)
            | two_before & own >> step
            | two_after & own << step
            | two_after & own >> (3 * step)
    }

    /// Mirror image of a set of bits, left and right swapped.
    pub(super) fn mirror(self, bits: u64) -> u64 {
        let stride = self.stride();
        let column = u64::MAX >> (64 - stride);
        (0..u32::from(self.width)).fold(0, |image, index| {
            let from = index * stride;
            let to = (u32::from(self.width) - 1 - index) * stride;
            image | (bits >> from & column) << to
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rng;

    /// Four in a row by a search over all cells and directions.
    fn has_line_by_walking(board: Board, stones: u64) -> bool {
        let at = |column: isize, row: isize| {
            (0..board.width() as isize).contains(&column)
                && (0..board.height() as isize).contains(&row)
                && stones & board.cell(column as usize, row as usize) != 0
        };
        (0..board.width() as isize).any(|column| {
            (0..board.height() as isize).any(|row| {
                [(1, 0), (0, 1), (1, 1), (1, -1)]
                    .iter()
                    .any(|(dx, dy)| (0..4).all(|step| at(column + step * dx, row + step * dy)))
            })
        })
    }

    #[test]
    fn lines_and_completing_cells_agree_with_walking_over_the_board() {
        let mut rng = Rng::new(1, "test");
        let sizes = [(7, 6), (4, 4), (5, 4), (9, 6), (4, 15), (8, 7), (12, 4)];
        for (width, height) in sizes {
            let board = Board::new(width, height).expect("fits");
            for _ in 0..2_000 {
                let own = rng.bits() & rng.bits() & board.full();
                // The other player's stones fill the gaps, as gravity demands.
                let taken = (0..board.width()).fold(0, |taken, column| {
                    let below_top =
                        u64::MAX >> (own & board.column(column)).leading_zeros().min(63);
                    let filled = own & board.column(column) != 0;
                    taken | if filled { below_top & board.column(column) } else { 0 }
                });
                assert_eq!(board.has_line(own), has_line_by_walking(board, own), "{own:b}");
                if board.has_line(own) {
                    continue;
                }
                let completing = board.completing(own, taken);
                for column in 0..board.width() {
                    for row in 0..board.height() {
                        let cell = board.cell(column, row);
                        let expected = taken & cell == 0 && has_line_by_walking(board, own | cell);
                        assert_eq!(completing & cell != 0, expected, "{own:b} {column},{row}");
                    }
                }
            }
        }
    }

    #[test]
    fn only_boards_that_fit_the_bits_exist() {
        assert!(Board::new(7, 6).is_some());
        assert!(Board::new(8, 7).is_some());
        assert!(Board::new(3, 6).is_none());
        assert!(Board::new(7, 3).is_none());
        assert!(Board::new(9, 7).is_none());
        assert!(Board::new(255, 255).is_none());
    }
}
