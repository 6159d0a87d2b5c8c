//! `ouro backup`: copies a run while it continues.
//!
//! The order of the copies makes every cut a valid run. The logs of the actors come first, because
//! what they call acknowledged must be in the journal. The learner follows: its training states, then
//! its journal. The arena comes last, so that it has every generation of the learner. A run whose
//! arena is ahead of its learner is that of a learner which was killed.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use ouro_arena::config::{StoreConfig, WeightsConfig};
use ouro_arena::store::{self, LOG_FILE};
use ouro_learner::copy_learner;
use ouro_service::files::{copy_file, unless_gone};
use ouro_service::{Clock, SystemClock};
use ouro_settings::arguments::{StoreArguments, WeightsArguments};
use ouro_settings::{SETTINGS_FILE, Settings};
use serde::{Deserialize, Serialize};

use super::check;
use crate::failure::{Failure, answer};
use crate::output::Output;

/// Name of the file that makes a backup complete.
pub(super) const MANIFEST: &str = "backup.json";
/// Version of the form of a backup.
const VERSION: u32 = 1;
/// Folder of the learner in the folder of a run.
pub(super) const LEARNER: &str = "learner";
/// Folder of the arena in the folder of a run.
pub(super) const ARENA: &str = "arena";
/// File of an actor with the games that it sent.
const RECORDS: &str = "records.log";

/// Copy a run to a new folder, while it continues or after it stopped.
///
/// The copy is checked like a run by `ouro check`. Results in Redis and weights in an object store are
/// copied to files. `ouro restore` makes a run of the copy. If the learner and the arena are on two machines, copy each
/// there, the learner first. Exit code 1: the copy is complete, and a part of the run is not sound.
#[derive(Debug, Args)]
pub(crate) struct Backup {
    /// Folder of the run.
    run: PathBuf,
    /// Folder of the copy, outside the run; it is created.
    to: PathBuf,
    #[command(flatten)]
    store: StoreArguments,
    #[command(flatten)]
    weights: WeightsArguments,
}

/// What a backup holds. Written last.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Manifest {
    version: u32,
    /// The program that made it.
    program: String,
    /// Unix time of its start, in seconds.
    started_at: u64,
    /// Whether it has the learner.
    pub(super) learner: bool,
    /// Whether it has the arena.
    pub(super) arena: bool,
}

/// The outcome for people and scripts.
#[derive(Serialize)]
struct Report<'a> {
    to: String,
    learner: bool,
    arena: bool,
    seconds: f64,
    parts: &'a [check::Part],
}

impl Backup {
    pub(crate) fn run(self, output: &mut Output) -> Result<ExitCode, Failure> {
        let (run, to, clock) = (&self.run, &self.to, SystemClock::new());
        let settings_file = run.join(SETTINGS_FILE);
        let mut deploy = Settings::load(&settings_file).map_err(Failure::unreadable)?.deploy;
        self.store.apply(&mut deploy);
        self.weights.apply(&mut deploy);
        deploy.validate().map_err(Failure::usage)?;
        let redis = StoreConfig::of(&deploy).redis().map_err(Failure::unavailable)?;
        let weights = WeightsConfig::of(&deploy);
        weights.check().map_err(Failure::usage)?;
        check_outside("the run", run, to)?;
        let [learner, arena] = [LEARNER, ARENA].map(|part| run.join(part));
        let manifest = Manifest {
            version: VERSION,
            program: concat!("ouro/", env!("CARGO_PKG_VERSION")).to_owned(),
            started_at: clock.unix().as_secs(),
            learner: learner.is_dir(),
            arena: redis.is_some() && arena.is_dir() || arena.join(LOG_FILE).exists(),
        };
        if !manifest.learner && !manifest.arena {
            return Err(Failure::no_input(format_args!(
                "{} has neither a learner nor an arena to copy; start the run first",
                run.display()
            )));
        }
        if !is_empty(to)? {
            return Err(Failure::usage(format_args!(
                "{} is not empty; name a new folder",
                to.display()
            )));
        }
        // Opened before anything is copied, as it may be out of reach.
        let objects = match &weights {
            WeightsConfig::Objects { .. } if manifest.arena => {
                Some(weights.open_to_read(&arena).map_err(Failure::unavailable)?)
            }
            _ => None,
        };
        fs::create_dir_all(to).map_err(at("create", to))?;
        copy_records(run, to)?;
        if manifest.learner {
            copy_learner(&learner, &to.join(LEARNER)).map_err(Failure::unavailable)?;
        }
        if manifest.arena {
            let copied =
                store::copy_arena(&arena, redis.as_ref(), objects.as_deref(), &to.join(ARENA));
            copied.map_err(Failure::unavailable)?;
        }
        copy(&settings_file, &to.join(SETTINGS_FILE))?;
        let text = serde_json::to_vec_pretty(&manifest).map_err(Failure::bug)?;
        let (unfinished, file) = (to.join("backup.json.new"), to.join(MANIFEST));
        fs::write(&unfinished, text).map_err(at("write", &unfinished))?;
        fs::File::open(&unfinished).and_then(|file| file.sync_all()).map_err(at("sync", &file))?;
        fs::rename(&unfinished, &file).map_err(at("write", &file))?;

        let parts = check::parts(to, &in_files(), &weights_in_files())?;
        let code = answer(parts.iter().all(|part| part.sound));
        let Manifest { learner, arena, .. } = manifest;
        let seconds = clock.monotonic().as_secs_f64();
        let what = match (learner, arena) {
            (true, true) => "the run",
            (true, false) => "the learner; the arena is not in this folder",
            _ => "the arena; the learner is not in this folder",
        };
        let text = format!(
            "{}copied in {seconds:.1} s to {}: {what}\n",
            check::lines(&parts),
            to.display()
        );
        let to = to.display().to_string();
        output.verdict(code, &Report { to, learner, arena, seconds, parts: &parts }, text)
    }
}

