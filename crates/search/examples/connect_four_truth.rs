//! How often tree search with rollouts plays the perfect move in Connect Four.
//!
//! `cargo run --release -p ouro-search --example connect_four_truth -- [positions] [simulations]`
//!
//! Positions are reached by random play of 16 to 26 stones, so deep that the perfect solver
//! answers in milliseconds, and kept if exactly one of at least two legal moves keeps the
//! result of perfect play, so that there is something to get wrong. Positions do not repeat.
//! Nearer to the opening, where proofs are out of reach, the share falls: it is 948 of 1,000
//! for 12 to 26 stones.
#![expect(clippy::print_stdout, reason = "an example prints its results")]

use std::collections::BTreeSet;

use ouro_game::connect_four::{Config, ConnectFour, Outcome, Solver, State};
use ouro_game::{Action, Game, RolloutBuffer, Stream};
use ouro_search::{Rollout, Scheduler, Search, SearchConfig};

/// What each legal move is worth to whoever makes it: 1 win, 0 draw, −1 loss.
fn values(game: &ConnectFour, solver: &mut Solver, state: &State) -> Vec<(Action, i32)> {
    let value = |action: Action| {
        let mut next = *state;
        let legal = game.step(&mut next, &[action; 2]).is_ok();
        legal.then(|| match solver.outcome(&next) {
            Outcome::Loss => (action, 1),
            Outcome::Draw => (action, 0),
            Outcome::Win => (action, -1),
        })
    };
    (0..game.action_count() as u32).map(Action).filter_map(value).collect()
}

/// The only move that keeps the best value, if there is just one and another to choose.
fn only_good_move(values: &[(Action, i32)]) -> Option<(Action, i32)> {
    let best = values.iter().map(|&(_, value)| value).max()?;
    let mut good = values.iter().filter(|&&(_, value)| value == best);
    let only = *good.next()?;
    (good.next().is_none() && values.len() > 1).then_some(only)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let count: usize = arguments.next().map_or(Ok(1_000), |text| text.parse())?;
    let simulations = arguments.next().map_or(Ok(10_000), |text| text.parse())?;
    let game = ConnectFour::new(Config::default())?;
    let config = SearchConfig { simulations, ..SearchConfig::default() };
    let mut search = Search::new(config, &game)?;
    let mut scheduler = Scheduler::new(1);
    let mut solver = Solver::new();
    let mut rng = Stream::new(1, "positions");
    let mut seen = BTreeSet::new();
    let (mut found, mut proven) = (0, 0);
    // By the value of the good move, loss never: wins and draws, found and tried.
    let mut by_value = [[0; 2]; 2];
    while seen.len() < count {
        let mut state = game.initial(&mut rng);
        game.rollout(&mut state, 16 + rng.below(11), &mut RolloutBuffer::new(), &mut rng);
        if state.is_over() || seen.contains(&game.digest(&state)) {
            continue;
        }
        let Some((best, value)) = only_good_move(&values(&game, &mut solver, &state)) else {
            continue;
        };
        seen.insert(game.digest(&state));
        search.begin(&game, &state, Stream::indexed(2, "search", seen.len() as u64));
        scheduler.run(&game, std::slice::from_mut(&mut search), &mut Rollout::new());
        let decision = search.decide(&game);
        let right = decision.seats[0].action == best;
        found += usize::from(right);
        proven += usize::from(decision.proven);
        let kind = &mut by_value[usize::from(value == 0)];
        kind[0] += usize::from(right);
        kind[1] += 1;
    }
    let [[wins, of_wins], [draws, of_draws]] = by_value;
    println!("{simulations} simulations play the only good move in {found} of {count} positions");
    println!("  to keep a win {wins} of {of_wins}, to keep a draw {draws} of {of_draws}");
    println!("  {proven} positions were proven on the way");
    Ok(())
}
