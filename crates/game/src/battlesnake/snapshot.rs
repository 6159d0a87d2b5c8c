//! The portable form of a state, and conversions to and from a [`Position`].
//!
//! A [`Snapshot`] is a position plus the pending chance of this turn, the origin of hazards and
//! the lengths of dead snakes. Deserialisation validates all fields, so every state that exists
//! can be played.

use serde::{Deserialize, Serialize};

use super::geometry::{Geometry, torus_cell};
use super::position::{Point, Position, PositionError, Snake};
use super::state::{Cell, Pending, State};

/// A state as JSON. Its position lists no hazards, since they follow from the rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Snapshot {
    position: Position,
    lengths: Vec<u16>,
    closing: bool,
    pending: Pending,
}

/// Reason why a position or a snapshot is not a valid state.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// The position is invalid.
    #[error(transparent)]
    Position(#[from] PositionError),
    /// The board has more cells than this size class holds.
    #[error("board has {cells} cells; this class of board holds {limit}")]
    Cells {
        /// Cells of the position.
        cells: usize,
        /// Cells the class holds.
        limit: usize,
    },
    /// There are more snakes than this size class holds.
    #[error("snakes has {count} entries; this class of board holds {limit}")]
    Snakes {
        /// Snakes of the position.
        count: usize,
        /// Snakes the class holds.
        limit: usize,
    },
    /// Repeated food that could overflow the food list later.
    #[error("food repeats cells {count} times; at most {limit} repetitions fit this board")]
    Food {
        /// Entries beyond the first on their cell.
        count: usize,
        /// Allowed repetitions.
        limit: usize,
    },
    /// A length that differs from the cells of its snake.
    #[error("lengths has {got} where the body of snake {snake} has {expected} cells")]
    Length {
        /// Index of the snake.
        snake: usize,
        /// The length given.
        got: u16,
        /// The cells of its body.
        expected: usize,
    },
    /// The number of lengths differs from the number of snakes.
    #[error("lengths has {got} entries for {expected} snakes")]
    LengthCount {
        /// Entries given.
        got: usize,
        /// Snakes.
        expected: usize,
    },
    /// Pending food of 0, or more than there are legal cells.
    #[error("pending.food is {got}; it must be 1 to the {free} cells that may get food")]
    Pending {
        /// Pending foods.
        got: u16,
        /// Cells that may get food.
        free: u32,
    },
    /// A snapshot with hazards, which are not read from there.
    #[error("position.hazards has {0} entries; a state has none of its own, put them in `start`")]
    Hazards(usize),
}

impl<C: Cell, const W: usize, const S: usize> State<C, W, S> {
    /// Packs a position. Bodies of dead snakes and hazards are dropped.
    pub(super) fn from_position(position: &Position) -> Result<Self, StateError> {
        // Bodies may run across edges in any state: the ruleset is not known here.
        position.validate(true)?;
        let cells = usize::from(position.width) * usize::from(position.height);
        let limit = 64 * W;
        if cells > limit || cells > C::CELLS {
            return Err(StateError::Cells { cells, limit });
        }
        let (count, limit) = (position.snakes.len(), S);
        if count > limit {
            return Err(StateError::Snakes { count, limit });
        }
        let mut state = Self::empty(position.width, position.height, count as u8);
        state.turn = position.turn;
        state.shrunk = position.shrunk;
        Self::check_food(position)?;
        for &food in &position.food {
            state.add_food(state.cell(food));
        }
        for (index, snake) in position.snakes.iter().enumerate() {
            state.add_snake(index, snake);
        }
        Ok(state)
    }

    /// Checks that a list of `64 * W` foods never overflows. Later food appears on empty cells only, so
    /// repetitions are bounded by the free entries.
    pub(super) fn check_food(position: &Position) -> Result<(), StateError> {
        let limit = (64 * W).saturating_sub(position.cells());
        let count = position.repeated_food();
        if count > limit { Err(StateError::Food { count, limit }) } else { Ok(()) }
    }

