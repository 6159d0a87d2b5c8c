//! Simulations per second of one core, by game and evaluator.
//!
//! `cargo run --release -p ouro-players --example bench_search -- [seconds]`
//!
//! The evaluator that costs nothing leaves the search itself; with a network the share of time
//! that is not the network's is printed, and how full its batches were.
#![expect(clippy::print_stdout, reason = "an example prints its results")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use ouro_game::Game;
use ouro_game::battlesnake::{self, Small};
use ouro_game::connect_four::{self, ConnectFour};
use ouro_net::{Architecture, Engine, NetSpec, Weights, WeightsMeta};
use ouro_players::NetEvaluator;
use ouro_search::mcts::{SearchSpeed, Temperature, Workload, measure};
use ouro_search::{Clock, Evaluator, Rollout, SearchConfig, Uniform};

/// Time since the program began.
#[derive(Debug)]
struct Stopwatch(Instant);

impl Clock for Stopwatch {
    fn monotonic(&self) -> Duration {
        self.0.elapsed()
    }
}

struct Bench {
    clock: Stopwatch,
    time: Duration,
}

impl Bench {
    fn run<G: Game, E: Evaluator<G>>(
        &self,
        name: &str,
        game: &G,
        evaluator: &mut E,
        [games, batch, simulations]: [usize; 3],
    ) -> Result<SearchSpeed, Box<dyn std::error::Error>> {
        let config = SearchConfig {
            simulations: simulations as u32,
            temperature: Temperature::Constant { value: 1.0 },
            random_symmetry: true,
            ..SearchConfig::default()
        };
        let workload = Workload {
            games,
            batch,
            time: self.time,
            warm_up: self.time / 4,
            keep_trees: false,
            seed: 1,
        };
        let speed = measure(game, &config, evaluator, &workload, &self.clock)?;
        println!(
            "{name:<44} {:>10.0} simulations/s  overhead {:>5.1} %  fill {:>5.1} %",
            speed.simulations_per_second(),
            100.0 * speed.overhead(),
            100.0 * speed.fill()
        );
        Ok(speed)
    }
}

fn engine<G: Game>(game: &G) -> Result<Arc<Engine>, Box<dyn std::error::Error>> {
    let spec = NetSpec {
        planes: game.planes(),
        actions: game.action_count(),
        architecture: Architecture::Conv { channels: 32, layers: 4, hidden: 64 },
    };
    Ok(Arc::new(Engine::new(&Weights::initialize(spec, WeightsMeta::default(), 1)?)))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let seconds = std::env::args().nth(1).map_or(Ok(4.0), |text| text.parse())?;
    let bench = Bench { clock: Stopwatch(Instant::now()), time: Duration::from_secs_f64(seconds) };
    let connect_four = ConnectFour::new(connect_four::Config::default())?;
    let board =
        |snakes| Small::new(battlesnake::Config { snakes, ..battlesnake::Config::default() });
    let (duel, four) = (board(2)?, board(4)?);
    bench.run(
        "connect four, rollout, 1 tree, 10000",
        &connect_four,
        &mut Rollout::new(),
        [1, 1, 10_000],
    )?;
    bench.run(
        "connect four, rollout, 16 trees, 1000",
        &connect_four,
        &mut Rollout::new(),
        [16, 16, 1_000],
    )?;
    bench.run("connect four, free, 1 tree, 800", &connect_four, &mut Uniform, [1, 1, 800])?;
    bench.run("duel 11x11, free, 1 tree, 800", &duel, &mut Uniform, [1, 1, 800])?;
    bench.run("four snakes 11x11, free, 1 tree, 800", &four, &mut Uniform, [1, 1, 800])?;
    bench.run("duel 11x11, free, 256 trees, 200", &duel, &mut Uniform, [256, 256, 200])?;
    bench.run("four snakes 11x11, free, 256 trees, 200", &four, &mut Uniform, [256, 256, 200])?;
    let mut net = NetEvaluator::new("conv", engine(&connect_four)?, &connect_four)?;
    bench.run("connect four, net, 256 trees, 200", &connect_four, &mut net, [256, 256, 200])?;
    let mut net = NetEvaluator::new("conv", engine(&duel)?, &duel)?;
    bench.run("duel 11x11, net, 256 trees, 200", &duel, &mut net, [256, 256, 200])?;
    let mut net = NetEvaluator::new("conv", engine(&four)?, &four)?;
    bench.run("four snakes 11x11, net, 256 trees, 200", &four, &mut net, [256, 256, 200])?;
    Ok(())
}
