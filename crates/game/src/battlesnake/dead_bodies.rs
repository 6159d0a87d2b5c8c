//! Bodies of dead snakes, for those who show or compare whole positions.
//!
//! The state drops a body when its snake dies. A [`DeadBodies`] watches the steps of one game
//! and keeps each body as the official engine does: as it lay at death, the head perhaps off
//! the board, growing on under the constrictor rulesets.

use super::position::{Point, Position};

/// What a step tells about the dead. Every method does nothing unless it is written, and then
/// costs nothing.
pub trait StepObserver {
    /// A snake has died; `body` lists its cells, head first.
    fn snake_died(&mut self, _snake: usize, _body: impl FnOnce() -> Vec<Point>) {}

    /// The turn ends with the growth of every snake, dead ones too.
    fn snakes_grew(&mut self) {}
}

/// Nobody watches.
impl StepObserver for () {}

/// The bodies of the dead by snake; empty for the living.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadBodies {
    bodies: Vec<Vec<Point>>,
}

impl DeadBodies {
    /// For a game of this many snakes in which nobody has died yet.
    pub fn new(snakes: usize) -> Self {
        Self { bodies: vec![Vec::new(); snakes] }
    }

    /// For a game that starts from a position, with the dead it already has.
    pub fn from_position(start: &Position) -> Self {
        let body = |snake: &super::Snake| match snake.death {
            Some(_) => snake.body.clone(),
            None => Vec::new(),
        };
        Self { bodies: start.snakes.iter().map(body).collect() }
    }

    /// One body per snake, head first.
    pub fn bodies(&self) -> &[Vec<Point>] {
        &self.bodies
    }
}

impl StepObserver for DeadBodies {
    fn snake_died(&mut self, snake: usize, body: impl FnOnce() -> Vec<Point>) {
        if let Some(slot) = self.bodies.get_mut(snake) {
            *slot = body();
        }
    }

    fn snakes_grew(&mut self) {
        for body in &mut self.bodies {
            if let [.., before, last] = body[..]
                && before != last
            {
                body.push(last);
            }
        }
    }
}
