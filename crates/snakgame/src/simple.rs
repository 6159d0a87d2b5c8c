//! Strategies that extend the snake by a local rule and plan nothing.
//!
//! All of them start a new snake on a uniform empty cell when the current one cannot be extended.

use ouro_game::Rng;
use ouro_game::snakgame::{Chef, Move, Position, Side, Strategy};

use crate::field::Field;

/// Extends to a uniform cell among the empty neighbours of both ends.
pub struct RandomExtension(Rng);

/// Extends the first end that it can, in the order up, right, down, left.
pub struct DirectionPriority(Rng);

/// Extends to the cell with the fewest empty neighbours; ties are broken at random.
pub struct FewestFree(Rng);

/// Plays as Chef does, but never freezes.
pub struct ChefLike(Chef);

impl RandomExtension {
    /// The strategy with its own random numbers.
    pub fn new(seed: u64) -> Self {
        Self(Rng::new(seed, "snakgame-random"))
    }
}

impl DirectionPriority {
    /// The strategy with its own random numbers.
    pub fn new(seed: u64) -> Self {
        Self(Rng::new(seed, "snakgame-priority"))
    }
}

impl FewestFree {
    /// The strategy with its own random numbers.
    pub fn new(seed: u64) -> Self {
        Self(Rng::new(seed, "snakgame-fewest"))
    }
}

impl ChefLike {
    /// The strategy with its own random numbers.
    pub fn new(seed: u64) -> Self {
        Self(Chef::without_freezes(seed))
    }
}

/// A new snake on a uniform empty cell.
fn anywhere(position: &Position, rng: &mut Rng) -> Move {
    position.board().sample_empty(rng).map_or(Move::Exit, Move::New)
}

impl Strategy for RandomExtension {
    fn choose(&mut self, position: &Position) -> Move {
        let count = position.extensions().count() as u32;
        let chosen = position.extensions().nth(self.0.below(count) as usize);
        chosen.unwrap_or_else(|| anywhere(position, &mut self.0))
    }
}

impl Strategy for DirectionPriority {
    fn choose(&mut self, position: &Position) -> Move {
        let field = Field::new(position.board());
        let ends = position.snakes(Side::First).current().map_or([].as_slice(), |_| &[0, 1]);
        for &end in ends {
            let Some(snake) = position.snakes(Side::First).current() else { break };
            let from = position.board().index(snake.ends[end]) as u32;
            for to in field.neighbours(from) {
                if field.is_empty(to) {
                    return field.extension(from, to);
                }
            }
        }
        anywhere(position, &mut self.0)
    }
}

impl Strategy for FewestFree {
    fn choose(&mut self, position: &Position) -> Move {
        let field = Field::new(position.board());
        let mut best = None;
        let (mut least, mut ties) = (usize::MAX, 0);
        for action in position.extensions() {
            let Move::Extend { to, .. } = action else { continue };
            // A cell without a way on comes last.
            let degree = (field.empty_degree(position.board().index(to) as u32) + 4) % 5;
            ties = if degree < least { 1 } else { ties + u32::from(degree == least) };
            if degree < least || degree == least && self.0.below(ties) == 0 {
                (best, least) = (Some(action), degree);
            }
        }
        best.unwrap_or_else(|| anywhere(position, &mut self.0))
    }
}

impl Strategy for ChefLike {
    fn choose(&mut self, position: &Position) -> Move {
        self.0.choose(position)
    }
}
