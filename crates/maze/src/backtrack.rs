//! Plain backtracking: all slides from all starts, with no test but the rules.
//!
//! This is the weakest method of the paper (arXiv 2005.14156, section III), for comparison. Forced
//! slides are not nodes, as in the other methods.

use std::convert::Infallible;

use ouro_game::maze_dash::Board;

use crate::field::Field;
use crate::solve::{Answer, Progress, Solved, WATCH_EVERY};

/// Tries all paths in the order of [`Direction::ALL`](ouro_game::maze_dash::Direction::ALL).
pub(crate) fn solve(board: &Board, watch: &(dyn Fn(Progress) -> bool + Sync)) -> Solved {
    let mut field = Field::new(board);
    let starts: Vec<usize> = match board.start() {
        Some(start) => vec![start],
        None => (0..board.width() * board.height()).filter(|&cell| board.is_free(cell)).collect(),
    };
    let mut progress = Progress { nodes: 0, round: 1, starts: starts.len() };
    // Cells visited before each decision, and the directions not tried.
    let mut decisions: Vec<(usize, u8)> = Vec::new();
    for start in starts {
        field.shorten(0);
        field.visit(field.padded(start));
        loop {
            while field.options().is_power_of_two() {
                let options = field.options();
                slide(&mut field, options);
            }
            if field.left() == 0 {
                return Solved { answer: Answer::Path(field.board_path()), progress };
            }
            decisions.push((field.len(), field.options()));
            while decisions.last().is_some_and(|&(_, options)| options == 0) {
                decisions.pop();
            }
            let Some((length, options)) = decisions.last_mut() else { break };
            field.shorten(*length);
            let left = *options;
            *options &= *options - 1;
            progress.nodes += 1;
            if progress.nodes.is_multiple_of(WATCH_EVERY) && !watch(progress) {
                return Solved { answer: Answer::Stopped, progress };
            }
            slide(&mut field, left);
        }
        progress.starts -= 1;
    }
    Solved { answer: Answer::NoSolution, progress }
}

/// Slides in the first of some directions.
fn slide(field: &mut Field, options: u8) {
    let Ok(()) = field.slide::<Infallible>(options.trailing_zeros() as usize, |_| Ok(()));
}
