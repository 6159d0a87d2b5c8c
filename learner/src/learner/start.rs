//! Start of a run: loads or creates the training state, and fills the replay from the journal.

use std::collections::BTreeSet;
use std::ops::{ControlFlow, Range};
use std::path::Path;
use std::sync::Arc;

use ouro_game::PlaneShape;
use ouro_net::{Generation, NetSpec, RunId, Weights, WeightsMeta};
use ouro_replay::journal::Options;
use ouro_replay::{Disk, EncodedTrajectory, FolderDisk, Journal, Replay, ReplayState, Trajectory};
use ouro_service::identity;

use super::error::LearnerError;
use crate::config::{Config, TrainingStateConfig};
use crate::deviation::DeviationWatch;
use crate::device::TrainDevice;
use crate::error::TrainError;
use crate::export::ExportCheck;
use crate::journal_writer::{JOURNAL, JournalWriterError};
use crate::optimizer::OptimizerState;
use crate::publisher::{ArenaRun, is_far_ahead};
use crate::replay::SharedReplay;
use crate::rules::Rules;
use crate::run_file::{store_run, stored_run};
use crate::trainer::TrainerState;
use crate::training_loop::TrainingLoopError;
use crate::training_state::{
    RunState, StateStore, TrainingState, TrainingStateError, UnfitState, newest_generation,
    training_states,
};

/// The state and the parts from which training resumes.
pub(super) struct ResumedRun {
    pub(super) store: StateStore,
    pub(super) training_state: TrainingState,
    /// Whether the training state is new and not saved yet.
    pub(super) is_new: bool,
    /// The newest generation of any training state, lost ones included. New weights get numbers
    /// above it.
    pub(super) taken: Generation,
    pub(super) device: TrainDevice,
    /// The check that weights pass before they are published.
    pub(super) export_check: ExportCheck,
}

impl ResumedRun {
    /// Joins the run of the arena, and saves the training state of a new run. Fails if the folder
    /// `directory` belongs to another run, or if either is from an earlier time of the run.
    pub(super) fn join(&mut self, arena: ArenaRun, directory: &Path) -> Result<(), LearnerError> {
        check_arena(arena, directory, self.taken, self.is_new)?;
        if let Some(run) = arena.run {
            identity().set_run(run);
        }
        // Saved only now, so that a refused start leaves no training state behind.
        if std::mem::take(&mut self.is_new) {
            self.store.save(&self.training_state)?;
        }
        Ok(())
    }
}

/// Checks that the arena fits the folder `directory`, whose newest generation ever is `own`, and notes
/// the run there.
pub(super) fn check_arena(
    arena: ArenaRun,
    directory: &Path,
    own: Generation,
    is_new: bool,
) -> Result<(), LearnerError> {
    let ArenaRun { run: Some(found), newest } = arena else { return Ok(()) };
    match fit(found, newest, directory, own, is_new)? {
        None => Ok(store_run(directory, found)?),
        Some(_) => Ok(()),
    }
}

/// Checks that an arena of the run `found` fits the folder of a stopped learner, as a start does.
/// `newest` is the newest generation of the arena. Returns the run that the folder names. Reads all
/// training states and does not write.
pub fn check_arena_fits(
    directory: &Path,
    found: RunId,
    newest: Option<Generation>,
) -> Result<Option<RunId>, LearnerError> {
    let own = newest_generation(directory)?;
    let is_new = training_states(directory)?.is_empty();
    fit(found, newest, directory, own, is_new)
}

/// The run that the folder names, if an arena of the run `found` fits it. `own` is the newest
/// generation of any training state, lost ones included.
fn fit(
    found: RunId,
    newest: Option<Generation>,
    directory: &Path,
    own: Generation,
    is_new: bool,
) -> Result<Option<RunId>, LearnerError> {
    let folder = directory.display().to_string();
    let stored = stored_run(directory)?;
    if let Some(stored) = stored.filter(|stored| *stored != found) {
        return Err(LearnerError::OtherArena { directory: folder, stored, found });
    }
    if let Some(newest) = newest.filter(|newest| is_new && newest.0 > 0) {
        return Err(LearnerError::LearnerLost { directory: folder, newest });
    }
    if stored.is_some() && is_far_ahead(own, newest) && !has_state_before(own, newest, directory)? {
        return Err(LearnerError::ArenaBehind { directory: folder, own, newest });
    }
    Ok(stored)
}

/// Whether the arena has the newest whole training state before the generation `own`.
///
/// Numbers jump over those of states that were damaged or set aside, so the arena may lack more
/// numbers than the learner leaves unpublished. Training makes a generation once the arena has the
/// one that it continues, so an arena without that one is from an earlier time.
fn has_state_before(
    own: Generation,
    newest: Option<Generation>,
    directory: &Path,
) -> Result<bool, TrainingStateError> {
    let states = training_states(directory)?;
    let whole = states.iter().filter_map(|state| state.content.as_ref().ok());
    let before = whole.map(|state| state.generation).filter(|generation| *generation < own).max();
    Ok(before.is_some_and(|before| newest >= Some(before)))
}

