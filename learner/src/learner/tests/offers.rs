//! What a start checks before it offers anything.

use ouro_net::{Generation, Weights, WeightsMeta};
use ouro_replay::ReplayState;

use super::*;
use crate::checkpoint::Store;
use crate::trainer::{TrainError, TrainerState};

#[tokio::test]
async fn weights_that_a_start_finds_are_offered_only_if_they_are_played_as_they_were_trained() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = config();
    config.checkpoint.directory = directory.path().into();
    let game = serde_json::to_string(&config.game).expect("plain data");
    let meta = WeightsMeta { game, generation: Generation(3), step: 6 };
    let spec = config.net_spec().expect("a valid network");
    // Valid, but what comes of them behind the first layer is no number on any device.
    let tensors = spec.tensors().iter().map(|tensor| vec![1e30; tensor.len()]).collect();
    let weights = Weights::from_tensors(spec, meta, tensors).expect("finite values");
    let training = TrainerState::fresh(&weights);
    let state =
        RunState { algorithm: config.train.algorithm.name(), replay: ReplayState::default() };
    let mut store = Store::open(directory.path(), 2).expect("a store");
    store.save(&Checkpoint { weights, training, state }).expect("it is saved");

    let refused = Learner::bind(config).await.err().expect("they disagree");
    let LearnerError::Training(TrainingError::Train(TrainError::Disagreement(found))) = &refused
    else {
        panic!("{refused}");
    };
    assert_eq!(found.layer, "hidden");
    assert!(refused.to_string().contains("disagree, first in hidden: position "), "{refused}");
}

#[test]
fn generation_0_is_on_disk_once_it_is_known_to_be_played_as_it_will_be_trained() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = config();
    config.checkpoint.directory = directory.path().into();
    let rules = crate::rules::rules(&config).expect("a valid configuration");
    let (prepared, ..) = start::start(&config, &*rules).expect("a new run");
    let mut store = Store::open(directory.path(), 2).expect("a store");
    let saved = store.load().expect("it is readable").checkpoint.expect("one was saved");
    assert_eq!(saved, prepared.checkpoint);
    prepared.probe.check_weights(&saved.weights, &prepared.device).expect("they agree");
}
