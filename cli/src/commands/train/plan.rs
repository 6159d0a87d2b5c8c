//! What a run is: settings from its folder, and what each part is told.

use std::fs;
use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ouro_actor::ActorConfig;
use ouro_arena::ArenaConfig;
use ouro_arena::config::MatchConfig;
use ouro_arena::store::Run;
use ouro_game::{GameConfig, battlesnake};
use ouro_learner::config::{CheckpointConfig, Config, DeviceChoice, IntakeConfig, TrainConfig};
use ouro_net::Architecture;
use ouro_players::Shares;
use serde::{Deserialize, Serialize};

use super::Arguments;
use crate::failure::Failure;

const DEFAULT_FOLDER: &str = "runs/default";
const SETTINGS_FILE: &str = "run.toml";
const DEFAULT_ARENA: ([u8; 4], u16) = ([127, 0, 0, 1], 50_061);
const DEFAULT_LEARNER: ([u8; 4], u16) = ([127, 0, 0, 1], 50_062);

/// The settings of a run, as in its `run.toml`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Settings {
    /// Seed of everything random.
    seed: u64,
    /// The game.
    game: GameConfig,
    /// The network's layers.
    net: Architecture,
    /// How games are played for training.
    actor: ActorSettings,
    /// The update rule.
    train: TrainConfig,
    /// What the learner lets in.
    intake: IntakeConfig,
    /// Optimiser steps between two generations.
    generation_steps: u64,
    /// How candidates are judged.
    arena: MatchConfig,
}

/// How games are played for training; see [`ActorConfig`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ActorSettings {
    games_per_thread: usize,
    self_play_share: f64,
    max_plies: usize,
    outbox_games: usize,
}

impl Default for ActorSettings {
    fn default() -> Self {
        Self { games_per_thread: 64, self_play_share: 0.5, max_plies: 400, outbox_games: 256 }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            seed: 1,
            game: GameConfig::Battlesnake(battlesnake::Config {
                width: 7,
                height: 7,
                snakes: 2,
                ..battlesnake::Config::default()
            }),
            net: Architecture::Conv { channels: 16, layers: 3, hidden: 64 },
            actor: ActorSettings::default(),
            train: TrainConfig::default(),
            intake: IntakeConfig::default(),
            generation_steps: 50,
            arena: MatchConfig { max_plies: 400, ..MatchConfig::default() },
        }
    }
}

/// The settings of a run and what this start adds to them.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    settings: Settings,
    folder: PathBuf,
    is_new: bool,
    device: DeviceChoice,
    allow_software_adapter: bool,
    threads: usize,
    arena: SocketAddr,
    learner: SocketAddr,
    time_limit: Option<Duration>,
}

impl Plan {
    /// The plan of a run that does not exist yet; nothing is written.
    pub(super) fn fresh(arguments: &Arguments) -> Result<Self, Failure> {
        let mut settings = match &arguments.config {
            Some(path) => ouro_service::config::load(path).map_err(Failure::usage)?,
            None => Settings::default(),
        };
        if let Some(seed) = arguments.seed {
            settings.seed = seed;
        }
        Self::new(settings, true, arguments)
    }

    /// The plan of the run in the folder; a new run is written there.
    pub(super) fn open(arguments: &Arguments) -> Result<Self, Failure> {
        let folder = folder(arguments);
        let path = folder.join(SETTINGS_FILE);
        if !path.exists() {
            let plan = Self::fresh(arguments)?;
            write(&path, &plan.to_toml()?)
                .map_err(|error| Failure::read(path.display(), &error))?;
            return Ok(plan);
        }
        let fixed =
            [("--config", arguments.config.is_some()), ("--seed", arguments.seed.is_some())];
        if let Some((flag, _)) = fixed.iter().find(|(_, given)| *given) {
            return Err(Failure::usage(format_args!(
                "{flag} is for new runs, and {} has one; leave it out or choose another --dir",
                folder.display()
            )));
        }
        let settings = ouro_service::config::load(&path).map_err(Failure::usage)?;
        Self::new(settings, false, arguments)
    }

