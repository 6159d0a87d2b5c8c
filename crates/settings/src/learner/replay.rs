//! Which games are learned from, how long and how often, and which games are accepted.

use ouro_game::GameConfig;
use ouro_replay::trajectory::MAX_PLIES;
use ouro_replay::{Deal, FifoSettings, Growth, ReplaySettings, Settings, WindowSettings};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::algorithm::AlgorithmConfig;
use super::train::TrainConfig;
use crate::error::SettingError;
use crate::players::players;
use crate::schema::check_ranges;

/// Which games are learned from, how long and how often. `AlphaZero` draws from a window of the newest
/// positions. REINFORCE uses every position once, oldest first; `queue_positions`, `mixed_batches`
/// and `segment_moves` are for REINFORCE alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReplayConfig {
    /// Positions in the window before the first step.
    #[schemars(range(min = 1, max = 1_099_511_627_776_u64))]
    pub min_positions: u64,
    /// Positions that the window holds before it starts to grow.
    #[schemars(range(min = 1, max = 1_099_511_627_776_u64))]
    pub window_positions: u64,
    /// Exponent of the growth of the window with all positions ever inserted.
    #[schemars(range(min = 0.001, max = 1))]
    pub window_power: f64,
    /// Initial growth, in window positions per position inserted.
    #[schemars(range(min = 0, max = 1))]
    pub window_slope: f64,
    /// How often each position is drawn on average. Actors wait for training and training waits
    /// for actors to keep this ratio.
    #[schemars(range(min = 0.001, max = 1_000))]
    pub samples_per_insert: f64,
    /// Memory for games, in MiB.
    #[schemars(range(min = 1, max = 16_777_216))]
    pub max_mib: usize,
    /// Largest number of positions that wait for REINFORCE. Beyond it the learner stops reading
    /// streams, and actors wait.
    #[schemars(range(min = 1, max = 67_108_864))]
    pub queue_positions: usize,
    /// Batches that REINFORCE makes at a time. Their games are cut into segments, which are dealt
    /// out at random, so that a batch has short segments of many games. 1 takes games whole and in
    /// order. This many times `train.batch_moves` must fit in `queue_positions`.
    #[schemars(range(min = 1, max = 65_536))]
    pub mixed_batches: usize,
    /// Consecutive moves of a game that stay together if batches are mixed. Later moves count by
    /// their estimated value.
    #[schemars(range(min = 1, max = 65_536))]
    pub segment_moves: usize,
    /// Threads that make batches. With more than one, the order of batches is not fixed.
    #[schemars(range(min = 1, max = 256))]
    pub assembly_threads: usize,
}

impl Default for ReplayConfig {
    fn default() -> Self {
        Self {
            min_positions: 4_096,
            window_positions: 65_536,
            window_power: 0.75,
            window_slope: 0.5,
            samples_per_insert: 4.0,
            max_mib: 2_048,
            queue_positions: 8_192,
            mixed_batches: 1,
            segment_moves: 16,
            assembly_threads: 1,
        }
    }
}

/// Which games the learner accepts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct IntakeConfig {
    /// Longest game accepted, in plies.
    #[schemars(range(min = 1, max = MAX_PLIES))]
    pub max_plies: usize,
    /// Most generations between the weights of a learning seat and the newest ones.
    pub max_staleness: u32,
    /// Most actors connected at once.
    #[schemars(range(min = 1, max = 65_536))]
    pub max_streams: usize,
    /// Time that a new stream has for its first message, in milliseconds.
    #[schemars(range(min = 1, max = 2_147_483_648_u64))]
    pub hello_ms: u64,
    /// Threads that replay games by the rules. Each replays one game at a time.
    #[schemars(range(min = 1, max = 1_024))]
    pub replay_threads: usize,
}

impl Default for IntakeConfig {
    fn default() -> Self {
        Self {
            max_plies: 2_048,
            max_staleness: 16,
            max_streams: 64,
            hello_ms: 10_000,
            replay_threads: 2,
        }
    }
}

impl ReplayConfig {
    /// Checks every field.
    pub fn validate(&self) -> Result<(), SettingError> {
        check_ranges("replay", self)?;
        if self.min_positions > self.window_positions {
            let remedy = "it must be at most replay.window_positions, or nothing is ever drawn";
            return Err(SettingError::new("replay.min_positions", self.min_positions, remedy));
        }
        Ok(())
    }

    /// Derives and validates the replay settings of the algorithm.
    pub fn settings(
        &self,
        seed: u64,
        game: &GameConfig,
        train: &TrainConfig,
        intake: &IntakeConfig,
    ) -> Result<ReplaySettings, SettingError> {
        let batch = train.batch_moves as u64;
        let max_bytes = self.max_mib.saturating_mul(1 << 20);
        let settings = match &train.algorithm {
            AlgorithmConfig::AlphaZero(_) => {
                let growth = Growth {
                    start: self.window_positions,
                    power: self.window_power,
                    slope: self.window_slope,
                };
                let min_positions = self.min_positions;
                let window = WindowSettings { growth, max_bytes, min_positions, seed };
                let mut ratio = Settings {
                    samples_per_insert: self.samples_per_insert,
                    warmup: min_positions,
                    tolerance: 0.0,
                    largest_insert: (intake.max_plies * players(game)?) as u64,
                    largest_sample: batch,
                };
                // Wide enough that inserts and batches need not match exactly. Otherwise actors
                // and training would often block each other.
                ratio.tolerance = ratio.least_tolerance().max(4.0 * batch as f64);
                ReplaySettings::Window { window, ratio }
            }
            AlgorithmConfig::Reinforce(reinforce) => ReplaySettings::Fifo(FifoSettings {
                max_positions: self.queue_positions as u64,
                max_bytes,
                batch,
                deal: Deal {
                    batches: self.mixed_batches as u64,
                    segment: self.segment_moves as u32,
                    seed,
                },
                max_lag: reinforce.max_lag,
            }),
        };
        settings.check().map_err(|error| {
            let table = toml::to_string(self).unwrap_or_default();
            SettingError::new("replay", table.trim().replace('\n', ", "), error)
        })?;
        Ok(settings)
    }
}
