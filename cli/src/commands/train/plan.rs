//! The plan of a run: the settings in its folder, the flags of this start, and the configuration of
//! each part.

use std::fs;
use std::io::{ErrorKind, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ouro_actor::ActorConfig;
use ouro_arena::ArenaConfig;
use ouro_game::GameConfig;
use ouro_learner::config::{AlgorithmConfig, Config};
use ouro_net::Weights;
use ouro_proto::Credential;
use ouro_service::access::{Guard, Token};
use ouro_settings::{DeviceChoice, Preset, Process, SETTINGS_FILE, Settings};
use ouro_tls::{ClientTls, ServerTls};

use super::arguments::Arguments;
use super::folder::{Part, RunLock, has_parts};
use super::{resume, rounds};
use crate::commands::{settings, weights};
use crate::failure::Failure;

/// Who may call the parts of a run in one process.
#[derive(Debug)]
pub(super) struct Access {
    /// Guard of the arena.
    pub(super) arena: Option<Guard>,
    /// Guard of the learner.
    pub(super) learner: Option<Guard>,
    /// What the parts present to each other.
    pub(super) credential: Credential,
    /// How the ports prove who they are; `None` without TLS.
    pub(super) tls: Option<ServerTls>,
    /// How the parts verify each other's ports.
    pub(super) own_tls: Option<ClientTls>,
}

/// The settings of a run, with the flags of this start.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    /// The settings in the file of the run.
    settings: Settings,
    /// The settings with the flags of this start applied.
    effective: Settings,
    folder: PathBuf,
    is_new: bool,
    /// Whether the folder has the settings file.
    is_saved: bool,
    /// Whether no part had data in the folder before this start.
    is_empty: bool,
    arena: SocketAddr,
    learner: SocketAddr,
    time_limit: Option<Duration>,
    /// Whether the parts take turns, so that the run is reproducible.
    deterministic: bool,
    /// The generation after which the run ends, if it is deterministic.
    generations: Option<u32>,
    /// Weights that a new run starts with.
    from: Option<Arc<Weights>>,
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
        Ok(Self { is_saved: false, ..Self::new(settings, true, arguments)? })
    }

    /// Plans to resume the run in the folder, or to start a new run there. Creates the folder but
    /// writes no settings; these are [saved](Self::save) once all parts accept them.
    pub(super) fn open(arguments: &Arguments) -> Result<Self, Failure> {
        let folder = folder(arguments);
        let path = folder.join(SETTINGS_FILE);
        if !path.exists() {
            let has_parts = has_parts(&folder);
            if has_parts && arguments.config.is_none() && arguments.preset.is_none() {
                return Err(Failure::usage(format_args!(
                    "{0} holds a run, but not its {SETTINGS_FILE}; put the file back, or name the \
                     settings of the run: --config FILE or a PRESET, with --run {0}",
                    folder.display()
                )));
            }
            let plan = Self { is_new: !has_parts, ..Self::fresh(arguments)? };
            plan.probe()?;
            return Ok(plan);
        }
        // The arena is the first part that a start creates.
        if folder.join("learner").exists() && !folder.join("arena").exists() {
            return Err(Failure::unavailable(format_args!(
                "{0} has learner/ but not arena/, with the pool and the ratings; put it back, or move \
                 {0} away to start anew",
                folder.display()
            )));
        }
        let is_other = |config: &PathBuf| !is_same_file(config, &path);
        let fixed = [
            ("--config", arguments.config.as_ref().is_some_and(is_other)),
            ("--seed", arguments.seed.is_some()),
            ("--from", arguments.from.from.is_some() && folder.join("arena").exists()),
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
        plan.probe()?;
        Ok(plan)
    }

    /// Creates the folder and checks that it is writable, before any part starts.
    fn probe(&self) -> Result<(), Failure> {
        // Other starts may probe at the same time, because the folder is not locked yet. Processes in
        // different containers may have the same id.
        let probe = self.folder.join(format!("writable-{}.new", std::process::id()));
        let remove = || match fs::remove_file(&probe) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            result => result,
        };
        fs::create_dir_all(&self.folder)
            .and_then(|()| fs::File::create(&probe))
            .and_then(|_| remove())
            .map_err(|error| self.unwritable(&error))
    }

    fn unwritable(&self, error: &std::io::Error) -> Failure {
        Failure::io(format_args!(
            "run folder {} cannot be written: {error}; choose another with --run",
            self.folder.display()
        ))
    }

    /// Writes the settings file of a run that has none.
    pub(super) fn save(&self) -> Result<(), Failure> {
        if self.is_saved {
            return Ok(());
        }
        let path = self.folder.join(SETTINGS_FILE);
        write(&path, &self.to_toml()?).map_err(|error| self.unwritable(&error))
    }

    /// Removes the data that the parts of a new run created before one part refused to start. No
    /// game has been played yet, so the next start may use other settings. The parts in `bound` are
    /// still open in this process.
    ///
    /// Leaves no data of a part in the folder, unless a service uses it. If the folder has the settings
    /// file, the lock file stays.
    pub(super) fn discard(&self, lock: &RunLock, bound: &[Part]) {
        if !self.is_empty {
            return;
        }
        lock.discard_parts(bound);
        if !self.is_saved {
            lock.discard_folder();
        }
    }

    fn new(settings: Settings, is_new: bool, arguments: &Arguments) -> Result<Self, Failure> {
        let mut effective = settings.clone();
        let deploy = &mut effective.deploy;
        arguments.addresses.apply(deploy);
        arguments.web.apply(deploy);
        arguments.metrics.apply(deploy);
        arguments.store.apply(deploy);
        arguments.weights.apply(deploy);
        arguments.traces.apply(deploy);
        arguments.access.apply(deploy);
        arguments.device.apply(deploy);
        arguments.actor.apply(deploy);
        deploy.resolve_name();
        if arguments.deterministic {
            (deploy.device, deploy.threads) = (DeviceChoice::Cpu, Some(1));
        }
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        // One core is left for training and matches.
        deploy.threads.get_or_insert(cores.saturating_sub(1).max(1));
        if let Some(problem) = settings::problem(&effective) {
            return Err(Failure::usage(problem.text));
        }
        let processes = [Process::Actor, Process::Learner, Process::Arena];
        effective.check_machine(&processes).map_err(Failure::usage)?;
        rounds::check(arguments, &effective)?;
        let deploy = &effective.deploy;
        Ok(Self {
            from: first_weights(arguments)?,
            resume: resume::command(arguments, &folder(arguments)),
            folder: folder(arguments),
            is_new,
            is_saved: true,
            is_empty: !has_parts(&folder(arguments)),
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

    /// The guards of both ports, and the token by which the parts call each other.
    pub(super) fn access(&self) -> Result<Access, Failure> {
        let deploy = &self.effective.deploy;
        let internal = match deploy.is_guarded() {
            true => Some(Token::create("ouro-train").map_err(Failure::unavailable)?),
            false => None,
        };
        if let Some(web) = deploy.web.0 {
            deploy.check_exposure("web", web).map_err(Failure::usage)?;
        }
        let guard = |key, address| deploy.guard(key, address, internal.as_ref());
        Ok(Access {
            arena: guard("arena", self.arena).map_err(Failure::usage)?,
            learner: guard("learner", self.learner).map_err(Failure::usage)?,
            credential: internal
                .as_ref()
                .map_or(Credential::None, |token| Credential::Text(token.reveal())),
            tls: deploy.server_tls().map_err(Failure::usage)?,
            own_tls: deploy.own_tls().map_err(Failure::usage)?,
        })
    }

    /// URL of the page at an address.
    pub(super) fn page(&self, address: SocketAddr) -> String {
        let is_private = self.effective.deploy.tls_certificate.is_some();
        format!("{}://{address}", if is_private { "https" } else { "http" })
    }

    /// Address of the metrics, if they are on.
    pub(super) fn metrics(&self) -> Option<SocketAddr> {
        self.effective.deploy.metrics.0
    }

    /// The collector of traces, if one is named, and the number of games of which one is traced.
    pub(super) fn traces(&self) -> (Option<&str>, u64) {
        let deploy = &self.effective.deploy;
        (deploy.otlp.as_deref(), deploy.trace_games)
    }

    pub(super) fn arena(&self) -> ArenaConfig {
        let mut config = ArenaConfig::of_run(&self.effective, &self.folder, self.arena);
        // The learner's address is known only once its port is open.
        config.learner = None;
        if !self.deterministic {
            return config;
        }
        let mut matches = config.matches;
        // Spare games depend on the time, so they are not reproducible. Matches may use all of the
        // time, because the other parts are idle during the turn of the arena.
        (matches.spare_share, matches.match_share) = (0.0, 1.0);
        ArenaConfig { matches, ..config }
    }

    pub(super) fn learner(&self, arena: String) -> Config {
        let mut config = Config::of_run(&self.effective, &self.folder, self.learner, arena);
        config.from.clone_from(&self.from);
        if self.deterministic {
            (config.replay.assembly_threads, config.intake.replay_threads) = (1, 1);
        }
        config
    }

    pub(super) fn actor(&self, arena: String, learner: String) -> ActorConfig {
        ActorConfig::of_run(&self.effective, &self.folder, arena, learner)
    }
}

/// Reads the weights that `--from` names.
fn first_weights(arguments: &Arguments) -> Result<Option<Arc<Weights>>, Failure> {
    let path = arguments.from.from.as_ref();
    Ok(path.map(|path| weights::read(path)).transpose()?.map(Arc::new))
}

fn preset(arguments: &Arguments) -> Preset {
    arguments.preset.unwrap_or_default()
}

/// Returns the folder of the run: `--run`, else the default folder of the settings file or the
/// preset.
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
        assert!(!first.folder().join(SETTINGS_FILE).exists(), "nothing is written before a save");
        first.save().expect("it is writable");
        let again = Arguments { seed: None, ..arguments.clone() };
        let second = Plan::open(&again).expect("the same run");
        assert!(!second.is_new());
        assert_eq!(second.settings, first.settings);
        assert!(Plan::open(&arguments).is_err(), "--seed belongs to new runs");
    }

    #[test]
    fn a_run_that_lost_a_part_is_refused_and_a_refused_start_leaves_nothing() {
        let home = tempfile::tempdir().expect("a scratch folder");
        let run = home.path().join("run");
        let arguments = Arguments { run: Some(run.clone()), ..Arguments::default() };
        let plan = Plan::open(&arguments).expect("a new run");
        let lock = RunLock::take(&run).expect("no other process is here");
        for part in Part::ALL {
            fs::create_dir(run.join(part.folder())).expect("as a part does");
        }
        plan.discard(&lock, &[]);
        assert!(!run.exists());
        drop(lock);

        Plan::open(&arguments).expect("a new run").save().expect("it is writable");
        for part in ["arena", "learner"] {
            fs::create_dir(run.join(part)).expect("as a part does");
        }
        let lock = RunLock::take(&run).expect("no other process is here");
        Plan::open(&arguments).expect("it resumes").discard(&lock, &[]);
        assert!(run.join("arena").exists(), "data from before this start stays");
        fs::remove_dir(run.join("arena")).expect("it is there");
        let error = format!("{:?}", Plan::open(&arguments).expect_err("it lost its arena"));
        assert!(error.contains("but not arena/"), "{error}");
        fs::remove_file(run.join(SETTINGS_FILE)).expect("it is there");
        let error = format!("{:?}", Plan::open(&arguments).expect_err("it lost its settings"));
        assert!(error.contains("but not its run.toml"), "{error}");
        assert!(!run.join(SETTINGS_FILE).exists());
    }

    #[cfg(unix)]
    #[test]
    fn a_refused_start_leaves_the_link_of_a_part_whose_disk_is_not_mounted() {
        let home = tempfile::tempdir().expect("a scratch folder");
        let run = home.path().join("run");
        let arguments = Arguments { run: Some(run.clone()), ..Arguments::default() };
        Plan::open(&arguments).expect("a new run").save().expect("it is writable");
        let link = run.join("arena");
        std::os::unix::fs::symlink("/nowhere", &link).expect("nothing is there");
        let plan = Plan::open(&arguments).expect("it resumes");
        let lock = RunLock::take(&run).expect("no other process is here");
        plan.discard(&lock, &Part::ALL);
        assert!(link.is_symlink());
    }
}