/// Loads the newest training state or creates generation 0. Checks its weights against the CPU
/// engine, then fills the replay and the comparison of actors from the journal. Purged games are
/// void in the one and not counted in the other. Blocks.
pub(super) fn resume(
    config: &Config,
    rules: &dyn Rules,
) -> Result<(ResumedRun, Arc<SharedReplay>, Journal, DeviationWatch), LearnerError> {
    let (game, directory) = (config.game_identity(), &config.training_states.directory);
    let disk = FolderDisk::open(&directory.join(JOURNAL)).map_err(JournalWriterError::Journal)?;
    if !Journal::exists(&disk).map_err(JournalWriterError::Journal)? {
        check_without_journal(config, &game)?;
    }
    let (journal, opened) = Journal::open(disk, game.as_bytes(), Options::default())
        .map_err(JournalWriterError::Journal)?;
    if let Some(cut) = opened.cut {
        tracing::warn!("{cut}");
    }
    let resumed = load_or_create(config, &game, journal.records())?;
    let state = resumed.training_state.run.replay;
    check(&state, &(journal.oldest_record()..journal.records()), directory)?;

    let deviations = DeviationWatch::default();
    let replay = filled(config, rules, &journal, &state, &deviations)?;
    let generation = resumed.training_state.weights.meta().generation;
    let replay = Arc::new(SharedReplay::new(replay, generation));
    Ok((resumed, replay, journal, deviations))
}

/// The replay in this state, filled from the journal, as are `deviations`.
pub(crate) fn filled<D: Disk>(
    config: &Config,
    rules: &dyn Rules,
    journal: &Journal<D>,
    state: &ReplayState,
    deviations: &DeviationWatch,
) -> Result<Replay<EncodedTrajectory>, LearnerError> {
    let settings = config.replay_settings()?;
    let mut replay = Replay::resume(settings, state).expect("the settings were checked");
    let (first, game_config) = (replay.next(), Arc::new(config.game.clone()));
    let filled = journal.visit(journal.oldest_record(), |number, record| {
        let is_void = journal.is_void(record.actor, number);
        if number < first {
            // Needed by older training states only. A damaged game would be found at its use.
            if let (false, Ok(game)) = (is_void, Trajectory::decode(record.payload, &game_config)) {
                deviations.record(&record.actor.into(), &game.summary());
            }
            return ControlFlow::Continue(());
        }
        let (mut game, summary) = match rules.restore(record.payload, record.generation) {
            Ok(restored) => restored,
            Err(error) => return ControlFlow::Break(LearnerError::Journalled { number, error }),
        };
        if is_void {
            game = game.voided();
        } else {
            deviations.record(&record.actor.into(), &summary);
        }
        match replay.insert(number, game) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(JournalWriterError::Window(error).into()),
        }
    });
    if let Some(error) = filled.map_err(JournalWriterError::Journal)? {
        return Err(error);
    }
    deviations.evaluate();
    Ok(replay)
}

/// Checks that a run without a journal can resume. A new journal is made only then: copies of later
/// segments could not follow its first segment.
fn check_without_journal(config: &Config, game: &str) -> Result<(), LearnerError> {
    let TrainingStateConfig { directory, kept, .. } = &config.training_states;
    let Some(newest) = StateStore::open(directory, *kept)?.load()?.newest else { return Ok(()) };
    check_run(config, game, &newest)?;
    check(&newest.run.replay, &(0..0), directory)
}

/// Checks that a journal with these games holds those that the newest training state needs. If not,
/// the error names an older state that fits.
fn check(state: &ReplayState, games: &Range<u64>, directory: &Path) -> Result<(), LearnerError> {
    let Err(error) = state.check(games.start, games.end) else { return Ok(()) };
    let states = training_states(directory)?;
    Err(UnfitState::find(directory, &states, games).map_or_else(|| error.into(), Into::into))
}

/// `games` is the number of games in the journal. A run has a training state before its first game.
fn load_or_create(config: &Config, game: &str, games: u64) -> Result<ResumedRun, LearnerError> {
    let spec = config.net_spec()?;
    let directory = &config.training_states.directory;
    let mut store = StateStore::open(directory, config.training_states.kept)?;
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
    check_run(config, game, &training_state)?;
    let device = TrainDevice::choose(config.device, config.allow_software_adapter)?;
    let export_check = ExportCheck::of_game(&config.game, &spec)?;
    // These weights are published unchanged: generation 0, or a generation that may not have
    // reached the arena before the last stop.
    export_check
        .check_weights(&training_state.weights, &device)
        .map_err(TrainingLoopError::from)?;
    let taken =
        training_state.weights.meta().generation.max(loaded.lost_generation.unwrap_or_default());
    Ok(ResumedRun { store, training_state, is_new, taken, device, export_check })
}

