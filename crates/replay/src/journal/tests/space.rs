//! Tests of full disks, failed syncs and short writes.

use super::*;
use crate::journal::segment_name::segment_name;
use crate::testing::Faults;

#[test]
fn a_disk_that_is_full_at_any_byte_costs_nothing_but_time() {
    let finished = MemoryDisk::new();
    let expected = all(&filled(&finished, 40, small()), 0);
    let total: usize =
        finished.names().unwrap().iter().map(|name| finished.content(name).unwrap().len()).sum();
    let (empty, _) = Journal::open(MemoryDisk::new(), RUN, small()).unwrap();
    // The upper end includes room for the temporary file of the next segment.
    for capacity in empty.size().1 as usize..total + 400 {
        let disk = MemoryDisk::new();
        disk.set_faults(Faults { capacity: Some(capacity), ..Faults::default() });
        let mut journal = open(&disk);
        journal.greet("a", None).unwrap();
        let mut failed = 0;
        for sequence in 1..=80 {
            if sequence % 5 == 0 {
                journal.refuse(record("a", 1, sequence, b"too late")).unwrap();
            } else {
                journal.append(record("a", 1, sequence, &payload("a", sequence))).unwrap();
            }
            if sequence % 2 == 1 {
                continue;
            }
            let (records, watermark) = (journal.records(), journal.watermark("a"));
            match journal.commit() {
                Ok(_) => assert_eq!(journal.watermark("a"), Some((1, sequence))),
                Err(JournalError::Exhausted { .. }) => {
                    failed += 1;
                    let after = (journal.records(), journal.watermark("a"));
                    assert_eq!(after, (records, watermark));
                    // No partial write is left, not even between two operations.
                    let reopened = open(&disk.after_crash(crate::testing::Survival::All));
                    assert_eq!(reopened.watermark("a"), watermark);
                    disk.set_faults(Faults::default());
                    journal.commit().unwrap();
                    assert_eq!(journal.watermark("a"), Some((1, sequence)));
                }
                Err(error) => panic!("capacity {capacity}: {error}"),
            }
        }
        assert_eq!(failed, usize::from(capacity < total), "capacity {capacity} of {total}");
        assert_eq!(all(&journal, 0), expected);
        assert_eq!(all(&open(&disk), 0), expected);
    }
}

#[test]
fn a_failed_sync_ends_the_handle_and_is_never_tried_again() {
    let disk = MemoryDisk::new();
    let mut journal = filled(&disk, 3, small());
    journal.append(record("a", 1, 7, b"z")).unwrap();
    disk.set_faults(Faults { sync_fails: true, ..Faults::default() });
    let error = journal.commit().unwrap_err().to_string();
    assert!(error.contains("sync failed: the disk does not answer; restart"), "{error}");
    disk.set_faults(Faults::default());
    let operations = disk.operations();
    let again: [Result<(), JournalError>; 5] = [
        journal.commit().map(drop),
        journal.append(record("a", 1, 8, b"z")).map(drop),
        journal.greet("b", None).map(drop),
        journal.release_before(1).map(drop),
        journal.visit(0, |_, _| ControlFlow::Break(())).map(drop),
    ];
    assert!(again.iter().all(|again| matches!(again, Err(JournalError::Fatal { .. }))));
    assert_eq!((disk.operations(), journal.watermark("a")), (operations, Some((1, 6))));
}

#[test]
fn what_a_failed_sync_left_unsynced_is_written_again_before_it_counts() {
    let disk = MemoryDisk::new();
    let mut journal = filled(&disk, 3, small());
    journal.append(record("a", 1, 7, b"z")).unwrap();
    disk.set_faults(Faults { sync_fails: true, ..Faults::default() });
    journal.commit().unwrap_err();
    disk.set_faults(Faults::default());
    // The system still shows the bytes that never reached the disk and treats them as clean.
    drop(journal);
    assert_eq!(open(&disk).watermark("a"), Some((1, 7)));
    let rebooted = disk.after_crash(crate::testing::Survival::Synced);
    assert_eq!(open(&rebooted).watermark("a"), Some((1, 7)));
}

#[test]
fn writes_may_be_as_short_as_one_byte() {
    let whole = MemoryDisk::new();
    let expected = all(&filled(&whole, 10, small()), 0);
    for short in [1, 2, 7] {
        let disk = MemoryDisk::new();
        disk.set_faults(Faults { short_write: Some(short), ..Faults::default() });
        assert_eq!(all(&filled(&disk, 10, small()), 0), expected);
        assert_eq!(disk.content(&segment_name(1)), whole.content(&segment_name(1)));
    }
}

#[test]
fn a_crash_after_a_full_disk_never_mixes_the_commit_that_failed_with_its_successor() {
    let body = vec![b'.'; 900];
    for capacity in (1_000..4_000).step_by(97) {
        for operation in 0..6 {
            let disk = MemoryDisk::new();
            disk.set_faults(Faults { capacity: Some(capacity), ..Faults::default() });
            let mut journal = open(&disk);
            journal.greet("a", None).unwrap();
            let mut sequence = 0;
            let error = loop {
                sequence += 1;
                journal.append(record("a", 1, sequence, &body)).unwrap();
                if let Err(error) = journal.commit() {
                    break error;
                }
            };
            assert!(matches!(error, JournalError::Exhausted { .. }), "{error}");
            let acknowledged = journal.watermark("a").map_or(0, |(_, watermark)| watermark);
            // The next attempt has more entries and ends with a power failure.
            journal.append(record("a", 1, sequence + 1, &body)).unwrap();
            let crash_at = Some(disk.operations() + operation);
            disk.set_faults(Faults { crash_at, ..Faults::default() });
            let committed = journal.commit().is_ok();
            for index in 0..30 {
                let stream = ouro_game::Rng::indexed(operation, "survival", index);
                let survived = disk.after_crash(crate::testing::Survival::Some(stream));
                let found = open(&survived).watermark("a").map_or(0, |(_, watermark)| watermark);
                let least = if committed { sequence + 1 } else { acknowledged };
                assert!(found >= least, "capacity {capacity}, operation {operation}");
            }
        }
    }
}
