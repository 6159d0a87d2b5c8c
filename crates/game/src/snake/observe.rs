//! Observations for networks and drawings for people.
//!
//! An observation is the paper's seven planes with cells 0 or 1:
//!
//! | plane | what |
//! |---|---|
//! | 0 to 3 | body without the head, where the next cell towards the head is up, down, left, right |
//! | 4 | head |
//! | 5 | tail |
//! | 6 | apple |

use std::fmt::Write;

use super::rules::{Ending, Snake};
use super::state::State;

/// Planes of an observation.
pub(super) const CHANNELS: usize = 7;

/// Marks of body cells by the direction towards the head.
const BODY: [char; 4] = ['^', 'v', '<', '>'];

impl<const W: usize> Snake<W> {
    /// Writes the planes; those of a state of another board size are all 0.
    pub(super) fn write_planes(&self, state: &State<W>, out: &mut [f32]) {
        out.fill(0.0);
        if state.size != self.config.size {
            return;
        }
        let cells = state.cells();
        for cell in state.occupied().iter() {
            let plane = if cell == state.head() { 4 } else { state.direction(cell) };
            out[plane * cells + cell] = 1.0;
        }
        out[5 * cells + state.tail()] = 1.0;
        if let Some(apple) = state.apple() {
            out[6 * cells + apple] = 1.0;
        }
    }

    /// Draws the board, top row first: the head `O`, body cells pointing towards it, the apple `*`.
    pub(super) fn draw(&self, state: &State<W>) -> String {
        let size = state.size();
        let mut marks = vec!['.'; state.cells()];
        state.trail().for_each(|cell| marks[cell] = BODY[state.direction(cell)]);
        marks[state.head()] = 'O';
        if let Some(apple) = state.apple() {
            marks[apple] = '*';
        }
        let ending = match self.ending(state) {
            None => "",
            Some(Ending::Won) => ", won",
            Some(Ending::OutOfTime) => ", out of time",
            Some(Ending::Stuck) => ", stuck",
        };
        let mut text = format!("step {}, length {}{ending}\n", state.elapsed(), state.length());
        for row in marks.chunks(size).rev() {
            for (x, mark) in row.iter().enumerate() {
                let gap = if x == 0 { "" } else { " " };
                let _ = write!(text, "{gap}{mark}");
            }
            text.push('\n');
        }
        text
    }
}
