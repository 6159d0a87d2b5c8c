//! The first plan: both ends of the snake sweep the board side by side.
//!
//! The snake starts in the middle of one side of the board. One end sweeps the left half and the other
//! the right half, line by line, towards the opposite side. The cells that are not swept yet thereby
//! stay one region next to both ends: if the plan of one end breaks, the other end can take over its
//! cells. A spiral would separate the cells inside from those outside.

use ouro_game::snakgame::{Board, Cell, Content};

/// Two paths over all cells of the board, blocked ones included. The first cells are empty and next
/// to each other. `None` if no start is found near the middle of the side.
pub(crate) fn sweep(board: &Board) -> Option<[Vec<u32>; 2]> {
    let is_tall = board.rows() >= board.columns();
    let (lines, width) =
        if is_tall { (board.rows(), board.columns()) } else { (board.columns(), board.rows()) };
    let cell = |line: u16, place: u16| {
        if is_tall { Cell::new(line, place) } else { Cell::new(place, line) }
    };
    let is_start = |place: u16| {
        [place, place + 1].iter().all(|&place| board.content(cell(1, place)) == Content::Empty)
    };
    let middle = (1..width)
        .filter(|&place| is_start(place))
        .min_by_key(|&place| place.abs_diff(width / 2))?;
    let path = |first: u16, last: u16| -> Vec<u32> {
        let mut path = Vec::new();
        for line in 1..=lines {
            for step in 0..=first.abs_diff(last) {
                let (from, to) = if line % 2 == 1 { (first, last) } else { (last, first) };
                let place = if from < to { from + step } else { from - step };
                path.push(board.index(cell(line, place)) as u32);
            }
        }
        path
    };
    Some([path(middle, 1), path(middle + 1, width)])
}
