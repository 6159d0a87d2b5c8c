use super::*;
use crate::config::AlgorithmName;
use crate::optimizer::OptimizerState;
use crate::testing::{spec, weights};
use crate::trainer::{TrainerState, WeightAverageState};
use ouro_net::{Generation, Weights, WeightsMeta};
use ouro_replay::{Counters, Cursor, Dealt, ReplayState};

mod backup;
mod resume;

fn training_state(step: u64) -> TrainingState {
    let weights = weights(&spec());
    let meta = WeightsMeta { game: "{}".into(), generation: Generation(step as u32), step };
    let tensors = weights.tensors().to_vec();
    let length = crate::model::ParameterLayout::new(&spec()).trained_len();
    let optimizer =
        OptimizerState { time: step, slots: vec![vec![0.5; length], vec![0.25; length]] };
    let average = Some(WeightAverageState { count: step, tensors: tensors.clone() });
    let trainer = TrainerState { tensors: tensors.clone(), optimizer, average };
    let (first, next, before) = (step, 3 * step, 9 * step);
    let dealt = Some(Dealt { batches: step, newest: Generation(2) });
    let cursor = Cursor { first, next, before, used: 1, batches: step, dealt };
    let counters = Counters { inserts: 9 * step, samples: u64::MAX };
    let replay = ReplayState { cursor, counters, ..ReplayState::default() };
    let run = RunState { algorithm: AlgorithmName::AlphaZero, replay };
    let weights = Weights::from_tensors(spec(), meta, tensors).unwrap();
    TrainingState { weights, trainer, run }
}

fn step(store: &mut StateStore) -> u64 {
    store.load().unwrap().newest.expect("one is whole").weights.meta().step
}

#[test]
fn the_newest_state_is_loaded_and_old_ones_are_removed() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = StateStore::open(directory.path(), 2).unwrap();
    assert!(store.load().unwrap().newest.is_none());
    for step in [9, 10, 11] {
        store.save(&training_state(step)).unwrap();
    }
    assert_eq!(store.load().unwrap().newest, Some(training_state(11)));
    assert_eq!(store.states().unwrap(), ["step-000000000010", "step-000000000011"]);
}

#[test]
fn damage_to_any_file_falls_back_to_the_state_before() {
    type Harm = fn(&Path);
    let harms: [Harm; 4] = [
        |path| fs::remove_file(path).unwrap(),
        |path| fs::write(path, b"").unwrap(),
        |path| {
            let bytes = fs::read(path).unwrap();
            fs::write(path, &bytes[..bytes.len() - 1]).unwrap();
        },
        |path| {
            let mut bytes = fs::read(path).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 0x80;
            fs::write(path, bytes).unwrap();
        },
    ];
    for harm in harms {
        for file in [WEIGHTS, TRAINING, STATE, MANIFEST] {
            let directory = tempfile::tempdir().unwrap();
            let mut store = StateStore::open(directory.path(), 3).unwrap();
            store.save(&training_state(4)).unwrap();
            store.save(&training_state(5)).unwrap();
            harm(&store.root.join("step-000000000005").join(file));
            let loaded = store.load().unwrap();
            assert_eq!(loaded.newest, Some(training_state(4)), "{file}");
            assert!(matches!(&loaded.skipped[..], [TrainingStateError::Damaged { .. }]), "{file}");
            // The lost generation is known unless the manifest itself is damaged.
            assert_eq!(
                loaded.lost_generation,
                (file != MANIFEST).then_some(Generation(5)),
                "{file}"
            );
            // Repeating the lost steps replaces the damaged state.
            store.save(&training_state(5)).unwrap();
            assert_eq!(step(&mut store), 5);
        }
    }
}

#[test]
fn a_damaged_state_does_not_take_the_place_of_a_whole_one() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = StateStore::open(directory.path(), 2).unwrap();
    for step in [4, 5, 7] {
        store.save(&training_state(step)).unwrap();
    }
    fs::write(store.root.join("step-000000000007").join(STATE), b"{}").unwrap();
    let mut store = StateStore::open(directory.path(), 2).unwrap();
    assert_eq!(store.load().unwrap().lost_generation, Some(Generation(7)));
    // The damaged state stays until a newer state is whole, so a second load names it too.
    assert_eq!(store.load().unwrap().lost_generation, Some(Generation(7)));
    store.save(&training_state(6)).unwrap();
    assert_eq!(store.states().unwrap(), ["step-000000000005", "step-000000000006"]);
    assert_eq!(step(&mut store), 6);
}

#[test]
fn a_state_without_one_of_its_files_does_not_take_the_place_of_a_whole_one() {
    for file in [WEIGHTS, TRAINING, STATE, MANIFEST] {
        let directory = tempfile::tempdir().unwrap();
        let mut store = StateStore::open(directory.path(), 2).unwrap();
        for step in [4, 5, 7] {
            store.save(&training_state(step)).unwrap();
        }
        fs::remove_file(store.root.join("step-000000000007").join(file)).unwrap();
        store.load().unwrap();
        store.save(&training_state(6)).unwrap();
        assert_eq!(store.states().unwrap(), ["step-000000000005", "step-000000000006"], "{file}");
    }
}

#[test]
fn the_newest_state_is_that_of_the_newest_generation() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = StateStore::open(directory.path(), 2).unwrap();
    for step in [4, 7] {
        store.save(&training_state(step)).unwrap();
    }
    // A run that could not read the state of step 7 resumes from step 4 and stops at step 5.
    let mut later = training_state(5);
    let weights = &later.weights;
    let meta = WeightsMeta { generation: Generation(8), ..weights.meta().clone() };
    later.weights =
        Weights::from_tensors(weights.spec().clone(), meta, weights.tensors().to_vec()).unwrap();
    store.save(&later).unwrap();
    assert_eq!(store.load().unwrap().newest, Some(later));
    assert_eq!(store.states().unwrap(), ["step-000000000007", "step-000000000005"]);
}

