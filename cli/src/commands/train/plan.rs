//! The plan of a run: the settings in its folder, the changes by the flags of this start, and the
//! configuration of each part.

use std::fs;
use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ouro_actor::ActorConfig;
use ouro_arena::ArenaConfig;
use ouro_game::GameConfig;
use ouro_learner::config::{AlgorithmConfig, Config};
use ouro_settings::{DeviceChoice, Preset, SETTINGS_FILE, Settings};

use super::arguments::Arguments;
use super::{resume, rounds};
use crate::commands::settings;
use crate::failure::Failure;

/// The settings of a run, with the flags of this start.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    /// The settings in the file of the run.
    settings: Settings,
    /// The settings with the flags of this start applied.
    effective: Settings,
    folder: PathBuf,
    is_new: bool,
    arena: SocketAddr,
    learner: SocketAddr,
    time_limit: Option<Duration>,
    /// Whether the parts take turns, so that the run is reproducible.
    deterministic: bool,
    /// The generation after which the run ends, if it is deterministic.
    generations: Option<u32>,
    /// See [`resume_command`](Self::resume_command).
    resume: String,
}

impl Plan {
    /// Plans a run that does not exist yet. Writes nothing.
    pub(super) fn fresh(arguments: &Arguments) -> Result<Self, Failure> {
        let mut settings = match &arguments.config {
            Some(path) => settings::load(path)?,
            None => preset(arguments).settings(),
        };
        if let Some(seed) = arguments.seed {
            settings.seed = seed;
        }
        Self::new(settings, true, arguments)
    }

    /// Opens the run in the folder, or creates a new run there.
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
        let is_other = |config: &PathBuf| !is_same_file(config, &path);
        let fixed = [
            ("--config", arguments.config.as_ref().is_some_and(is_other)),
            ("--seed", arguments.seed.is_some()),
            ("PRESET", arguments.preset.is_some() && arguments.run.is_some()),
        ];
        if let Some((flag, _)) = fixed.iter().find(|(_, given)| *given) {
            return Err(Failure::usage(format_args!(
                "{flag} is for new runs, and {} has one; leave it out or choose another --run",
                folder.display()
            )));
        }
        // A user who writes run.toml and names it with --config has not started the run yet.
        let is_new = arguments.config.is_some() && !folder.join("arena").exists();
        let plan = Self::new(settings::load(&path)?, is_new, arguments)?;
        // An unwritable folder is reported here, before any part starts and fails to write.
        let probe = folder.join("writable.new");
        fs::File::create(&probe).and_then(|_| fs::remove_file(&probe)).map_err(unwritable)?;
        Ok(plan)
    }

    fn new(settings: Settings, is_new: bool, arguments: &Arguments) -> Result<Self, Failure> {
        let mut effective = settings.clone();
        let deploy = &mut effective.deploy;
        arguments.addresses.apply(deploy);
        arguments.web.apply(deploy);
        arguments.device.apply(deploy);
        arguments.actor.apply(deploy);
        if arguments.deterministic {
            (deploy.device, deploy.threads) = (DeviceChoice::Cpu, Some(1));
        }
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        // One core is left for training and matches.
        deploy.threads.get_or_insert(cores.saturating_sub(1).max(1));
        if let Some(problem) = settings::problem(&effective) {
            return Err(Failure::usage(problem.text));
        }
        rounds::check(arguments, &effective)?;
        let deploy = &effective.deploy;
        Ok(Self {
            resume: resume::command(arguments, &folder(arguments)),
            folder: folder(arguments),
            is_new,
            arena: deploy.arena.listen("arena", None).map_err(Failure::usage)?,
            learner: deploy.learner.listen("learner", None).map_err(Failure::usage)?,
            time_limit: arguments.time,
            deterministic: arguments.deterministic,
            generations: arguments.generations,
            settings,
            effective,
        })
    }

    /// Returns the content of the settings file.
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

    /// Positions that the learner needs before the first step. REINFORCE, which uses each game
    /// once, needs one batch.
    pub(super) fn min_positions(&self) -> u64 {
        match self.settings.train.algorithm {
            AlgorithmConfig::AlphaZero(_) => self.settings.replay.min_positions,
            AlgorithmConfig::Reinforce(_) => self.settings.train.batch_moves as u64,
        }
    }

    /// The command that resumes this run.
    pub(super) fn resume_command(&self) -> String {
        self.resume.clone()
    }

    /// Whether the parts take turns, so that the run is reproducible.
    pub(super) fn is_deterministic(&self) -> bool {
        self.deterministic
    }

    /// The generation after which a deterministic run ends.
    pub(super) fn generations(&self) -> Option<u32> {
        self.generations
    }

    /// Games of one wave of a deterministic run.
    pub(super) fn wave_games(&self) -> u64 {
        self.settings.actor.games_per_thread as u64
    }

    /// Positions of a training batch.
    pub(super) fn batch(&self) -> usize {
        self.settings.train.batch_moves
    }

    pub(super) fn time_limit(&self) -> Option<Duration> {
        self.time_limit
    }

    pub(super) fn arena(&self) -> ArenaConfig {
        let config = ArenaConfig::of_run(&self.effective, &self.folder, self.arena);
        if !self.deterministic {
            return config;
        }
        let mut matches = config.matches;
        // Spare games depend on the time, so they do not repeat. Matches may use all of the time,
        // since the other parts rest during the turn of the arena.
        (matches.spare_share, matches.match_share) = (0.0, 1.0);
        ArenaConfig { matches, ..config }
    }

    pub(super) fn learner(&self, arena: String) -> Config {
        let mut config = Config::of_run(&self.effective, &self.folder, self.learner, arena);
        if self.deterministic {
            (config.replay.assembly_threads, config.intake.replay_threads) = (1, 1);
        }
        config
    }

    pub(super) fn actor(&self, arena: String, learner: String) -> ActorConfig {
        ActorConfig::of_run(&self.effective, &self.folder, arena, learner)
    }
}

