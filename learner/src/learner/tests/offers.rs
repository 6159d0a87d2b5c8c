//! Tests of the checks at a start, before anything is published.

use ouro_net::{Generation, Weights, WeightsMeta};
use ouro_replay::ReplayState;

use super::*;
use crate::error::TrainError;
use crate::trainer::TrainerState;
use crate::training_state::{RunState, StateStore};

#[tokio::test]
async fn a_start_publishes_weights_only_if_the_cpu_engine_agrees_with_training() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = config();
    config.training_states.directory = directory.path().into();
    let game = serde_json::to_string(&config.game).expect("plain data");
    let meta = WeightsMeta { game, generation: Generation(3), step: 6 };
    let spec = config.net_spec().expect("a valid network");
    // The weights are valid, but no device computes finite numbers behind the first layer.
    let tensors = spec.tensors().iter().map(|tensor| vec![1e30; tensor.len()]).collect();
    let weights = Weights::from_tensors(spec, meta, tensors).expect("finite values");
    let trainer = TrainerState::initial(&weights);
    let algorithm = config.train.algorithm.name();
    let run = RunState { algorithm, replay: ReplayState::default() };
    let mut store = StateStore::open(directory.path(), 2).expect("a store");
    store.save(&TrainingState { weights, trainer, run }).expect("it is saved");

    let refused = Learner::bind(config).await.err().expect("they disagree");
    let LearnerError::Training(TrainingLoopError::Train(TrainError::ExportMismatch(found))) =
        &refused
    else {
        panic!("{refused}");
    };
    assert_eq!(found.layer, "hidden");
    assert!(refused.to_string().contains("disagree, first in hidden: position "), "{refused}");
}

#[test]
fn generation_0_is_saved_after_it_passed_the_export_check() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = config();
    config.training_states.directory = directory.path().into();
    let rules = crate::rules::rules(&config).expect("a valid configuration");
    let (mut resumed, ..) = start::resume(&config, &*rules).expect("a new run");
    resumed.join(ArenaRun::default(), directory.path()).expect("no arena refuses it");
    let mut store = StateStore::open(directory.path(), 2).expect("a store");
    let saved = store.load().expect("it is readable").newest.expect("one was saved");
    assert_eq!(saved, resumed.training_state);
    resumed.export_check.check_weights(&saved.weights, &resumed.device).expect("they agree");
}
