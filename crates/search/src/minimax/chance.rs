//! Chance nodes inside a search.

use ouro_game::{Chance, Game, Rng, Turn};

use super::frame::Frames;
use crate::heuristic::Heuristic;

/// Draws that replace the outcomes of a chance node that cannot list them.
pub const CHANCE_SAMPLES: u32 = 16;

/// The turn of the position at `level`, after the heuristic has resolved the chance that it
/// resolves by assumption.
#[inline]
pub(super) fn next_turn<G: Game, E: Heuristic<G>>(
    game: &G,
    heuristic: &mut E,
    frames: &mut Frames<G>,
    level: usize,
) -> Turn {
    let state = &mut frames.get_mut(level).state;
    if game.turn(state) == Turn::Chance {
        heuristic.resolve_chance(game, state);
    }
    // Chance no longer matters in a decided game.
    if game.is_decided(state) { Turn::Over } else { game.turn(state) }
}

/// Iterates over the outcomes of the chance node at a level, or over draws.
pub(super) struct ChanceOutcomes {
    chance: Chance,
    rng: Rng,
    next: u32,
}

impl ChanceOutcomes {
    pub(super) fn new<G: Game>(game: &G, state: &G::State) -> Self {
        let chance = game.chance(state);
        Self { chance, rng: Rng::new(game.digest(state), "minimax chance"), next: 0 }
    }

    /// Writes the position after the next outcome to the level below and returns its weight, or
    /// `None` after the last outcome. Impossible outcomes are skipped.
    pub(super) fn advance<G: Game>(
        &mut self,
        game: &G,
        frames: &mut Frames<G>,
        level: usize,
    ) -> Option<f64> {
        loop {
            let state = &frames.get(level).state;
            let (outcome, weight) = match self.chance {
                Chance::Enumerable { count } if self.next < count => {
                    (self.next, game.chance_probability(state, self.next))
                }
                Chance::Sampled if self.next < CHANCE_SAMPLES => {
                    (game.sample_chance(state, &mut self.rng), 1.0 / f64::from(CHANCE_SAMPLES))
                }
                Chance::Enumerable { .. } | Chance::Sampled => return None,
            };
            self.next += 1;
            if weight > 0.0 && game.apply_chance(frames.descend(game, level), outcome).is_ok() {
                return Some(weight);
            }
        }
    }
}
