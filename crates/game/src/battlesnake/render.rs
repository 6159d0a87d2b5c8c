//! Draws a board for a terminal.

use std::fmt::Write;

use super::position::Cause;
use super::rules::Battlesnake;
use super::state::{Cell, State};

impl<C: Cell, const W: usize, const S: usize> Battlesnake<C, W, S> {
    /// Draws the board, top row first: heads `A` to `P`, bodies `a` to `p`, food `*`, hazards
    /// `#`. Below it is one line per snake.
    pub(super) fn draw_board(&self, state: &State<C, W, S>) -> String {
        let mut cells: Vec<char> = (0..self.geometry.cells())
            .map(|cell| if self.hazards_on(state, cell) > 0 { '#' } else { '.' })
            .collect();
        let mut put = |cell: usize, mark: char| {
            if let Some(slot) = cells.get_mut(cell) {
                *slot = mark;
            }
        };
        state.food().for_each(|food| put(food, '*'));
        for snake in state.living() {
            state.trail(snake).for_each(|cell| put(cell, letter(b'a', snake)));
            put(state.head(snake), letter(b'A', snake));
        }
        let mut text = format!("turn {}\n", state.turn());
        for row in cells.chunks(self.geometry.width()).rev() {
            for (x, mark) in row.iter().enumerate() {
                let gap = if x == 0 { "" } else { " " };
                let _ = write!(text, "{gap}{mark}");
            }
            text.push('\n');
        }
        for snake in 0..usize::from(state.snakes) {
            text.push_str(&legend(state, snake));
        }
        text
    }
}

fn legend<C: Cell, const W: usize, const S: usize>(state: &State<C, W, S>, snake: usize) -> String {
    let name = letter(b'A', snake);
    let (health, length) = (state.health(snake), state.length(snake));
    let Some(death) = state.death(snake) else {
        return format!("{name} health {health}, length {length}\n");
    };
    let by = match death.by {
        Some(by) if usize::from(by) != snake => format!(" with {}", letter(b'A', by.into())),
        _ => String::new(),
    };
    format!("{name} died on turn {}: {}{by}, length {length}\n", death.on, cause(death.cause))
}

/// The letter of a snake, counted from `first`.
fn letter(first: u8, snake: usize) -> char {
    char::from(first + (snake % 16) as u8)
}

fn cause(cause: Cause) -> &'static str {
    match cause {
        Cause::Hazard => "hazard",
        Cause::OutOfHealth => "out of health",
        Cause::WallCollision => "wall collision",
        Cause::SnakeSelfCollision => "collision with itself",
        Cause::SnakeCollision => "collision",
        Cause::HeadCollision => "head collision",
    }
}
