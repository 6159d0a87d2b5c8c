//! Tests of a journal without faults.

use super::*;

#[test]
fn nothing_counts_before_its_commit_and_everything_after_it() {
    let disk = MemoryDisk::new();
    let mut journal = open(&disk);
    assert_eq!(journal.greet("a", None).unwrap(), Greeting::Issued(1));
    assert_eq!(journal.append(record("a", 1, 1, b"x")).unwrap(), Appended::Uncommitted(Some(0)));
    assert_eq!(journal.append(record("a", 1, 2, b"y")).unwrap(), Appended::Uncommitted(Some(1)));
    assert_eq!((journal.watermark("a"), journal.records(), journal.waiting()), (None, 0, 3));
    let committed = journal.commit().unwrap();
    assert_eq!(committed.entries, 3);
    assert_eq!((journal.watermark("a"), journal.records()), (Some((1, 2)), 2));
    assert_eq!(journal.commit().unwrap(), Committed::default());
    assert_eq!(all(&journal, 1), [("a".to_owned(), 1, 2, b"y".to_vec())]);
}

#[test]
fn what_was_decided_stays_decided_after_a_restart() {
    let disk = MemoryDisk::new();
    drop(filled(&disk, 3, small()));
    let mut journal = open(&disk);
    assert_eq!(journal.watermark("a"), Some((1, 6)));
    // Sequence number 5 was refused, so it has no record number.
    assert_eq!(journal.records(), 5);
    let found: Vec<u64> =
        all(&journal, 0).into_iter().map(|(_, _, sequence, _)| sequence).collect();
    assert_eq!(found, [1, 2, 3, 4, 6]);
    for sequence in 0..=6 {
        let again = journal.append(record("a", 1, sequence, b"again")).unwrap();
        assert_eq!(again, Appended::Duplicate, "record {sequence}");
    }
    let early = journal.append(record("a", 1, 8, b"early")).unwrap();
    assert_eq!(early, Appended::Gap { expected: 7 });
    assert_eq!(journal.append(record("a", 1, 7, b"z")).unwrap(), Appended::Uncommitted(Some(5)));
    assert_eq!(journal.append(record("a", 1, 7, b"z")).unwrap(), Appended::Duplicate);
}

#[test]
fn a_new_epoch_ends_the_old_one_for_good() {
    let disk = MemoryDisk::new();
    drop(filled(&disk, 3, small()));
    let mut journal = open(&disk);
    assert_eq!(journal.greet("a", Some(1)).unwrap(), Greeting::Known(1));
    let (other, stranger) = (journal.greet("a", Some(0)), journal.greet("b", Some(1)));
    assert_eq!(other.unwrap(), Greeting::Fenced { current: Some(1) });
    assert_eq!(stranger.unwrap(), Greeting::Fenced { current: None });
    assert_eq!(journal.waiting(), 0);
    assert_eq!(journal.greet("b", None).unwrap(), Greeting::Issued(2));
    assert_eq!(journal.greet("a", None).unwrap(), Greeting::Issued(3));
    assert_eq!(journal.greet("a", Some(1)).unwrap(), Greeting::Fenced { current: Some(3) });
    let fenced = Appended::Fenced { current: Some(3) };
    assert_eq!(journal.append(record("a", 1, 7, b"z")).unwrap(), fenced);
    journal.commit().unwrap();
    drop(journal);
    let mut journal = open(&disk);
    assert_eq!(journal.append(record("a", 1, 7, b"z")).unwrap(), fenced);
    let stranger = journal.append(record("c", 1, 1, b"z")).unwrap();
    assert_eq!(stranger, Appended::Fenced { current: None });
    assert_eq!(journal.watermark("a"), Some((3, 0)));
    // An uncommitted epoch was sent to no actor and may be issued again.
    assert_eq!(journal.greet("c", None).unwrap(), Greeting::Issued(4));
    drop(journal);
    assert_eq!(open(&disk).greet("d", None).unwrap(), Greeting::Issued(4));
}

