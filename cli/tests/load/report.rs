//! The full measurement and its tables.

use std::sync::Arc;

use ouro_testkit::print_uncaptured as print;

use super::actors::Games;
use super::fan_out;
use super::learner::{LoadedLearner, SMALL_NET};
use super::measure::{Case, Sample, measure, median};
use super::plan::{PUSHED, Plan, game_of};
use crate::support::flood::table::Flood;

/// Measures all games without floods, then the first game beside floods.
pub(crate) fn run(plan: &Plan, hostile: &[Flood]) {
    for (name, settings) in PUSHED {
        let games = Games::random(&game_of(settings), 256);
        let (positions, bytes) = games.means();
        print(format_args!("\n{name}: {positions:.1} positions and {bytes:.0} bytes a game\n"));
        let mut learner = LoadedLearner::start(settings, SMALL_NET);
        load(&mut learner, plan, &games, plan.rate / positions);
        learner.end();
    }
    let (_, settings) = PUSHED[0];
    let games = Games::random(&game_of(settings), 256);
    let mut learner = LoadedLearner::start(settings, SMALL_NET);
    for rate in [Some(plan.rate / games.means().0), None] {
        attack(&mut learner, plan, &games, rate, hostile);
    }
    learner.end();
    fan_out::run(plan);
}

/// The samples of each case; the cases take turns.
fn in_turns(
    learner: &mut LoadedLearner,
    plan: &Plan,
    games: &Arc<Games>,
    cases: &[Case],
) -> Vec<Vec<Sample>> {
    let mut samples = vec![Vec::new(); cases.len()];
    for _ in 0..plan.rounds {
        for (case, samples) in cases.iter().zip(&mut samples) {
            samples.push(measure(learner, case, games, plan.length));
        }
    }
    samples
}

fn load(learner: &mut LoadedLearner, plan: &Plan, games: &Arc<Games>, rate: f64) {
    let mut cases = Vec::new();
    for rate in [None, Some(rate)] {
        for actors in [1, plan.actors] {
            let pace = if rate.is_some() { "fixed" } else { "full" };
            cases.push(Case { name: pace.to_owned(), actors, rate, floods: Vec::new() });
        }
    }
    print(
        "| rate | actors | positions/s | games/s | ack p50, ms | p99, ms | max, ms | learner, CPU-s per million | \
         actors, CPU-s per million | memory, MiB | files | syncs per 1,000 | journal, B | disk, B |\n\
         |---|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    );
    let samples = in_turns(learner, plan, games, &cases);
    for (Case { name, actors, .. }, samples) in cases.iter().zip(&samples) {
        let of = |figure| median(samples, figure);
        print(format_args!(
            "| {name} | {actors} | {:.0} | {:.0} | {:.1} | {:.1} | {:.1} | {:.2} | {:.2} | {:.0} | {:.0} | {:.2} | {:.1} | {:.1} |",
            of(|one| one.positions_per_second),
            of(|one| one.games_per_second),
            of(|one| one.median_ms),
            of(|one| one.p99_ms),
            of(|one| one.worst_ms),
            of(|one| one.learner_cpu),
            of(|one| one.actor_cpu),
            of(|one| one.memory_mib),
            of(|one| one.files),
            of(|one| one.syncs_per_1000_positions),
            of(|one| one.journal_bytes_per_position),
            of(|one| one.disk_bytes_per_position),
        ));
    }
}

/// Each flood alone and all at once, each beside a calm measurement right before it.
fn attack(
    learner: &mut LoadedLearner,
    plan: &Plan,
    games: &Arc<Games>,
    rate: Option<f64>,
    hostile: &[Flood],
) {
    let pace = rate.map_or("full".to_owned(), |rate| format!("{rate:.0} games/s"));
    print(format_args!(
        "\n{} actors at rate {pace}\n\n\
         | flood | connections | throughput, ratio | ack p99, ms, calm | ack p99, ms | learner cores, calm | learner cores | \
         flood's own cores | memory, MiB | files | retries |\n|---|---|---|---|---|---|---|---|---|---|---|",
        plan.actors
    ));
    let mut kinds: Vec<(String, Vec<Flood>)> =
        hostile.iter().map(|flood| (flood.name.to_owned(), vec![flood.clone()])).collect();
    kinds.push(("all at once".to_owned(), hostile.to_vec()));
    for (name, floods) in kinds {
        let case = |floods| Case { name: name.clone(), actors: plan.actors, rate, floods };
        let cases = [case(Vec::new()), case(floods)];
        let samples = in_turns(learner, plan, games, &cases);
        let (calm, flooded) = (&samples[0], &samples[1]);
        let mut ratios: Vec<f64> = calm
            .iter()
            .zip(flooded)
            .map(|(calm, flooded)| flooded.positions_per_second / calm.positions_per_second)
            .collect();
        ratios.sort_by(f64::total_cmp);
        print(format_args!(
            "| {name} | {:.0} | {:.2} | {:.0} | {:.0} | {:.2} | {:.2} | {:.2} | {:.0} | {:.0} | {:.0} |",
            median(flooded, |one| one.flood_connections),
            ratios[ratios.len() / 2],
            median(calm, |one| one.p99_ms),
            median(flooded, |one| one.p99_ms),
            median(calm, |one| one.learner_cores),
            median(flooded, |one| one.learner_cores),
            median(flooded, |one| one.flood_cores),
            median(flooded, |one| one.memory_mib),
            median(flooded, |one| one.files),
            median(flooded, |one| one.retries),
        ));
    }
}
