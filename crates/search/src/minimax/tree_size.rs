//! The size of trees, estimated before a search.

use ouro_game::{Action, ActionMask, Chance, Game, Rng, Turn};

use super::chance::CHANCE_SAMPLES;
use crate::heuristic::Heuristic;

/// Random games that are looked at, and turns of each.
const GAMES: u64 = 8;
const TURNS: usize = 64;

/// The replies of the opponents that a search visits after each choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replies {
    /// Every combination of their choices.
    All,
    /// Those of one opponent at a time: [`Paranoid::best_reply`](super::Paranoid::best_reply).
    Best,
}

impl Replies {
    /// Choices of all movers, given the number of candidates of each.
    fn choices(self, candidates: &[usize]) -> f64 {
        match self {
            Self::All => candidates.iter().map(|&count| count as f64).product(),
            Self::Best => {
                // The searching player may be any of the movers; the largest number counts.
                let others: usize = candidates.iter().map(|count| count - 1).sum();
                let of_one = |&own: &usize| (own * (others - (own - 1) + 1)) as f64;
                candidates.iter().map(of_one).fold(1.0, f64::max)
            }
        }
    }
}

/// Positions at the horizon of a search to a depth of `turns`, without pruning: the largest number
/// along a few games in which all players move at random.
///
/// `replies` selects the combinations of the movers' candidates. Each has one position, or one for every
/// outcome of chance that `heuristic` does not resolve by assumption. The result depends on the
/// arguments alone.
pub fn largest_tree<G: Game, E: Heuristic<G>>(
    game: &G,
    heuristic: &mut E,
    turns: u32,
    replies: Replies,
) -> f64 {
    let turns = (turns as usize).max(1);
    let largest_of = |number| {
        let factors = branching(game, heuristic, number, replies);
        // The last turns of a game have shorter windows, whose products are smaller.
        (0..factors.len())
            .map(|first| factors[first..].iter().take(turns).product())
            .fold(1.0, f64::max)
    };
    (0..GAMES).map(largest_of).fold(1.0, f64::max)
}

/// Positions after each turn of a random game, counted from the position before it.
fn branching<G: Game, E: Heuristic<G>>(
    game: &G,
    heuristic: &mut E,
    number: u64,
    replies: Replies,
) -> Vec<f64> {
    let mut rng = Rng::indexed(0, "tree size", number);
    let mut state = game.initial(&mut rng);
    game.settle(&mut state, &mut rng);
    let mut mask = ActionMask::default();
    let mut joint = vec![Action::default(); game.players()];
    let mut factors = Vec::with_capacity(TURNS);
    let mut candidates = Vec::with_capacity(game.players());
    while let (Turn::Move(movers), true) = (game.turn(&state), factors.len() < TURNS) {
        candidates.clear();
        for mover in movers.iter() {
            heuristic.candidates(game, &state, mover, &mut mask);
            let count = mask.count().max(1);
            candidates.push(count);
            joint[mover] = mask.nth(rng.below(count as u32) as usize).unwrap_or_default();
        }
        let mut positions = replies.choices(&candidates);
        if game.step(&mut state, &joint).is_err() {
            debug_assert!(false, "candidates are legal");
            break;
        }
        heuristic.resolve_chance(game, &mut state);
        while game.turn(&state) == Turn::Chance && !game.is_decided(&state) {
            positions *= f64::from(outcomes(game, &state));
            let outcome = game.sample_chance(&state, &mut rng);
            if game.apply_chance(&mut state, outcome).is_err() {
                debug_assert!(false, "a sampled outcome applies");
                return factors;
            }
        }
        factors.push(positions);
        if game.is_decided(&state) {
            break;
        }
    }
    factors
}

/// Outcomes that a search visits at a chance node, at most: impossible ones count too.
fn outcomes<G: Game>(game: &G, state: &G::State) -> u32 {
    match game.chance(state) {
        Chance::Enumerable { count } => count,
        Chance::Sampled => CHANCE_SAMPLES,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn best_replies_add_up_and_all_replies_multiply() {
        let same = |replies: Replies, candidates: &[usize], expected: f64| {
            let choices = replies.choices(candidates);
            assert!((choices - expected).abs() < 1e-9, "{replies:?} {candidates:?}: {choices}");
        };
        same(Replies::All, &[3, 3, 3, 3], 81.0);
        // Three own choices; each has the expected replies, and six sets in which one opponent differs.
        same(Replies::Best, &[3, 3, 3, 3], 21.0);
        same(Replies::Best, &[3, 2], 6.0);
        // The second mover has the most as the searching player: 3 · (1 + 1 + 0).
        same(Replies::Best, &[2, 3, 1], 6.0);
        same(Replies::Best, &[4], 4.0);
    }
}
