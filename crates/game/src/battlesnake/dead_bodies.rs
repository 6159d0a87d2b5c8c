//! Bodies of dead snakes, for drawing and for comparing whole positions.
//!
//! The state drops a body when its snake dies. A [`DeadBodies`] observes the steps of one game
//! and keeps each body as the official engine does. The body stays as it was at death, with the
//! head possibly off the board, and continues to grow under constrictor rulesets.

use super::position::{Point, Position, Snake};

/// Receives the events of a step. The default methods do nothing and cost nothing.
pub trait StepObserver {
    /// Called when a snake dies; `body` computes its cells, head first.
    fn snake_died(&mut self, _snake: usize, _body: impl FnOnce() -> Vec<Point>) {}

    /// Called at the end of a turn in which every snake grows, dead snakes included.
    fn snakes_grew(&mut self) {}
}

/// Ignores all events.
impl StepObserver for () {}

/// The bodies of dead snakes by index; empty for living snakes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadBodies {
    bodies: Vec<Vec<Point>>,
}

impl DeadBodies {
    /// For a game of `snakes` snakes that are all alive.
    pub fn new(snakes: usize) -> Self {
        Self { bodies: vec![Vec::new(); snakes] }
    }

    /// For a game that starts from `start`, with the bodies of its dead snakes.
    pub fn from_position(start: &Position) -> Self {
        let body = |snake: &Snake| match snake.death {
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
