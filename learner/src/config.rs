//! The settings of a learner process: the shared settings of the run, and the process's own
//! address, device and folder.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ouro_game::{GameConfig, battlesnake};
use ouro_net::{Architecture, NetSpec, Weights};
use ouro_proto::Credential;
use ouro_replay::ReplaySettings;
use ouro_service::access::Guard;
use ouro_settings::schema::check_ranges;
use ouro_settings::{Observation, SettingError, Settings};
use ouro_tls::{ClientTls, ServerTls};
use schemars::JsonSchema;
use serde::Serialize;

pub use ouro_settings::{
    AlgorithmConfig, AlgorithmName, AlphaZeroConfig, DeviceChoice, IntakeConfig,
    LearningRateSchedule, ReinforceConfig, ReplayConfig, TrainConfig,
};

/// The settings of a learner process. [`Config::validate`] runs before a port or a file is opened.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Seed of the first weights and of the order of augmentations.
    pub seed: u64,
    /// Weights whose layers a new run starts with, as far as they fit. A resumed run ignores them.
    pub from: Option<Arc<Weights>>,
    /// The training device.
    pub device: DeviceChoice,
    /// Whether an adapter that computes on the CPU counts as a GPU.
    pub allow_software_adapter: bool,
    /// Address that actors push to. Port 0 selects a free port.
    pub listen: SocketAddr,
    /// URL of the arena that receives weights. Without one, weights stay in the training states.
    pub arena: Option<String>,
    /// What this learner presents to the arena.
    pub credential: Credential,
    /// How the arena is verified; needed for an `https` address.
    pub client_tls: Option<ClientTls>,
    /// Who may call this learner; `None` lets everybody.
    pub guard: Option<Guard>,
    /// How this learner's port proves who it is; `None` without TLS.
    pub server_tls: Option<ServerTls>,
    /// The game. Trajectories of any other configuration are refused.
    pub game: GameConfig,
    /// The network's layers. The game fixes the network's input and output.
    pub net: Architecture,
    /// What the network reads of a position.
    pub observation: Observation,
    /// Discount per time step, above 0 and at most 1.
    pub discount: f32,
    /// What a draw is worth in the actors' searches, −1 to 1.
    pub draw: f32,
    /// The update rule.
    pub train: TrainConfig,
    /// Which games training uses, how long and how often.
    pub replay: ReplayConfig,
    /// Which games are accepted.
    pub intake: IntakeConfig,
    /// Where training states are stored and how often weights are published.
    pub training_states: TrainingStateConfig,
}

/// Where training states are stored and how often weights are published.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TrainingStateConfig {
    /// Folder of the learner's files. Skipped, because a path may not be text.
    #[serde(skip)]
    pub directory: PathBuf,
    /// Steps between two generations. Each is saved as a training state, then published.
    #[schemars(range(min = 1, max = 4_294_967_296_u64))]
    pub every_steps: u64,
    /// Training states kept, at least 2, so that a damaged one can be skipped.
    #[schemars(range(min = 2, max = 65_536))]
    pub kept: usize,
    /// Time that a drain waits for the arena to accept the last weights, in milliseconds.
    pub publish_grace_ms: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            seed: 1,
            from: None,
            device: DeviceChoice::Auto,
            allow_software_adapter: false,
            listen: SocketAddr::from(([127, 0, 0, 1], 50_062)),
            arena: None,
            credential: Credential::None,
            client_tls: None,
            guard: None,
            server_tls: None,
            game: GameConfig::Battlesnake(battlesnake::Config {
                width: 7,
                height: 7,
                snakes: 2,
                ..battlesnake::Config::default()
            }),
            net: Architecture::Conv { channels: 32, layers: 3, hidden: 128 },
            observation: Observation::default(),
            discount: 0.99,
            draw: 0.0,
            train: TrainConfig::default(),
            replay: ReplayConfig::default(),
            intake: IntakeConfig::default(),
            training_states: TrainingStateConfig::default(),
        }
    }
}