#[test]
fn a_state_that_was_being_written_is_not_seen() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = StateStore::open(directory.path(), 3).unwrap();
    store.save(&training_state(4)).unwrap();
    // A kill before the rename leaves a temporary folder, complete in the worst case.
    let whole = store.root.join("step-000000000004");
    let leftover = store.root.join("tmp-step-000000000005");
    fs::create_dir(&leftover).unwrap();
    for file in [WEIGHTS, TRAINING, STATE, MANIFEST] {
        assert_eq!(step(&mut store), 4);
        fs::copy(whole.join(file), leftover.join(file)).unwrap();
    }
    assert_eq!(step(&mut store), 4);
    store.save(&training_state(5)).unwrap();
    assert_eq!(step(&mut store), 5);
    assert!(!leftover.exists());
}

#[test]
fn leftovers_of_a_killed_writer_are_removed_by_the_next_start() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = StateStore::open(directory.path(), 3).unwrap();
    store.save(&training_state(4)).unwrap();
    let leftover = store.root.join("tmp-step-000000000005");
    fs::create_dir(&leftover).unwrap();
    fs::write(leftover.join(WEIGHTS), b"half").unwrap();
    let mut store = StateStore::open(directory.path(), 3).unwrap();
    assert!(!leftover.exists());
    assert_eq!(step(&mut store), 4);
}

#[test]
fn a_run_whose_states_are_all_damaged_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = StateStore::open(directory.path(), 3).unwrap();
    store.save(&training_state(4)).unwrap();
    fs::remove_file(store.root.join("step-000000000004").join(MANIFEST)).unwrap();
    assert!(matches!(store.load(), Err(TrainingStateError::NoneWhole { count: 1, .. })));
}

/// Gives a state the manifest of another version, with one more field.
fn age(store: &StateStore, name: &str, version: u32) {
    let path = store.root.join(name).join(MANIFEST);
    let mut manifest: serde_json::Value =
        serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    manifest["version"] = version.into();
    manifest["epoch"] = 7.into();
    fs::write(path, manifest.to_string()).unwrap();
}

#[test]
fn a_state_of_another_version_is_set_aside_when_its_step_is_repeated() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = StateStore::open(directory.path(), 4).unwrap();
    for step in [4, 5] {
        store.save(&training_state(step)).unwrap();
    }
    let name = "step-000000000005";
    age(&store, name, VERSION + 1);
    assert_eq!(step(&mut store), 4);
    store.save(&training_state(5)).unwrap();
    assert_eq!(step(&mut store), 5);
    assert!(store.root.join("set-aside").join(name).join(WEIGHTS).exists());
}

/// Before, a call that was repeated set aside the state that it had just made.
#[test]
fn a_state_that_is_saved_again_is_kept_and_another_one_of_its_step_is_set_aside() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = StateStore::open(directory.path(), 4).unwrap();
    store.save(&training_state(5)).unwrap();
    let state = store.root.join("step-000000000005");
    // A mark shows that the folder stays. It is not one of the state's files.
    fs::write(state.join("mark"), b"").unwrap();
    store.save(&training_state(5)).unwrap();
    let set_aside = store.root.join("set-aside");
    assert!(state.join("mark").exists() && !set_aside.exists());
    // After damage it is written anew, and what may be whole is kept.
    fs::write(state.join(STATE), b"{}").unwrap();
    store.save(&training_state(5)).unwrap();
    assert!(!state.join("mark").exists() && set_aside.join("step-000000000005/mark").exists());
    let mut other = training_state(5);
    other.run.algorithm = AlgorithmName::Reinforce;
    store.save(&other).unwrap();
    assert!(set_aside.join("step-000000000005-2").exists());
    assert_eq!(store.load().unwrap().newest, Some(other));
}

#[test]
fn an_old_state_that_cannot_be_removed_does_not_fail_the_save() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = StateStore::open(directory.path(), 2).unwrap();
    for step in [4, 5] {
        store.save(&training_state(step)).unwrap();
    }
    // A file in the place of the folder to which the state moves first.
    let blocked = store.root.join("tmp-step-000000000004");
    fs::write(&blocked, b"").unwrap();
    store.save(&training_state(6)).unwrap();
    assert_eq!((step(&mut store), store.states().unwrap().len()), (6, 3));
    fs::remove_file(&blocked).unwrap();
    store.save(&training_state(7)).unwrap();
    assert_eq!(store.states().unwrap(), ["step-000000000006", "step-000000000007"]);
}

#[test]
fn a_run_of_another_version_is_refused_with_both_versions() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = StateStore::open(directory.path(), 4).unwrap();
    for step in [4, 5, 6] {
        store.save(&training_state(step)).unwrap();
    }
    for (name, version) in [("step-000000000004", 1), ("step-000000000005", VERSION + 1)] {
        age(&store, name, version);
    }
    assert_eq!(step(&mut store), 6, "one is of this version");
    // The only state of this version is damaged, but another version can resume from its own
    // states. The error names that version instead of a backup.
    fs::remove_file(store.root.join("step-000000000006").join(STATE)).unwrap();
    let refused = store.load().expect_err("none is of this version").to_string();
    let path = store.root.join("step-000000000005").join(MANIFEST);
    let says = format!(
        "{}: version is {}; this program reads {VERSION}; resume with the version that wrote it, or choose another run folder",
        path.display(),
        VERSION + 1,
    );
    assert_eq!(refused, says);
}
