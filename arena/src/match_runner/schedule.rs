//! How long candidates wait for a verdict: the real gate, job table, candidates and duty cycle, with
//! simulated games on a simulated machine. The figures are printed with `--nocapture`.

use std::collections::BTreeMap;

use ouro_game::Rng;
use ouro_rating::{ClusterResult, ClusterShape, GameResult, GateConfig, Ranking};
use ouro_replay::testing::MemoryDisk;
use ouro_settings::Preset;

use super::in_progress::CREDIT;
use super::*;
use crate::testing::{offer, state};
use crate::workers::job_table::JobTable;

/// Runs of which figures are means.
const RUNS: u64 = 10;

/// A game in play.
struct SimulatedGame {
    cluster: u32,
    plies_left: u32,
    result: f32,
}

/// How matches are scheduled.
#[derive(Clone, Copy)]
struct Policy {
    parallel: usize,
    match_share: f64,
    catch_up_share: f64,
    /// Whether the share is one of elapsed time, as it was before.
    is_wall_time: bool,
    /// Whether games are started that cannot count any more, as it was before.
    starts_needless: bool,
}

/// The policy of the preset `duel`.
fn now() -> Policy {
    let MatchConfig { parallel, match_share, catch_up_share, .. } = Preset::Duel.settings().arena;
    let (is_wall_time, starts_needless) = (false, false);
    Policy { parallel, match_share, catch_up_share, is_wall_time, starts_needless }
}

/// The policy of all presets before ADR 0025.
const BEFORE: Policy = Policy {
    parallel: 64,
    match_share: 0.2,
    catch_up_share: 0.2,
    is_wall_time: true,
    starts_needless: true,
};

/// A machine with busy cores, and a run on it.
#[derive(Clone, Copy)]
struct Machine {
    /// Elapsed time in multiples of CPU time, while a thread computes.
    stretch: f64,
    /// CPU seconds of a ply of one game. A game takes 100 plies on average.
    ply: f64,
    /// Seconds between two generations.
    generation: f64,
}

/// The busy machine of a run of `duel`: two cores, a generation in 136 s, a game in 0.6 CPU-seconds.
const BUSY: Machine = Machine { stretch: 3.0, ply: 0.006, generation: 136.0 };

/// A match from its start to its verdict.
#[derive(Clone, Copy, Debug, Default)]
struct MatchFigures {
    /// CPU seconds until the first pair counted.
    first_pair: f64,
    /// CPU seconds until the verdict.
    cpu: f64,
    /// Seconds until the verdict.
    elapsed: f64,
    /// Generations that arrived meanwhile, and the most of them in any match.
    newer: f64,
    most_newer: f64,
    /// Games that counted.
    games: f64,
    /// Games that were in play at the verdict.
    dropped: f64,
}

/// A run with its arena.
struct Schedule {
    policy: Policy,
    machine: Machine,
    state: ArenaState,
    _folder: tempfile::TempDir,
    rng: Rng,
    now: f64,
    published: u32,
}

impl Schedule {
    fn new(policy: Policy, machine: Machine, seed: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (state, _) = state(folder.path(), &MemoryDisk::new(), &MatchConfig::default());
        let rng = Rng::indexed(seed, "schedule", 0);
        Self { policy, machine, state, _folder: folder, rng, now: 0.0, published: 0 }
    }

    /// Lets time pass and publishes what the learner makes meanwhile.
    fn pass(&mut self, seconds: f64) {
        self.now += seconds;
        while f64::from(self.published) * self.machine.generation <= self.now {
            offer(&self.state, self.published).unwrap();
            self.published += 1;
        }
    }

    /// Plays the newest candidate, whose true share of the points is `share`, to its verdict.
    fn evaluate(&mut self, share: f64) -> MatchFigures {
        let candidate = self.state.next_candidate().unwrap().expect("a candidate waits");
        let (start, mut figures) = (self.now, MatchFigures::default());
        let mut gate = Gate::new(GateConfig::default(), ClusterShape { seats: 2 }).unwrap();
        let mut table = JobTable::new(0..gate.max_clusters());
        let mut playing: Vec<SimulatedGame> = Vec::new();
        let mut ended: BTreeMap<u32, Vec<f32>> = BTreeMap::new();
        let mut duty_cycle = DutyCycle::new(self.policy.match_share).with_credit(CREDIT);
        while gate.ruling().is_none() {
            if !self.policy.starts_needless {
                table.set_missing(missing(&gate.report()));
            }
            let room = self.policy.parallel.saturating_sub(playing.len()).div_ceil(2);
            for cluster in table.take(room) {
                for _ in 0..2 {
                    let plies_left = 20 + self.rng.below(161);
                    let won = self.rng.unit() < share;
                    let result = if won { 1.0 } else { -1.0 };
                    playing.push(SimulatedGame { cluster, plies_left, result });
                }
            }
            // A ply of all games, then the pause.
            let begun = Duration::from_secs_f64(self.now);
            let cpu = playing.len() as f64 * self.machine.ply;
            figures.cpu += cpu;
            self.pass(cpu * self.machine.stretch);
            let waiting = self.state.candidates().waiting();
            let Policy { match_share, catch_up_share, is_wall_time, .. } = self.policy;
            duty_cycle.set_share(duty_cycle::share(match_share, catch_up_share, waiting));
            let work = if is_wall_time { cpu * self.machine.stretch } else { cpu };
            duty_cycle.spent(begun, Duration::from_secs_f64(work));
            let wait = duty_cycle.wait(Duration::from_secs_f64(self.now)).unwrap();
            self.pass(wait.as_secs_f64());
            for game in playing.extract_if(.., |game| {
                game.plies_left -= 1;
                game.plies_left == 0
            }) {
                ended.entry(game.cluster).or_default().push(game.result);
            }
            let complete: Vec<u32> =
                ended.iter().filter(|(_, results)| results.len() == 2).map(|one| *one.0).collect();
            for cluster in complete {
                table.finish(cluster, ended.remove(&cluster).unwrap());
            }
            for results in table.fold() {
                let cluster = gate.next_cluster();
                let result = |(game, result): (u64, f32)| GameResult {
                    ranking: Ranking::new(result, &[-result]),
                    margin: 0.0,
                    fingerprint: 2 * u64::from(cluster) + game,
                };
                let games = (0..).zip(results).map(result).collect();
                gate.fold(&ClusterResult { cluster, games });
                if figures.first_pair == 0.0 {
                    figures.first_pair = figures.cpu;
                }
            }
        }
        figures.elapsed = self.now - start;
        figures.newer = f64::from(self.published - 1 - candidate.generation.0);
        figures.most_newer = figures.newer;
        (figures.games, figures.dropped) = (gate.report().games.into(), playing.len() as f64);
        self.state.drop_candidate(candidate.generation, "the simulation has its verdict").unwrap();
        figures
    }
}