    fn new(settings: Settings, is_new: bool, arguments: &Arguments) -> Result<Self, Failure> {
        let time_limit = match arguments.minutes {
            None => None,
            Some(minutes) => Some(Duration::try_from_secs_f64(minutes * 60.0).map_err(|_| {
                Failure::usage(format_args!("--minutes is {minutes}; give a number of 0 or more"))
            })?),
        };
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Ok(Self {
            settings,
            folder: folder(arguments),
            is_new,
            device: arguments.device.map_or(DeviceChoice::Auto, DeviceChoice::from),
            allow_software_adapter: arguments.allow_software_adapter,
            threads: arguments.threads.unwrap_or(cores.saturating_sub(1).max(1)),
            arena: arguments.arena.unwrap_or(SocketAddr::from(DEFAULT_ARENA)),
            learner: arguments.learner.unwrap_or(SocketAddr::from(DEFAULT_LEARNER)),
            time_limit,
        })
    }

    /// The settings as a file.
    pub(super) fn to_toml(&self) -> Result<String, Failure> {
        toml::to_string(&self.settings).map_err(Failure::bug)
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn is_new(&self) -> bool {
        self.is_new
    }

    pub(super) fn game(&self) -> &GameConfig {
        &self.settings.game
    }

    pub(super) fn time_limit(&self) -> Option<Duration> {
        self.time_limit
    }

    pub(super) fn arena(&self) -> ArenaConfig {
        let run = Run { game: self.settings.game.clone(), seed: self.settings.seed };
        ArenaConfig {
            address: self.arena,
            matches: self.settings.arena.clone(),
            ..ArenaConfig::new(run, self.folder.join("arena"))
        }
    }

    pub(super) fn learner(&self, arena: String) -> Config {
        Config {
            seed: self.settings.seed,
            device: self.device,
            allow_software_adapter: self.allow_software_adapter,
            listen: self.learner,
            arena: Some(arena),
            game: self.settings.game.clone(),
            net: self.settings.net.clone(),
            train: self.settings.train.clone(),
            intake: self.settings.intake.clone(),
            checkpoint: CheckpointConfig {
                directory: self.folder.join("learner"),
                every_steps: self.settings.generation_steps,
                ..CheckpointConfig::default()
            },
        }
    }

    pub(super) fn actor(&self, arena: String, learner: String) -> ActorConfig {
        let ActorSettings { games_per_thread, self_play_share, max_plies, outbox_games } =
            self.settings.actor;
        ActorConfig {
            threads: self.threads,
            games_per_thread,
            opponents: Shares {
                self_play: self_play_share,
                prioritised: 0.0,
                uniform: 1.0 - self_play_share,
            },
            max_plies,
            outbox_games,
            seed: self.settings.seed,
            ..ActorConfig::new(self.settings.game.clone(), arena, learner)
        }
    }
}

fn folder(arguments: &Arguments) -> PathBuf {
    arguments.dir.clone().unwrap_or_else(|| DEFAULT_FOLDER.into())
}

/// Writes a file so that it is there whole or not at all.
fn write(path: &Path, text: &str) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let draft = path.with_extension("toml.new");
    let mut file = fs::File::create(&draft)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(draft, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_settings_survive_their_file_and_every_part_accepts_the_defaults() {
        let plan = Plan::fresh(&Arguments::default()).expect("the defaults are a plan");
        let read: Settings =
            toml::from_str(&plan.to_toml().expect("they print")).expect("they parse");
        assert_eq!(read, plan.settings);
        plan.arena().validate().expect("the arena accepts them");
        plan.learner("http://127.0.0.1:1".to_owned()).validate().expect("the learner accepts them");
        let actor = plan.actor("http://127.0.0.1:1".to_owned(), "http://127.0.0.1:2".to_owned());
        actor.validate().expect("the actor accepts them");
    }

    #[test]
    fn a_second_start_keeps_the_settings_and_refuses_flags_that_would_change_them() {
        let home = tempfile::tempdir().expect("a scratch folder");
        let arguments =
            Arguments { dir: Some(home.path().join("run")), seed: Some(7), ..Arguments::default() };
        let first = Plan::open(&arguments).expect("a new run");
        assert!(first.is_new());
        let again = Arguments { seed: None, ..arguments.clone() };
        let second = Plan::open(&again).expect("the same run");
        assert!(!second.is_new());
        assert_eq!(second.settings, first.settings);
        assert!(Plan::open(&arguments).is_err(), "--seed belongs to new runs");
    }
}
