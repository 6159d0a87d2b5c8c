//! Runs that resume with another optimiser.

use ouro_game::Rng;
use ouro_net::{Generation, Weights, WeightsMeta};
use ouro_settings::OptimizerConfig;

use super::*;
use crate::config::ReinforceConfig;
use crate::device::TrainDevice;
use crate::parity::random_segments;
use crate::training_state::{RunState, StateStore};

/// A training state after one step.
pub(super) fn trained(config: &Config) -> TrainingState {
    let spec = config.net_spec().unwrap();
    let meta = WeightsMeta { game: config.game_identity(), ..WeightsMeta::default() };
    let weights = Weights::initialize(spec.clone(), meta, 11).unwrap();
    let (algorithm, device) = (Reinforce::from(&ReinforceConfig::default()), TrainDevice::cpu());
    let mut trainer =
        Trainer::new(algorithm, config.train.clone(), &weights, None, device).unwrap();
    trainer.step(&random_segments(&spec, 8, &mut Rng::new(5, "test"))).unwrap();
    TrainingState {
        weights: trainer.weights(Generation(1)).unwrap(),
        trainer: trainer.state().unwrap(),
        run: RunState { algorithm: config.train.algorithm.name(), ..RunState::default() },
    }
}

/// Before, the start succeeded. The training thread then failed with the exit status of a bug.
#[tokio::test]
async fn a_start_with_another_optimiser_than_that_of_the_run_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = config();
    config.training_states.directory = directory.path().into();
    StateStore::open(directory.path(), 2).unwrap().save(&trained(&config)).unwrap();
    let adamw =
        std::mem::replace(&mut config.train.optimizer, OptimizerConfig::Sgd { momentum: 0.9 });
    let refused = Learner::bind(config.clone()).await.err().expect("another optimiser");
    assert_eq!(refused.exit_status(), ExitStatus::BadConfiguration);
    let text = refused.to_string();
    assert!(text.starts_with("train.optimizer.kind is sgd, but the run in "), "{text}");
    assert!(text.contains(" has train.optimizer.kind adamw; "), "{text}");
    config.train.optimizer = adamw;
    assert!(Learner::bind(config).await.is_ok(), "it is that of the run");
}

#[test]
fn a_training_state_of_another_network_or_optimiser_is_a_matter_of_the_settings() {
    let error = crate::error::TrainError::OtherState { what: "optimiser" };
    let error = LearnerError::from(TrainingLoopError::from(error));
    assert_eq!(error.exit_status(), ExitStatus::BadConfiguration);
}