fn preset(arguments: &Arguments) -> Preset {
    arguments.preset.unwrap_or_default()
}

/// Returns the folder of the run: `--run`, else a folder that follows from the settings file or
/// the preset.
fn folder(arguments: &Arguments) -> PathBuf {
    let named = || match &arguments.config {
        Some(config) => Settings::folder(config),
        None => preset(arguments).folder(),
    };
    arguments.run.clone().unwrap_or_else(named)
}

/// Whether both paths exist and lead to the same file.
fn is_same_file(one: &Path, other: &Path) -> bool {
    let canonical = |path: &Path| fs::canonicalize(path).ok();
    canonical(one).is_some_and(|one| Some(one) == canonical(other))
}

/// Writes a file atomically: the complete draft is renamed to `path`.
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
    fn every_preset_survives_its_file_and_every_part_accepts_it() {
        for preset in Preset::ALL {
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
    fn the_settings_file_of_a_run_starts_and_resumes_it() {
        let home = tempfile::tempdir().expect("a scratch folder");
        let config = home.path().join(SETTINGS_FILE);
        fs::write(&config, "preset = \"tictactoe\"\nseed = 5\n").expect("it is written");
        let arguments = Arguments { config: Some(config.clone()), ..Arguments::default() };
        let first = Plan::open(&arguments).expect("a new run");
        assert!(first.is_new());
        assert_eq!((first.folder(), first.settings.seed), (home.path(), 5));
        fs::create_dir(home.path().join("arena")).expect("as the arena does");
        assert!(!Plan::open(&arguments).expect("the same run").is_new());
        let by_folder = Arguments { run: Some(home.path().to_owned()), ..Arguments::default() };
        assert_eq!(Plan::open(&by_folder).expect("the same run").settings, first.settings);
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