impl Default for TrainingStateConfig {
    fn default() -> Self {
        Self {
            directory: PathBuf::from("runs/default"),
            every_steps: 50,
            kept: 3,
            publish_grace_ms: 10_000,
        }
    }
}

impl Config {
    /// The game as JSON, by which the journal and all weights of a run are recognised.
    pub(crate) fn game_identity(&self) -> String {
        serde_json::to_string(&self.game)
            .expect("a game configuration serialises: it is plain data")
    }

    /// The learner of the run with these settings in the folder `run`. The learner listens on
    /// `listen` and publishes to the arena at the URL `arena`.
    pub fn of_run(settings: &Settings, run: &Path, listen: SocketAddr, arena: String) -> Self {
        let deploy = &settings.deploy;
        Self {
            seed: settings.seed,
            from: None,
            device: deploy.device,
            allow_software_adapter: deploy.allow_software_adapter,
            listen,
            arena: Some(arena),
            credential: deploy.credential(),
            client_tls: None,
            guard: None,
            server_tls: None,
            game: settings.game.clone(),
            net: settings.net.clone(),
            observation: settings.observation,
            discount: settings.discount,
            draw: settings.actor.search.as_ref().map_or(0.0, |search| search.draw),
            train: settings.train.clone(),
            replay: settings.replay.clone(),
            intake: settings.intake.clone(),
            training_states: TrainingStateConfig {
                directory: run.join("learner"),
                every_steps: settings.generation_steps,
                kept: deploy.kept_training_states,
                publish_grace_ms: deploy.publish_grace_ms,
            },
        }
    }

    /// Checks every field, and that the game and the network can be built.
    pub fn validate(&self) -> Result<(), SettingError> {
        self.train.validate()?;
        self.replay.validate()?;
        check_ranges("intake", &self.intake)?;
        check_ranges("training_states", &self.training_states)?;
        if !(self.discount > 0.0 && self.discount <= 1.0) {
            let remedy = "it must be above 0 and at most 1";
            return Err(SettingError::new("discount", self.discount, remedy));
        }
        if let Some(arena) = &self.arena
            && !arena.starts_with("http://")
            && !arena.starts_with("https://")
        {
            let remedy = "write a URL such as http://127.0.0.1:50061";
            return Err(SettingError::new("arena", arena, remedy));
        }
        self.net_spec()?;
        self.replay_settings()?;
        Ok(())
    }

    /// The network for this game with these layers.
    pub fn net_spec(&self) -> Result<NetSpec, SettingError> {
        ouro_settings::net_spec(&self.game, &self.net, self.observation)
    }

    /// The checked settings of the algorithm's replay.
    pub fn replay_settings(&self) -> Result<ReplaySettings, SettingError> {
        self.replay.settings(self.seed, &self.game, &self.train, &self.intake)
    }
}

#[cfg(test)]
mod tests {
    use ouro_settings::{OptimizerConfig, Preset};

    use super::*;

    #[test]
    fn the_default_and_every_preset_are_valid() {
        assert_eq!(Config::default().validate(), Ok(()));
        for preset in Preset::ALL {
            let (settings, listen) = (preset.settings(), Config::default().listen);
            let config = Config::of_run(
                &settings,
                Path::new("run"),
                listen,
                settings.deploy.url(&settings.deploy.arena),
            );
            assert_eq!(config.validate(), Ok(()), "{}", preset.name());
        }
    }

    #[test]
    fn fields_out_of_range_are_refused_by_name() {
        type Spoil = fn(&mut Config);
        let cases: [(Spoil, &str); 9] = [
            (|c| c.discount = f32::NAN, "discount"),
            (|c| c.discount = 1.01, "discount"),
            (|c| c.train.learning_rate = 0.0, "train.learning_rate"),
            (|c| c.train.batch_moves = 0, "train.batch_moves"),
            (|c| c.replay.queue_positions = 10, "replay"),
            (|c| c.training_states.kept = 1, "training_states.kept"),
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
            assert_eq!(config.validate().expect_err(field).key, field);
        }
    }
}
