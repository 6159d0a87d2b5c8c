//! `ouro restore`: makes a run of a backup.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use ouro_arena::config::{StoreConfig, WeightsConfig};
use ouro_arena::store::{
    self, CopyError, EmbeddedStore, LOG_FILE, RedisAddress, RedisStore, ServerReport,
    WEIGHTS_FOLDER, WeightsError, WeightsFolder, WeightsStore,
};
use ouro_replay::FolderDisk;
use ouro_settings::arguments::{StoreArguments, WeightsArguments};
use ouro_settings::{SETTINGS_FILE, Settings};

use super::backup::{
    ARENA, LEARNER, Manifest, at, check_no_records, check_outside, copy, copy_records, is_empty,
};
use super::check;
use crate::failure::{Failure, answer};
use crate::output::Output;

/// Make a run of a backup, in a folder without a run or on new volumes.
///
/// The backup is not changed. Its run.toml is used unless the folder has one. The results go to the
/// store that these settings name: files, or a Redis server without results under this name. The
/// weights go to files, or to the object store of these settings if it holds none. The restored run is checked like by `ouro check`. Exit code 1: a part is not sound.
#[derive(Debug, Args)]
pub(crate) struct Restore {
    /// Folder of the backup.
    backup: PathBuf,
    /// Folder of the run.
    run: PathBuf,
    #[command(flatten)]
    store: StoreArguments,
    #[command(flatten)]
    weights: WeightsArguments,
}

impl Restore {
    pub(crate) fn run(self, output: &mut Output) -> Result<ExitCode, Failure> {
        let (backup, run) = (&self.backup, &self.run);
        let manifest = Manifest::load(backup)?;
        check_outside("the backup", backup, run)?;
        for (part, is_there) in [(LEARNER, manifest.learner), (ARENA, manifest.arena)] {
            let folder = run.join(part);
            if is_there && !is_empty(&folder)? {
                return Err(Failure::usage(format_args!(
                    "{} is not empty; stop the run and move this folder away, or name another",
                    folder.display()
                )));
            }
        }
        check_no_records(backup, run)?;
        let settings = run.join(SETTINGS_FILE);
        let has_settings = settings.exists();
        let used = if has_settings { &settings } else { &backup.join(SETTINGS_FILE) };
        let mut deploy = Settings::load(used).map_err(Failure::unreadable)?.deploy;
        self.store.apply(&mut deploy);
        self.weights.apply(&mut deploy);
        deploy.validate().map_err(Failure::usage)?;
        let redis = StoreConfig::of(&deploy).redis().map_err(Failure::unavailable)?;
        if let Some(address) = redis.as_ref().filter(|_| manifest.arena) {
            check_server(address)?;
        }
        let weights = WeightsConfig::of(&deploy);
        let objects = match &weights {
            WeightsConfig::Objects { .. } if manifest.arena => Some(open_objects(&weights, run)?),
            _ => None,
        };
        fs::create_dir_all(run).map_err(at("create", run))?;
        if !has_settings {
            copy(used, &settings)?;
        }
        copy_records(backup, run)?;
        if manifest.learner {
            copy_folder(&backup.join(LEARNER), &run.join(LEARNER))?;
        }
        if manifest.arena {
            let folder = run.join(ARENA);
            copy_folder(&backup.join(ARENA), &folder)?;
            if let Some(objects) = &objects {
                to_objects(objects.as_ref(), &folder)?;
            }
            if let Some(address) = &redis {
                to_server(address, &folder)?;
            }
        }
        let parts = check::parts(run, &self.store, &self.weights)?;
        let code = answer(parts.iter().all(|part| part.sound));
        output.verdict(code, &parts, check::lines(&parts))
    }
}

/// Refuses a server that does not keep what it acknowledges, or that has results under this name.
fn check_server(address: &RedisAddress) -> Result<(), Failure> {
    let ServerReport { name: server, problems, entries, .. } =
        ServerReport::ask(address).map_err(Failure::unavailable)?;
    if let Some(problem) = problems.first() {
        return Err(Failure::unavailable(format_args!("{server}: {problem}")));
    }
    match entries {
        0 => Ok(()),
        entries => Err(Failure::usage(format_args!(
            "{server} holds {entries} entries of results under the name {}; give another name \
             (--store-name, deploy.store_name), or --store files",
            address.name
        ))),
    }
}

/// Opens an object store for the run in `run`. Weights that are there may be those of the run that the
/// backup copied, and an arena removes what its results do not know. They are refused.
fn open_objects(weights: &WeightsConfig, run: &Path) -> Result<Box<dyn WeightsStore>, Failure> {
    weights.check().map_err(Failure::usage)?;
    let objects = weights.open(run).map_err(Failure::unavailable)?;
    match objects.hashes().map_err(Failure::unavailable)?.len() {
        0 => Ok(objects),
        count => Err(Failure::usage(format_args!(
            "{} holds {count} weights; give another prefix (--weights, deploy.weights), or --weights \
             files",
            objects.name()
        ))),
    }
}

/// Moves the weights in the folder of an arena to an object store.
fn to_objects(objects: &dyn WeightsStore, folder: &Path) -> Result<(), Failure> {
    let store = EmbeddedStore::open(folder).map_err(Failure::unavailable)?;
    let path = folder.join(WEIGHTS_FOLDER);
    let files = WeightsFolder::open(&path).map_err(Failure::unavailable)?;
    // Without a run in its results, an arena has no weights.
    if let Some(id) = store.run() {
        store::copy_weights(id, &files, objects).map_err(|error| match error {
            WeightsError::OtherRun { .. } => Failure::usage(error),
            error => Failure::unavailable(error),
        })?;
    }
    fs::remove_dir_all(&path).map_err(at("remove", &path))
}

/// Moves the results in the folder of an arena to a Redis server.
fn to_server(address: &RedisAddress, folder: &Path) -> Result<(), Failure> {
    let files = EmbeddedStore::open(folder).map_err(Failure::unavailable)?;
    let server = RedisStore::open(address).map_err(Failure::unavailable)?;
    store::copy(&files, &server).map_err(|error| match error {
        CopyError::Differs { .. } => Failure::usage(error),
        error => Failure::unavailable(error),
    })?;
    drop(files);
    for name in [LOG_FILE, "games.log", FolderDisk::LOCK] {
        let path = folder.join(name);
        if path.exists() {
            fs::remove_file(&path).map_err(at("remove", &path))?;
        }
    }
    Ok(())
}

/// Copies a folder with all its folders, without locks.
fn copy_folder(from: &Path, to: &Path) -> Result<(), Failure> {
    fs::create_dir_all(to).map_err(at("create", to))?;
    for entry in fs::read_dir(from).map_err(at("read", from))? {
        let name = entry.map_err(at("read", from))?.file_name();
        let (source, copied) = (from.join(&name), to.join(&name));
        if source.is_dir() {
            copy_folder(&source, &copied)?;
        } else if name != FolderDisk::LOCK {
            copy(&source, &copied)?;
        }
    }
    Ok(())
}
