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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_paths_together_visit_every_cell_once_step_by_step() {
        for (rows, columns) in [(10, 10), (10, 17), (23, 11)] {
            let board = Board::new(rows, columns, [Cell::new(5, 5)]).unwrap();
            let paths = sweep(&board).unwrap();
            let cells: Vec<Cell> =
                paths.iter().flatten().map(|&cell| board.cell(cell as usize)).collect();
            let mut sorted = cells.clone();
            sorted.sort_unstable_by_key(|cell| (cell.row, cell.column));
            sorted.dedup();
            assert_eq!(sorted.len(), usize::from(rows) * usize::from(columns));
            let is_step = |from: Cell, to: Cell| {
                from.row.abs_diff(to.row) + from.column.abs_diff(to.column) == 1
            };
            let (first, second) = cells.split_at(paths[0].len());
            assert!(is_step(first[0], second[0]), "the first cells are neighbours");
            for path in [first, second] {
                assert!(path.windows(2).all(|pair| is_step(pair[0], pair[1])));
            }
        }
    }

    #[test]
    fn a_side_without_two_empty_neighbours_has_no_sweep() {
        let wall = (1..=10).map(|column| Cell::new(1, column));
        assert!(sweep(&Board::new(10, 10, wall).unwrap()).is_none());
    }
}
