//! Measures positions per second of self-play on any number of threads.
//!
//! `cargo run --release -p ouro-actor --example bench_selfplay -- --help`
//!
//! The benchmark plays games of fresh weights against themselves, as an actor does in training:
//! kept trees, noise, sampled moves, random symmetries, records with policy targets. A position is
//! one decided move. `--ratio` compares one thread with the same search outside an actor: the
//! scheduler of `ouro-search` alone, without records. The two are measured in turns. The ratio is
//! the share of the scheduler's speed that remains with playing and recording.
#![expect(clippy::print_stdout, reason = "an example prints its results")]

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use clap::Parser;
use ouro_actor::{Entry, Member, Roster, Worker, WorkerSettings, WorkerStats};
use ouro_bench::self_play::{Workload, measure};
use ouro_game::{Game, GameConfig, GameVisitor};
use ouro_net::{ContentHash, Engine, Generation, NetSpec, Weights, WeightsMeta};
use ouro_players::{NetEvaluator, OpponentShares};
use ouro_search::Clock;
use ouro_settings::{Swap, exploring};

/// Measures self-play by tree search.
#[derive(Clone, Debug, Parser)]
struct Arguments {
    /// The game, with its default configuration.
    #[arg(long, default_value = "connect_four")]
    game: String,
    /// The network's preset: tiny, small, medium.
    #[arg(long, default_value = "small")]
    preset: String,
    /// Simulations per move.
    #[arg(long, default_value_t = 50)]
    simulations: u32,
    /// Games at once on each thread.
    #[arg(long, default_value_t = 64)]
    games: usize,
    /// Leaves of a full batch.
    #[arg(long, default_value_t = 256)]
    batch: usize,
    /// Positions whose evaluation each thread remembers.
    #[arg(long, default_value_t = 0)]
    remembered: usize,
    /// Members of the pool: with some, half of the games are played against them.
    #[arg(long, default_value_t = 0)]
    pool: u32,
    /// Games in a row that meet the same opponents; as many as there are at once unless given.
    #[arg(long)]
    cohort: Option<u64>,
    /// Threads; all cores unless given.
    #[arg(long)]
    threads: Option<usize>,
    /// Seconds to measure, after a quarter of them to warm up.
    #[arg(long, default_value_t = 8.0)]
    seconds: f64,
    /// Prints one line of JSON.
    #[arg(long)]
    json: bool,
    /// Measures one thread against the scheduler alone, in so many pairs of turns.
    #[arg(long)]
    ratio: Option<usize>,
}

/// Time since the start of the program.
#[derive(Debug)]
struct Stopwatch(Instant);

impl Clock for Stopwatch {
    fn monotonic(&self) -> Duration {
        self.0.elapsed()
    }
}

type Failure = Box<dyn std::error::Error + Send + Sync>;

impl Arguments {
    fn settings<G: Game>(&self, game: &G, index: u64) -> WorkerSettings {
        // About a third of a game is sampled, as usual.
        let sampled = if game.players() == 1 { u32::MAX } else { 14 };
        WorkerSettings {
            games: self.games,
            batch: self.batch,
            shares: if self.pool > 0 {
                OpponentShares::default()
            } else {
                OpponentShares::SELF_PLAY
            },
            scripted: Default::default(),
            demonstrations: Default::default(),
            net: None,
            cohort: self.cohort.unwrap_or(self.games as u64),
            search: Some(exploring(self.simulations, sampled)),
            epsilon: 0.0,
            opening_plies: 0,
            swap: Swap::Games,
            max_plies: 400,
            tree_bytes: 1 << 30,
            fresh_trees: false,
            remembered: self.remembered,
            seed: 1,
            index,
        }
    }

    fn roster<G: Game>(&self, game: &G) -> Result<Roster, Failure> {
        let entry = |generation: u32| -> Result<Entry, Failure> {
            let hash = ContentHash::of(&generation.to_le_bytes());
            Ok(Entry {
                hash,
                generation: Generation(generation),
                engine: self.engine(game, generation)?,
            })
        };
        let member = |generation| Ok(Member { entry: entry(generation)?, newest_wins: None });
        let pool = (0..self.pool).map(member).collect::<Result<_, Failure>>()?;
        Ok(Roster { revision: None, newest: entry(self.pool)?, pool })
    }

    fn engine<G: Game>(&self, game: &G, seed: u32) -> Result<Arc<Engine>, Failure> {
        let spec = NetSpec {
            planes: game.planes(),
            actions: game.action_count(),
            architecture: self.preset.parse()?,
        };
        Ok(Arc::new(Engine::new(&Weights::initialize(spec, WeightsMeta::default(), seed.into())?)))
    }

