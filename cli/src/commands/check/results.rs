//! The verdicts on the results of a run, its weights and its champion.

use std::path::Path;

use ouro_arena::config::{StoreConfig, WeightsConfig};
use ouro_arena::store::verify::verify_with_missing;
use ouro_arena::store::{
    EmbeddedStore, LOG_FILE, RedisAddress, RedisStore, Store, StoreError, Verified, VerifyError,
    WEIGHTS_FOLDER, WeightsError, WeightsFolder, WeightsStore,
};
use ouro_net::{ContentHash, Generation, RunId};
use ouro_proto::{Checkpoint, CheckpointStatus};
use ouro_settings::arguments::{StoreArguments, WeightsArguments};
use ouro_settings::{Deployment, SETTINGS_FILE, Settings};

use super::Verdict;
use crate::commands::{stopped_run, weights};
use crate::failure::Failure;

/// What the results say about their run.
#[derive(Clone, Copy, Debug)]
pub(super) struct FoundArena {
    pub(super) run: RunId,
    /// The newest generation; `None` before the first.
    pub(super) newest: Option<Generation>,
}

/// The verdicts on the arena of a run.
pub(super) struct FoundResults {
    /// On results and weights.
    pub(super) results: Verdict,
    /// On the champion; `None` without results that can be read.
    pub(super) champion: Option<Verdict>,
    /// The run of sound results.
    pub(super) arena: Option<FoundArena>,
}

impl FoundResults {
    /// The verdict on results that are missing or cannot be read.
    fn unread(results: Verdict) -> Self {
        Self { results, champion: None, arena: None }
    }
}

/// Checks the results and the weights, which the settings or the flags locate. Changes neither.
pub(super) fn results(
    run: &Path,
    store: &StoreArguments,
    weights: &WeightsArguments,
) -> Result<FoundResults, Failure> {
    let folder = run.join("arena");
    let settings = Settings::load(&run.join(SETTINGS_FILE));
    let mut deploy = settings.map_or_else(|_| Deployment::default(), |settings| settings.deploy);
    store.apply(&mut deploy);
    weights.apply(&mut deploy);
    stopped_run::check_stores(&deploy)?;
    let weights = WeightsConfig::of(&deploy);
    match StoreConfig::of(&deploy).redis().map_err(Failure::unavailable)? {
        Some(address) => results_on_server(&address, &folder, &weights),
        None => results_in_files(&folder, &weights),
    }
}

/// Opens the weights to read them. A failure of an object store says nothing about the run.
fn open_weights(config: &WeightsConfig, folder: &Path) -> Result<Box<dyn WeightsStore>, Failure> {
    if *config == WeightsConfig::Files {
        // Opened as a store, the folder would be created.
        return Ok(Box::new(WeightsFolder::open_to_read(&folder.join(WEIGHTS_FOLDER))));
    }
    config.open_to_read(folder).map_err(|error| match error {
        WeightsError::NotBuilt { .. } => Failure::usage(error),
        error => Failure::unavailable(error),
    })
}

/// The verdicts on the results of the run `run` and on their weights. `held` says what sound results hold.
/// Fails if an object store does not answer.
fn examine(
    store: &dyn Store,
    run: Option<RunId>,
    config: &WeightsConfig,
    folder: &Path,
    held: impl FnOnce(&Verified) -> String,
) -> Result<FoundResults, Failure> {
    let stored = open_weights(config, folder)?;
    let verified = match verify_with_missing(store, stored.as_ref()) {
        Err(VerifyError::Weights(error)) if error.is_passing() => {
            return Err(Failure::unavailable(error));
        }
        verified => verified,
    };
    let published = |hash| weights::published(config, folder, hash);
    let champion = champion(store, stored.as_ref(), published)?;
    Ok(match verified {
        Err(error) => FoundResults { champion, ..FoundResults::unread(Err(error.to_string())) },
        Ok((verified, missing)) => FoundResults {
            results: with_missing(held(&verified), &missing, verified.newest, &stored.name()),
            champion,
            arena: run.map(|run| FoundArena { run, newest: verified.newest }),
        },
    })
}

