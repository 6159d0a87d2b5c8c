//! What a learner is told: the game, the network, how to train, where to listen and store.
//!
//! Every field has a default, so an empty file is a valid configuration. A file with an
//! unknown field is refused. [`Config::validate`] runs before anything is bound or written;
//! its errors name the field by its path in the file.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use ouro_game::{GameConfig, GameVisitor, battlesnake};
use ouro_net::{Architecture, NetSpec, SpecError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use error::{count, refuse};

pub use algorithm::{AlgorithmConfig, AlgorithmName, AlphaZeroConfig, ReinforceConfig};
pub use error::ConfigError;
pub use replay::ReplayConfig;
pub use schedule::LearningRateSchedule;
pub use train::TrainConfig;

mod algorithm;
mod error;
mod replay;
mod schedule;
mod train;

/// Everything a learner needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Fixes the first weights and the order of augmentations.
    pub seed: u64,
    /// Where tensors live.
    pub device: DeviceChoice,
    /// Whether an adapter that computes on the CPU counts as a GPU: slow, for tests of the path.
    pub allow_software_adapter: bool,
    /// Address that actors push to; port 0 takes a free one.
    pub listen: SocketAddr,
    /// URL of the arena that weights are published to; without one they stay in the checkpoints.
    pub arena: Option<String>,
    /// The game, a 7×7 duel unless told otherwise. A trajectory of any other configuration is
    /// refused.
    pub game: GameConfig,
    /// The network's layers; its input and output follow from the game.
    pub net: Architecture,
    /// The update rule.
    pub train: TrainConfig,
    /// How long games are learned from, and how often.
    pub replay: ReplayConfig,
    /// What is let in.
    pub intake: IntakeConfig,
    /// Where checkpoints go and how often weights are published.
    pub checkpoint: CheckpointConfig,
}

/// Where tensors live.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeviceChoice {
    /// A GPU if the machine has one, else the CPU.
    #[default]
    Auto,
    /// A GPU through Vulkan, or an error.
    Vulkan,
    /// A GPU through whatever wgpu finds (Vulkan, Metal, DirectX 12), or an error.
    Wgpu,
    /// The CPU.
    Cpu,
}

impl DeviceChoice {
    /// As in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Vulkan => "vulkan",
            Self::Wgpu => "wgpu",
            Self::Cpu => "cpu",
        }
    }
}

/// No device is called that.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("device {0:?} is unknown; known are auto, vulkan, wgpu, cpu")]
pub struct UnknownDevice(String);

impl FromStr for DeviceChoice {
    type Err = UnknownDevice;

    fn from_str(name: &str) -> Result<Self, UnknownDevice> {
        let all = [Self::Auto, Self::Vulkan, Self::Wgpu, Self::Cpu];
        let found = all.into_iter().find(|choice| choice.name() == name);
        found.ok_or_else(|| UnknownDevice(name.to_owned()))
    }
}

/// What is let in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct IntakeConfig {
    /// Longest game accepted, in plies.
    pub max_plies: usize,
    /// A learning seat may have played weights this many generations old at most.
    pub max_staleness: u32,
    /// Actors connected at once at most.
    pub max_streams: usize,
    /// How long a new stream may take to say hello, in milliseconds.
    pub hello_ms: u64,
    /// Games replayed at a time, each on a thread of its own.
    pub replay_threads: usize,
}

/// Where checkpoints go and how often weights are published.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CheckpointConfig {
    /// Directory of the run.
    pub directory: PathBuf,
    /// Steps between two generations. Each is written as a checkpoint, then published.
    pub every_steps: u64,
    /// Checkpoints kept, at least 2, so that a damaged one can be passed over.
    pub keep: usize,
    /// How long a drain waits for the arena to take the last weights, in milliseconds.
    pub publish_grace_ms: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            seed: 1,
            device: DeviceChoice::Auto,
            allow_software_adapter: false,
            listen: SocketAddr::from(([127, 0, 0, 1], 50_062)),
            arena: None,
            game: GameConfig::Battlesnake(battlesnake::Config {
                width: 7,
                height: 7,
                snakes: 2,
                ..battlesnake::Config::default()
            }),
            net: Architecture::Conv { channels: 32, layers: 3, hidden: 128 },
            train: TrainConfig::default(),
            replay: ReplayConfig::default(),
            intake: IntakeConfig::default(),
            checkpoint: CheckpointConfig::default(),
        }
    }
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