    /// Runs one thread for a turn. Returns its work and the elapsed time.
    fn play<G: Game>(
        &self,
        worker: &mut Worker<G>,
        roster: &Roster,
        time: Duration,
    ) -> Result<(WorkerStats, Duration), Failure> {
        let (before, start) = (worker.stats(), Instant::now());
        while start.elapsed() < time {
            worker.tick(roster)?;
        }
        let (elapsed, now) = (start.elapsed(), worker.stats());
        let done = WorkerStats {
            games: now.games - before.games,
            dropped: now.dropped - before.dropped,
            moves: now.moves - before.moves,
            simulations: now.simulations - before.simulations,
            evaluations: now.evaluations - before.evaluations,
            batches: now.batches - before.batches,
            room: now.room - before.room,
        };
        Ok((done, elapsed))
    }

    fn throughput<G: Game>(&self, game: &G, config: &GameConfig) -> Result<(), Failure> {
        let roster = self.roster(game)?;
        let threads = match self.threads {
            Some(threads) => threads,
            None => thread::available_parallelism()?.get(),
        };
        let time = Duration::from_secs_f64(self.seconds);
        let mut all = Vec::new();
        thread::scope(|scope| {
            let running: Vec<_> = (0..threads as u64)
                .map(|index| {
                    let roster = &roster;
                    scope.spawn(move || -> Result<(WorkerStats, Duration), Failure> {
                        let settings = self.settings(game, index);
                        let mut worker =
                            Worker::new(game.clone(), Arc::new(config.clone()), settings)?;
                        self.play(&mut worker, roster, time / 4)?;
                        self.play(&mut worker, roster, time)
                    })
                })
                .collect();
            all.extend(running.into_iter().map(thread::ScopedJoinHandle::join));
        });
        let (mut moves, mut games, mut simulations, mut evaluations, mut fill) =
            (0.0, 0.0, 0.0, 0.0, 0.0);
        for joined in all {
            let (stats, time) = joined.map_err(|_| "a thread panicked")??;
            let seconds = time.as_secs_f64();
            moves += stats.moves as f64 / seconds;
            games += stats.games as f64 / seconds;
            simulations += stats.simulations as f64 / seconds;
            evaluations += stats.evaluations as f64 / seconds;
            fill += stats.fill() / threads as f64;
        }
        if self.json {
            let line = serde_json::json!({
                "game": self.game, "preset": self.preset, "simulations": self.simulations,
                "threads": threads, "positions_per_second": moves, "games_per_second": games,
                "simulations_per_second": simulations, "evaluations_per_second": evaluations,
                "batch_fill": fill,
            });
            println!("{line}");
        } else {
            println!(
                "{} {} {} simulations, {threads} threads: {moves:.0} positions/s, {games:.1} \
                 games/s, {simulations:.0} simulations/s, {evaluations:.0} evaluations/s, \
                 batches {:.0} % full",
                self.game,
                self.preset,
                self.simulations,
                100.0 * fill
            );
        }
        Ok(())
    }

    fn ratio<G: Game>(&self, game: &G, config: &GameConfig, pairs: usize) -> Result<(), Failure> {
        let roster = self.roster(game)?;
        let engine = Arc::clone(&roster.newest.engine);
        let settings = self.settings(game, 0);
        let search = settings.search.clone().unwrap_or_default();
        let mut worker = Worker::new(game.clone(), Arc::new(config.clone()), settings)?;
        let mut net = NetEvaluator::new("bench", engine, game)?;
        let time = Duration::from_secs_f64(self.seconds);
        let clock = Stopwatch(Instant::now());
        let workload = Workload {
            games: self.games,
            batch: self.batch,
            time,
            warm_up: time / 4,
            keep_trees: true,
            seed: 1,
        };
        self.play(&mut worker, &roster, time / 4)?;
        let mut ratios = Vec::new();
        for _ in 0..pairs {
            let (played, took) = self.play(&mut worker, &roster, time)?;
            let ours = played.simulations as f64 / took.as_secs_f64();
            let speed = measure(game, &search, &mut net, &workload, &clock)?;
            let alone = speed.simulations_per_second();
            println!("actor {ours:.0} simulations/s, scheduler alone {alone:.0}");
            ratios.push(ours / alone);
        }
        ratios.sort_by(f64::total_cmp);
        println!("median ratio {:.3}", ratios[ratios.len() / 2]);
        Ok(())
    }
}

/// Runs the benchmark on the rules of the chosen game.
struct Bench<'a>(&'a Arguments, &'a GameConfig);

impl GameVisitor for Bench<'_> {
    type Output = Result<(), Failure>;

    fn visit<G: Game>(self, game: G) -> Self::Output {
        let Self(arguments, config) = self;
        match arguments.ratio {
            Some(pairs) => arguments.ratio(&game, config, pairs.max(1)),
            None => arguments.throughput(&game, config),
        }
    }
}

fn main() -> Result<(), Failure> {
    let arguments = Arguments::parse();
    let config = GameConfig::by_name(&arguments.game)?;
    config.visit(Bench(&arguments, &config))?
}
