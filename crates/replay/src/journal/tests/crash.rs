//! Crashes in every disk operation, with many sets of surviving writes.

use ouro_game::Rng;

use super::*;
use crate::testing::{Faults, Survival};

const ACTORS: [&str; 2] = ["a", "b"];
const RECORDS: u64 = 60;

/// Room for a few commits in a segment, and for a few sectors in a commit.
const OPTIONS: Options =
    Options { segment_bytes: 4_000, max_payload: 1 << 10, max_waiting: 1 << 20 };

/// Payload of the record `sequence` of `actor`, with a length from 0 to 900.
fn payload(actor: &str, sequence: u64) -> Vec<u8> {
    let mut payload = format!("{actor}{sequence} ").into_bytes();
    payload.resize(sequence as usize * 131 % 901, b'.');
    payload
}

/// State of an actor: only acknowledged facts.
#[derive(Clone, Debug, Default)]
struct Actor {
    epoch: Option<u64>,
    acknowledged: u64,
}

/// Both actors play until all their records are acknowledged. Old segments are released
/// meanwhile. Stops at the first error, as a process would.
fn play(disk: &MemoryDisk, actors: &mut [Actor; 2]) -> Result<(), JournalError> {
    let (mut journal, _) = Journal::open(disk.clone(), RUN, OPTIONS)?;
    let mut sent = [0; 2];
    for (name, actor) in ACTORS.iter().zip(actors.iter()) {
        let greeting = journal.greet(name, actor.epoch)?;
        let is_known = matches!(greeting, Greeting::Known(epoch) if actor.epoch == Some(epoch));
        let is_issued = matches!(greeting, Greeting::Issued(_));
        assert!(if actor.epoch.is_some() { is_known } else { is_issued }, "{greeting:?}");
    }
    journal.commit()?;
    for index in 0..2 {
        let (epoch, watermark) = journal.watermark(ACTORS[index]).expect("it was greeted");
        assert!(watermark >= actors[index].acknowledged, "an acknowledged record is gone");
        (actors[index].epoch, actors[index].acknowledged) = (Some(epoch), watermark);
        sent[index] = watermark;
    }
    check(&journal);
    let mut commits = 0;
    while actors.iter().any(|actor| actor.acknowledged < RECORDS) {
        for (index, count) in [(0, 2), (1, 1)] {
            for _ in 0..count {
                if sent[index] == RECORDS {
                    continue;
                }
                sent[index] += 1;
                let (name, sequence) = (ACTORS[index], sent[index]);
                let epoch = actors[index].epoch.expect("it was greeted");
                let payload = payload(name, sequence);
                let entry = record(name, epoch, sequence, &payload);
                let is_refused = sequence % 5 == 0;
                let decided = match is_refused {
                    true => journal.refuse(entry)?,
                    false => journal.append(entry)?,
                };
                assert_eq!(matches!(decided, Appended::Uncommitted(Some(_))), !is_refused);
            }
        }
        journal.commit()?;
        for (name, actor) in ACTORS.iter().zip(actors.iter_mut()) {
            let (epoch, watermark) = journal.watermark(name).expect("it was greeted");
            assert_eq!(Some(epoch), actor.epoch);
            actor.acknowledged = watermark;
        }
        commits += 1;
        if commits % 9 == 0 {
            journal.release_before(journal.records().saturating_sub(10))?;
        }
    }
    check(&journal);
    Ok(())
}

/// Checks that every held record is present once, in order and unchanged.
fn check(journal: &Journal<MemoryDisk>) {
    let mut last = [0; 2];
    let found = all(journal, journal.oldest_record());
    for (actor, _, sequence, found) in &found {
        let index = usize::from(actor == ACTORS[1]);
        let skipped_refusal = sequence - 1;
        let is_next = last[index] + 1 == *sequence
            || last[index] == 0
            || (skipped_refusal % 5 == 0 && last[index] + 1 == skipped_refusal);
        assert!(is_next, "record {sequence} of {actor} follows {}", last[index]);
        assert_eq!(*found, payload(actor, *sequence));
        last[index] = *sequence;
    }
    let mut accepted = 0;
    for (index, name) in ACTORS.iter().enumerate() {
        let watermark = journal.watermark(name).map_or(0, |(_, watermark)| watermark);
        let newest =
            if watermark.is_multiple_of(5) { watermark.saturating_sub(1) } else { watermark };
        let all_are_released = last[index] == 0 && journal.oldest_record() > 0;
        assert!(last[index] == newest || all_are_released, "{name}: {last:?}");
        accepted += watermark - watermark / 5;
    }
    assert_eq!(journal.records(), accepted);
}

