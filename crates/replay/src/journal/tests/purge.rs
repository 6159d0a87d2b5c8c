//! Purges: what they cover, how long they last, and crashes in every step.

use ouro_game::Rng;

use super::*;
use crate::check::inspect;
use crate::testing::{Faults, Survival};

const ACTORS: [&str; 3] = ["eve", "eve.2", "honest"];

/// Appends one record of each actor, in one commit. `round` counts from 1.
fn append(journal: &mut Journal<MemoryDisk>, round: u64) -> Result<(), JournalError> {
    for actor in ACTORS {
        if journal.watermark(actor).is_none() {
            journal.greet(actor, None)?;
            journal.commit()?;
        }
        let (epoch, _) = journal.watermark(actor).expect("it was greeted");
        journal.append(record(actor, epoch, round, &payload(actor, round)))?;
    }
    journal.commit().map(drop)
}

fn filled(disk: &MemoryDisk, rounds: u64) -> Journal<MemoryDisk> {
    let mut journal = open(disk);
    (1..=rounds).for_each(|round| append(&mut journal, round).expect("there is space"));
    journal
}

/// The numbers of the void records of each actor.
fn void(journal: &Journal<MemoryDisk>) -> [Vec<u64>; 3] {
    let mut void = <[Vec<u64>; 3]>::default();
    for (number, (actor, ..)) in
        (journal.oldest_record()..).zip(all(journal, journal.oldest_record()))
    {
        let index = ACTORS.iter().position(|name| *name == actor).expect("one of them");
        if journal.is_void(&actor, number) {
            void[index].push(number);
        }
    }
    void
}

#[test]
fn a_purge_voids_the_records_before_it_and_stays_over_restarts() {
    let disk = MemoryDisk::new();
    let mut journal = filled(&disk, 10);
    assert_eq!(journal.purge(&["nobody"], "op", 7).unwrap(), []);
    let purges = journal.purge(&["eve"], "op", 7).unwrap();
    let expected =
        Purge { actor: "eve".to_owned(), before: 30, records: 10, at: 7, by: "op".to_owned() };
    assert_eq!(purges, [expected]);
    // Nothing is left to purge, and nothing is written.
    let size = journal.size();
    assert_eq!((journal.purge(&["eve"], "op", 8).unwrap(), journal.size()), (vec![], size));
    // A record that is sent again is a duplicate, and a new one is not void.
    let again = journal.append(record("eve", 1, 10, &payload("eve", 10))).unwrap();
    assert_eq!(again, Appended::Duplicate);
    append(&mut journal, 11).unwrap();
    let eve: Vec<u64> = (0..30).step_by(3).collect();
    for journal in [journal, open(&disk)] {
        assert_eq!(void(&journal), [eve.clone(), vec![], vec![]]);
        assert_eq!(journal.purges(), purges);
        assert_eq!(journal.records(), 33);
        let counts = journal.record_counts().unwrap();
        assert_eq!(counts["eve"], RecordCount { valid: 1, void: 10 });
        assert_eq!(counts["honest"], RecordCount { valid: 11, void: 0 });
    }
    // The second purge covers what came since.
    let mut journal = open(&disk);
    let purges = journal.purge(&["eve", "eve.2"], "op", 9).unwrap();
    let records = |purge: &Purge| (purge.actor.clone(), purge.records);
    let found: Vec<_> = purges.iter().map(records).collect();
    assert_eq!(found, [("eve".to_owned(), 1), ("eve.2".to_owned(), 11)]);
    assert_eq!(journal.purges().len(), 3);
}

#[test]
fn a_purge_is_released_after_the_last_record_that_it_voids() {
    let disk = MemoryDisk::new();
    let mut journal = filled(&disk, 20);
    journal.purge(&["eve"], "op", 7).unwrap();
    (21..=60).for_each(|round| append(&mut journal, round).expect("there is space"));
    let mut gone = false;
    for record in 0..=journal.records() {
        if journal.release_before(record).unwrap() == 0 {
            continue;
        }
        let journal = open(&disk);
        let oldest = journal.oldest_record();
        let eve: Vec<u64> = (0..60).step_by(3).filter(|number| *number >= oldest).collect();
        assert_eq!(void(&journal), [eve.clone(), vec![], vec![]]);
        gone |= journal.purges().is_empty();
        assert!(!journal.purges().is_empty() || eve.is_empty());
    }
    assert!(gone, "the segment of the purge was released");
}

