//! The measured costs of every part of a run, and the settings that they are multiplied with.
//!
//! `docs/scale.md` names the measurement of each cost. `cargo xtask scale KEY=VALUE` replaces one.

use anyhow::{Context, Result, bail, ensure};

/// Declares the costs: name, value, unit and meaning of each.
macro_rules! costs {
    ($($name:ident = $value:literal, $unit:literal, $meaning:literal;)*) => {
        /// Costs and settings of a run. Every field is a number above 0.
        #[derive(Clone, Debug, PartialEq)]
        pub(crate) struct Costs {
            $(#[doc = $meaning] pub(crate) $name: f64,)*
        }

        impl Default for Costs {
            fn default() -> Self {
                Self { $($name: $value,)* }
            }
        }

        impl Costs {
            /// Name, value, unit and meaning of every field.
            pub(crate) fn rows(&self) -> Vec<(&'static str, f64, &'static str, &'static str)> {
                vec![$((stringify!($name), self.$name, $unit, $meaning),)*]
            }

            fn field(&mut self, name: &str) -> Option<&mut f64> {
                match name {
                    $(stringify!($name) => Some(&mut self.$name),)*
                    _ => None,
                }
            }
        }
    };
}

costs! {
    positions_per_game = 150.0, "positions", "Positions in a game.";
    actor_positions_per_second = 1000.0, "positions/s", "Positions that one actor with one core plays.";
    games_at_once = 64.0, "games", "Games that an actor plays at the same time (`actor.games_per_thread`).";
    outbox_games = 256.0, "games", "Games of an actor that wait for their acknowledgement at most (`deploy.outbox_games`).";
    push_us = 0.31, "µs", "Processor time of an actor to push a position: encode and send.";
    message_bytes = 40.0, "B", "Bytes of a position in a message.";
    ingest_us = 1.7, "µs", "Processor time of the learner to take in a position: receive, decode, replay, journal, acknowledge.";
    ingest_cores = 2.0, "cores", "Cores of the learner that take in games.";
    journal_bytes = 35.0, "B", "Bytes of a position in the journal.";
    sync_ms = 4.0, "ms", "Time to write and sync a group of games.";
    commit_games = 64.0, "games", "Games of a group at most.";
    commit_delay_ms = 5.0, "ms", "Time from the first game of a group to its sync, unless the group is full.";
    connection_kib = 92.0, "KiB", "Memory of the learner for the connection of an actor.";
    connections = 1024.0, "connections", "Connections of a port at most.";
    training_samples_per_second = 2790.0, "samples/s", "Training speed.";
    sample_us = 3.7, "µs", "Processor time of the learner to draw a position and unpack its game.";
    samples_per_insert = 4.0, "samples", "How often a position is drawn (`replay.samples_per_insert`).";
    batch = 512.0, "samples", "Samples of a step (`train.batch_moves`).";
    generation_steps = 100.0, "steps", "Steps from one publication to the next (`generation_steps`).";
    largest_game = 4096.0, "positions", "Positions of the longest game accepted (`intake.max_plies` times the players).";
    warmup_positions = 4096.0, "positions", "Positions before the first step (`replay.min_positions`).";
    max_staleness = 16.0, "generations", "Age of weights from which games are refused (`intake.max_staleness`).";
    weights_bytes = 215236.0, "B", "Size of a file of weights.";
    weights_send_ms = 0.5, "ms", "Processor time of the arena to send a file of weights.";
    link_bytes_per_second = 1.25e9, "B/s", "Bandwidth of a machine's link, each way; 10 Gbit/s.";
    latency_ms = 0.2, "ms", "Latency of the network, one way.";
    pool_members = 20.0, "members", "Members of the pool.";
    pool_entry_bytes = 110.0, "B", "Bytes of a member in a snapshot of the pool.";
    match_games = 137.0, "games", "Games of a match until the decision, on average.";
    match_game_seconds = 0.08, "s", "Processor time to play a game of a match.";
    redis_scripts_per_candidate = 75.0, "scripts", "Scripts that Redis runs for a candidate whose games workers play, of 117 jobs.";
    redis_script_ms = 3.7, "ms", "Time of a script in Redis: a sync.";
    redis_script_cpu_ms = 0.29, "ms", "Processor time of a script in Redis.";
}

impl Costs {
    /// The defaults, with the values in `words` such as `ingest_us=2`.
    pub(crate) fn parse(words: &[&str]) -> Result<Self> {
        let mut costs = Self::default();
        for word in words {
            let Some((name, value)) = word.split_once('=') else {
                bail!("{word:?} is no KEY=VALUE");
            };
            let number: f64 = value.parse().with_context(|| format!("{word} is no number"))?;
            ensure!(number.is_finite() && number > 0.0, "{word}: it must be above 0");
            let known = Self::default().rows().iter().map(|row| row.0).collect::<Vec<_>>();
            match costs.field(name) {
                Some(field) => *field = number,
                None => bail!("{name:?} is unknown; known are {}", known.join(", ")),
            }
        }
        Ok(costs)
    }
}
