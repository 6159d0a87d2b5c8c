//! The content of a training state.

use ouro_net::Weights;
use ouro_replay::ReplayState;
use serde::{Deserialize, Serialize};

use crate::config::AlgorithmName;
use crate::trainer::TrainerState;

/// The contents of `state.json`: the part of a training state besides weights and trainer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunState {
    /// The algorithm of the run. A run cannot change its algorithm, because each selects positions
    /// from the journal in its own way.
    pub algorithm: AlgorithmName,
    /// State of the replay after the last batch that the weights were trained on. The games and
    /// the decision about each are in the journal.
    pub replay: ReplayState,
}

/// Everything a run resumes from. The weights hold the step and the generation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TrainingState {
    /// The weights as published.
    pub weights: Weights,
    /// The network in training and its optimiser.
    pub trainer: TrainerState,
    /// The algorithm and the replay.
    pub run: RunState,
}
