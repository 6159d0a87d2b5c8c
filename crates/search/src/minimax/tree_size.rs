//! The size of trees, estimated before a search.

use ouro_game::{Action, ActionMask, Chance, Game, Rng, Turn};

use super::chance::CHANCE_SAMPLES;
use crate::heuristic::Heuristic;

/// Random games that are looked at, and turns of each.
const GAMES: u64 = 8;
const TURNS: usize = 64;

/// Positions at the horizon of a search to a depth of `turns`, without pruning: the largest number
/// along a few games in which all players move at random.
///
/// A turn has a position for each choice of its movers' candidates and each outcome of chance that
/// `heuristic` does not resolve by assumption. The result depends on the game alone.
pub fn largest_tree<G: Game, E: Heuristic<G>>(game: &G, heuristic: &mut E, turns: u32) -> f64 {
    let turns = (turns as usize).max(1);
    let largest_of = |number| {
        let factors = branching(game, heuristic, number);
        // The last turns of a game have shorter windows, whose products are smaller.
        (0..factors.len())
            .map(|first| factors[first..].iter().take(turns).product())
            .fold(1.0, f64::max)
    };
    (0..GAMES).map(largest_of).fold(1.0, f64::max)
}

/// Positions after each turn of a random game, counted from the position before it.
fn branching<G: Game, E: Heuristic<G>>(game: &G, heuristic: &mut E, number: u64) -> Vec<f64> {
    let mut rng = Rng::indexed(0, "tree size", number);
    let mut state = game.initial(&mut rng);
    game.settle(&mut state, &mut rng);
    let mut mask = ActionMask::default();
    let mut joint = vec![Action::default(); game.players()];
    let mut factors = Vec::with_capacity(TURNS);
    while let (Turn::Move(movers), true) = (game.turn(&state), factors.len() < TURNS) {
        let mut positions = 1.0;
        for mover in movers.iter() {
            heuristic.candidates(game, &state, mover, &mut mask);
            let candidates = mask.iter().count();
            positions *= candidates as f64;
            let chosen = rng.below(candidates.max(1) as u32) as usize;
            joint[mover] = mask.iter().nth(chosen).unwrap_or_default();
        }
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
