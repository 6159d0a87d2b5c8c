//! How long games are learned from, and how often.

use ouro_game::{Game, GameVisitor};
use ouro_replay::{Deal, FifoSettings, Growth, ReplaySettings, Settings, WindowSettings};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Config;
use super::algorithm::AlgorithmConfig;
use super::error::{ConfigError, count, range, refuse};

/// What is learned from. `AlphaZero` draws from a window of the newest positions; REINFORCE uses
/// every position once, oldest first, and has `queue_positions`, `mixed_batches` and `segment_moves`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReplayConfig {
    /// Positions that must be in before the first step.
    pub min_positions: u64,
    /// Positions in the window until it begins to grow.
    pub window_positions: u64,
    /// The power of all positions ever inserted that the window grows with, above 0, at most 1.
    pub window_power: f64,
    /// How fast it grows at first, in window positions per position inserted, 0 to 1.
    pub window_slope: f64,
    /// How often each position is drawn on average. Actors wait for training to keep up, and
    /// training for actors.
    pub samples_per_insert: f64,
    /// Memory for games, in MiB.
    pub max_mib: usize,
    /// Positions that wait for REINFORCE at most; beyond it streams are not read and actors wait.
    pub queue_positions: usize,
    /// Batches that REINFORCE makes at a time: the games that go into them are cut into segments, and
    /// these are dealt out by chance, so that a batch has a little of many games. 1 takes games
    /// whole and in order. So many times `train.batch_moves` must fit in `queue_positions`.
    pub mixed_batches: usize,
    /// Consecutive moves of a game that stay together where batches are mixed. What comes after
    /// them counts by its estimated value.
    pub segment_moves: usize,
    /// Threads that make batches. With more than one, which batch comes first is up to them.
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

impl ReplayConfig {
    /// Checks every field.
    pub fn validate(&self) -> Result<(), ConfigError> {
        range("replay.samples_per_insert", self.samples_per_insert, 1e-3, 1e3)?;
        range("replay.window_power", self.window_power, 1e-3, 1.0)?;
        range("replay.window_slope", self.window_slope, 0.0, 1.0)?;
        count("replay.min_positions", self.min_positions as usize, 1, 1 << 40)?;
        count("replay.window_positions", self.window_positions as usize, 1, 1 << 40)?;
        count("replay.max_mib", self.max_mib, 1, 1 << 24)?;
        count("replay.queue_positions", self.queue_positions, 1, 1 << 26)?;
        count("replay.mixed_batches", self.mixed_batches, 1, 1 << 16)?;
        count("replay.segment_moves", self.segment_moves, 1, 1 << 16)?;
        count("replay.assembly_threads", self.assembly_threads, 1, 1 << 8)?;
        if self.min_positions > self.window_positions {
            let remedy = "it must be at most replay.window_positions, or nothing is ever drawn";
            return refuse("replay.min_positions", self.min_positions, remedy);
        }
        Ok(())
    }
}

impl Config {
    /// How the algorithm's replay is held in step; checked.
    pub fn replay_settings(&self) -> Result<ReplaySettings, ConfigError> {
        let (replay, batch) = (&self.replay, self.train.batch_moves as u64);
        let max_bytes = replay.max_mib.saturating_mul(1 << 20);
        let settings = match &self.train.algorithm {
            AlgorithmConfig::AlphaZero(_) => {
                let growth = Growth {
                    start: replay.window_positions,
                    power: replay.window_power,
                    slope: replay.window_slope,
                };
                let min_positions = replay.min_positions;
                let window = WindowSettings { growth, max_bytes, min_positions, seed: self.seed };
                let mut ratio = Settings {
                    samples_per_insert: replay.samples_per_insert,
                    warmup: min_positions,
                    tolerance: 0.0,
                    largest_insert: (self.intake.max_plies * self.players()?) as u64,
                    largest_sample: batch,
                };
                // Wide enough that nobody waits for games and batches to fit exactly.
                ratio.tolerance = ratio.least_tolerance().max(4.0 * batch as f64);
                ReplaySettings::Window { window, ratio }
            }
            AlgorithmConfig::Reinforce(reinforce) => ReplaySettings::Fifo(FifoSettings {
                max_positions: replay.queue_positions as u64,
                max_bytes,
                batch,
                deal: Deal {
                    batches: replay.mixed_batches as u64,
                    segment: replay.segment_moves as u32,
                    seed: self.seed,
                },
                max_lag: reinforce.max_lag,
            }),
        };
        settings.check().map_err(|error| ConfigError {
            field: "replay".into(),
            value: toml::to_string(replay).unwrap_or_default().trim().replace('\n', ", "),
            remedy: error.to_string(),
        })?;
        Ok(settings)
    }

    fn players(&self) -> Result<usize, ConfigError> {
        struct Players;
        impl GameVisitor for Players {
            type Output = usize;
            fn visit<G: Game>(self, game: G) -> usize {
                game.players()
            }
        }
        self.game.visit(Players).map_err(ConfigError::of_game)
    }
}
