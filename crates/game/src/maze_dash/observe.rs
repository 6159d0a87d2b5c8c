//! Observations for networks and drawings for people.
//!
//! | plane | what |
//! |---|---|
//! | 0 | cells that are left |
//! | 1 | visited cells |
//! | 2 | obstacles |
//! | 3 | head |
//! | 4 | cells that a slide from the head visits next |
//! | 5 | last cells of these slides |
//! | 6 | all ones if the next slide is forced |
//! | 7 | of a cell that is left: neighbours that are left, over 4 |
//! | 8 | cells that are left with at most one neighbour that is left or the head: ends of the path |
//! | 9 | share of the free cells that is visited, on all cells |

use std::fmt::Write;

use super::direction::Direction;
use super::snapshot::mark;
use super::state::State;

/// Planes of an observation.
pub(super) const CHANNELS: usize = 10;

/// Writes the planes of a state whose board has the size of `out`.
pub(super) fn write_planes(state: &State, out: &mut [f32]) {
    out.fill(0.0);
    let size = state.width() * state.height();
    let head = state.head();
    let (forced, share) = (state.options().is_power_of_two(), share(state));
    for cell in 0..size {
        if state.is_left(cell) {
            out[cell] = 1.0;
            let near = Direction::ALL.map(|direction| state.next(cell, direction));
            let degree = near.iter().flatten().count();
            let at_head = head.is_some_and(|head| is_neighbour(head, cell, state.width()));
            out[7 * size + cell] = count(degree) / 4.0;
            out[8 * size + cell] = f32::from(u8::from(degree + usize::from(at_head) < 2));
        } else {
            let plane = if state.is_free(cell) { 1 } else { 2 };
            out[plane * size + cell] = 1.0;
        }
    }
    out[6 * size..7 * size].fill(f32::from(u8::from(forced)));
    out[9 * size..].fill(share);
    let Some(head) = head else { return };
    out[3 * size + head] = 1.0;
    for direction in Direction::ALL {
        let mut last = head;
        while let Some(next) = state.next(last, direction) {
            out[4 * size + next] = 1.0;
            last = next;
        }
        if last != head {
            out[5 * size + last] = 1.0;
        }
    }
}

/// Whether two cells are neighbours.
fn is_neighbour(one: usize, other: usize, width: usize) -> bool {
    (one % width).abs_diff(other % width) + (one / width).abs_diff(other / width) == 1
}

/// Share of the free cells that is visited.
pub(super) fn share(state: &State) -> f32 {
    count(state.visited()) / count(state.cells())
}

/// A number of cells, at most 40,000, as a float.
fn count(cells: usize) -> f32 {
    f32::from(cells as u16)
}

/// Draws the board, top row first: `.` is left, `#` an obstacle, `o` visited, `@` the head.
pub(super) fn draw(state: &State) -> String {
    let (visited, cells) = (state.visited(), state.cells());
    let ending = match (state.head(), state.options()) {
        _ if visited == cells => ", solved",
        (Some(_), 0) => ", stuck",
        _ => "",
    };
    let mut text = format!("action {}, {visited} of {cells} cells{ending}\n", state.elapsed());
    for row in (0..state.height()).rev() {
        let cells = row * state.width()..(row + 1) * state.width();
        let _ = writeln!(text, "{}", cells.map(|cell| mark(state, cell)).collect::<String>());
    }
    text
}
