use ouro_net::WeightsMeta;
use ouro_replay::{EncodedTrajectory, PositionRef, Replay};

use super::*;
use crate::config::AlphaZeroConfig;
use crate::testing::{config, journalled};

#[test]
fn a_refilled_window_counts_no_old_game_as_new_and_accepts_new_games() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = config();
    config.training_states.directory = directory.path().into();
    config.train.algorithm = AlgorithmConfig::AlphaZero(AlphaZeroConfig::default());
    drop(journalled(&config, &[0; 300]));
    let meta = WeightsMeta { game: config.game_identity(), ..WeightsMeta::default() };
    let weights = Weights::initialize(config.net_spec().unwrap(), meta, 11).unwrap();
    let rebuilt = rebuild_training_state(&config, &weights, None).unwrap().expect("it was lost");
    assert_eq!(rebuilt.games, 300);

    let mut store = StateStore::open(directory.path(), 1).unwrap();
    let state = store.load().unwrap().newest.expect("it was stored").run.replay;
    let mut replay = Replay::resume(config.replay_settings().unwrap(), &state).unwrap();
    let positions = 40;
    let refs = vec![PositionRef { ply: 0, mover: 0, seat: 0 }; positions];
    for number in 0..rebuilt.games {
        let game = EncodedTrajectory::new(*b"", Generation(0), refs.clone());
        replay.insert(number, game).unwrap();
    }
    let status = replay.status();
    assert_eq!((status.games, status.counters.inserts), (300, 0));
    assert!(replay.may_insert(positions as u64, 0));
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