    /// Adds a snake of a valid position.
    fn add_snake(&mut self, index: usize, snake: &Snake) {
        self.health[index] = snake.health as u8;
        self.lengths[index] = snake.body.len() as u16;
        self.deaths[index] = snake.death;
        let (Some(&head), Some(&tail), None) = (snake.body.first(), snake.body.last(), snake.death)
        else {
            return;
        };
        self.alive |= 1 << index;
        self.heads[index] = C::new(self.cell(head));
        self.tails[index] = C::new(self.cell(tail));
        let repeated = snake.body.iter().rev().take_while(|&&cell| cell == tail).count();
        self.stacks[index] = repeated as u16 - 1;
        for &cell in &snake.body {
            self.occupied.insert(self.cell(cell));
        }
        for pair in snake.body.windows(2).filter(|pair| pair[0] != pair[1]) {
            let (to, from) = (self.cell(pair[0]), self.cell(pair[1]));
            let (width, height) = (self.width.into(), self.height.into());
            let leads = |&step: &usize| torus_cell(from, step, width, height) == to;
            let direction = (0..4).find(leads).unwrap_or_default();
            self.point_towards(from, direction);
        }
    }

    fn cell(&self, point: Point) -> usize {
        point.y as usize * usize::from(self.width) + point.x as usize
    }

    fn point(&self, cell: usize) -> Point {
        let width = usize::from(self.width);
        Point { x: (cell % width) as i32, y: (cell / width) as i32 }
    }

    /// The position without hazards and without the bodies of dead snakes.
    pub(super) fn bare_position(&self) -> Position {
        Position {
            width: self.width,
            height: self.height,
            turn: self.turn,
            snakes: (0..self.snakes.into()).map(|snake| self.snake(snake)).collect(),
            food: self.food().map(|cell| self.point(cell)).collect(),
            hazards: Vec::new(),
            shrunk: self.shrunk,
        }
    }

    fn snake(&self, index: usize) -> Snake {
        let mut body: Vec<Point> = self.trail(index).map(|cell| self.point(cell)).collect();
        body.reverse();
        if let Some(&tail) = body.last() {
            body.extend(std::iter::repeat_n(tail, self.stacks[index].into()));
        }
        Snake { health: self.health[index].into(), body, death: self.deaths[index] }
    }
}

impl<C: Cell, const W: usize, const S: usize> From<State<C, W, S>> for Snapshot {
    fn from(state: State<C, W, S>) -> Self {
        Self {
            position: state.bare_position(),
            lengths: state.lengths[..state.snakes.into()].to_vec(),
            closing: state.closing,
            pending: state.pending,
        }
    }
}

impl<C: Cell, const W: usize, const S: usize> TryFrom<Snapshot> for State<C, W, S> {
    type Error = StateError;

    fn try_from(snapshot: Snapshot) -> Result<Self, StateError> {
        let hazards = snapshot.position.hazards.len();
        if hazards > 0 {
            return Err(StateError::Hazards(hazards));
        }
        let mut state = Self::from_position(&snapshot.position)?;
        let (got, expected) = (snapshot.lengths.len(), snapshot.position.snakes.len());
        if got != expected {
            return Err(StateError::LengthCount { got, expected });
        }
        for (snake, &got) in snapshot.lengths.iter().enumerate() {
            let expected = snapshot.position.snakes[snake].body.len();
            if expected != usize::from(got) && state.is_alive(snake) {
                return Err(StateError::Length { snake, got, expected });
            }
            state.lengths[snake] = got;
        }
        if let Pending::Food(got) = snapshot.pending {
            let geometry = Geometry::new(state.width, state.height, false);
            let free = state.legal_food(&geometry).count();
            if got == 0 || u32::from(got) > free {
                return Err(StateError::Pending { got, free });
            }
        }
        state.closing = snapshot.closing;
        state.pending = snapshot.pending;
        Ok(state)
    }
}
