//! Start of a run: loads or creates the training state, and fills the replay from the journal.

use std::ops::ControlFlow;
use std::sync::Arc;

use ouro_net::{Generation, NetSpec, Weights, WeightsMeta};
use ouro_replay::journal::Options;
use ouro_replay::{FolderDisk, Journal, Replay, ReplayState};

use super::LearnerError;
use crate::config::Config;
use crate::device::TrainDevice;
use crate::error::TrainError;
use crate::export::ExportCheck;
use crate::journal_writer::JournalWriterError;
use crate::replay::SharedReplay;
use crate::rules::Rules;
use crate::trainer::TrainerState;
use crate::training_loop::TrainingLoopError;
use crate::training_state::{RunState, StateStore, TrainingState};

/// Folder of the journal in the folder of the run.
const JOURNAL: &str = "journal";

/// The state and the parts from which training resumes.
pub(super) struct ResumedRun {
    pub(super) store: StateStore,
    pub(super) training_state: TrainingState,
    /// The newest generation: that of the training state, or of a newer state that was lost.
    pub(super) generation: Generation,
    pub(super) device: TrainDevice,
    /// The check that weights pass before they are published.
    pub(super) export_check: ExportCheck,
}

/// Loads the newest training state or creates generation 0. Checks its weights against the CPU
/// engine, then fills the replay from the journal. Blocks.
pub(super) fn resume(
    config: &Config,
    rules: &dyn Rules,
) -> Result<(ResumedRun, Arc<SharedReplay>, Journal), LearnerError> {
    let game = serde_json::to_string(&config.game)
        .expect("a game configuration serialises: it is plain data");
    let disk = FolderDisk::open(&config.checkpoint.directory.join(JOURNAL))
        .map_err(JournalWriterError::Journal)?;
    let (journal, opened) = Journal::open(disk, game.as_bytes(), Options::default())
        .map_err(JournalWriterError::Journal)?;
    let resumed = load_or_create(config, &game, journal.records())?;
    let state = resumed.training_state.run.replay;
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
            Err(error) => ControlFlow::Break(JournalWriterError::Window(error).into()),
        }
    });
    if let Some(error) = filled.map_err(JournalWriterError::Journal)? {
        return Err(error);
    }
    let replay = Arc::new(SharedReplay::new(replay, resumed.generation));
    Ok((resumed, replay, journal))
}

/// `games` is the number of games in the journal. A run has a training state before its first game.
fn load_or_create(config: &Config, game: &str, games: u64) -> Result<ResumedRun, LearnerError> {
    let spec = config.net_spec()?;
    let directory = &config.checkpoint.directory;
    let mut store = StateStore::open(directory, config.checkpoint.keep)?;
    let loaded = store.load()?;
    for error in &loaded.skipped {
        tracing::error!(%error, "training state is not usable; falling back to an older one");
    }
    let is_new = loaded.newest.is_none();
    if is_new && games > 0 {
        let directory = directory.display().to_string();
        return Err(LearnerError::NoTrainingState { directory, games });
    }
    let training_state = match loaded.newest {
        Some(state) => state,
        None => initial_state(config, &spec, game)?,
    };
    let network = |spec: &NetSpec| {
        format!("{:?} of {:?} to {} actions", spec.architecture, spec.planes, spec.actions)
    };
    let (stored, asked) = (training_state.run.algorithm, config.train.algorithm.name());
    for (what, stored, asked) in [
        ("game", training_state.weights.meta().game.clone(), game.to_owned()),
        ("network", network(training_state.weights.spec()), network(&spec)),
        ("algorithm", stored.as_str().to_owned(), asked.as_str().to_owned()),
    ] {
        if stored != asked {
            let directory = directory.display().to_string();
            return Err(LearnerError::OtherRun { directory, what, stored, asked });
        }
    }
    let device = TrainDevice::choose(config.device, config.allow_software_adapter)?;
    let export_check = ExportCheck::of_game(&config.game)?;
    // These weights are published unchanged: generation 0, or a generation that may not have
    // reached the arena before the last stop.
    export_check
        .check_weights(&training_state.weights, &device)
        .map_err(TrainingLoopError::from)?;
    if is_new {
        store.save(&training_state)?;
    }
    let generation =
        training_state.weights.meta().generation.max(loaded.lost_generation.unwrap_or_default());
    Ok(ResumedRun { store, training_state, generation, device, export_check })
}

/// The training state of generation 0.
fn initial_state(
    config: &Config,
    spec: &NetSpec,
    game: &str,
) -> Result<TrainingState, TrainingLoopError> {
    let meta = WeightsMeta { game: game.to_owned(), generation: Generation(0), step: 0 };
    let weights = Weights::initialize(spec.clone(), meta, config.seed)
        .map_err(ouro_net::WeightsError::from)
        .map_err(TrainError::from)?;
    let trainer = TrainerState::initial(&weights);
    let algorithm = config.train.algorithm.name();
    let run = RunState { algorithm, replay: ReplayState::default() };
    Ok(TrainingState { weights, trainer, run })
}
