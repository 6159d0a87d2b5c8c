//! `ouro repair`: makes a damaged run usable again with what is left of it.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use ouro_arena::config::WeightsConfig;
use ouro_arena::store::{
    EmbeddedStore, LOG_FILE, Repair as Repaired, Run, RunStarted, SCHEMA_VERSION, Store,
    StoreError, repair,
};
use ouro_learner::{
    TrainingStateError, check_arena_fits, rebuild_training_state, store_run, stored_run,
    training_states,
};
use ouro_net::{RunId, Weights};
use ouro_proto::{Checkpoint, CheckpointStatus};
use ouro_settings::arguments::{StoreArguments, WeightsArguments};
use ouro_settings::{SETTINGS_FILE, Settings};
use serde::Serialize;

use super::count::counted;
use super::stopped_run::{self, LOST_WEIGHTS, has_weights, is_missing_or_empty, named};
use crate::failure::{Failure, answer};
use crate::output::Output;

/// Make a damaged run usable again with what is left of it.
///
/// Damaged entries of the results are taken out; all other entries stay, and the damaged file is
/// kept beside them. If no training state is whole, one is made from the newest weights, with a new
/// optimiser and the games of the journal. If the learner's run.json is damaged, it names the run of the
/// results again. Parts that are whole are not changed. Lost weights are named, not restored: a start gets
/// copies back where it can, and plays on without the others. The run must not be running. Exit code 1: a
/// part cannot be repaired, or the folders of the learner and the arena do not belong together.
#[derive(Debug, Args)]
pub(crate) struct Repair {
    /// Folder of the run.
    run: PathBuf,
    #[command(flatten)]
    store: StoreArguments,
    #[command(flatten)]
    weights: WeightsArguments,
}

/// The outcome for one part of a run.
#[derive(Debug, Serialize)]
struct Part {
    part: &'static str,
    /// Whether the part is usable now.
    usable: bool,
    detail: String,
}

impl Repair {
    pub(crate) fn run(self, output: &mut Output) -> Result<ExitCode, Failure> {
        let run = &self.run;
        let mut settings = Settings::load(&run.join(SETTINGS_FILE)).map_err(Failure::unreadable)?;
        self.store.apply(&mut settings.deploy);
        self.weights.apply(&mut settings.deploy);
        stopped_run::check_stores(&settings.deploy)?;
        if settings.deploy.store.is_some() {
            return Err(Failure::usage(format_args!(
                "the results of {} are in Redis, which repairs from its own backup; restore it, then \
                 start the arena",
                run.display()
            )));
        }
        let id = match stored_run(&run.join("learner")) {
            Err(TrainingStateError::Damaged { .. }) => None,
            stored => Some(stored.map_err(Failure::unavailable)?.unwrap_or_else(|| {
                let path = run.join("arena").join(LOG_FILE);
                RunId::of(path.display().to_string().as_bytes())
            })),
        };
        let parts = [
            part("results", results(run, &settings, id)?),
            part("weights", weights(run, &settings)?),
            part("training", training(run, &settings)?),
            part("run", identity(run)?),
        ];
        let code = answer(parts.iter().all(|part| part.usable));
        let lines = parts.iter().map(|Part { part, usable, detail }| {
            let verdict = if *usable { "usable" } else { "NOT USABLE" };
            format!("{part:<9} {verdict:<10}  {detail}\n")
        });
        output.verdict(code, &parts, lines.collect::<String>())
    }
}

fn part(part: &'static str, outcome: Result<String, String>) -> Part {
    let usable = outcome.is_ok();
    Part { part, usable, detail: outcome.unwrap_or_else(|problem| problem) }
}

/// `id` names the run if its entry is damaged; `None` if nothing else names it.
fn results(
    run: &Path,
    settings: &Settings,
    id: Option<RunId>,
) -> Result<Result<String, String>, Failure> {
    let folder = run.join("arena");
    let path = folder.join(LOG_FILE);
    if is_missing_or_empty(&path) {
        let weights = WeightsConfig::of(&settings.deploy);
        return Ok(match has_weights(&weights, &folder)? {
            false => Ok("none yet".to_owned()),
            true => Err(format!(
                "{} is missing or empty: put a copy back, or move {} away to start anew",
                path.display(),
                run.display()
            )),
        });
    }
    let started = id.map(|id| RunStarted {
        version: SCHEMA_VERSION,
        id,
        run: Run { game: settings.game.clone(), seed: settings.seed },
    });
    match repair(&folder, started.as_ref()) {
        Err(error @ StoreError::Locked { .. }) => Err(Failure::unavailable(error)),
        Err(error) => Ok(Err(error.to_string())),
        Ok(Repaired::Sound { entries }) => Ok(Ok(format!("all {entries} entries are whole"))),
        Ok(Repaired::Repaired { kept, lost, damaged }) => Ok(Ok(format!(
            "damaged entries taken out: {lost}, entries that stay: {kept}; the damaged file is now \
             {damaged}"
        ))),
    }
}