#[test]
fn an_epoch_that_the_journal_lost_is_not_issued_again() {
    let disk = MemoryDisk::new();
    drop(filled(&disk, 3, small()));
    let mut journal = open(&disk);
    let never_issued = |last| Greeting::NeverIssued { last };
    assert_eq!(journal.greet("b", Some(4)).unwrap(), never_issued(1));
    assert_eq!(journal.waiting(), 0);
    assert_eq!(journal.greet("b", None).unwrap(), Greeting::Issued(5));
    // A claim too far above the issued epochs raises nothing, so epochs cannot be used up.
    for claim in [5 + MAX_LOST_EPOCHS + 1, u64::MAX] {
        assert_eq!(journal.greet("c", Some(claim)).unwrap(), never_issued(5));
    }
    assert_eq!(journal.greet("c", None).unwrap(), Greeting::Issued(6));
    // The segments that follow agree with the entries, also after a claim without a new epoch.
    assert_eq!(journal.greet("d", Some(6 + MAX_LOST_EPOCHS)).unwrap(), never_issued(6));
    let before = journal.size().0;
    for sequence in 1..=40 {
        journal.append(record("b", 5, sequence, &payload("b", sequence))).unwrap();
        journal.commit().unwrap();
    }
    assert!(journal.size().0 > before + 1, "{:?}", journal.size());
    drop(journal);
    let mut journal = open(&disk);
    assert_eq!(journal.watermark("b"), Some((5, 40)));
    assert_eq!(journal.greet("d", None).unwrap(), Greeting::Issued(7));
}

#[test]
fn a_journal_exists_once_it_has_a_segment() {
    let disk = MemoryDisk::new();
    disk.put("LOCK", b"");
    assert!(!Journal::exists(&disk).unwrap());
    drop(open(&disk));
    assert!(Journal::exists(&disk).unwrap());
}

#[test]
fn removing_old_segments_forgets_no_decision() {
    let disk = MemoryDisk::new();
    let mut journal = filled(&disk, 40, small());
    let (segments, bytes) = journal.size();
    assert!(segments > 3 && bytes > 2_000, "{segments} segments of {bytes} bytes");
    assert_eq!(journal.release_before(0).unwrap(), 0);
    let before = all(&journal, 30);
    assert!(journal.release_before(30).unwrap() > 0);
    let oldest = journal.oldest_record();
    assert!(oldest > 0 && oldest <= 30, "{oldest}");
    assert_eq!(all(&journal, 30), before);
    drop(journal);
    let mut journal = open(&disk);
    assert_eq!((journal.oldest_record(), journal.watermark("a")), (oldest, Some((1, 80))));
    assert_eq!(journal.append(record("a", 1, 3, b"again")).unwrap(), Appended::Duplicate);
    let error = journal.visit(oldest - 1, |_, _| ControlFlow::Break(())).unwrap_err();
    assert!(matches!(error, JournalError::Range { .. }), "{error}");
    let error = journal.visit(65, |_, _| ControlFlow::Break(())).unwrap_err().to_string();
    assert!(error.starts_with("records from 65 on were asked for; the journal holds"), "{error}");
    // The last segment is never removed.
    journal.release_before(u64::MAX).unwrap();
    assert_eq!(journal.size().0, 1);
    drop(journal);
    assert_eq!(open(&disk).watermark("a"), Some((1, 80)));
}

#[test]
fn an_old_segment_whose_file_is_missing_does_not_keep_the_later_ones() {
    let disk = MemoryDisk::new();
    let mut journal = filled(&disk, 40, small());
    let (segments, _) = journal.size();
    assert!(segments > 3, "{segments} segments");
    disk.remove("segment-000000000001.journal").unwrap();
    assert_eq!(journal.release_before(u64::MAX).unwrap(), segments - 1);
    assert_eq!((journal.size().0, disk.names().unwrap().len()), (1, 1));
    drop(journal);
    assert_eq!(open(&disk).watermark("a"), Some((1, 80)));
}

