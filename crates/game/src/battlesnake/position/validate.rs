//! Validates positions from outside.
//!
//! A valid position can be played: its snakes are connected and disjoint, and every count is
//! bounded. The checks take time and memory in proportion to the input. The first error in
//! reading order is reported.

use super::error::{
    MAX_FOOD_PER_CELL, MAX_HAZARDS, MAX_SIDE, MAX_SNAKES, MAX_TAIL_STACK, MAX_TURN, MIN_SIDE,
    PositionError,
};
use super::{Cause, Point, Position, Snake};

/// The snake and the segment on a cell.
type Seen = Option<(usize, usize)>;

impl Position {
    /// Checks everything that the engine relies on.
    ///
    /// `wrapped` says whether the ruleset joins opposite edges, so that a body may cross them.
    pub fn validate(&self, wrapped: bool) -> Result<(), PositionError> {
        for (side, value) in [("width", self.width), ("height", self.height)] {
            if !(MIN_SIDE..=MAX_SIDE).contains(&value) {
                return Err(PositionError::BoardSize { side, value });
            }
        }
        if self.turn > MAX_TURN {
            return Err(PositionError::Turn { value: self.turn });
        }
        let count = self.snakes.len();
        if count == 0 || count > MAX_SNAKES {
            return Err(PositionError::SnakeCount { count });
        }
        let mut seen = vec![None; self.cells()];
        for (index, snake) in self.snakes.iter().enumerate() {
            self.validate_length(index, snake)?;
            if snake.death.is_some() {
                self.validate_dead(index, snake)?;
            } else {
                self.validate_living(index, snake, wrapped, &mut seen)?;
            }
        }
        let repeated = self.validate_food()?;
        self.validate_growth(repeated)?;
        let hazards = self.hazards.len();
        if hazards > MAX_HAZARDS {
            return Err(PositionError::HazardCount { count: hazards });
        }
        let total = self.shrunk.iter().map(|&side| u32::from(side)).sum();
        if total > self.turn {
            return Err(PositionError::Shrunk { total, turn: self.turn });
        }
        Ok(())
    }

    /// Number of cells of the board.
    pub fn cells(&self) -> usize {
        usize::from(self.width) * usize::from(self.height)
    }

    /// Index of a cell, row by row from the bottom; `None` off the board.
    pub fn cell_index(&self, cell: Point) -> Option<usize> {
        let (width, height) = (usize::from(self.width), usize::from(self.height));
        let x = usize::try_from(cell.x).ok().filter(|&x| x < width)?;
        let y = usize::try_from(cell.y).ok().filter(|&y| y < height)?;
        Some(y * width + x)
    }

    /// Whether two cells of the board are adjacent, across edges too if the board is wrapped.
    fn adjacent(&self, a: Point, b: Point, wrapped: bool) -> bool {
        let step = |a: i32, b: i32, side: u8| {
            let distance = (a - b).abs();
            if wrapped { distance.min(i32::from(side) - distance) } else { distance }
        };
        step(a.x, b.x, self.width) + step(a.y, b.y, self.height) == 1
    }

    fn validate_length(&self, snake: usize, value: &Snake) -> Result<(), PositionError> {
        let length = value.body.len();
        let limit = self.cells() + MAX_TAIL_STACK;
        if length > limit {
            return Err(PositionError::BodyLength { snake, length, limit });
        }
        let least = i32::from(value.death.is_none());
        if !(least..=100).contains(&value.health) {
            return Err(PositionError::Health { snake, value: value.health, least });
        }
        Ok(())
    }

    fn validate_living(
        &self,
        snake: usize,
        value: &Snake,
        wrapped: bool,
        seen: &mut [Seen],
    ) -> Result<(), PositionError> {
        let body = &value.body;
        let stacked = stacked_cells(body);
        if stacked == 0 {
            return Err(PositionError::EmptyBody { snake });
        }
        if stacked > MAX_TAIL_STACK + 1 {
            return Err(PositionError::TailStack { snake, count: stacked });
        }
        for (segment, &cell) in body.iter().enumerate().take(body.len() - stacked + 1) {
            let Some(index) = self.cell_index(cell) else {
                let (width, height) = (self.width, self.height);
                return Err(PositionError::BodyOffBoard { snake, segment, cell, width, height });
            };
            if let Some(previous) = segment.checked_sub(1).map(|before| body[before]) {
                if previous == cell {
                    return Err(PositionError::Repeated { snake, segment, cell });
                }
                if !self.adjacent(previous, cell, wrapped) {
                    return Err(PositionError::Gap { snake, segment, cell, previous });
                }
            }
            if let Some((other, other_segment)) = seen[index].replace((snake, segment)) {
                return Err(if other == snake {
                    PositionError::SelfOverlap { snake, segment, earlier: other_segment, cell }
                } else {
                    PositionError::Overlap { snake, segment, other, other_segment, cell }
                });
            }
        }
        Ok(())
    }