/// Mean figures of the matches of some runs, and most of the generations that arrived meanwhile.
/// Each run has two candidates with this true share of the points.
fn mean(policy: Policy, machine: Machine, share: f64) -> MatchFigures {
    let mut sum = MatchFigures::default();
    for seed in 0..RUNS {
        let mut schedule = Schedule::new(policy, machine, seed);
        schedule.pass(0.0);
        for _ in 0..2 {
            let MatchFigures { first_pair, cpu, elapsed, newer, most_newer, games, dropped } =
                schedule.evaluate(share);
            sum.first_pair += first_pair;
            sum.cpu += cpu;
            sum.elapsed += elapsed;
            sum.newer += newer;
            sum.most_newer = sum.most_newer.max(most_newer);
            sum.games += games;
            sum.dropped += dropped;
            // The next candidate starts once there is one.
            schedule.pass(machine.generation);
        }
    }
    let per_match = |sum: f64| sum / (2 * RUNS) as f64;
    let mean = MatchFigures {
        first_pair: per_match(sum.first_pair),
        cpu: per_match(sum.cpu),
        elapsed: per_match(sum.elapsed),
        newer: per_match(sum.newer),
        most_newer: sum.most_newer,
        games: per_match(sum.games),
        dropped: per_match(sum.dropped),
    };
    println!("share {share}, stretch {}, {} abreast: {mean:.1?}", machine.stretch, policy.parallel);
    mean
}

#[test]
fn waiting_for_a_core_does_not_delay_a_verdict() {
    let elapsed = |policy, stretch| mean(policy, Machine { stretch, ..BUSY }, 0.8).elapsed;
    let [idle, busy] = [1.0, 3.0].map(|stretch| elapsed(now(), stretch));
    assert!((busy / idle - 1.0).abs() < 0.1, "{busy} s instead of {idle} s");
    let [idle, busy] = [1.0, 3.0].map(|stretch| elapsed(BEFORE, stretch));
    assert!(busy > 2.9 * idle, "the model has the fault: {busy} s instead of {idle} s");
}

#[test]
fn a_verdict_comes_within_a_few_generations() {
    for (share, usual, most) in [(0.53, 3.5, 6.0), (0.8, 1.5, 2.0)] {
        let figures = mean(now(), BUSY, share);
        assert!(figures.newer < usual && figures.most_newer <= most, "{share}: {figures:?}");
    }
    let before = mean(BEFORE, BUSY, 0.53);
    assert!(before.newer > 10.0, "the model has the fault: {before:?}");
}

#[test]
fn a_match_that_lags_takes_more_cpu_time_within_its_bound() {
    let usual = mean(Policy { catch_up_share: 0.2, ..now() }, BUSY, 0.53);
    let lagging = mean(now(), BUSY, 0.53);
    let share = |figures: MatchFigures| figures.cpu / figures.elapsed;
    assert!((share(usual) - 0.2).abs() < 0.01, "{usual:?}");
    assert!((0.22..0.33).contains(&share(lagging)), "{lagging:?}");
    // A slow match that can get half of a core stays below the bound.
    let slow = mean(now(), Machine { ply: 0.06, stretch: 1.5, ..BUSY }, 0.6);
    assert!((0.4..0.5).contains(&share(slow)), "{slow:?}");
    // Of a machine that leaves it a third of a core, it takes nearly that.
    let starved = mean(now(), Machine { ply: 0.06, ..BUSY }, 0.6);
    assert!((0.3..0.334).contains(&share(starved)), "{starved:?}");
}

#[test]
fn the_first_pair_counts_early_and_few_games_are_dropped() {
    let [before, now] = [BEFORE, now()].map(|policy| mean(policy, BUSY, 0.8));
    assert!(now.first_pair < before.first_pair / 10.0, "{now:?} {before:?}");
    assert!(now.dropped < 4.0 && before.dropped > 60.0, "{now:?} {before:?}");
    assert!(now.cpu < before.cpu / 2.0, "{now:?} {before:?}");
}
