//! Boards of the contest from a seed.

use super::board::{Board, BoardError, MIN_SIDE};
use super::cell::Cell;
use crate::rng::Rng;

/// One cell in 25 is blocked, in millionths.
const BLOCKED_MILLIONTHS: u32 = 40_000;
/// Millionths of the whole.
const WHOLE: u32 = 1_000_000;

/// The two kinds of test of the contest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoardType {
    /// Type 1: sides of 200 to 300 cells.
    Small,
    /// Type 2: sides of 500 to 600 cells.
    Large,
}

/// A board of the contest: uniform sides of its type, each cell blocked with probability 1/25.
#[expect(clippy::missing_panics_doc, reason = "the sides are always valid")]
pub fn generate_official(kind: BoardType, seed: u64) -> Board {
    let least = match kind {
        BoardType::Small => 200,
        BoardType::Large => 500,
    };
    let mut rng = Rng::new(seed, "snakgame-sides");
    let [rows, columns] = [(); 2].map(|()| least + rng.below(101) as u16);
    Board::new(rows, columns, blocked(rows, columns, BLOCKED_MILLIONTHS, seed))
        .expect("sides of 200 to 600 are valid")
}

/// A board of given sides, each cell blocked with probability 1/25.
///
/// The sides are at least [`MIN_SIDE`].
pub fn generate(rows: u16, columns: u16, seed: u64) -> Result<Board, BoardError> {
    if rows < MIN_SIDE || columns < MIN_SIDE {
        return Err(BoardError::TooSmall { rows, columns });
    }
    // The size is checked before cells are drawn.
    Board::new(rows, columns, [])?;
    Board::new(rows, columns, blocked(rows, columns, BLOCKED_MILLIONTHS, seed))
}

/// The blocked cells of a board, row by row; each cell is blocked with so many millionths.
pub(super) fn blocked(
    rows: u16,
    columns: u16,
    millionths: u32,
    seed: u64,
) -> impl Iterator<Item = Cell> {
    let mut rng = Rng::new(seed, "snakgame-board");
    // In lowest terms, so that 1/25 draws the same numbers however it is written.
    let divisor = greatest_common_divisor(millionths, WHOLE);
    let (share, of) = (millionths / divisor, WHOLE / divisor);
    let cells =
        (1..=rows).flat_map(move |row| (1..=columns).map(move |column| Cell::new(row, column)));
    cells.filter(move |_| rng.below(of) < share)
}

fn greatest_common_divisor(a: u32, b: u32) -> u32 {
    if a == 0 { b } else { greatest_common_divisor(b % a, a) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_lie_in_the_ranges_of_their_type() {
        let mut sides = std::collections::BTreeSet::new();
        for seed in 0..40 {
            let board = generate_official(BoardType::Small, seed);
            for side in [board.rows(), board.columns()] {
                assert!((200..=300).contains(&side));
                sides.insert(side);
            }
        }
        assert!(sides.len() > 40, "{sides:?}");
        let board = generate_official(BoardType::Large, 1);
        assert!((500..=600).contains(&board.rows()) && (500..=600).contains(&board.columns()));
    }

    #[test]
    fn one_cell_in_25_is_blocked() {
        let board = generate(500, 500, 7).unwrap();
        // Binomial(250000, 1/25): 10000 with deviation 98; 5 sigma.
        assert!(board.blocked_count().abs_diff(10_000) < 490, "{}", board.blocked_count());
        assert_eq!(board, generate(500, 500, 7).unwrap());
        assert_ne!(board, generate(500, 500, 8).unwrap());
    }

    #[test]
    fn bad_sides_are_refused() {
        let error = |rows, columns| generate(rows, columns, 1).unwrap_err().to_string();
        assert_eq!(error(9, 30), "the board is 9x30; generated sides are 10 to 600");
        assert_eq!(error(30, 10_000), "the board is 30x10000; sides are 1 to 600");
    }
}