/// Names the checkpoints that need weights which cannot be read. The run is usable without them.
fn weights(run: &Path, settings: &Settings) -> Result<Result<String, String>, Failure> {
    let folder = run.join("arena");
    if is_missing_or_empty(&folder.join(LOG_FILE)) {
        return Ok(Ok("no results that need weights".to_owned()));
    }
    let store = match EmbeddedStore::open(&folder) {
        Ok(store) => store,
        Err(error @ StoreError::Locked { .. }) => return Err(Failure::unavailable(error)),
        Err(_) => return Ok(Err("the results cannot be read to compare the weights".to_owned())),
    };
    let stored = match WeightsConfig::of(&settings.deploy).open_to_read(&folder) {
        Ok(stored) => stored,
        Err(error) => return Ok(Err(error.to_string())),
    };
    let rows = store.checkpoints().map_err(Failure::unavailable)?;
    let newest = rows.last().map(|row| row.generation);
    let is_needed = |row: &&Checkpoint| {
        row.status != CheckpointStatus::Rejected || Some(row.generation) == newest
    };
    let (mut whole, mut lost) = (0_usize, Vec::new());
    for row in rows.iter().filter(is_needed) {
        match stored.read(row.hash) {
            Ok(_) => whole += 1,
            // Nothing is known about weights that are out of reach.
            Err(error) if error.is_passing() => return Ok(Err(error.to_string())),
            Err(_) => lost.push(row),
        }
    }
    if lost.is_empty() {
        let files = counted(whole, "file");
        return Ok(Ok(format!("all weights that the results need are whole ({files})")));
    }
    Ok(Ok(format!(
        "the weights in {} are whole; those of {} are lost or damaged and cannot be repaired: \
         {LOST_WEIGHTS}; copies in {} count from the next start",
        counted(whole, "file"),
        named(&lost),
        stored.name()
    )))
}

fn training(run: &Path, settings: &Settings) -> Result<Result<String, String>, Failure> {
    let arena = run.join("arena");
    let newest = match newest_weights(&arena, &WeightsConfig::of(&settings.deploy)) {
        Ok(newest) => newest,
        Err(error @ StoreError::Locked { .. }) => return Err(Failure::unavailable(error)),
        Err(error) => return Ok(Err(error.to_string())),
    };
    let Some((weights, id)) = newest else {
        let is_new = !run.join("learner").exists();
        return Ok(if is_new { Ok("none yet".to_owned()) } else { kept_states(run) });
    };
    let config = stopped_run::learner_config(settings, run);
    Ok(match rebuild_training_state(&config, &weights, id) {
        Ok(None) => kept_states(run),
        Ok(Some(rebuilt)) => Ok(format!(
            "training continues from {} at step {} with a new optimiser; {} games of the journal are \
             used again",
            rebuilt.generation, rebuilt.step, rebuilt.games
        )),
        Err(error) => Err(error.to_string()),
    })
}

/// Makes a damaged run.json name the run of the results again. Then the learner and the arena must belong
/// together, as for a start.
fn identity(run: &Path) -> Result<Result<String, String>, Failure> {
    let [learner, arena] = ["learner", "arena"].map(|part| run.join(part));
    let stored = stored_run(&learner);
    if !learner.exists() || is_missing_or_empty(&arena.join(LOG_FILE)) {
        return Ok(match stored {
            Ok(_) => Ok("no learner/ and results to compare with each other".to_owned()),
            Err(error) => Err(error.to_string()),
        });
    }
    let store = match EmbeddedStore::open(&arena) {
        Ok(store) => store,
        Err(error @ StoreError::Locked { .. }) => return Err(Failure::unavailable(error)),
        Err(_) => return Ok(Err("the results cannot be read to compare the learner".to_owned())),
    };
    let Some(id) = store.run() else { return Ok(Ok("the results name no run yet".to_owned())) };
    let is_damaged = matches!(stored, Err(TrainingStateError::Damaged { .. }));
    if is_damaged {
        store_run(&learner, id).map_err(Failure::unavailable)?;
    }
    let newest =
        store.checkpoints().map_err(Failure::unavailable)?.last().map(|row| row.generation);
    let fits = check_arena_fits(&learner, id, newest).map_err(|error| error.to_string());
    Ok(fits.map(|named| match (is_damaged, named) {
        (true, _) => {
            format!("learner/run.json was damaged; it names run {id} of the results again")
        }
        (false, Some(_)) => format!("learner and arena are of run {id}"),
        (false, None) => format!("{id}, as the results say; the learner names no run yet"),
    }))
}

/// The training states that are there.
fn kept_states(run: &Path) -> Result<String, String> {
    let found = training_states(&run.join("learner")).map_err(|error| error.to_string())?;
    let (whole, damaged): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|state| state.content.is_ok());
    match (whole.len(), damaged.len()) {
        (0, _) => Err("no training state is whole, and the arena has no weights".to_owned()),
        (whole, 0) => Ok(format!("all training states are whole ({whole})")),
        (whole, _) => Ok(format!("{whole} training states are whole; the others are skipped")),
    }
}

/// The newest weights of the arena that can be read, and its run.
fn newest_weights(
    folder: &Path,
    weights: &WeightsConfig,
) -> Result<Option<(Weights, Option<RunId>)>, StoreError> {
    if is_missing_or_empty(&folder.join(LOG_FILE)) {
        return Ok(None);
    }
    let store = EmbeddedStore::open(folder)?;
    let run = store.run();
    let rows = store.checkpoints()?;
    let Ok(stored) = weights.open_to_read(folder) else { return Ok(None) };
    let read = |hash| Weights::from_safetensors(&stored.read(hash).ok()?).ok();
    Ok(rows.iter().rev().find_map(|row| read(row.hash)).map(|weights| (weights, run)))
}
