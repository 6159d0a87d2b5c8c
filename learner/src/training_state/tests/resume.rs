//! Tests of states that the journal cannot restore, and of resuming from an older one.

use std::ops::Range;

use ouro_replay::journal::{Journal, Options, Record};
use ouro_replay::{FolderDisk, JournalError};

use super::*;
use crate::journal_writer::JOURNAL;

/// A run whose learner has states of the steps 4 to 6, and a journal of `games` games. The state of
/// step S needs the games S to 3 S.
fn run(games: u64) -> (tempfile::TempDir, PathBuf) {
    let run = tempfile::tempdir().unwrap();
    let directory = run.path().join("learner");
    let mut store = StateStore::open(&directory, 3).unwrap();
    [4, 5, 6].iter().for_each(|step| store.save(&training_state(*step)).unwrap());
    let disk = FolderDisk::open(&directory.join(JOURNAL)).unwrap();
    let (mut journal, _) = Journal::open(disk, b"run", Options::default()).unwrap();
    journal.greet("a", None).unwrap();
    for sequence in 1..=games {
        let generation = Generation(0);
        let record = Record { actor: "a", epoch: 1, sequence, generation, payload: b"game" };
        journal.append(record).unwrap();
    }
    journal.commit().unwrap();
    (run, directory)
}

fn unfit(directory: &Path, games: &Range<u64>) -> Option<String> {
    let states = training_states(directory).unwrap();
    UnfitState::find(directory, &states, games).map(|unfit| unfit.to_string())
}

#[test]
fn a_state_that_lacks_games_is_refused_with_the_newest_state_that_fits() {
    let (run, directory) = run(17);
    let path = |step| directory.join(FOLDER).join(format!("step-00000000000{step}"));
    let lacks = |holds: &str| {
        format!(
            "{} (generation-6) needs games 6 to 18 (the last not included), and the journal holds \
             {holds}; restore the journal from a copy, or ",
            path(6).display()
        )
    };
    let resume = |step| {
        let (path, run) = (path(step).display().to_string(), run.path().display());
        format!(
            "resume from {path} (generation-{step}), the newest that fits: \
             ouro states {run} --resume-from {step}"
        )
    };
    let anew =
        format!("move {} away to start anew: no older training state fits", directory.display());
    assert_eq!(unfit(&directory, &(0..18)), None);
    assert_eq!(unfit(&directory, &(0..17)), Some(lacks("0 to 17") + &resume(5)));
    assert_eq!(unfit(&directory, &(0..14)), Some(lacks("0 to 14") + &resume(4)));
    // The journal lost its start.
    assert_eq!(unfit(&directory, &(7..18)), Some(lacks("7 to 18") + &anew));
    assert_eq!(unfit(&directory, &(0..11)), Some(lacks("0 to 11") + &anew));
    // Only whole states count.
    fs::remove_file(path(5).join(STATE)).unwrap();
    assert_eq!(unfit(&directory, &(0..17)), Some(lacks("0 to 17") + &resume(4)));
    fs::remove_file(path(6).join(STATE)).unwrap();
    assert_eq!(unfit(&directory, &(0..17)), None);
}

#[test]
fn the_command_quotes_a_folder_with_spaces() {
    let home = tempfile::tempdir().unwrap();
    let directory = home.path().join("my run").join("learner");
    let mut store = StateStore::open(&directory, 3).unwrap();
    [4, 5].iter().for_each(|step| store.save(&training_state(*step)).unwrap());
    let said = unfit(&directory, &(0..12)).expect("a state that does not fit");
    let command = format!("ouro states \"{}/my run\" --resume-from 4", home.path().display());
    assert!(said.ends_with(&command), "{said}");
}

#[test]
fn newer_states_are_set_aside_and_their_generations_stay_taken() {
    let (_run, directory) = run(15);
    let root = directory.join(FOLDER);
    let aside = |name: &str| vec![root.join("set-aside").join(name)];
    let resume_from =
        |generation| StoppedLearner::open(&directory).unwrap().resume_from(Generation(generation));
    let said = |generation| resume_from(generation).unwrap_err().to_string();
    assert!(said(6).contains("step-000000000006: replay state needs games 6 to 18"), "{}", said(6));
    assert!(said(6).ends_with("the states of these generations fit: 4, 5"), "{}", said(6));
    assert!(said(7).ends_with("is of generation-7; choose one of: 4, 5"), "{}", said(7));
    assert_eq!(training_states(&directory).unwrap().len(), 3);

    assert_eq!(resume_from(5).unwrap(), aside("step-000000000006"));
    let mut store = StateStore::open(&directory, 3).unwrap();
    let loaded = store.load().unwrap();
    assert_eq!(loaded.newest, Some(training_state(5)));
    assert_eq!((loaded.skipped.len(), loaded.lost_generation), (0, Some(Generation(6))));
    assert_eq!(resume_from(5).unwrap(), Vec::<PathBuf>::new());
    // A later state of the same step takes the place of none that was set aside.
    store.save(&training_state(6)).unwrap();
    assert_eq!(resume_from(5).unwrap(), aside("step-000000000006-2"));
    assert_eq!(read(&aside("step-000000000006")[0]).unwrap(), training_state(6));
    // Saving further states leaves them there.
    for step in 7..12 {
        store.save(&training_state(step)).unwrap();
    }
    assert_eq!(fs::read_dir(root.join("set-aside")).unwrap().count(), 2);
}

#[test]
fn a_damaged_state_is_set_aside_with_the_others() {
    let (_run, directory) = run(15);
    fs::remove_file(directory.join(FOLDER).join("step-000000000005").join(STATE)).unwrap();
    let moved = StoppedLearner::open(&directory).unwrap().resume_from(Generation(4)).unwrap();
    assert_eq!(moved.len(), 2);
    let mut store = StateStore::open(&directory, 3).unwrap();
    assert_eq!(step(&mut store), 4);
}

#[test]
fn the_states_of_a_learner_that_runs_stay_where_they_are() {
    let (_run, directory) = run(15);
    let _learner = FolderDisk::open(&directory.join(JOURNAL)).unwrap();
    let refused = StoppedLearner::open(&directory).unwrap_err();
    assert!(matches!(refused, ResumeError::Journal(JournalError::Locked { .. })), "{refused}");
}
