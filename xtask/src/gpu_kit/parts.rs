//! The parts of a run: which program measures what, and how its lines become findings.

use std::path::Path;
use std::time::Duration;

use serde_json::{Map, Value};

use super::manifest::{Backend, Variant};
use super::options::Scale;
use super::process::Program;

/// Networks of the report.
const NETWORKS: &str = "small,medium,tower_128x10";
/// Batch sizes of the report.
const BATCHES: &str = "256,1024,4096";

/// Keys of a progress event that make the curve of a training run.
const CURVE: [&str; 12] = [
    "seconds",
    "generation",
    "step",
    "games",
    "positions",
    "games_per_second",
    "moves_per_second",
    "loss",
    "policy_loss",
    "value_loss",
    "staleness",
    "pool",
];

/// Sets what all programs have in common.
pub(crate) struct Setting<'a> {
    pub(crate) kit: &'a Path,
    pub(crate) out: &'a Path,
    pub(crate) scale: Scale,
    /// Variables for the Vulkan loader.
    pub(crate) environment: &'a [(String, String)],
}

impl Setting<'_> {
    fn program(&self, path: &str, words: &[&str], limit: Duration) -> Program {
        Program {
            path: path.to_owned(),
            arguments: words.iter().map(|&word| word.to_owned()).collect(),
            environment: self.environment.to_vec(),
            limit,
        }
    }

    fn in_kit(&self, path: &str) -> String {
        self.kit.join(path).display().to_string()
    }

    /// Parity and steps on one backend.
    pub(crate) fn backend(&self, backend: &Backend, limit: Duration) -> Program {
        let mut words = vec!["--json", "bench", "gpu", "--device", "vulkan"];
        words.extend(match self.scale {
            Scale::Full => ["--network", NETWORKS, "--batch", BATCHES, "--seconds", "1"],
            Scale::Rehearsal => ["--network", "tiny", "--batch", "8", "--seconds", "0.2"],
        });
        words.extend(["--parity-rows", "32", "--parity-steps", "3"]);
        words.extend(self.software());
        let mut program = self.program(&self.in_kit(&backend.program), &words, limit);
        program.environment.extend(backend.environment.iter().cloned());
        // A driver that the Vulkan loader cannot load is otherwise just "no adapter".
        program.environment.push(("VK_LOADER_DEBUG".to_owned(), "error,warn".to_owned()));
        program
    }

    /// A rehearsal has only a software adapter.
    fn software(&self) -> &'static [&'static str] {
        match self.scale {
            Scale::Full => &[],
            Scale::Rehearsal => &["--allow-software-adapter"],
        }
    }

    /// Self-play of Connect Four with the network `small` on some threads.
    pub(crate) fn self_play(&self, threads: usize) -> Program {
        let seconds = match self.scale {
            Scale::Full => 2.0,
            Scale::Rehearsal => 0.4,
        };
        let (threads, seconds_word) = (threads.to_string(), seconds.to_string());
        let words = ["--json", "--threads", &threads, "--seconds", &seconds_word];
        // The last moves may be slow, and threads take time to start.
        let limit = Duration::from_secs_f64(10.0 + 2.0 * seconds);
        self.program(&self.in_kit("bin/bench_selfplay"), &words, limit)
    }

    /// Steps of PyTorch. The script ends by itself before the limit.
    pub(crate) fn torch(&self, limit: Duration) -> Program {
        let script = self.in_kit("torch_steps.py");
        let least = format!("{:.0}", (0.9 * limit.as_secs_f64()).floor());
        let mut words = vec![script.as_str(), "--limit", &least];
        if self.scale == Scale::Rehearsal {
            words.extend(["--network", "tower_10x1", "--batch", "8", "--seconds", "0.1"]);
        }
        let python = std::env::var("OURO_KIT_PYTHON").unwrap_or_else(|_| "python3".to_owned());
        self.program(&python, &words, limit)
    }

    /// A training run of `time`, and time for its end.
    pub(crate) fn train(&self, time: Duration, limit: Duration) -> Program {
        let preset = match self.scale {
            Scale::Full => "duel-7x7",
            Scale::Rehearsal => "tictactoe",
        };
        let run = self.out.join("run").display().to_string();
        let time = format!("{}s", time.as_secs());
        let mut words = vec!["--json", "train", preset, "--run", &run, "--for", &time];
        words.extend(["--device", "vulkan", "--web", "off", "--metrics", "off"]);
        words.extend(["--arena", "127.0.0.1:0", "--learner", "127.0.0.1:0"]);
        words.extend(self.software());
        self.program(&self.in_kit(&Variant::Plain.program()), &words, limit)
    }
}

/// Numbers of threads: powers of two, and all cores.
pub(crate) fn thread_counts(cores: usize) -> Vec<usize> {
    let powers = std::iter::successors(Some(1), |&count| Some(2 * count));
    let mut counts: Vec<usize> = powers.take_while(|&count| count < cores).collect();
    counts.push(cores.max(1));
    counts
}

/// The events of a training run that a report keeps: its start and end, verdicts, and progress as a
/// curve.
pub(crate) fn curve(events: Vec<Value>) -> Vec<Value> {
    events.into_iter().filter_map(curve_point).collect()
}

fn curve_point(event: Value) -> Option<Value> {
    match event["event"].as_str()? {
        "progress" => {
            let mut point: Map<String, Value> =
                CURVE.iter().map(|&key| (key.to_owned(), event[key].clone())).collect();
            point.insert("event".to_owned(), "progress".into());
            for key in ["elo", "elo_low", "elo_high", "player"] {
                point.insert(format!("best_{key}"), event["best"][key].clone());
            }
            Some(point.into())
        }
        "start" | "promotion" | "rejection" | "pause" | "end" => Some(event),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn threads_double_up_to_all_cores() {
        assert_eq!(thread_counts(1), [1]);
        assert_eq!(thread_counts(2), [1, 2]);
        assert_eq!(thread_counts(16), [1, 2, 4, 8, 16]);
        assert_eq!(thread_counts(12), [1, 2, 4, 8, 12]);
    }

    #[test]
    fn the_curve_has_loss_and_rating_over_time() {
        let events = vec![
            json!({ "event": "progress", "seconds": 5.0, "loss": 1.5, "best": { "elo": 20.0 }, "gate": { "games": 4 } }),
            json!({ "event": "draining" }),
            json!({ "event": "end", "ratings": [] }),
        ];
        let curve = curve(events);
        assert_eq!(curve.len(), 2);
        assert_eq!(curve[0]["loss"], 1.5);
        assert_eq!(curve[0]["best_elo"], 20.0);
        assert_eq!(curve[0]["gate"], Value::Null);
        assert_eq!(curve[1]["event"], "end");
    }
}
