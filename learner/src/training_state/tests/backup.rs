//! Tests of copies of a learner that is running.

use ouro_replay::journal::{Journal, Options, Record};
use ouro_replay::{FolderDisk, check};

use super::*;
use crate::backup::{BackupError, copy_learner};
use crate::journal_writer::JOURNAL;

/// A learner that makes a state every step and never stops. The state of step S needs the games S to
/// 3 S. Its journal is made of segments of a few games.
struct Running {
    folder: tempfile::TempDir,
    store: StateStore,
    journal: Journal<FolderDisk>,
    sequence: u64,
}

impl Running {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path().join("learner");
        let store = StateStore::open(&directory, 2).unwrap();
        let disk = FolderDisk::open(&directory.join(JOURNAL)).unwrap();
        let options = Options { segment_bytes: 2_000, ..Options::default() };
        let (mut journal, _) = Journal::open(disk, b"run", options).unwrap();
        journal.greet("a", None).unwrap();
        Self { folder, store, journal, sequence: 0 }
    }

    fn directory(&self) -> PathBuf {
        self.folder.path().join("learner")
    }

    /// Accepts games up to number `games`, durably.
    fn accept(&mut self, games: u64) {
        while self.sequence < games {
            self.sequence += 1;
            let (generation, sequence) = (Generation(0), self.sequence);
            let payload = [7; 100];
            let record = Record { actor: "a", epoch: 1, sequence, generation, payload: &payload };
            self.journal.append(record).unwrap();
            self.journal.commit().unwrap();
        }
    }

    /// Trains to a step.
    fn step(&mut self, step: u64) {
        self.accept(3 * step);
        self.store.save(&training_state(step)).unwrap();
        self.journal.release_before(step.saturating_sub(1)).unwrap();
    }
}

fn newest(directory: &Path) -> u64 {
    step(&mut StateStore::open(directory, 2).unwrap())
}

#[test]
fn a_copy_of_a_running_learner_has_every_game_and_resumes() {
    let mut running = Running::new();
    (1..=20).for_each(|step| running.step(step));
    running.accept(75);
    let to = running.folder.path().join("copy");
    copy_learner(&running.directory(), &to).unwrap();
    // The learner goes on, and the copy stays as it was.
    (21..=40).for_each(|step| running.step(step));
    let found = check::inspect(&to.join(JOURNAL), |_, _| ()).unwrap();
    assert!(found.damage.is_none() && found.records.contains(&19) && found.records.end == 75);
    assert!(found.segments.len() > 1, "the copy has several segments");
    assert_eq!(newest(&to), 20);
    let states = training_states(&to).unwrap();
    assert!(states.iter().all(|state| state.content.is_ok()), "{states:?}");
    let disk = FolderDisk::open(&to.join(JOURNAL)).unwrap();
    let (journal, opened) = Journal::open(disk, b"run", Options::default()).unwrap();
    assert_eq!((journal.records(), opened.cut), (75, None));
}

#[test]
fn a_copy_while_the_learner_trains_is_always_sound() {
    let running = Running::new();
    let (directory, folder) = (running.directory(), running.folder.path().to_owned());
    let (stop, is_over) = std::sync::mpsc::channel::<()>();
    let (started, is_started) = std::sync::mpsc::channel();
    let training = std::thread::spawn(move || {
        let mut running = running;
        for step in 1.. {
            running.step(step);
            let _ = started.send(step);
            if is_over.try_recv() != Err(std::sync::mpsc::TryRecvError::Empty) {
                return running;
            }
        }
        running
    });
    is_started.recv().unwrap();
    for round in 0..20 {
        let to = folder.join(format!("copy-{round}"));
        let before = is_started.try_iter().last().unwrap_or(1);
        match copy_learner(&directory, &to) {
            Ok(()) => {}
            // This learner does nothing but make states, so it may outrun a slow disk.
            Err(BackupError::Outrun(_)) => continue,
            Err(error) => panic!("{error}"),
        }
        let found = check::inspect(&to.join(JOURNAL), |_, _| ()).unwrap();
        assert!(found.damage.is_none(), "{found}");
        assert!(found.records.end >= 3 * before, "{} of {}", found.records.end, 3 * before);
        assert!(newest(&to) >= before.saturating_sub(1));
        assert!(UnfitState::find(&to, &training_states(&to).unwrap(), &found.records).is_none());
    }
    drop(stop);
    drop(training.join().unwrap());
}

#[test]
fn a_learner_without_a_state_is_not_copied_in_silence() {
    let running = Running::new();
    let error = copy_learner(&running.directory(), &running.folder.path().join("copy"));
    assert!(matches!(error, Err(BackupError::NoState(_))), "{error:?}");
}