#[test]
fn only_the_segment_of_a_purge_needs_this_version() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let disk = FolderDisk::open(folder.path()).expect("a folder");
    let (mut journal, _) = Journal::open(disk, RUN, small()).expect("opens");
    journal.greet("eve", None).unwrap();
    let append = |journal: &mut Journal, from: u64, to: u64| {
        for sequence in from..=to {
            journal.append(record("eve", 1, sequence, &[b'.'; 40])).unwrap();
            journal.commit().unwrap();
        }
    };
    append(&mut journal, 1, 4);
    let before = journal.size().0;
    journal.purge(&["eve"], "op", 7).unwrap();
    append(&mut journal, 5, 20);
    drop(journal);
    let inspection = inspect(folder.path(), |_, _| {}).expect("readable");
    assert!(inspection.damage.is_none(), "{inspection}");
    assert_eq!(inspection.purges.len(), 1);
    assert!(inspection.to_string().contains("purge      4 games of eve before number 4, by op"));
    let version = |name: &str| {
        let bytes = std::fs::read(folder.path().join(name)).expect("the segment");
        u32::from_le_bytes(bytes[8..12].try_into().expect("four bytes"))
    };
    let versions: Vec<u32> = inspection.segments.iter().map(|one| version(&one.name)).collect();
    let expected = |index: usize| if index == before { FORMAT_VERSION } else { 1 };
    assert!(versions.len() > before + 1);
    assert!(versions.iter().enumerate().all(|(index, version)| *version == expected(index)));
}

/// Appends and purges as an operator between two runs would. `done` counts completed steps.
fn play(disk: &MemoryDisk, done: &mut u64) -> Result<(), JournalError> {
    let (mut journal, _) = Journal::open(disk.clone(), RUN, small())?;
    check(&journal, *done);
    for step in *done + 1..=24 {
        match step {
            12 => drop(journal.purge(&["eve", "eve.2"], "op", 1)?),
            20 => drop(journal.purge(&["eve"], "op", 2)?),
            _ => {
                let round = journal.watermark("honest").map_or(0, |(_, watermark)| watermark) + 1;
                append(&mut journal, round)?;
            }
        }
        *done = step;
        if step % 6 == 0 {
            journal.release_before(journal.records().saturating_sub(40))?;
        }
    }
    check(&journal, *done);
    Ok(())
}

/// Checks that completed purges cover everything, and that others cover all or nothing.
fn check(journal: &Journal<MemoryDisk>, done: u64) {
    let [eve, second, honest] = void(journal);
    assert!(honest.is_empty(), "{honest:?}");
    let oldest = journal.oldest_record();
    if done >= 12 {
        let before = journal.purges().first().map_or(oldest, |purge| purge.before);
        let of = |offset: u64| (oldest..before).filter(|number| number % 3 == offset).count();
        assert!(eve.len() >= of(0), "{eve:?}");
        assert_eq!(second.len(), of(1));
    } else {
        // Both actors were purged in one commit.
        assert_eq!(eve.len(), second.len());
    }
    if done >= 20 {
        let before = journal.purges().last().map_or(oldest, |purge| purge.before);
        assert_eq!(eve.len(), (oldest..before).filter(|number| number % 3 == 0).count());
    }
}

#[test]
fn a_purge_survives_a_crash_in_any_operation_or_did_not_happen() {
    let disk = MemoryDisk::new();
    play(&disk, &mut 0).expect("nothing fails");
    let total = disk.operations();
    assert!(total > 60, "{total} operations");
    for operation in 0..total {
        let disk = MemoryDisk::new();
        disk.set_faults(Faults { crash_at: Some(operation), ..Faults::default() });
        let mut done = 0;
        play(&disk, &mut done).expect_err("it crashed");
        let random = (0..6).map(|index| Survival::Some(Rng::indexed(operation, "purge", index)));
        for survival in [Survival::Synced, Survival::All].into_iter().chain(random) {
            // Appended rounds of a step that crashed may be there.
            let (survived, mut done) = (disk.after_crash(survival.clone()), done);
            let ended = play(&survived, &mut done);
            ended.unwrap_or_else(|error| panic!("operation {operation}, {survival:?}: {error}"));
        }
        let ended = play(&disk.after_kill(), &mut done);
        ended.unwrap_or_else(|error| panic!("operation {operation}, killed: {error}"));
    }
}

#[test]
fn a_full_disk_leaves_the_journal_without_a_purge_or_with_all_of_it() {
    let whole = MemoryDisk::new();
    let used = {
        let journal = filled(&whole, 10);
        journal.size().1 as usize
    };
    let (mut full, mut fitted) = (0, 0);
    for more in (0..700).step_by(7) {
        let disk = whole.copy();
        disk.set_faults(Faults { capacity: Some(used + more), ..Faults::default() });
        let (mut journal, _) = Journal::open(disk.clone(), RUN, small()).expect("opens");
        let purged = journal.purge(&["eve", "eve.2"], "op", 1);
        if let Err(error) = &purged {
            assert!(matches!(error, JournalError::Exhausted { .. }), "{error}");
            assert!(journal.purges().is_empty());
            full += 1;
        } else {
            fitted += 1;
        }
        drop(journal);
        disk.set_faults(Faults::default());
        assert_eq!(open(&disk).purges().len(), if purged.is_ok() { 2 } else { 0 });
    }
    assert!(full > 10 && fitted > 10, "{full} and {fitted}");
}
