//! Monte Carlo tree search in games with known results.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod battlesnake;
mod cache;
mod chance;
mod config;
mod exploration;
mod invariants;
mod kept;
mod matrix;
mod policy;
mod simultaneous;
mod solver;
mod truth;
mod walk;

use ouro_game::{Game, Rng};
use ouro_search::{Evaluator, Scheduler, Search, SearchConfig, SearchResult};

/// Searches one position and decides.
pub(crate) fn decide<G: Game, E: Evaluator<G>>(
    game: &G,
    state: &G::State,
    config: &SearchConfig,
    evaluator: &mut E,
    seed: u64,
) -> SearchResult {
    let mut search = Search::new(config.clone(), game).unwrap();
    search.start(game, state, Rng::new(seed, "search"));
    Scheduler::new(8).run(game, std::slice::from_mut(&mut search), evaluator);
    search.decide(game)
}