#[test]
fn another_run_a_newer_format_and_a_hole_are_named() {
    let disk = MemoryDisk::new();
    drop(filled(&disk, 40, small()));
    let other = |disk: &MemoryDisk, identity: &[u8]| {
        Journal::open(disk.clone(), identity, small()).unwrap_err().to_string()
    };
    assert_eq!(
        other(&disk, b"{\"game\":\"snake\"}"),
        "segment-000000000001.journal belongs to another run: it is for {\"game\":\"tic_tac_toe\"}, \
         this run is {\"game\":\"snake\"}; choose another folder"
    );
    let holed = disk.copy();
    holed.remove("segment-000000000002.journal").unwrap();
    assert_eq!(
        other(&holed, RUN),
        "segment-000000000002.journal is missing, though segment 3 is there; restore it from a copy; \
         without one, if the run has its results in files on this machine, move the folder of the learner away and run `ouro repair`"
    );
    // A header of a later version.
    let newer = MemoryDisk::new();
    let mut bytes = disk.content("segment-000000000001.journal").unwrap();
    bytes[8] = 9;
    let checksum = crc32c::crc32c_append(crc32c::crc32c(&bytes[..40]), RUN);
    bytes[40..44].copy_from_slice(&checksum.to_le_bytes());
    newer.put("segment-000000000001.journal", &bytes);
    assert_eq!(
        other(&newer, RUN),
        "segment-000000000001.journal has format version 9; this program reads up to 2: use the \
         program that wrote it"
    );
}

#[test]
fn a_segment_in_the_place_of_another_is_damage() {
    let disk = MemoryDisk::new();
    drop(filled(&disk, 40, small()));
    let third = disk.content("segment-000000000003.journal").unwrap();
    disk.put("segment-000000000002.journal", &third);
    let error = Journal::open(disk, RUN, small()).unwrap_err().to_string();
    assert!(error.contains("the number of the segment is 3, not 2"), "{error}");
}

#[test]
fn sizes_out_of_range_are_refused_before_anything_changes() {
    let options = Options { max_payload: 10, max_waiting: 100, ..small() };
    let (mut journal, _) = Journal::open(MemoryDisk::new(), RUN, options).unwrap();
    let said = |result: Result<Greeting, JournalError>| result.unwrap_err().to_string();
    assert_eq!(said(journal.greet("", None)), "actor's name has 0 bytes; 1 to 255 are possible");
    assert!(said(journal.greet(&"x".repeat(256), None)).contains("has 256 bytes"));
    journal.greet("a", None).unwrap();
    let large = journal.append(record("a", 1, 1, &[0; 11])).unwrap_err().to_string();
    assert_eq!(large, "payload has 11 bytes; 0 to 10 are possible");
    assert!(matches!(journal.append(record("a", 1, 1, &[0; 10])), Ok(Appended::Uncommitted(_))));
    assert!(matches!(journal.append(record("a", 1, 2, &[0; 10])), Ok(Appended::Uncommitted(_))));
    let error = journal.append(record("a", 1, 3, &[0; 10])).unwrap_err();
    assert!(matches!(error, JournalError::Backlog { max: 100, .. }), "{error}");
    journal.commit().unwrap();
    assert!(matches!(journal.append(record("a", 1, 3, &[0; 10])), Ok(Appended::Uncommitted(_))));
}

#[test]
fn a_folder_on_a_real_disk_has_one_owner_at_a_time() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path().join("journal");
    let open = || Journal::open(FolderDisk::open(&folder)?, RUN, small());
    let (mut journal, opened) = open().unwrap();
    assert_eq!(opened, Opened::default());
    let error = open().unwrap_err().to_string();
    assert!(
        error.ends_with("journal is in use by another process; stop it, or choose another folder")
    );
    journal.greet("a", None).unwrap();
    for sequence in 1..=100 {
        journal.append(record("a", 1, sequence, &payload("a", sequence))).unwrap();
        journal.commit().unwrap();
    }
    journal.release_before(50).unwrap();
    let oldest = journal.oldest_record();
    drop(journal);
    let (journal, opened) = open().unwrap();
    assert!(opened.segments > 2 && opened.cut.is_none(), "{opened:?}");
    assert_eq!((journal.watermark("a"), journal.records()), (Some((1, 100)), 100));
    let mut next = oldest;
    let visited = journal.visit(oldest, |number, found| {
        assert_eq!((number, found.sequence, found.generation), (next, next + 1, Generation(7)));
        assert_eq!(found.payload, payload("a", next + 1));
        next += 1;
        if next == 90 { ControlFlow::Break("stopped") } else { ControlFlow::Continue(()) }
    });
    assert_eq!(visited.unwrap(), Some("stopped"));
}
