//! How often tree search with rollouts plays the perfect move in Connect Four.
//!
//! `cargo run --release -p ouro-search --example connect_four_truth -- \
//!      [positions] [simulations] [plain|guided] [seed] [first] [last]`
//!
//! Positions are uniformly drawn plies of random games, without repetitions. A position is kept if
//! it has `first` to `last` stones and exactly one of at least two legal moves keeps the result of
//! perfect play. The default of `last` is the longest game.
//!
//! The default of `first` is 8: the perfect solver takes 0.2 s on average for a position of 8
//! stones, but can take tens of seconds for one with fewer and minutes for the empty board.
//!
//! `guided` rollouts and priors (the default) use the rollout policy of the game, as
//! the game says ([`Game::weigh`]), with sequential halving at the root and `c = 3`; `plain` ones
//! draw evenly from the legal moves, in a search of the default settings.
#![expect(clippy::print_stdout, reason = "an example prints its results")]

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use ouro_game::connect_four::{Config, ConnectFour, Outcome, Solver};
use ouro_game::{Game, Rng};
use ouro_search::mcts::Gumbel;
use ouro_search::{Rollout, Scheduler, Search, SearchConfig};

/// Width of the reported buckets, in stones.
const BUCKET: u32 = 6;

fn parse<T: FromStr>(argument: Option<String>, default: T) -> Result<T, T::Err> {
    argument.map_or(Ok(default), |text| text.parse())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let count: usize = parse(arguments.next(), 1_000)?;
    let simulations = parse(arguments.next(), 10_000)?;
    let guided = match arguments.next().as_deref() {
        None | Some("guided") => true,
        Some("plain") => false,
        Some(other) => return Err(format!("rollouts are plain or guided, not {other}").into()),
    };
    let seed = parse(arguments.next(), 1)?;
    let first = parse(arguments.next(), 8)?;
    let last = parse(arguments.next(), 41)?;
    let game = ConnectFour::new(Config::default())?;
    let config = if guided {
        let gumbel = Some(Gumbel::default());
        SearchConfig { simulations, exploration: 3.0, gumbel, ..SearchConfig::default() }
    } else {
        SearchConfig { simulations, ..SearchConfig::default() }
    };
    let mut rollout = if guided { Rollout::new().guided() } else { Rollout::new() };
    let mut search = Search::new(config, &game)?;
    let mut scheduler = Scheduler::new(1);
    let mut solver = Solver::new();
    let mut rng = Rng::new(seed, "positions");
    let mut seen = BTreeSet::new();
    let (mut tried, mut found, mut proven) = (0, 0, 0);
    // Found and tried positions by stones and by the result to keep: a draw, a win.
    let mut buckets = BTreeMap::<u32, [[u32; 2]; 2]>::new();
    while tried < count {
        let state = game.random_position(&mut rng);
        let stones = state.plies();
        if !(first..=last).contains(&stones) || !seen.insert(game.digest(&state)) {
            continue;
        }
        let Some((best, outcome)) = solver.only_move(&state) else { continue };
        search.start(&game, &state, Rng::indexed(seed, "search", tried as u64));
        scheduler.run(&game, std::slice::from_mut(&mut search), &mut rollout);
        let decision = search.decide(&game);
        let right = decision.seats[0].action == best;
        tried += 1;
        found += u32::from(right);
        proven += u32::from(decision.proven);
        let bucket = buckets.entry(stones / BUCKET).or_default();
        let kind = &mut bucket[usize::from(outcome == Outcome::Win)];
        kind[0] += u32::from(right);
        kind[1] += 1;
    }
    println!("{simulations} simulations play the only good move in {found} of {tried} positions");
    for (bucket, [[draws, of_draws], [wins, of_wins]]) in buckets {
        let (from, to) = (bucket * BUCKET, bucket * BUCKET + BUCKET - 1);
        let kept = format!("a win kept {wins} of {of_wins}, a draw {draws} of {of_draws}");
        println!("  {:>2} to {:>2} stones: {kept}", from.max(first), to.min(last));
    }
    println!("  {proven} positions were proven on the way");
    Ok(())
}
