//! Measures the speed of a search in self-play of many games on one thread.

use std::fmt::Debug;
use std::time::Duration;

use ouro_game::{Action, Game, Rng, Turn};

use ouro_search::mcts::SearchConfigError;
use ouro_search::{Clock, Estimates, Evaluator, Leaf, Scheduler, Search, SearchConfig};

/// The load of a measurement.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    /// Games in parallel.
    pub games: usize,
    /// Leaves of a full batch.
    pub batch: usize,
    /// Minimum time of the measurement, which also lasts until one simulation is complete.
    pub time: Duration,
    /// Time to play before the measurement. Buffers grow, and games spread over all stages.
    pub warm_up: Duration,
    /// Whether a game keeps its tree after a decision.
    pub keep_trees: bool,
    /// Seed of games and searches.
    pub seed: u64,
}

/// The result of a measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SearchSpeed {
    /// Simulations: descents from the root of a tree to a leaf.
    pub simulations: u64,
    /// Evaluated leaves.
    pub evaluations: u64,
    /// Evaluated batches.
    pub batches: u64,
    /// Leaves of a full batch.
    pub batch: usize,
    /// Decided moves.
    pub decisions: u64,
    /// Measured time.
    pub time: Duration,
    /// Time spent in the evaluator.
    pub evaluating: Duration,
}

impl SearchSpeed {
    /// Simulations per second of one core.
    pub fn simulations_per_second(&self) -> f64 {
        self.simulations as f64 / self.time.as_secs_f64()
    }

    /// Share of the time outside the evaluator, 0 to 1.
    pub fn overhead(&self) -> f64 {
        1.0 - self.evaluating.as_secs_f64() / self.time.as_secs_f64()
    }

    /// Mean share of batch slots that are filled, 0 to 1.
    pub fn fill(&self) -> f64 {
        self.evaluations as f64 / (self.batches * self.batch as u64).max(1) as f64
    }
}

/// An evaluator that measures its own time.
#[derive(Debug)]
struct Timed<'a, E: ?Sized> {
    inner: &'a mut E,
    clock: &'a dyn Clock,
    time: Duration,
}

impl<G: Game, E: Evaluator<G> + ?Sized> Evaluator<G> for Timed<'_, E> {
    fn evaluate(&mut self, game: &G, leaves: &mut [Leaf<G>], out: &mut Estimates) {
        let start = self.clock.monotonic();
        self.inner.evaluate(game, leaves, out);
        self.time += self.clock.monotonic().saturating_sub(start);
    }
}

/// One game of self-play.
struct SelfPlayGame<G: Game> {
    state: G::State,
    chance: Rng,
}

/// Plays games of self-play for the time of the workload and returns the speed of the search.
pub fn measure<G: Game, E: Evaluator<G> + ?Sized>(
    game: &G,
    config: &SearchConfig,
    evaluator: &mut E,
    workload: &Workload,
    clock: &dyn Clock,
) -> Result<SearchSpeed, SearchConfigError> {
    let mut next_game = 0;
    let mut current_games = Vec::new();
    let mut searches = Vec::new();
    for _ in 0..workload.games {
        let current = new_game(game, workload.seed, &mut next_game);
        let mut search = Search::new(config.clone(), game)?;
        search.start(game, &current.state, Rng::indexed(workload.seed, "search", next_game));
        current_games.push(current);
        searches.push(search);
    }
    let mut timed = Timed { inner: evaluator, clock, time: Duration::ZERO };
    let mut scheduler = Scheduler::new(workload.batch);
    let mut speed = SearchSpeed { batch: scheduler.batch(), ..SearchSpeed::default() };
    let measurement_start = clock.monotonic();
    let mut start = measurement_start;
    // Simulations before the measurement that belong to decisions during it. The sum of finished
    // decisions includes them, so they are subtracted.
    let mut unfinished_at_start = 0;
    let mut warm = workload.warm_up.is_zero();
    let mut joint = vec![Action::default(); game.players()];
    while !searches.is_empty() {
        let leaves = scheduler.step(game, &mut searches, &mut timed).leaves;
        speed.evaluations += leaves as u64;
        speed.batches += u64::from(leaves > 0);
        for (current, search) in current_games.iter_mut().zip(&mut searches) {
            if !search.is_done() {
                continue;
            }
            let decision = search.decide(game);
            speed.simulations += u64::from(decision.simulations);
            speed.decisions += 1;
            for chosen in &decision.seats {
                joint[chosen.player] = chosen.action;
            }
            let played = game.advance(&mut current.state, &joint, &mut current.chance);
            debug_assert!(played.is_ok(), "searches choose legal actions: {played:?}");
            if played.is_err() || game.turn(&current.state) == Turn::Over {
                *current = new_game(game, workload.seed, &mut next_game);
            } else if workload.keep_trees {
                search.advance(game, &joint, &current.state);
                continue;
            }
            let rng = Rng::indexed(workload.seed, "search", next_game + speed.decisions);
            search.start(game, &current.state, rng);
        }
        let now = clock.monotonic();
        if !warm && now.saturating_sub(measurement_start) >= workload.warm_up {
            (warm, start) = (true, now);
            timed.time = Duration::ZERO;
            speed = SearchSpeed { batch: speed.batch, ..SearchSpeed::default() };
            unfinished_at_start = unfinished(&searches);
        } else if warm && now.saturating_sub(start) >= workload.time {
            let simulations =
                (speed.simulations + unfinished(&searches)).saturating_sub(unfinished_at_start);
            // With a slow evaluator the time may be over after the first batch. That batch
            // evaluates roots only and completes no simulation, so the measurement continues.
            if simulations == 0 {
                continue;
            }
            speed.simulations = simulations;
            speed.time = now.saturating_sub(start);
            speed.evaluating = timed.time;
            break;
        }
    }
    Ok(speed)
}

/// Sums the simulations of unfinished decisions.
fn unfinished<G: Game>(searches: &[Search<G>]) -> u64 {
    searches.iter().map(|search| u64::from(search.simulations())).sum()
}

fn new_game<G: Game>(game: &G, seed: u64, next: &mut u64) -> SelfPlayGame<G> {
    let mut chance = Rng::indexed(seed, ouro_game::record::GAME_RNG, *next);
    *next += 1;
    let mut state = game.initial(&mut chance);
    game.settle(&mut state, &mut chance);
    SelfPlayGame { state, chance }
}
