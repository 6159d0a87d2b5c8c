//! Starts of a run whose journal is missing.

use std::fs;
use std::path::Path;

use ouro_net::Generation;
use ouro_replay::journal::Options;
use ouro_replay::{FolderDisk, Journal, Record};

use super::arena::save_generation;
use super::*;
use crate::journal_writer::JOURNAL;

/// Games of the run.
const GAMES: u64 = 60;

/// Makes a run whose newest state needs the last games. The first segments of its journal were
/// removed, as those of a run are over time.
fn make_run(config: &Config) {
    let rules = crate::rules::rules(config).unwrap();
    let mut resumed = start::resume(config, &*rules).unwrap().0;
    let directory = &config.training_states.directory;
    resumed.join(ArenaRun::default(), directory).unwrap();
    let disk = FolderDisk::open(&directory.join(JOURNAL)).unwrap();
    let options = Options { segment_bytes: 700, ..Options::default() };
    let game = config.game_identity();
    let (mut journal, _) = Journal::open(disk, game.as_bytes(), options).unwrap();
    journal.greet("tester", None).unwrap();
    for sequence in 1..=GAMES {
        let payload = random_game(sequence).encode().unwrap();
        let (actor, generation) = ("tester", Generation(0));
        let record = Record { actor, epoch: 1, sequence, generation, payload: &payload };
        journal.append(record).unwrap();
        journal.commit().unwrap();
    }
    assert!(journal.release_before(GAMES / 2).unwrap() > 0);
    let cursor = &mut resumed.training_state.run.replay.cursor;
    (cursor.first, cursor.next) = (GAMES / 2, GAMES);
    save_generation(&mut resumed, 1);
}

/// Names of the segments in a folder.
fn segments(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let names = names.map(|name| name.into_string().unwrap());
    names.filter(|name| name.starts_with("segment-")).collect()
}

/// Before, the refused start made the first segment. The later segments did not follow it once they
/// were put back, so that the next start was refused too.
#[test]
fn a_refused_start_makes_no_journal_so_the_one_that_is_put_back_is_whole() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = config();
    config.training_states.directory = directory.path().into();
    make_run(&config);
    let (journal, aside) = (directory.path().join(JOURNAL), directory.path().join("aside"));
    fs::rename(&journal, &aside).unwrap();
    let rules = crate::rules::rules(&config).unwrap();
    for _ in 0..2 {
        let refused = start::resume(&config, &*rules).err().expect("games are missing");
        assert!(matches!(refused, LearnerError::Unfit(_)), "{refused}");
        assert_eq!(segments(&journal), [""; 0]);
    }
    for segment in segments(&aside) {
        assert_ne!(segment, "segment-000000000001.journal");
        fs::copy(aside.join(&segment), journal.join(&segment)).unwrap();
    }
    let (resumed, _, journal, _) = start::resume(&config, &*rules).unwrap();
    assert_eq!(resumed.training_state.weights.meta().generation, Generation(1));
    assert_eq!(journal.records(), GAMES);
}

#[test]
fn without_a_journal_a_state_that_needs_no_game_is_resumed() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = config();
    config.training_states.directory = directory.path().into();
    let rules = crate::rules::rules(&config).unwrap();
    let mut resumed = start::resume(&config, &*rules).unwrap().0;
    resumed.join(ArenaRun::default(), directory.path()).unwrap();
    fs::remove_dir_all(directory.path().join(JOURNAL)).unwrap();
    let (_, _, journal, _) = start::resume(&config, &*rules).unwrap();
    assert_eq!(journal.records(), 0);
}
