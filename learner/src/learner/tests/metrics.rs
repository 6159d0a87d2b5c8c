//! The series of a run that resumes.

use ouro_replay::Counters;
use ouro_service::metrics::Metrics;

use super::optimizer::trained;
use super::*;
use crate::training_state::StateStore;

/// Before, the counters continued from the training state. After a kill that was below their last values,
/// and Prometheus counted everything since the start of the run again.
#[tokio::test]
async fn the_counters_of_a_resumed_run_start_at_0_and_gauges_have_its_numbers() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = config();
    config.training_states.directory = directory.path().into();
    let mut state = trained(&config);
    state.run.replay.counters = Counters { inserts: 40, samples: 24 };
    StateStore::open(directory.path(), 2).unwrap().save(&state).unwrap();
    let learner = Learner::bind(config).await.expect("a valid configuration");
    let metrics = Metrics::default().with(learner.metrics());
    let text = metrics.render().unwrap();
    for line in [
        "ouro_learner_positions_sampled_total 0",
        "ouro_learner_training_steps_total 0",
        "ouro_learner_sampled_positions 24",
        "ouro_learner_steps 1",
    ] {
        assert!(text.lines().any(|one| one == line), "{line} is not in\n{text}");
    }
    // This process takes steps 2 to 4.
    learner.status().update(|status| status.step = 4);
    let text = metrics.render().unwrap();
    for line in ["ouro_learner_training_steps_total 3", "ouro_learner_steps 4"] {
        assert!(text.lines().any(|one| one == line), "{line} is not in\n{text}");
    }
}