/// Adds the verdict on missing weights to that on the results. A start records the loss of a member of the
/// pool by setting the member aside. The newest weights are needed in any case, because actors play them.
fn with_missing(
    held: String,
    missing: &[Checkpoint],
    newest: Option<Generation>,
    place: &str,
) -> Verdict {
    let is_recorded = |row: &&Checkpoint| {
        row.status == CheckpointStatus::SetAside && Some(row.generation) != newest
    };
    let (recorded, lost): (Vec<&Checkpoint>, Vec<&Checkpoint>) =
        missing.iter().partition(is_recorded);
    if !lost.is_empty() {
        return Err(format!(
            "the weights of {} are not in {place}; put copies there, such as those of a backup, or \
             start the run: {}",
            stopped_run::named(&lost),
            stopped_run::LOST_WEIGHTS
        ));
    }
    if recorded.is_empty() {
        return Ok(held);
    }
    Ok(format!(
        "{held}; set aside without weights: {}; a copy in {place} counts from the next start",
        stopped_run::named(&recorded)
    ))
}

/// The verdict on the champion and its weights, whose place `published` returns. `None` if the results
/// cannot be read.
fn champion(
    store: &dyn Store,
    stored: &dyn WeightsStore,
    published: impl FnOnce(ContentHash) -> String,
) -> Result<Option<Verdict>, Failure> {
    let Ok(rows) = store.checkpoints() else { return Ok(None) };
    let champion = rows.iter().find(|row| row.status == CheckpointStatus::Champion);
    let Some(&Checkpoint { hash, generation, .. }) = champion else {
        // Only promoted checkpoints are ever set aside.
        let is_lost = rows.iter().any(|row| row.status == CheckpointStatus::SetAside);
        let none = match is_lost {
            true => "none: the weights of all promoted checkpoints are lost",
            false => "none yet",
        };
        return Ok(Some(Ok(none.to_owned())));
    };
    Ok(Some(match stored.read(hash) {
        Ok(_) => Ok(format!("{generation}: {}", published(hash))),
        Err(error) if error.is_passing() => return Err(Failure::unavailable(error)),
        Err(WeightsError::Missing(_)) => {
            Err(format!("{generation}: {} is missing", published(hash)))
        }
        Err(error) => Err(format!("{generation}: {error}")),
    }))
}

/// The verdicts for a run whose store is in files.
fn results_in_files(folder: &Path, weights: &WeightsConfig) -> Result<FoundResults, Failure> {
    let path = folder.join(LOG_FILE);
    if !folder.exists() {
        return Ok(FoundResults::unread(Ok("there is no arena/ here".to_owned())));
    }
    if stopped_run::is_missing_or_empty(&path) {
        // A first start that ends early leaves no results and no weights.
        let verdict = match stopped_run::has_weights(weights, folder)? {
            true => Err(format!("{} is missing or empty", path.display())),
            false => Ok("no candidate has been published yet".to_owned()),
        };
        return Ok(FoundResults::unread(verdict));
    }
    let store = match EmbeddedStore::open_to_read(folder) {
        Ok(store) => store,
        Err(error @ StoreError::Locked { .. }) => return Err(Failure::unavailable(error)),
        Err(error) => return Ok(FoundResults::unread(Err(error.to_string()))),
    };
    let length = std::fs::metadata(&path).map_or(0, |file| file.len());
    let incomplete = match length.saturating_sub(store.log_bytes()) {
        0 => String::new(),
        bytes => format!("; an incomplete last entry of {bytes} bytes, which a start cuts off"),
    };
    let damaged = match store.damaged_games() {
        0 => String::new(),
        count => format!("; {count} kept games cannot be shown, as after a crash"),
    };
    examine(&store, store.run(), weights, folder, |found| {
        let lost = match found.lost {
            0 => String::new(),
            lost => format!("; damaged entries taken out: {lost}"),
        };
        format!(
            "{} checkpoints, {} promotions and {} matches, as in the log; {} weights \
             files{lost}{incomplete}{damaged}",
            found.checkpoints, found.promotions, found.matches, found.weights
        )
    })
}

/// The verdicts for a run whose store is in Redis.
fn results_on_server(
    address: &RedisAddress,
    folder: &Path,
    weights: &WeightsConfig,
) -> Result<FoundResults, Failure> {
    let store = match RedisStore::open_to_read_in(address, folder) {
        Ok(store) => store,
        // The server says nothing about the results.
        Err(error @ StoreError::Server { .. }) => return Err(Failure::unavailable(error)),
        Err(error) => return Ok(FoundResults::unread(Err(error.to_string()))),
    };
    examine(&store, store.run(), weights, folder, |found| {
        format!(
            "{} checkpoints, {} promotions and {} matches, as in {}; {} weights files",
            found.checkpoints,
            found.promotions,
            found.matches,
            store.name(),
            found.weights
        )
    })
}
