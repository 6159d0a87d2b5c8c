//! Simulated runs of 1,000 actors, each at one limit, beside the formula of that limit.

use super::costs::Costs;
use super::simulation::{Outcome, simulate};

/// Actors of every scenario.
const ACTORS: usize = 1_000;

/// A figure by both ways.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Compared {
    pub(crate) formula: f64,
    pub(crate) simulated: f64,
}

/// A run at one limit.
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    /// The figure that is compared.
    pub(crate) what: &'static str,
    /// Largest relative difference.
    pub(crate) tolerance: f64,
    /// Virtual seconds.
    seconds: f64,
    /// Changes the costs so that this limit is the lowest.
    set: fn(&mut Costs),
    formula: fn(&Costs) -> f64,
    simulated: fn(&Outcome) -> f64,
}

impl Scenario {
    fn costs(&self) -> Costs {
        let mut costs = Costs::default();
        (self.set)(&mut costs);
        costs
    }

    fn outcome(&self, seed: u64) -> Outcome {
        simulate(&self.costs(), ACTORS, self.seconds, seed)
    }

    /// Simulates the run and computes its formula.
    pub(crate) fn compare(&self) -> Compared {
        let simulated = (self.simulated)(&self.outcome(1));
        Compared { formula: (self.formula)(&self.costs()), simulated }
    }
}

/// Training that never makes actors wait.
const FAST_TRAINING: f64 = 1e9;

fn accepted(costs: &Costs) -> f64 {
    costs.accepted_positions(ACTORS as f64)
}

fn positions(outcome: &Outcome) -> f64 {
    outcome.positions_per_second
}

/// Training that is limited by what actors deliver, with rare publications, so that weights play no
/// part.
fn no_weights(costs: &mut Costs) {
    costs.training_samples_per_second = FAST_TRAINING;
    costs.generation_steps = 1e9;
}

/// A fan-out that takes this many generations. Training is faster than the actors.
fn fan_out(costs: &mut Costs, generations: f64) {
    costs.training_samples_per_second = FAST_TRAINING;
    costs.actor_positions_per_second = 400.0;
    costs.games_at_once = 4.0;
    costs.generation_steps = 1_000.0;
    let interval = costs.generation_seconds(ACTORS as f64);
    costs.link_bytes_per_second = ACTORS as f64 * costs.weights_bytes / (generations * interval);
}

/// Training that is slower than the actors, with short outboxes, so that the run becomes steady
/// within seconds.
fn slow_training(costs: &mut Costs) {
    costs.generation_steps = 1e9;
    costs.training_samples_per_second = 200_000.0;
    costs.outbox_games = 2.0;
}