fn survivals(operation: u64) -> impl Iterator<Item = Survival> {
    let random = move |index| Survival::Some(Rng::indexed(operation, "survival", index));
    [Survival::Synced, Survival::All].into_iter().chain((0..14).map(random))
}

/// Disk operations of a run without a crash.
fn operations() -> u64 {
    let disk = MemoryDisk::new();
    play(&disk, &mut Default::default()).expect("nothing fails");
    let operations = disk.operations();
    assert!(open(&disk).oldest_record() > 10, "segments came and went");
    operations
}

#[test]
fn a_crash_in_any_operation_loses_and_doubles_nothing_acknowledged() {
    let total = operations();
    assert!(total > 150, "{total} operations");
    let mut crashes = 0;
    for operation in 0..total {
        let disk = MemoryDisk::new();
        disk.set_faults(Faults { crash_at: Some(operation), ..Faults::default() });
        let mut actors = <[Actor; 2]>::default();
        play(&disk, &mut actors).expect_err("it crashed");
        assert!(disk.has_crashed());
        for survival in survivals(operation) {
            let survived = disk.after_crash(survival.clone());
            let mut actors = actors.clone();
            let ended = play(&survived, &mut actors);
            ended.unwrap_or_else(|error| panic!("operation {operation}, {survival:?}: {error}"));
            crashes += 1;
        }
    }
    assert_eq!(crashes, total * 16);
}

#[test]
fn a_second_crash_while_recovering_from_the_first_changes_nothing() {
    for operation in 0..operations() {
        let disk = MemoryDisk::new();
        disk.set_faults(Faults { crash_at: Some(operation), ..Faults::default() });
        let mut actors = <[Actor; 2]>::default();
        play(&disk, &mut actors).expect_err("it crashed");
        for (again, first) in survivals(operation).take(5).enumerate() {
            for second in 0..8 {
                let survived = disk.after_crash(first.clone());
                let mut actors = actors.clone();
                survived.set_faults(Faults { crash_at: Some(second), ..Faults::default() });
                if play(&survived, &mut actors).is_ok() {
                    continue;
                }
                let seed = operation * 64 + second * 8 + again as u64;
                let survived = survived.after_crash(Survival::Some(Rng::new(seed, "second")));
                let ended = play(&survived, &mut actors);
                ended.unwrap_or_else(|error| panic!("{operation}, {second}, {first:?}: {error}"));
            }
        }
    }
}

#[test]
fn what_was_acknowledged_after_a_kill_survives_a_loss_of_power() {
    for operation in 0..operations() {
        let disk = MemoryDisk::new();
        disk.set_faults(Faults { crash_at: Some(operation), ..Faults::default() });
        let mut actors = <[Actor; 2]>::default();
        play(&disk, &mut actors).expect_err("it was killed");
        // The next process finds all writes of the last one, synced or not, and continues.
        let killed = disk.after_kill();
        let mut restarted = actors.clone();
        play(&killed, &mut restarted).expect("it goes on");
        for second in [1, 2, 3, 5, 8, 13] {
            let killed = disk.after_kill();
            killed.set_faults(Faults { crash_at: Some(second), ..Faults::default() });
            let mut actors = actors.clone();
            if play(&killed, &mut actors).is_ok() {
                continue;
            }
            for survival in survivals(operation * 16 + second) {
                let mut actors = actors.clone();
                let ended = play(&killed.after_crash(survival.clone()), &mut actors);
                ended
                    .unwrap_or_else(|error| panic!("{operation}, {second}, {survival:?}: {error}"));
            }
        }
    }
}
