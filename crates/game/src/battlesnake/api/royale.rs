//! Infers from the hazards on a royale board how far each side has shrunk.
//!
//! The API lists hazards, not the sides that shrank. If the hazards are exactly the cells outside
//! a rectangle, each once, its margins are the counters. Otherwise the counters are unknown, and
//! the caller keeps the hazards as they are.

use crate::battlesnake::position::Position;

/// Margins left, right, bottom and top. `None` if the hazards are not a frame, or if the frame
/// needs more turns than have passed.
pub(super) fn shrunk(position: &Position) -> Option<[u16; 4]> {
    let (width, height) = (usize::from(position.width), usize::from(position.height));
    let mut hazard = vec![false; position.cells()];
    for &cell in &position.hazards {
        let slot = &mut hazard[position.cell_index(cell)?];
        if std::mem::replace(slot, true) {
            return None;
        }
    }
    let free = |column: usize, row: usize| !hazard[row * width + column];
    let columns = || (0..width).filter(|&x| (0..height).any(|y| free(x, y)));
    let rows = || (0..height).filter(|&y| (0..width).any(|x| free(x, y)));
    let (Some(left), Some(right)) = (columns().next(), columns().next_back()) else {
        // No cell is free. The fewest shrinks that cover the board are one per row or column.
        let counts = if width <= height { [width, 0, 0, 0] } else { [0, 0, height, 0] };
        return margins(position, counts.map(|count| count as u16));
    };
    let (bottom, top) = (rows().next()?, rows().next_back()?);
    if !(left..=right).all(|x| (bottom..=top).all(|y| free(x, y))) {
        return None;
    }
    let counts = [left, width - 1 - right, bottom, height - 1 - top];
    margins(position, counts.map(|count| count as u16))
}

fn margins(position: &Position, counts: [u16; 4]) -> Option<[u16; 4]> {
    let total: u32 = counts.iter().map(|&count| u32::from(count)).sum();
    (total <= position.turn).then_some(counts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::battlesnake::Point;

    fn board(turn: u32, hazards: impl IntoIterator<Item = (i32, i32)>) -> Position {
        Position {
            width: 4,
            height: 3,
            turn,
            snakes: Vec::new(),
            food: Vec::new(),
            hazards: hazards.into_iter().map(Point::from).collect(),
            shrunk: [0; 4],
        }
    }

    #[test]
    fn a_frame_gives_its_margins() {
        // One column on the left and the row on top: cells (1..4, 0..2) are free.
        let frame = [(0, 0), (0, 1), (0, 2), (1, 2), (2, 2), (3, 2)];
        assert_eq!(shrunk(&board(50, frame)), Some([1, 0, 0, 1]));
        assert_eq!(shrunk(&board(50, [])), Some([0; 4]));
    }

    #[test]
    fn a_frame_that_is_too_early_a_gap_and_a_stack_are_no_frames() {
        let frame = [(0, 0), (0, 1), (0, 2), (1, 2), (2, 2), (3, 2)];
        assert_eq!(shrunk(&board(1, frame)), None);
        assert_eq!(shrunk(&board(50, [(1, 1)])), None);
        assert_eq!(shrunk(&board(50, [(0, 0), (0, 1), (0, 2), (0, 2)])), None);
    }

    #[test]
    fn a_board_of_hazards_has_closed_in_at_least_once_per_row_or_column() {
        let all = (0..4).flat_map(|x| (0..3).map(move |y| (x, y)));
        // The short way to cover 4×3 is three rows; their sides are unknown.
        let counts = shrunk(&board(50, all)).expect("a full board is a frame");
        assert!(counts[0] + counts[1] >= 4 || counts[2] + counts[3] >= 3);
    }
}
