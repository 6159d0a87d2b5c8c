//! What a run is: settings from its folder, and what each part is told.

use std::fs;
use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ouro_actor::ActorConfig;
use ouro_arena::ArenaConfig;
use ouro_arena::config::WebAddress;
use ouro_arena::store::Run;
use ouro_game::GameConfig;
use ouro_learner::config::{AlgorithmConfig, CheckpointConfig, Config, DeviceChoice};

use super::preset::Preset;
use super::settings::{SETTINGS_FILE, Settings};
use super::{Arguments, resume, rounds};
use crate::failure::Failure;

/// Folder of runs that were not told where to be.
const RUNS: &str = "runs";
const DEFAULT_ARENA: ([u8; 4], u16) = ([127, 0, 0, 1], 50_061);
const DEFAULT_LEARNER: ([u8; 4], u16) = ([127, 0, 0, 1], 50_062);

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
    web: WebAddress,
    log_records: bool,
    time_limit: Option<Duration>,
    /// Whether playing, learning and judging take turns.
    deterministic: bool,
    /// The generation to end after.
    generations: Option<u32>,
    /// See [`resume_command`](Self::resume_command).
    resume: String,
}

impl Plan {
    /// The plan of a run that does not exist yet; nothing is written.
    pub(super) fn fresh(arguments: &Arguments) -> Result<Self, Failure> {
        let mut settings = match &arguments.config {
            Some(path) => Settings::load(path)?,
            None => preset(arguments).settings(),
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
        let unwritable = |error: std::io::Error| {
            Failure::io(format_args!(
                "run folder {} cannot be written: {error}; choose another with --run",
                folder.display()
            ))
        };
        if !path.exists() {
            let plan = Self::fresh(arguments)?;
            write(&path, &plan.to_toml()?).map_err(unwritable)?;
            return Ok(plan);
        }
        let fixed = [
            ("--config", arguments.config.is_some()),
            ("--seed", arguments.seed.is_some()),
            ("PRESET", arguments.preset.is_some() && arguments.run.is_some()),
        ];
        if let Some((flag, _)) = fixed.iter().find(|(_, given)| *given) {
            return Err(Failure::usage(format_args!(
                "{flag} is for new runs, and {} has one; leave it out or choose another --run",
                folder.display()
            )));
        }
        let plan = Self::new(Settings::load(&path)?, false, arguments)?;
        // Found out now, not by whichever part writes first.
        let probe = folder.join("writable.new");
        fs::File::create(&probe).and_then(|_| fs::remove_file(&probe)).map_err(unwritable)?;
        Ok(plan)
    }

    fn new(settings: Settings, is_new: bool, arguments: &Arguments) -> Result<Self, Failure> {
        if let Some(problem) = settings.problem() {
            return Err(Failure::usage(problem));
        }
        rounds::check(arguments, &settings)?;
        let deterministic = arguments.deterministic;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Ok(Self {
            settings,
            resume: resume::command(arguments, &folder(arguments)),
            folder: folder(arguments),
            is_new,
            device: match deterministic {
                true => DeviceChoice::Cpu,
                false => arguments.device.map_or(DeviceChoice::Auto, DeviceChoice::from),
            },
            allow_software_adapter: arguments.allow_software_adapter,
            threads: match deterministic {
                true => 1,
                false => arguments.threads.map_or(cores.saturating_sub(1).max(1), usize::from),
            },
            arena: arguments.arena.unwrap_or(SocketAddr::from(DEFAULT_ARENA)),
            learner: arguments.learner.unwrap_or(SocketAddr::from(DEFAULT_LEARNER)),
            web: arguments.web.unwrap_or_default(),
            log_records: arguments.log_records,
            time_limit: arguments.time,
            deterministic,
            generations: arguments.generations,
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

    /// Optimiser steps between two generations.
    pub(super) fn generation_steps(&self) -> u64 {
        self.settings.generation_steps
    }

    /// Positions that must be there before the first step: a batch, where games are learned from
    /// once.
    pub(super) fn min_positions(&self) -> u64 {
        match self.settings.train.algorithm {
            AlgorithmConfig::AlphaZero(_) => self.settings.replay.min_positions,
            AlgorithmConfig::Reinforce(_) => self.settings.train.batch_moves as u64,
        }
    }

    /// The command that goes on with this run.
    pub(super) fn resume_command(&self) -> String {
        self.resume.clone()
    }

    /// Whether playing, learning and judging take turns.
    pub(super) fn is_deterministic(&self) -> bool {
        self.deterministic
    }

    /// The generation to end after, where they take turns.
    pub(super) fn generations(&self) -> Option<u32> {
        self.generations
    }

    /// Games that are played together where they take turns.
    pub(super) fn wave_games(&self) -> u64 {
        self.settings.actor.games_per_thread as u64
    }

    /// Positions of a batch.
    pub(super) fn batch(&self) -> usize {
        self.settings.train.batch_moves
    }

    pub(super) fn time_limit(&self) -> Option<Duration> {
        self.time_limit
    }

    pub(super) fn arena(&self) -> ArenaConfig {
        let run = Run { game: self.settings.game.clone(), seed: self.settings.seed };
        let mut matches = self.settings.arena.clone();
        if self.deterministic {
            // Spare games go by the clock, and in its turn the arena is alone.
            (matches.spare_share, matches.match_share) = (0.0, 1.0);
        }
        ArenaConfig {
            address: self.arena,
            web: self.web.0,
            matches,
            ..ArenaConfig::new(run, self.folder.join("arena"))
        }
    }

    pub(super) fn learner(&self, arena: String) -> Config {
        let (mut replay, mut intake) = (self.settings.replay.clone(), self.settings.intake.clone());
        if self.deterministic {
            (replay.assembly_threads, intake.replay_threads) = (1, 1);
        }
        Config {
            seed: self.settings.seed,
            device: self.device,
            allow_software_adapter: self.allow_software_adapter,
            listen: self.learner,
            arena: Some(arena),
            game: self.settings.game.clone(),
            net: self.settings.net.clone(),
            train: self.settings.train.clone(),
            replay,
            intake,
            checkpoint: CheckpointConfig {
                directory: self.folder.join("learner"),
                every_steps: self.settings.generation_steps,
                ..CheckpointConfig::default()
            },
        }
    }

    pub(super) fn actor(&self, arena: String, learner: String) -> ActorConfig {
        let own = self.folder.join("actor");
        ActorConfig {
            threads: self.threads,
            play: self.settings.actor.clone(),
            log_records: self.log_records.then(|| own.join("records.log")),
            dead_letters: Some(own.join("refused.jsonl")),
            seed: self.settings.seed,
            ..ActorConfig::new(self.settings.game.clone(), arena, learner)
        }
    }
}

fn preset(arguments: &Arguments) -> Preset {
    arguments.preset.unwrap_or_default()
}

fn folder(arguments: &Arguments) -> PathBuf {
    let named = || Path::new(RUNS).join(preset(arguments).name());
    arguments.run.clone().unwrap_or_else(named)
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
    use clap::ValueEnum;

    use super::*;

    #[test]
    fn every_preset_survives_its_file_and_every_part_accepts_it() {
        for &preset in Preset::value_variants() {
            let arguments = Arguments { preset: Some(preset), ..Arguments::default() };
            let plan = Plan::fresh(&arguments).expect("a preset is a plan");
            let read: Settings =
                toml::from_str(&plan.to_toml().expect("they print")).expect("they parse");
            assert_eq!(read, plan.settings);
            plan.arena().validate().expect("the arena accepts them");
            let url = || "http://127.0.0.1:1".to_owned();
            plan.learner(url()).validate().expect("the learner accepts them");
            plan.actor(url(), url()).validate().expect("the actor accepts them");
        }
    }

    #[test]
    fn a_file_changes_what_it_says_and_leaves_the_rest_of_its_preset() {
        let home = tempfile::tempdir().expect("a scratch folder");
        let path = home.path().join("my.toml");
        let text = "preset = \"tictactoe\"\n[train]\nlearning_rate = 0.5\n[actor.search]\nsimulations = 7\n";
        std::fs::write(&path, text).expect("it is written");
        let settings = Settings::load(&path).expect("it is valid");
        let mut expected = Preset::TicTacToe.settings();
        expected.train.learning_rate = 0.5;
        expected.actor.search.as_mut().expect("it searches").simulations = 7;
        assert_eq!(settings, expected);
        for (text, message) in [
            ("preset = \"chess\"", "preset is \"chess\"; known are duel-7x7, duel, "),
            ("[train]\nlerning_rate = 1", "did you mean `train.learning_rate`?"),
        ] {
            std::fs::write(&path, text).expect("it is written");
            let failure = Settings::load(&path).expect_err("it is not valid");
            assert!(format!("{failure:?}").contains(&message.replace('"', "\\\"")), "{failure:?}");
        }
    }

    #[test]
    fn a_second_start_keeps_the_settings_and_refuses_flags_that_would_change_them() {
        let home = tempfile::tempdir().expect("a scratch folder");
        let arguments =
            Arguments { run: Some(home.path().join("run")), seed: Some(7), ..Arguments::default() };
        let first = Plan::open(&arguments).expect("a new run");
        assert!(first.is_new());
        let again = Arguments { seed: None, ..arguments.clone() };
        let second = Plan::open(&again).expect("the same run");
        assert!(!second.is_new());
        assert_eq!(second.settings, first.settings);
        assert!(Plan::open(&arguments).is_err(), "--seed belongs to new runs");
    }
}
