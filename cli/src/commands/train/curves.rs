//! The charts of a run on the web page.

use ouro_arena::web::{Gauge, Gauges};

use super::event::Progress;

/// Records the figures of a run at `seconds` of training.
pub(super) fn note(gauges: &Gauges, seconds: f64, progress: &Progress) {
    let moves = Gauge { chart: "positions played", line: "positions", unit: "/s" };
    let games = Gauge { chart: "games learned from", line: "games", unit: "/s" };
    let window = |line| Gauge { chart: "replay window", line, unit: "positions" };
    let mut values = vec![
        (moves, progress.moves_per_second),
        (games, progress.games_per_second),
        (window("held"), progress.window_positions as f64),
        (window("fit"), progress.window_capacity as f64),
    ];
    // Training has no figures before its first loss. Older histories have a loss of 0 at step 0.
    if let Progress {
        policy_loss: Some(policy), value_loss: Some(value), entropy: Some(nats), ..
    } = *progress
        && progress.step > 0
    {
        let loss = |line| Gauge { chart: "loss", line, unit: "a position" };
        let entropy = Gauge { chart: "entropy", line: "entropy", unit: "nats" };
        let returns = Gauge { chart: "mean return", line: "return", unit: "" };
        let staleness = Gauge { chart: "staleness", line: "lag", unit: "generations" };
        values.extend([
            (loss("policy"), policy),
            (loss("value"), value),
            (entropy, nats),
            (returns, progress.mean_return),
            (staleness, progress.staleness),
        ]);
    }
    for (gauge, value) in values {
        gauges.add(gauge, seconds, value);
    }
}
