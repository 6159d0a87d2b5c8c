//! How fast a search is: many games of self-play on one thread, timed.

use std::fmt::Debug;
use std::time::Duration;

use ouro_game::{Action, Game, Rng, Turn};

use super::config::SearchConfig;
use super::config_error::SearchConfigError;
use super::scheduler::Scheduler;
use super::search::Search;
use crate::clock::Clock;
use crate::evaluator::{Estimates, Evaluator, Leaf};

/// What is measured.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    /// Games at once.
    pub games: usize,
    /// Leaves of a full batch.
    pub batch: usize,
    /// Measures for at least this long, and until a simulation has been made.
    pub time: Duration,
    /// Plays for this long before, so that memory has grown and games are in all stages.
    pub warm_up: Duration,
    /// Whether the next decision of a game keeps the tree.
    pub keep_trees: bool,
    /// Seed of games and searches.
    pub seed: u64,
}

/// What came out.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SearchSpeed {
    /// Descents of the trees.
    pub simulations: u64,
    /// Leaves that were evaluated.
    pub evaluations: u64,
    /// Batches they came in.
    pub batches: u64,
    /// Leaves of a full batch.
    pub batch: usize,
    /// Moves that were decided.
    pub decisions: u64,
    /// Time in all.
    pub time: Duration,
    /// Time within the evaluator.
    pub evaluating: Duration,
}

impl SearchSpeed {
    /// Simulations per second of one core.
    pub fn simulations_per_second(&self) -> f64 {
        self.simulations as f64 / self.time.as_secs_f64()
    }

    /// Share of the time that is not the evaluator's, 0 to 1.
    pub fn overhead(&self) -> f64 {
        1.0 - self.evaluating.as_secs_f64() / self.time.as_secs_f64()
    }

    /// Mean share of a batch that was filled, 0 to 1.
    pub fn fill(&self) -> f64 {
        self.evaluations as f64 / (self.batches * self.batch as u64).max(1) as f64
    }
}

/// An evaluator whose time is taken.
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
struct Seat<G: Game> {
    state: G::State,
    chance: Rng,
}

/// Plays games against themselves for a while and reports the speed of the search.
pub fn measure<G: Game, E: Evaluator<G> + ?Sized>(
    game: &G,
    config: &SearchConfig,
    evaluator: &mut E,
    workload: &Workload,
    clock: &dyn Clock,
) -> Result<SearchSpeed, SearchConfigError> {
    let mut next_game = 0;
    let mut seats = Vec::new();
    let mut searches = Vec::new();
    for _ in 0..workload.games {
        let seat = new_game(game, workload.seed, &mut next_game);
        let mut search = Search::new(config.clone(), game)?;
        search.start(game, &seat.state, Rng::indexed(workload.seed, "search", next_game));
        seats.push(seat);
        searches.push(search);
    }
    let mut timed = Timed { inner: evaluator, clock, time: Duration::ZERO };
    let mut scheduler = Scheduler::new(workload.batch);
    let mut speed = SearchSpeed { batch: scheduler.batch(), ..SearchSpeed::default() };
    let begin = clock.monotonic();
    let mut start = begin;
    // Simulations of decisions that were under way when the measurement began.
    let mut begun = 0;
    let mut warm = workload.warm_up.is_zero();
    let mut joint = vec![Action::default(); game.players()];
    while !searches.is_empty() {
        let leaves = scheduler.step(game, &mut searches, &mut timed).leaves;
        speed.evaluations += leaves as u64;
        speed.batches += u64::from(leaves > 0);
        for (seat, search) in seats.iter_mut().zip(&mut searches) {
            if !search.is_done() {
                continue;
            }
            let decision = search.decide(game);
            speed.simulations += u64::from(decision.simulations);
            speed.decisions += 1;
            for chosen in &decision.seats {
                joint[chosen.player] = chosen.action;
            }
            let played = game.advance(&mut seat.state, &joint, &mut seat.chance);
            debug_assert!(played.is_ok(), "searches choose legal actions: {played:?}");
            if played.is_err() || game.turn(&seat.state) == Turn::Over {
                *seat = new_game(game, workload.seed, &mut next_game);
            } else if workload.keep_trees {
                search.advance(game, &joint, &seat.state);
                continue;
            }
            let rng = Rng::indexed(workload.seed, "search", next_game + speed.decisions);
            search.start(game, &seat.state, rng);
        }
        let now = clock.monotonic();
        if !warm && now.saturating_sub(begin) >= workload.warm_up {
            (warm, start) = (true, now);
            timed.time = Duration::ZERO;
            speed = SearchSpeed { batch: speed.batch, ..SearchSpeed::default() };
            begun = unfinished(&searches);
        } else if warm && now.saturating_sub(start) >= workload.time {
            let simulations = (speed.simulations + unfinished(&searches)).saturating_sub(begun);
            // A first batch of roots alone is no figure, however slow the evaluator.
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

/// Simulations of the decisions under way.
fn unfinished<G: Game>(searches: &[Search<G>]) -> u64 {
    searches.iter().map(|search| u64::from(search.simulations())).sum()
}

fn new_game<G: Game>(game: &G, seed: u64, next: &mut u64) -> Seat<G> {
    let mut chance = Rng::indexed(seed, ouro_game::record::GAME_RNG, *next);
    *next += 1;
    let mut state = game.initial(&mut chance);
    game.settle(&mut state, &mut chance);
    Seat { state, chance }
}