impl Default for CheckpointConfig {
    fn default() -> Self {
        Self {
            directory: PathBuf::from("runs/default"),
            every_steps: 50,
            keep: 3,
            publish_grace_ms: 10_000,
        }
    }
}

impl Config {
    /// Checks every field, and that the game and the network can be built.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.train.validate()?;
        self.replay.validate()?;
        count("intake.max_plies", self.intake.max_plies, 1, ouro_proto::trajectory::MAX_PLIES)?;
        count("intake.max_streams", self.intake.max_streams, 1, 1 << 16)?;
        count("intake.hello_ms", self.intake.hello_ms as usize, 1, 1 << 31)?;
        count("intake.replay_threads", self.intake.replay_threads, 1, 1 << 10)?;
        count("checkpoint.every_steps", self.checkpoint.every_steps as usize, 1, 1 << 32)?;
        count("checkpoint.keep", self.checkpoint.keep, 2, 1 << 16)?;
        if let Some(arena) = &self.arena
            && !arena.starts_with("http://")
            && !arena.starts_with("https://")
        {
            return refuse("arena", arena, "write a URL such as http://127.0.0.1:50061");
        }
        self.net_spec()?;
        self.replay_settings()?;
        Ok(())
    }

    /// The network that this game and these layers make.
    pub fn net_spec(&self) -> Result<NetSpec, ConfigError> {
        struct Shape<'a>(&'a Architecture);
        impl GameVisitor for Shape<'_> {
            type Output = NetSpec;
            fn visit<G: ouro_game::Game>(self, game: G) -> NetSpec {
                NetSpec {
                    planes: game.planes(),
                    actions: game.action_count(),
                    architecture: self.0.clone(),
                }
            }
        }
        let spec = self.game.visit(Shape(&self.net)).map_err(ConfigError::of_game)?;
        spec.validate().map_err(|error| match error {
            SpecError::OutOfRange { field, value, max } => ConfigError {
                field: field.replacen("architecture", "net", 1),
                value: value.to_string(),
                remedy: format!("it must be 1 to {max}"),
            },
            error => ConfigError {
                field: "net".into(),
                value: format!("{:?}", self.net),
                remedy: error.to_string(),
            },
        })?;
        Ok(spec)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optimizer::OptimizerConfig;

    #[test]
    fn an_empty_file_is_valid_and_an_unknown_field_is_not() {
        let config: Config = toml::from_str("").expect("every field has a default");
        assert_eq!(config, Config::default());
        assert_eq!(config.validate(), Ok(()));
        let error = toml::from_str::<Config>("[train]\nlearning_speed = 1").expect_err("unknown");
        assert!(error.to_string().contains("learning_speed"), "{error}");
    }

    #[test]
    fn the_default_survives_its_own_text() {
        let text = toml::to_string(&Config::default()).expect("the default is plain data");
        assert_eq!(toml::from_str::<Config>(&text).expect("its own text"), Config::default());
    }

    #[test]
    fn fields_out_of_range_are_refused_by_name() {
        type Spoil = fn(&mut Config);
        let cases: [(Spoil, &str); 9] = [
            (|c| c.train.gamma = f32::NAN, "train.gamma"),
            (|c| c.train.gamma = 1.01, "train.gamma"),
            (|c| c.train.learning_rate = 0.0, "train.learning_rate"),
            (|c| c.train.batch_moves = 0, "train.batch_moves"),
            (|c| c.replay.queue_positions = 10, "replay"),
            (|c| c.checkpoint.keep = 1, "checkpoint.keep"),
            (|c| c.arena = Some("localhost".into()), "arena"),
            (|c| c.net = Architecture::Conv { channels: 0, layers: 1, hidden: 1 }, "net.channels"),
            (
                |c| c.train.optimizer = OptimizerConfig::Sgd { momentum: 1.0 },
                "train.optimizer.momentum",
            ),
        ];
        for (spoil, field) in cases {
            let mut config = Config::default();
            spoil(&mut config);
            assert_eq!(config.validate().expect_err(field).field, field);
        }
    }
}