impl Manifest {
    /// Reads the manifest of a complete backup.
    pub(super) fn load(backup: &Path) -> Result<Self, Failure> {
        let path = backup.join(MANIFEST);
        let bytes = fs::read(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Failure::no_input(format_args!(
                "{} is missing: {} is no backup, or its copy was interrupted",
                path.display(),
                backup.display()
            )),
            _ => Failure::read(path.display(), &error),
        })?;
        let damaged = |error: &dyn std::fmt::Display| {
            Failure::data(format_args!("{} cannot be used: {error}", path.display()))
        };
        let manifest: Self = serde_json::from_slice(&bytes).map_err(|error| damaged(&error))?;
        match manifest.version {
            VERSION => Ok(manifest),
            other => Err(damaged(&format_args!("it has version {other}, and {VERSION} is known"))),
        }
    }
}

/// Refuses a target in the folder of a run or a backup, which the copy would change. `what` names it.
/// Links are followed.
pub(super) fn check_outside(what: &str, from: &Path, to: &Path) -> Result<(), Failure> {
    let absolute = std::path::absolute(to).map_err(at("locate", to))?;
    // The target may not exist yet. Its nearest folder that exists says where it will be.
    let nearest = absolute.ancestors().find_map(|folder| fs::canonicalize(folder).ok());
    let nearest = nearest.unwrap_or(absolute);
    for folder in [from.to_owned(), from.join(LEARNER), from.join(ARENA)] {
        // A part that is missing contains nothing.
        if fs::canonicalize(folder).is_ok_and(|folder| nearest.starts_with(folder)) {
            return Err(Failure::usage(format_args!(
                "{} is in the folder of {what} {}; name a folder outside it",
                to.display(),
                from.display()
            )));
        }
    }
    Ok(())
}

/// The store of a backup.
pub(super) fn in_files() -> StoreArguments {
    StoreArguments { store: Some("files".to_owned()), ..StoreArguments::default() }
}

/// The weights of a backup.
pub(super) fn weights_in_files() -> WeightsArguments {
    WeightsArguments { weights: Some("files".to_owned()) }
}

/// Copies the logs of sent games of all actors in the folder of a run.
pub(super) fn copy_records(run: &Path, to: &Path) -> Result<(), Failure> {
    for name in folders_with_records(run)? {
        let (log, copied) = (run.join(&name).join(RECORDS), to.join(&name));
        fs::create_dir_all(&copied).map_err(at("create", &copied))?;
        unless_gone(copy_file(&log, &copied.join(RECORDS))).map_err(at("copy", &log))?;
    }
    Ok(())
}

/// Refuses a folder with a log of sent games that a copy would replace. It may have later games, which
/// `ouro check` looks for in the journal.
pub(super) fn check_no_records(run: &Path, to: &Path) -> Result<(), Failure> {
    for name in folders_with_records(run)? {
        let log = to.join(name).join(RECORDS);
        if fs::symlink_metadata(&log).is_ok() {
            return Err(Failure::usage(format_args!(
                "{} is there already; stop the run and move this file away, or name another folder",
                log.display()
            )));
        }
    }
    Ok(())
}

/// Names of the folders of actors that have a log of sent games, in the folder of a run.
fn folders_with_records(run: &Path) -> Result<Vec<OsString>, Failure> {
    let mut names = Vec::new();
    for entry in fs::read_dir(run).map_err(at("read", run))? {
        let name = entry.map_err(at("read", run))?.file_name();
        if run.join(&name).join(RECORDS).is_file() {
            names.push(name);
        }
    }
    Ok(names)
}

/// Copies a file.
pub(super) fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    copy_file(from, to).map(drop).map_err(at("copy", from))
}

/// Whether a folder is empty or not there. A folder may have been made for a mounted volume.
pub(super) fn is_empty(folder: &Path) -> Result<bool, Failure> {
    match fs::read_dir(folder) {
        Ok(mut entries) => Ok(entries.next().is_none()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(at("read", folder)(error)),
    }
}

/// An error of the system, with the action and the path.
pub(super) fn at<'a>(
    action: &'static str,
    path: &'a Path,
) -> impl FnOnce(io::Error) -> Failure + 'a {
    move |error| Failure::io(format_args!("cannot {action} {}: {error}", path.display()))
}
