//! What a learner finds or makes before it opens its doors.

use std::ops::ControlFlow;
use std::sync::Arc;

use ouro_net::{Generation, NetSpec, Weights, WeightsMeta};
use ouro_replay::journal::Options;
use ouro_replay::{FolderDisk, Journal, Replay, ReplayState};

use super::LearnerError;
use crate::agreement::Probe;
use crate::checkpoint::{Checkpoint, RunState, Store};
use crate::config::Config;
use crate::device::TrainDevice;
use crate::ledger::LedgerError;
use crate::replay::SharedReplay;
use crate::rules::Rules;
use crate::trainer::{TrainError, TrainerState};
use crate::training::TrainingError;

/// Folder of the journal within that of the run.
const JOURNAL: &str = "journal";

/// What training goes on from.
pub(super) struct Prepared {
    pub(super) store: Store,
    pub(super) checkpoint: Checkpoint,
    /// The newest generation made, the checkpoint's or one that was lost.
    pub(super) generation: Generation,
    pub(super) device: TrainDevice,
    /// What weights are checked on before anybody sees them, those of the checkpoint here.
    pub(super) probe: Probe,
}

/// Loads the newest checkpoint or makes generation 0, sees that its weights are played as they
/// were trained, and fills the replay from the journal. Blocks.
pub(super) fn start(
    config: &Config,
    rules: &dyn Rules,
) -> Result<(Prepared, Arc<SharedReplay>, Journal), LearnerError> {
    let game = serde_json::to_string(&config.game)
        .expect("a game configuration serialises: it is plain data");
    let prepared = prepare(config, &game)?;
    let state = prepared.checkpoint.state.replay;
    let disk = FolderDisk::open(&config.checkpoint.directory.join(JOURNAL))
        .map_err(LedgerError::Journal)?;
    let (journal, opened) =
        Journal::open(disk, game.as_bytes(), Options::default()).map_err(LedgerError::Journal)?;
    if let Some(cut) = opened.cut {
        tracing::warn!("{cut}");
    }
    state.check(journal.oldest_record(), journal.records())?;

    let settings = config.replay_settings()?;
    let mut replay = Replay::resume(settings, &state).expect("the settings were checked");
    let filled = journal.visit(replay.next(), |number, record| {
        let game = match rules.restore(record.payload, record.generation) {
            Ok(game) => game,
            Err(error) => return ControlFlow::Break(LearnerError::Journalled { number, error }),
        };
        match replay.insert(number, game) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(LedgerError::Window(error).into()),
        }
    });
    if let Some(error) = filled.map_err(LedgerError::Journal)? {
        return Err(error);
    }
    let replay = Arc::new(SharedReplay::new(replay, prepared.generation));
    Ok((prepared, replay, journal))
}

fn prepare(config: &Config, game: &str) -> Result<Prepared, LearnerError> {
    let spec = config.net_spec()?;
    let directory = &config.checkpoint.directory;
    let mut store = Store::open(directory, config.checkpoint.keep)?;
    let loaded = store.load()?;
    for error in &loaded.skipped {
        tracing::error!(%error, "checkpoint is not usable; falling back to an older one");
    }
    let is_new = loaded.checkpoint.is_none();
    let checkpoint = match loaded.checkpoint {
        Some(checkpoint) => checkpoint,
        None => first(config, &spec, game)?,
    };
    let network = |spec: &NetSpec| {
        format!("{:?} of {:?} to {} actions", spec.architecture, spec.planes, spec.actions)
    };
    let (stored, asked) = (checkpoint.state.algorithm, config.train.algorithm.name());
    for (what, stored, asked) in [
        ("game", checkpoint.weights.meta().game.clone(), game.to_owned()),
        ("network", network(checkpoint.weights.spec()), network(&spec)),
        ("algorithm", stored.as_str().to_owned(), asked.as_str().to_owned()),
    ] {
        if stored != asked {
            let directory = directory.display().to_string();
            return Err(LearnerError::OtherRun { directory, what, stored, asked });
        }
    }
    let device = TrainDevice::choose(config.device, config.allow_software_adapter)?;
    let probe = Probe::of_game(&config.game)?;
    // They are offered as they are: generation 0, or what may not have reached the arena.
    probe.check_weights(&checkpoint.weights, &device).map_err(TrainingError::from)?;
    if is_new {
        store.save(&checkpoint)?;
    }
    let generation = checkpoint.weights.meta().generation.max(loaded.lost.unwrap_or_default());
    Ok(Prepared { store, checkpoint, generation, device, probe })
}

/// Generation 0.
fn first(config: &Config, spec: &NetSpec, game: &str) -> Result<Checkpoint, TrainingError> {
    let meta = WeightsMeta { game: game.to_owned(), generation: Generation(0), step: 0 };
    let weights = Weights::initialize(spec.clone(), meta, config.seed)
        .map_err(ouro_net::WeightsError::from)
        .map_err(TrainError::from)?;
    let training = TrainerState::fresh(&weights);
    let algorithm = config.train.algorithm.name();
    let state = RunState { algorithm, replay: ReplayState::default() };
    Ok(Checkpoint { weights, training, state })
}