/// All scenarios.
pub(crate) const SCENARIOS: [Scenario; 11] = [
    Scenario {
        name: "below all limits",
        what: "positions/s",
        tolerance: 0.02,
        seconds: 6.0,
        set: |costs| {
            no_weights(costs);
            costs.actor_positions_per_second = 400.0;
        },
        formula: |costs| ACTORS as f64 * costs.actor_positions_per_second,
        simulated: positions,
    },
    Scenario {
        name: "processor of the learner",
        what: "positions/s",
        tolerance: 0.02,
        seconds: 8.0,
        set: |costs| {
            no_weights(costs);
            costs.sync_ms = 0.5;
            costs.ingest_us = 8.0;
        },
        formula: accepted,
        simulated: positions,
    },
    Scenario {
        name: "syncs of the journal",
        what: "positions/s",
        tolerance: 0.02,
        seconds: 8.0,
        set: |costs| {
            no_weights(costs);
            costs.sync_ms = 20.0;
        },
        formula: accepted,
        simulated: positions,
    },
    Scenario {
        name: "training",
        what: "positions/s",
        tolerance: 0.02,
        seconds: 20.0,
        set: slow_training,
        formula: accepted,
        simulated: positions,
    },
    Scenario {
        name: "training, outboxes full",
        what: "largest number of games inside the learner",
        tolerance: 0.02,
        seconds: 20.0,
        set: |costs| {
            slow_training(costs);
            costs.outbox_games = 64.0;
        },
        // Each connection reads ahead by 8 games; the journal writer holds a queue and a group.
        formula: |costs| 8.0 * ACTORS as f64 + 64.0 + costs.games_per_commit(),
        simulated: |outcome| outcome.most_held as f64,
    },
    Scenario {
        name: "training, outboxes full",
        what: "ms until the acknowledgement, median",
        tolerance: 0.05,
        seconds: 20.0,
        set: slow_training,
        formula: |costs| 1e3 * costs.backlog_seconds(ACTORS as f64),
        simulated: |outcome| outcome.median_ms,
    },
    Scenario {
        name: "training, outboxes full",
        what: "share of games refused as stale, %",
        tolerance: 0.05,
        seconds: 120.0,
        set: |costs| {
            costs.training_samples_per_second = 200_000.0;
            costs.actor_positions_per_second = 200.0;
            costs.outbox_games = 64.0;
            costs.games_at_once = 1.0;
        },
        formula: |costs| 100.0 * costs.stale_share(ACTORS as f64),
        simulated: |outcome| 100.0 * outcome.stale_share,
    },
    Scenario {
        name: "length of games",
        what: "positions/s",
        // Refusals come in waves, and short games pass, so the formula is a lower bound.
        tolerance: 0.4,
        seconds: 200.0,
        set: |costs| {
            costs.actor_positions_per_second = 50.0;
            costs.games_at_once = 4.0;
            costs.generation_steps = 10.0;
            costs.training_samples_per_second = FAST_TRAINING;
        },
        formula: accepted,
        simulated: positions,
    },
    Scenario {
        name: "weights of every generation, link at 50 %",
        what: "fetches/s",
        tolerance: 0.02,
        seconds: 20.0,
        set: |costs| fan_out(costs, 0.5),
        formula: |costs| ACTORS as f64 / costs.generation_seconds(ACTORS as f64),
        simulated: |outcome| outcome.fetches_per_second,
    },
    Scenario {
        name: "weights, a fan-out lasts 4 generations",
        what: "fetches/s",
        tolerance: 0.02,
        seconds: 20.0,
        set: |costs| fan_out(costs, 4.0),
        formula: |costs| costs.link_bytes_per_second / costs.weights_bytes,
        simulated: |outcome| outcome.fetches_per_second,
    },
    Scenario {
        name: "weights, a fan-out lasts 4 generations",
        what: "mean age of weights, generations",
        tolerance: 0.15,
        seconds: 20.0,
        set: |costs| fan_out(costs, 4.0),
        formula: |costs| costs.staleness(ACTORS as f64),
        simulated: |outcome| outcome.mean_staleness,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_events() {
        for scenario in [&SCENARIOS[0], &SCENARIOS[9]] {
            let [first, again, other] = [1, 1, 2].map(|seed| scenario.outcome(seed));
            assert_eq!(first, again, "{}", scenario.name);
            assert_ne!(first.fingerprint, other.fingerprint, "{}", scenario.name);
        }
    }

    #[test]
    fn one_part_alone_is_busy_at_its_limit() {
        // No group becomes full, so the journal's commits of 20 ms follow delays of 5 ms.
        let most = [1.0, 20.0 / 25.0, 1.0];
        let busy = |index: usize| {
            let outcome = SCENARIOS[index].outcome(1);
            let shares = [outcome.core_share, outcome.sync_share, outcome.training_share];
            [0, 1, 2].map(|part| shares[part] > 0.97 * most[part])
        };
        assert_eq!(busy(0), [false; 3]);
        assert_eq!(busy(1), [true, false, false]);
        assert_eq!(busy(2), [false, true, false]);
        assert_eq!(busy(3), [false, false, true]);
    }

    #[test]
    fn below_the_limits_a_game_waits_for_one_commit_at_most() {
        let (costs, outcome) = (SCENARIOS[0].costs(), SCENARIOS[0].outcome(1));
        // The delay of a group, a commit under way and its own, two ways, and the check.
        let longest = 5.0 + 2.0 * costs.sync_ms + 2.0 * costs.latency_ms + 5.0;
        assert!(outcome.p99_ms < longest, "{outcome:?}");
        assert!(outcome.median_ms > costs.sync_ms, "{outcome:?}");
    }

    #[test]
    fn games_are_refused_only_if_two_fan_outs_and_a_game_exceed_the_age_of_weights() {
        let stale = |generations: f64| {
            let mut costs = Costs::default();
            fan_out(&mut costs, generations);
            simulate(&costs, ACTORS, 40.0, 1).stale_share
        };
        // The longest games last 7 generations, and `max_staleness` is 16.
        assert_eq!(stale(4.0), 0.0);
        assert!(stale(12.0) > 0.1);
    }
}