    /// Checks a dead snake. Its body may leave the board by one cell, as after a fatal move.
    fn validate_dead(&self, snake: usize, value: &Snake) -> Result<(), PositionError> {
        let near = |at: i32, side: u8| (-1..=i32::from(side)).contains(&at);
        for (segment, &cell) in value.body.iter().enumerate() {
            if !near(cell.x, self.width) || !near(cell.y, self.height) {
                let (width, height) = (self.width, self.height);
                return Err(PositionError::BodyOffBoard { snake, segment, cell, width, height });
            }
        }
        let Some(death) = value.death else { return Ok(()) };
        let by = death.by;
        let others = |by: u8| usize::from(by) < self.snakes.len() && usize::from(by) != snake;
        let (fits, remedy) = match death.cause {
            Cause::Hazard | Cause::OutOfHealth | Cause::WallCollision => {
                (by.is_none(), "it must be absent for this cause")
            }
            Cause::SnakeSelfCollision => {
                (by.is_some_and(|by| usize::from(by) == snake), "it must be the snake itself")
            }
            Cause::SnakeCollision | Cause::HeadCollision => {
                (by.is_some_and(others), "it must be the index of another snake")
            }
        };
        if !fits {
            return Err(PositionError::DeathBy { snake, by, remedy });
        }
        if death.on == 0 || death.on > self.turn {
            return Err(PositionError::DeathOn { snake, on: death.on, turn: self.turn });
        }
        Ok(())
    }

    /// Checks that no snake can stack its tail too high by eating. `repeated` is the food beyond the
    /// first on its cell.
    ///
    /// A move takes one cell off a stacked tail, and each food on the new cell adds one. Later food
    /// appears on cells without food. A tail therefore grows by repeated food only, or from one cell to
    /// two, and a position that passes leads to positions that pass.
    fn validate_growth(&self, repeated: usize) -> Result<(), PositionError> {
        for (index, snake) in self.snakes.iter().enumerate() {
            let count = stacked_cells(&snake.body).max(2) + repeated;
            if snake.death.is_none() && count > MAX_TAIL_STACK + 1 {
                return Err(PositionError::TailGrowth { snake: index, count });
            }
        }
        Ok(())
    }

    /// Checks food. Returns how much of it lies on a cell beyond the first.
    fn validate_food(&self) -> Result<usize, PositionError> {
        let mut counts = vec![0_usize; self.cells()];
        let mut repeated = 0;
        for (index, &cell) in self.food.iter().enumerate() {
            let Some(at) = self.cell_index(cell) else {
                let (width, height) = (self.width, self.height);
                return Err(PositionError::FoodOffBoard { index, cell, width, height });
            };
            let count = &mut counts[at];
            *count += 1;
            if *count > MAX_FOOD_PER_CELL {
                return Err(PositionError::FoodStack { index, cell });
            }
            repeated += usize::from(*count > 1);
        }
        Ok(repeated)
    }
}

/// Equal cells at the end of a body; 0 only for no body.
fn stacked_cells(body: &[Point]) -> usize {
    let tail = body.last();
    body.iter().rev().take_while(|&cell| Some(cell) == tail).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::battlesnake::position::Death;

    fn snake(body: &[(i32, i32)]) -> Snake {
        Snake { health: 100, body: body.iter().map(|&cell| cell.into()).collect(), death: None }
    }

    fn position(snakes: Vec<Snake>) -> Position {
        Position {
            width: 7,
            height: 7,
            turn: 9,
            snakes,
            food: Vec::new(),
            hazards: Vec::new(),
            shrunk: [0; 4],
        }
    }

    #[test]
    fn a_stacked_start_and_a_grown_tail_are_fine() {
        let position = position(vec![snake(&[(1, 1); 3]), snake(&[(3, 3), (3, 4), (3, 4)])]);
        assert_eq!(position.validate(false), Ok(()));
    }

    #[test]
    fn a_body_may_cross_an_edge_on_a_wrapped_board_only() {
        let position = position(vec![snake(&[(0, 2), (6, 2), (5, 2)])]);
        assert_eq!(position.validate(true), Ok(()));
        let error = position.validate(false).expect_err("the cells are six columns apart");
        assert_eq!(error.field(), "snakes[0].body[1]");
        assert_eq!(
            error.to_string(),
            "snakes[0].body[1] is (6, 2); it must be next to body[0], (0, 2)"
        );
    }

    #[test]
    fn a_dead_snake_may_lie_off_the_board_and_under_the_living() {
        let mut dead = snake(&[(-1, 1), (0, 1), (1, 1)]);
        dead.death = Some(Death { cause: Cause::WallCollision, by: None, on: 4 });
        let position = position(vec![dead, snake(&[(1, 1), (1, 2), (1, 3)])]);
        assert_eq!(position.validate(false), Ok(()));
    }

    #[test]
    fn living_snakes_on_one_cell_are_told_apart_by_name() {
        let position = position(vec![snake(&[(1, 1), (1, 2)]), snake(&[(2, 2), (1, 2), (0, 2)])]);
        assert_eq!(
            position.validate(false).expect_err("both lie on (1, 2)").to_string(),
            "snakes[1].body[1] is (1, 2), where snakes[0].body[1] lies; living snakes do not share a cell"
        );
    }
}
