//! One measurement: a fleet pushes for a while, beside floods or alone.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::actors::{ACTOR_THREAD, Fleet, Games};
use super::learner::{Counts, LoadedLearner, cpu_of_threads};
use crate::support::flood::client::{FLOOD_THREAD, flood};
use crate::support::flood::table::Flood;

/// Time in which connections open and buffers grow, before a measurement.
const WARM_UP: Duration = Duration::from_millis(700);

/// What is measured.
#[derive(Clone)]
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) actors: usize,
    /// Games per second of all actors; `None`: as fast as they are acknowledged.
    pub(crate) rate: Option<f64>,
    pub(crate) floods: Vec<Flood>,
}

/// What was measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub(crate) games_per_second: f64,
    pub(crate) positions_per_second: f64,
    /// Milliseconds from the send of a game to its acknowledgement.
    pub(crate) median_ms: f64,
    pub(crate) p99_ms: f64,
    pub(crate) worst_ms: f64,
    /// CPU-seconds per million positions: of the learner and of the actors.
    pub(crate) learner_cpu: f64,
    pub(crate) actor_cpu: f64,
    /// Busy cores: of the learner and of the floods.
    pub(crate) learner_cores: f64,
    pub(crate) flood_cores: f64,
    pub(crate) memory_mib: f64,
    pub(crate) files: f64,
    pub(crate) syncs_per_1000_positions: f64,
    pub(crate) journal_bytes_per_position: f64,
    pub(crate) disk_bytes_per_position: f64,
    pub(crate) flood_connections: f64,
    /// Times that an actor was not connected at once.
    pub(crate) retries: f64,
}

/// Measures one case for `length`. Every game that was sent is acknowledged in the end.
pub(crate) fn measure(
    learner: &mut LoadedLearner,
    case: &Case,
    games: &Arc<Games>,
    length: Duration,
) -> Sample {
    let address = learner.address();
    let before = learner.counts();
    let fleet = Fleet::start(&learner.url(), "load", case.actors, case.rate, games);
    let flooding: Vec<_> =
        case.floods.iter().map(|kind| flood(address, kind, WARM_UP + length)).collect();
    std::thread::sleep(WARM_UP);
    learner.reset_peak();
    let tally = Arc::clone(&fleet.tally);
    tally.latency.lock().expect("no actor panics").reset();
    let now = |learner: &mut LoadedLearner| Moment {
        at: Instant::now(),
        learner: learner.counts(),
        actors: cpu_of_threads(ACTOR_THREAD),
        floods: cpu_of_threads(FLOOD_THREAD),
        games: tally.games.load(Ordering::Relaxed),
        positions: tally.positions.load(Ordering::Relaxed),
    };
    let start = now(learner);
    let mut files = 0;
    while start.at.elapsed() < length {
        std::thread::sleep(Duration::from_millis(100));
        files = files.max(learner.usage().1);
    }
    let end = now(learner);
    let latency = tally.latency.lock().expect("no actor panics").clone();
    let (memory, _) = learner.usage();
    let flood_connections: u64 = flooding.into_iter().map(|flooding| flooding.end()).sum();
    let sent = fleet.end();
    assert!(sent.iter().all(|games| *games > 0), "{}: an actor pushed nothing", case.name);
    // Exactly the games of the fleet are accepted; those of the floods are refused.
    let total = sent.iter().sum();
    assert_eq!(learner.wait_for_games(&before, total) as u64, total, "{}", case.name);

    let seconds = (end.at - start.at).as_secs_f64();
    let (games, positions) = (end.games - start.games, (end.positions - start.positions) as f64);
    let used = |of: fn(&Counts) -> f64| of(&end.learner) - of(&start.learner);
    let ms = |micros: u64| micros as f64 / 1e3;
    Sample {
        games_per_second: games as f64 / seconds,
        positions_per_second: positions / seconds,
        median_ms: ms(latency.value_at_quantile(0.5)),
        p99_ms: ms(latency.value_at_quantile(0.99)),
        worst_ms: ms(latency.max()),
        learner_cpu: used(|counts| counts.cpu_seconds) / positions * 1e6,
        actor_cpu: (end.actors - start.actors) / positions * 1e6,
        learner_cores: used(|counts| counts.cpu_seconds) / seconds,
        flood_cores: (end.floods - start.floods) / seconds,
        memory_mib: memory as f64 / f64::from(1 << 20),
        files: files as f64,
        syncs_per_1000_positions: used(|counts| counts.syncs) / positions * 1e3,
        journal_bytes_per_position: used(|counts| counts.journal_bytes) / positions,
        disk_bytes_per_position: used(|counts| counts.disk_bytes) / positions,
        flood_connections: flood_connections as f64,
        retries: tally.retries.load(Ordering::Relaxed) as f64,
    }
}

/// Cumulative counts of all sides.
struct Moment {
    at: Instant,
    learner: Counts,
    actors: f64,
    floods: f64,
    games: u64,
    positions: u64,
}

/// The median of one figure of several samples.
pub(crate) fn median(samples: &[Sample], of: fn(&Sample) -> f64) -> f64 {
    let mut values: Vec<f64> = samples.iter().map(of).collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
