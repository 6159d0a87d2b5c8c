use ouro_net::WeightsMeta;
use ouro_replay::{Counters, EncodedTrajectory, Record, Replay};

use super::*;
use crate::config::{AlgorithmConfig, AlphaZeroConfig};
use crate::testing::{config, journalled, searched_game};

/// A learner of AlphaZero in a folder.
fn alphazero(directory: &Path) -> Config {
    let mut config = config();
    config.training_states.directory = directory.into();
    config.train.algorithm = AlgorithmConfig::AlphaZero(AlphaZeroConfig::default());
    config
}

fn weights(config: &Config) -> Weights {
    let meta = WeightsMeta { game: config.game_identity(), ..WeightsMeta::default() };
    Weights::initialize(config.net_spec().unwrap(), meta, 11).unwrap()
}

fn open(config: &Config, options: Options) -> Journal {
    let disk = FolderDisk::open(&config.training_states.directory.join(JOURNAL)).unwrap();
    Journal::open(disk, config.game_identity().as_bytes(), options).unwrap().0
}

/// The state of the replay in the newest training state.
fn stored(config: &Config) -> ReplayState {
    let mut store = StateStore::open(&config.training_states.directory, 1).unwrap();
    store.load().unwrap().newest.expect("it was stored").run.replay
}

/// The replay of the next start.
fn next_start(config: &Config) -> Replay<EncodedTrajectory> {
    let (journal, rules) = (open(config, Options::default()), rules(config).unwrap());
    filled(config, &*rules, &journal, &stored(config), &DeviationWatch::default()).unwrap()
}

#[test]
fn a_refilled_window_counts_no_old_game_as_new_and_accepts_new_games() {
    let directory = tempfile::tempdir().unwrap();
    let config = alphazero(directory.path());
    drop(journalled(&config, &[0; 300]));
    let weights = weights(&config);
    let rebuilt = rebuild_training_state(&config, &weights, None).unwrap().expect("it was lost");
    assert_eq!(rebuilt.games, 300);

    let mut replay = next_start(&config);
    let status = replay.status();
    // Each game has two positions.
    assert_eq!((status.games, status.counters), (300, Counters { inserts: 600, samples: 0 }));
    assert!(replay.may_insert(2, 0));
    assert!(replay.batch(8, Generation(0)).is_err(), "the warm-up needs more positions");
    // Nothing is left to rebuild.
    assert_eq!(rebuild_training_state(&config, &weights, None).unwrap(), None);
    // Without its journal, the state is whole but cannot be resumed.
    std::fs::remove_dir_all(directory.path().join(JOURNAL)).unwrap();
    let error = rebuild_training_state(&config, &weights, None).unwrap_err();
    assert!(matches!(error, LearnerError::Unfit(_)), "{error}");
    assert!(error.to_string().contains(" needs games 0 to 300 "), "{error}");
    let disk = FolderDisk::open(&directory.path().join(JOURNAL)).unwrap();
    assert!(!Journal::exists(&disk).unwrap(), "the refusal makes no journal");
}

/// Before, the positions of released games were missing from the size of the window. The next start
/// dropped a fifth of the others, and training waited for another warm-up.
#[test]
fn a_window_has_its_size_although_the_journal_has_released_games() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = alphazero(directory.path());
    (config.replay.min_positions, config.replay.window_positions) = (100, 220);
    (config.replay.window_power, config.replay.window_slope) = (1.0, 0.5);
    drop(journalled(&config, &[]));
    // Each commit starts another segment.
    let mut journal = open(&config, Options { segment_bytes: 1, ..Options::default() });
    let (payload, generation) = (searched_game().encode().unwrap(), Generation(0));
    for sequence in 1..=300_u64 {
        let record = Record { actor: "tester", epoch: 1, sequence, generation, payload: &payload };
        journal.append(record).unwrap();
        if sequence.is_multiple_of(10) {
            journal.commit().unwrap();
        }
    }
    journal.release_before(100).unwrap();
    assert_eq!((journal.oldest_record(), journal.records()), (100, 300));
    drop(journal);

    let rebuilt = rebuild_training_state(&config, &weights(&config), None).unwrap();
    assert_eq!(rebuilt.expect("it was lost").games, 200);
    let cursor = Cursor { first: 100, next: 300, before: 200, ..Cursor::default() };
    assert_eq!(stored(&config).cursor, cursor);
    for samples_per_insert in [config.replay.samples_per_insert, 2.0] {
        config.replay.samples_per_insert = samples_per_insert;
        let mut replay = next_start(&config);
        let status = replay.status();
        assert_eq!((status.games, status.positions, status.counters.inserts), (200, 400, 600));
        assert!(replay.batch(8, Generation(0)).is_ok(), "{samples_per_insert} samples per insert");
    }
}
