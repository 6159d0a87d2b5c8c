//! Compares a player of Connect Four with the solver.

use std::collections::BTreeSet;

use ouro_game::connect_four::{ConnectFour, Outcome, Solver, State};
use ouro_game::{Action, Game, Rng};
use serde::Serialize;

use super::answers;
use crate::player::Player;

/// Random games in a row without a new position after which the board counts as exhausted. A sample of up
/// to 1,000 positions takes at most as many games, so it never ends for this reason.
const MOST_MISSES: usize = 1_000_000;

/// The sample of positions to compare in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PositionSample {
    /// Number of positions, all different.
    pub positions: usize,
    /// Fewest stones. The solver takes 0.2 s on average for a position of 8 stones, but can take
    /// tens of seconds for one with fewer.
    pub first: u32,
    /// Seed of the sample.
    pub seed: u64,
}

/// How often the player keeps the result of perfect play.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Agreement {
    /// Positions in the sample.
    pub positions: usize,
    /// Positions in which the move keeps the result: a win stays a win, a draw a draw. In a lost
    /// position every move does.
    pub kept: usize,
    /// Critical positions, in which some legal move does not keep the result.
    pub critical: usize,
    /// Critical positions in which the move keeps the result.
    pub kept_critical: usize,
}

/// Compares players with the solver in positions of random games, the same for all. The result has an
/// entry for each player. The solver takes most of the time, and solves each position once.
///
/// Each position is a uniformly drawn ply of a uniformly random game.
pub fn connect_four(
    game: &ConnectFour,
    players: &mut [Box<dyn Player<ConnectFour>>],
    sample: PositionSample,
) -> Vec<Agreement> {
    let positions = positions(game, sample);
    let answers: Vec<_> = players
        .iter_mut()
        .map(|player| answers(game, &mut **player, &positions, sample.seed))
        .collect();
    let mut solver = Solver::new();
    let none = Agreement { positions: positions.len(), ..Agreement::default() };
    let mut agreements = vec![none; players.len()];
    for (index, (state, _)) in positions.iter().enumerate() {
        let best = keeping(game, &mut solver, state);
        let is_critical = best.contains(&Some(false));
        for (agreement, answers) in agreements.iter_mut().zip(&answers) {
            let is_kept = best.get(answers[index].index()) == Some(&Some(true));
            agreement.kept += usize::from(is_kept);
            agreement.critical += usize::from(is_critical);
            agreement.kept_critical += usize::from(is_kept && is_critical);
        }
    }
    agreements
}

/// Per column, whether a stone there keeps the result; `None` for a full column.
fn keeping(game: &ConnectFour, solver: &mut Solver, state: &State) -> Vec<Option<bool>> {
    let value = solver.outcome(state);
    let after = |column| {
        let mut next = *state;
        game.step(&mut next, &[Action(column); 2]).is_ok().then_some(next)
    };
    let mut keeps = |next: State| match value {
        Outcome::Win => solver.outcome(&next) == Outcome::Loss,
        Outcome::Draw => solver.outcome(&next) == Outcome::Draw,
        Outcome::Loss => true,
    };
    (0..game.action_count() as u32).map(|column| after(column).map(&mut keeps)).collect()
}

/// The sample, each position with the seat to move. It is smaller than requested if random games
/// do not reach that many positions.
fn positions(game: &ConnectFour, sample: PositionSample) -> Vec<(State, usize)> {
    let mut rng = Rng::new(sample.seed, "positions");
    let (mut seen, mut positions) = (BTreeSet::new(), Vec::new());
    // Small boards have few positions.
    let tries = sample.positions.saturating_mul(1_000);
    let mut misses = 0;
    for _ in 0..tries {
        if positions.len() == sample.positions || misses == MOST_MISSES {
            break;
        }
        let state = game.random_position(&mut rng);
        if state.plies() >= sample.first && seen.insert(game.digest(&state)) {
            positions.push((state, state.plies() as usize % 2));
            misses = 0;
        } else {
            misses += 1;
        }
    }
    positions
}
