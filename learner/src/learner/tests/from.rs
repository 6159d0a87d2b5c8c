//! Runs that start with given weights.

use ouro_net::{Architecture, Generation, NetSpec, Weights, WeightsMeta};

use super::*;
use crate::testing::lively_weights;

/// A configuration in a folder, with weights of `spec` to start with.
fn starting_from(directory: &std::path::Path, weights: Weights) -> Config {
    let mut config = Config { from: Some(Arc::new(weights)), ..config() };
    config.training_states.directory = directory.into();
    config
}

#[test]
fn generation_0_has_the_given_weights_and_a_resumed_run_ignores_them() {
    let directory = tempfile::tempdir().unwrap();
    let spec = config().net_spec().unwrap();
    let given = lively_weights(&spec);
    let resume = |weights| {
        let config = starting_from(directory.path(), weights);
        let rules = crate::rules::rules(&config).unwrap();
        start::resume(&config, &*rules).unwrap().0
    };
    resume(given.clone()).join(ArenaRun::default(), directory.path()).unwrap();
    let resumed = resume(Weights::initialize(spec, WeightsMeta::default(), 9).unwrap());
    let weights = resumed.training_state.weights;
    assert_eq!(weights.tensors(), given.tensors());
    assert_eq!((weights.meta().generation, weights.meta().step), (Generation(0), 0));
    assert!(!weights.meta().game.is_empty(), "the game is that of the run");
}

#[test]
fn weights_without_a_layer_of_the_network_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let spec = config().net_spec().unwrap();
    let architecture = Architecture::TwoConv { channels: 3, hidden: 5, narrow: 2 };
    let foreign = NetSpec { architecture, ..spec };
    let foreign = Weights::initialize(foreign, WeightsMeta::default(), 1).unwrap();
    let config = starting_from(directory.path(), foreign);
    let rules = crate::rules::rules(&config).unwrap();
    let Err(error) = start::resume(&config, &*rules) else { panic!("they were accepted") };
    assert!(matches!(error, LearnerError::ForeignWeights { .. }), "{error}");
    assert!(
        error.to_string().contains("they have net.kind = \"two_conv\", the run has net.kind"),
        "{error}"
    );
    assert_eq!(error.exit_status(), ExitStatus::BadConfiguration);
}