/// Checks that a training state has the game, the network, the algorithm and the optimiser of the
/// configuration.
pub(crate) fn check_run(
    config: &Config,
    game: &str,
    training_state: &TrainingState,
) -> Result<(), LearnerError> {
    let [stored_network, network] =
        network_difference(training_state.weights.spec(), &config.net_spec()?);
    let (stored, asked) = (training_state.run.algorithm, config.train.algorithm.name());
    let OptimizerState { time, slots } = &training_state.trainer.optimizer;
    let asked_slots = config.train.optimizer.slots().len();
    // Before the first step there are no vectors, so any optimiser may continue.
    let stored_slots = if *time == 0 { asked_slots } else { slots.len() };
    for (what, stored, asked) in [
        ("game", training_state.weights.meta().game.clone(), game.to_owned()),
        ("network", stored_network, network),
        ("algorithm", stored.as_str().to_owned(), asked.as_str().to_owned()),
        ("train.optimizer.kind", optimizer_kind(stored_slots), optimizer_kind(asked_slots)),
    ] {
        if stored != asked {
            let directory = config.training_states.directory.display().to_string();
            return Err(LearnerError::OtherRun { directory, what, stored, asked });
        }
    }
    Ok(())
}

/// The kind of the optimiser that keeps this number of vectors, which is all that a training state
/// stores of it.
fn optimizer_kind(slots: usize) -> String {
    match slots {
        1 => "sgd".to_owned(),
        2 => "adamw".to_owned(),
        _ => format!("one with {slots} vectors"),
    }
}

/// What distinguishes two networks, as both have it: the keys of their settings with different values,
/// only `net.kind` if the kinds differ, and their inputs and outputs. The same twice if nothing does.
fn network_difference(stored: &NetSpec, asked: &NetSpec) -> [String; 2] {
    let networks = [stored, asked].map(|spec| {
        // An architecture is plain data, so this does not fail.
        serde_json::to_value(&spec.architecture).unwrap_or_default()
    });
    let differ = |key: &&str| networks[0].get(*key) != networks[1].get(*key);
    let keys = networks.iter().filter_map(|network| network.as_object()).flatten();
    // Networks of different kinds differ in most keys.
    let keys: BTreeSet<&str> = match differ(&"kind") {
        true => BTreeSet::from(["kind"]),
        false => keys.map(|(key, _)| key.as_str()).filter(differ).collect(),
    };
    let inputs = [stored, asked].map(|NetSpec { planes, actions, .. }| {
        let PlaneShape { channels, height, width } = planes;
        format!("{channels} planes of {height}×{width} and {actions} actions")
    });
    [0, 1].map(|at| {
        let value = |key: &str| match networks[at].get(key) {
            Some(value) => format!("net.{key} = {value}"),
            None => format!("without net.{key}"),
        };
        let mut parts: Vec<String> = keys.iter().copied().map(value).collect();
        if keys.is_empty() || inputs[0] != inputs[1] {
            parts.push(inputs[at].clone());
        }
        parts.join(", ")
    })
}

/// The training state of generation 0.
pub(super) fn initial_state(
    config: &Config,
    spec: &NetSpec,
    game: &str,
) -> Result<TrainingState, LearnerError> {
    let meta = WeightsMeta { game: game.to_owned(), generation: Generation(0), step: 0 };
    let weights = Weights::initialize(spec.clone(), meta, config.seed)
        .map_err(ouro_net::WeightsError::from)
        .map_err(TrainError::from)
        .map_err(TrainingLoopError::from)?;
    let weights = match &config.from {
        Some(given) => started_from(given, weights)?,
        None => weights,
    };
    let trainer = TrainerState::initial(&weights);
    let algorithm = config.train.algorithm.name();
    let run = RunState { algorithm, replay: ReplayState::default() };
    Ok(TrainingState { weights, trainer, run })
}

/// Initial weights with the layers of `given` that fit. Logs which layers do not.
fn started_from(given: &Weights, initial: Weights) -> Result<Weights, LearnerError> {
    let layers = initial.spec().tensors().iter().filter(|tensor| tensor.role.is_layer()).count();
    let (weights, own) = initial.with_layers_of(given);
    if own.len() == layers {
        let [got, spec] = network_difference(given.spec(), weights.spec());
        return Err(LearnerError::ForeignWeights { got, spec });
    }
    if !own.is_empty() {
        let taken = layers - own.len();
        tracing::warn!(
            "{taken} of {layers} layers start with the given weights; new: {}",
            own.join(", ")
        );
    }
    Ok(weights)
}
