//! The method of the contest's editorial.
//!
//! A candidate path is kept from each end of the snake, and the end whose remaining path is longer
//! advances. A cell that the opponent takes truncates a path to just before it. A path that is too
//! short is computed anew, but not in every turn; the new one is kept only if it is longer. A new
//! snake starts in the middle of the longest of several trial paths.

use ouro_game::Rng;
use ouro_game::snakgame::{Move, Position, Side, Strategy};

use crate::field::{Field, NONE};
use crate::walk::LongWalk;

/// A path is too short if the longest computed one was this many times longer.
const SHRINK: usize = 4;
/// Empty cells for each turn between two computations, so that a game's time is linear.
const CELLS_PER_TURN: u32 = 1_500;
/// Fewest turns between two computations.
const LEAST_TURNS: u32 = 8;

/// The editorial's strategy.
pub struct Editorial {
    rng: Rng,
    walk: LongWalk,
    /// The ends of the snake, in the order of `paths`; `NONE` before the first move.
    ends: [u32; 2],
    /// The cells ahead of each end, the next one last.
    paths: [Vec<u32>; 2],
    /// Path and place of each cell: `2 * place + path`, or `NONE`.
    places: Vec<u32>,
    /// Length of each path when it was computed.
    computed: [usize; 2],
    /// Turn of the last computation for each end.
    computed_at: [u32; 2],
    turn: u32,
    trial: Vec<u32>,
}

impl Editorial {
    /// The strategy with its own random numbers.
    pub fn new(seed: u64) -> Self {
        Self {
            rng: Rng::new(seed, "snakgame-editorial"),
            walk: LongWalk::default(),
            ends: [NONE; 2],
            paths: [Vec::new(), Vec::new()],
            places: Vec::new(),
            computed: [0; 2],
            computed_at: [0; 2],
            turn: 0,
            trial: Vec::new(),
        }
    }

    /// Replaces a path. `cells` starts at the end of the snake.
    fn set_path(&mut self, path: usize, cells: impl DoubleEndedIterator<Item = u32>) {
        for cell in self.paths[path].drain(..) {
            self.places[cell as usize] = NONE;
        }
        self.paths[path].extend(cells.rev());
        for (place, &cell) in self.paths[path].iter().enumerate() {
            self.places[cell as usize] = (place * 2 + path) as u32;
        }
        self.computed[path] = self.paths[path].len();
        self.computed_at[path] = self.turn;
    }

    /// Computes the path of one end anew and keeps it if it is longer.
    fn recompute(&mut self, field: Field<'_>, end: u32, path: usize) {
        let mut trial = std::mem::take(&mut self.trial);
        let other = 1 - path as u32;
        let places = &self.places;
        let is_free = |cell: u32| {
            let place = places[cell as usize];
            field.is_empty(cell) && (place == NONE || place & 1 != other)
        };
        self.walk.find(field, end, self.rng.below(4) as u8, is_free, &mut trial);
        if trial.len() > self.paths[path].len() {
            self.set_path(path, trial.iter().copied());
        } else {
            self.computed[path] = self.paths[path].len();
            self.computed_at[path] = self.turn;
        }
        self.trial = trial;
    }

    /// Starts a snake in the middle of the longest of several trial paths.
    fn new_snake(&mut self, field: Field<'_>, position: &Position) -> Move {
        let best = self.walk.longest_trial(field, position.board(), &mut self.rng);
        let Some(&cell) = best.get(best.len() / 2) else { return Move::Exit };
        let (before, after) = best.split_at(best.len() / 2);
        self.set_path(0, before.iter().copied().rev());
        self.set_path(1, after[1..].iter().copied());
        self.ends = [cell; 2];
        field.new_snake(cell)
    }
}

impl Strategy for Editorial {
    fn choose(&mut self, position: &Position) -> Move {
        let field = Field::new(position.board());
        self.places.resize(field.len(), NONE);
        self.turn += 1;
        let Some(snake) = position.snakes(Side::First).current() else {
            return self.new_snake(field, position);
        };
        if self.ends[0] == NONE {
            // The game was under way when the strategy joined it.
            self.ends = snake.ends.map(|end| position.board().index(end) as u32);
        }
        let ends = self.ends;
        let pause = LEAST_TURNS.max(position.board().empty_count() / CELLS_PER_TURN);
        for (path, &end) in ends.iter().enumerate() {
            let is_short = self.paths[path].len() * SHRINK <= self.computed[path];
            if is_short && self.turn >= self.computed_at[path] + pause {
                self.recompute(field, end, path);
            }
        }
        if self.paths.iter().all(Vec::is_empty) {
            // The snake would die, so no pause applies.
            self.recompute(field, ends[0], 0);
            self.recompute(field, ends[1], 1);
        }
        let longer = usize::from(self.paths[1].len() > self.paths[0].len());
        let Some(next) = self.paths[longer].pop() else {
            return self.new_snake(field, position);
        };
        self.places[next as usize] = NONE;
        self.ends[longer] = next;
        field.extension(ends[longer], next)
    }

    fn observe(&mut self, position: &Position, opponent: Move) {
        let (Move::New(cell) | Move::Extend { to: cell, .. }) = opponent else { return };
        let place = self.places[position.board().index(cell)];
        if place == NONE {
            return;
        }
        // The next cell is last, so the cells behind the taken one come first.
        let path = (place & 1) as usize;
        let kept = self.paths[path].split_off(place as usize / 2 + 1);
        for cell in std::mem::replace(&mut self.paths[path], kept) {
            self.places[cell as usize] = NONE;
        }
        for (place, &cell) in self.paths[path].iter().enumerate() {
            self.places[cell as usize] = (place * 2 + path) as u32;
        }
    }
}
