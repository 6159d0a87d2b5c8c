//! Drawings of Connect Four and tic-tac-toe, whose stones never move.

use std::any::Any;
use std::fmt::Write;

use ouro_game::connect_four::{self, ConnectFour};
use ouro_game::tic_tac_toe::{self, TicTacToe};

use super::board::BoardStyle;
use super::parts::{CELL, Drawing, colour};

/// The owner of each cell, and the length of a winning row.
struct Stones {
    width: usize,
    height: usize,
    row: usize,
    /// By row from the top, then column.
    owners: Vec<Option<usize>>,
}

pub(super) fn board_style(rules: &dyn Any) -> Option<BoardStyle> {
    use ouro_game::Game;
    if let Some(rules) = rules.downcast_ref::<ConnectFour>() {
        let (width, height) = (rules.config().width.into(), rules.config().height.into());
        return Some(BoardStyle::Holes { width, height });
    }
    rules.is::<TicTacToe>().then_some(BoardStyle::Cells { width: 3, height: 3 })
}

/// Draws a position; `None` if the rules are of another game.
pub(super) fn drawing(rules: &dyn Any, now: &dyn Any, before: Option<&dyn Any>) -> Option<Drawing> {
    let marks = rules.is::<TicTacToe>();
    let now = Stones::of(now)?;
    let before = before.and_then(Stones::of);
    Some(Drawing { board: now.draw(before.as_ref(), marks), ..Drawing::default() })
}

impl Stones {
    fn of(state: &dyn Any) -> Option<Self> {
        if let Some(state) = state.downcast_ref::<connect_four::State>() {
            let board = state.board();
            let (width, height) = (board.width(), board.height());
            let cells = (0..height).rev().flat_map(|row| (0..width).map(move |x| (x, row)));
            let owners = cells.map(|(column, row)| state.owner(column, row)).collect();
            return Some(Self { width, height, row: connect_four::Board::LINE, owners });
        }
        let marks = <[u16; 2]>::from(*state.downcast_ref::<tic_tac_toe::State>()?);
        let owner = |cell: usize| marks.iter().position(|marks| marks >> cell & 1 == 1);
        let cells = (0..3).rev().flat_map(|row| 3 * row..3 * row + 3);
        Some(Self { width: 3, height: 3, row: 3, owners: cells.map(owner).collect() })
    }

    /// The centre of a cell.
    fn centre(&self, cell: usize) -> (i32, i32) {
        let middle = |cells: usize| cells as i32 * CELL + CELL / 2;
        (middle(cell % self.width), middle(cell / self.width))
    }

    fn draw(&self, before: Option<&Self>, marks: bool) -> String {
        let mut svg = String::new();
        for (cell, owner) in self.owners.iter().enumerate() {
            let Some(owner) = *owner else { continue };
            let (x, y) = self.centre(cell);
            let new = before.is_some_and(|before| before.owners.get(cell) == Some(&None));
            let class = format!("{}{}", colour(owner), if new { " new" } else { "" });
            // Writing to a string cannot fail.
            let _ = match (marks, owner) {
                (false, _) => {
                    write!(svg, r#"<circle class="stone {class}" cx="{x}" cy="{y}" r="4"/>"#)
                }
                (true, 0) => {
                    let (left, top) = (x - 3, y - 3);
                    write!(svg, r#"<path class="mark {class}" d="M{left} {top}l6 6m0-6l-6 6"/>"#)
                }
                (true, _) => {
                    write!(svg, r#"<circle class="mark {class}" cx="{x}" cy="{y}" r="3"/>"#)
                }
            };
        }
        for (from, to) in self.lines() {
            let ((x1, y1), (x2, y2)) = (self.centre(from), self.centre(to));
            // Writing to a string cannot fail.
            let _ = write!(svg, r#"<path class="won" d="M{x1} {y1}L{x2} {y2}"/>"#);
        }
        svg
    }

    /// The first and last cell of every winning row.
    fn lines(&self) -> Vec<(usize, usize)> {
        let (width, height, row) = (self.width as i32, self.height as i32, self.row as i32);
        let mut lines = Vec::new();
        for cell in 0..self.owners.len() {
            let Some(owner) = self.owners[cell] else { continue };
            let (x, y) = (cell as i32 % width, cell as i32 / width);
            for (dx, dy) in [(1, 0), (0, 1), (1, 1), (1, -1)] {
                let (end_x, end_y) = (x + dx * (row - 1), y + dy * (row - 1));
                if !(0..width).contains(&end_x) || !(0..height).contains(&end_y) {
                    continue;
                }
                let at = |step: i32| ((y + dy * step) * width + x + dx * step) as usize;
                if (0..row).all(|step| self.owners[at(step)] == Some(owner)) {
                    lines.push((cell, at(row - 1)));
                }
            }
        }
        lines
    }
}
