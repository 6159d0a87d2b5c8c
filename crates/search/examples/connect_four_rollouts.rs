//! Searches the empty Connect Four board with one random rollout per simulation.
//!
//! `cargo run --release -p ouro-search --example connect_four_rollouts -- [searches] [simulations]`
//!
//! Prints the number of simulations. The caller measures the time:
//! `bench/openspiel_mcts.py` compares it with OpenSpiel.
#![expect(clippy::print_stdout, reason = "an example prints its results")]

use ouro_game::connect_four::{Config, ConnectFour};
use ouro_game::{Game, Rng};
use ouro_search::{Rollout, Scheduler, Search, SearchConfig};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let searches: u64 = arguments.next().map_or(Ok(100), |text| text.parse())?;
    let simulations = arguments.next().map_or(Ok(10_000), |text| text.parse())?;
    let game = ConnectFour::new(Config::default())?;
    let state = game.initial(&mut Rng::new(0, "game"));
    let config = SearchConfig { simulations, ..SearchConfig::default() };
    let mut search = Search::new(config, &game)?;
    let mut scheduler = Scheduler::new(1);
    let mut rollout = Rollout::new();
    let mut made = 0;
    for seed in 0..searches {
        search.start(&game, &state, Rng::new(seed, "search"));
        scheduler.run(&game, std::slice::from_mut(&mut search), &mut rollout);
        made += u64::from(search.simulations());
    }
    println!("{made}");
    Ok(())
}
