//! The verdict on the results of a run and on its weights.

use std::path::Path;

use ouro_arena::config::{StoreConfig, WeightsConfig};
use ouro_arena::store::{
    EmbeddedStore, LOG_FILE, RedisAddress, RedisStore, Store, StoreError, Verified, VerifyError,
    WeightsError, WeightsStore, verify,
};
use ouro_net::{Generation, RunId};
use ouro_settings::arguments::{StoreArguments, WeightsArguments};
use ouro_settings::{Deployment, SETTINGS_FILE, Settings};

use super::{Verdict, text};
use crate::commands::stopped_run;
use crate::failure::Failure;

/// What the results say about their run.
#[derive(Clone, Copy, Debug)]
pub(super) struct FoundArena {
    pub(super) run: RunId,
    /// The newest generation; `None` before the first.
    pub(super) newest: Option<Generation>,
}

/// The verdict on results and weights, and the run of sound results.
type Results = (Verdict, Option<FoundArena>);

/// Checks the results and the weights, which the settings or the flags locate.
pub(super) fn results(
    run: &Path,
    store: &StoreArguments,
    weights: &WeightsArguments,
) -> Result<Results, Failure> {
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

/// Opens the weights. A failure of an object store says nothing about the run.
fn open_weights(
    weights: &WeightsConfig,
    folder: &Path,
) -> Result<Result<Box<dyn WeightsStore>, String>, Failure> {
    match (weights.open_to_read(folder), weights) {
        (Err(error @ WeightsError::NotBuilt { .. }), _) => Err(Failure::usage(error)),
        (Err(error), WeightsConfig::Objects { .. }) => Err(Failure::unavailable(error)),
        (opened, _) => Ok(opened.map_err(text)),
    }
}

/// The verdict on results and their weights. Fails if an object store does not answer.
fn verified(
    store: &dyn Store,
    weights: &WeightsConfig,
    folder: &Path,
) -> Result<Result<Verified, String>, Failure> {
    let weights = match open_weights(weights, folder)? {
        Ok(weights) => weights,
        Err(problem) => return Ok(Err(problem)),
    };
    match verify(store, weights.as_ref()) {
        Err(VerifyError::Weights(error)) if error.is_passing() => Err(Failure::unavailable(error)),
        verified => Ok(verified.map_err(text)),
    }
}

/// The results of a run whose store is in files, and its weights.
fn results_in_files(folder: &Path, weights: &WeightsConfig) -> Result<Results, Failure> {
    let path = folder.join(LOG_FILE);
    if !folder.exists() {
        return Ok((Ok("there is no arena/ here".to_owned()), None));
    }
    if stopped_run::is_missing_or_empty(&path) {
        // A first start that ends early leaves no results and no weights.
        let verdict = match stopped_run::has_weights(weights, folder)? {
            true => Err(format!("{} is missing or empty", path.display())),
            false => Ok("no candidate has been published yet".to_owned()),
        };
        return Ok((verdict, None));
    }
    // Opening the store moves an incomplete last entry to a file beside the log.
    let before = std::fs::metadata(&path).map_or(0, |file| file.len());
    let store = match EmbeddedStore::open(folder) {
        Ok(store) => store,
        Err(error @ StoreError::Locked { .. }) => return Err(Failure::unavailable(error)),
        Err(error) => return Ok((Err(error.to_string()), None)),
    };
    let cut = match before
        .saturating_sub(std::fs::metadata(&path).map_or(before, |file| file.len()))
    {
        0 => String::new(),
        bytes => format!("; an incomplete last entry of {bytes} bytes was moved beside the log"),
    };
    let damaged = match store.damaged_games() {
        0 => String::new(),
        count => format!("; {count} kept games cannot be shown, as after a crash"),
    };
    let found = verified(&store, weights, folder)?;
    let arena = arena(store.run(), &found);
    let verdict = found.map(|found| {
        let lost = match found.lost {
            0 => String::new(),
            lost => format!("; {lost} damaged entries were taken out"),
        };
        format!(
            "{} checkpoints, {} promotions and {} matches, as in the log; {} weights \
             files{lost}{cut}{damaged}",
            found.checkpoints, found.promotions, found.matches, found.weights
        )
    });
    Ok((verdict, arena))
}

/// The run of sound results.
fn arena(run: Option<RunId>, found: &Result<Verified, String>) -> Option<FoundArena> {
    Some(FoundArena { run: run?, newest: found.as_ref().ok()?.newest })
}

/// The results of a run whose store is in Redis, and its weights.
fn results_on_server(
    address: &RedisAddress,
    folder: &Path,
    weights: &WeightsConfig,
) -> Result<Results, Failure> {
    let store = match RedisStore::open_to_read_in(address, folder) {
        Ok(store) => store,
        // The server says nothing about the results.
        Err(error @ StoreError::Server { .. }) => return Err(Failure::unavailable(error)),
        Err(error) => return Ok((Err(error.to_string()), None)),
    };
    let found = verified(&store, weights, folder)?;
    let arena = arena(store.run(), &found);
    let verdict = found.map(|found| {
        format!(
            "{} checkpoints, {} promotions and {} matches, as in {}; {} weights files",
            found.checkpoints,
            found.promotions,
            found.matches,
            store.name(),
            found.weights
        )
    });
    Ok((verdict, arena))
}
