//! Exams: compare players with perfect play, in games where it is known.
//!
//! * [`every_line()`] plays a small game against every possible reply and counts lost lines.
//! * [`connect_four()`] compares the moves of players in random positions with the solver.
//!
//! A player is called once per position, with randomness that depends on the seed and the
//! position alone. The exam therefore tests one fixed policy, and its results are reproducible.

mod connect_four;
mod every_line;

use ouro_game::{Action, Game, Rng};

use crate::player::{Choice, Player, Request};

pub use connect_four::{Agreement, PositionSample, connect_four};
pub use every_line::{ExamError, LineCounts, every_line};

/// Positions in one call of a player.
const BATCH: usize = 256;

/// The player's action in each position, in order. Each position comes with the seat to move.
fn answers<G: Game>(
    game: &G,
    player: &mut dyn Player<G>,
    positions: &[(G::State, usize)],
    seed: u64,
) -> Vec<Action> {
    let mut actions = Vec::with_capacity(positions.len());
    let mut choices: Vec<Choice> = Vec::new();
    for positions in positions.chunks(BATCH) {
        let rngs = positions.iter().map(|(state, seat)| {
            Rng::indexed(seed, "exam", game.digest(state).wrapping_add(*seat as u64))
        });
        let mut rngs: Vec<Rng> = rngs.collect();
        let requests = positions.iter().zip(&mut rngs);
        let mut requests: Vec<Request<'_, G>> = requests
            .map(|((state, seat), rng)| Request { state, player: *seat, rng, game: None })
            .collect();
        choices.clear();
        player.choose(game, &mut requests, &mut choices);
        actions.extend(choices.iter().map(|choice| choice.action));
    }
    actions
}

#[cfg(test)]
mod tests;
