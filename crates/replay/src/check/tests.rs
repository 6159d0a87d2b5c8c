//! Tests that the check finds each kind of contradiction.

use std::fs;
use std::path::PathBuf;

use ouro_net::Generation;

use super::*;
use crate::disk::FolderDisk;
use crate::journal::{Greeting, Journal, MAX_ACTORS, Options, Record};
use crate::trajectory::fingerprint;

struct Run {
    _scratch: tempfile::TempDir,
    folder: PathBuf,
    journal: Journal,
    lines: Vec<ClientLine>,
}

fn line(epoch: u64, sequence: u64, payload: &[u8], acked: bool) -> ClientLine {
    let hash = format!("{:016x}", fingerprint(payload));
    ClientLine { actor: "a".into(), epoch, sequence, hash, acked, refused: false }
}

fn id(epoch: u64, sequence: u64) -> RecordId {
    RecordId { actor: "a".into(), epoch, sequence }
}

/// One actor, twelve records, the fifth refused, the last two not acknowledged.
fn run() -> Run {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path().join("journal");
    let disk = FolderDisk::open(&folder).unwrap();
    let options = Options { segment_bytes: 300, ..Options::default() };
    let (mut journal, _) = Journal::open(disk, b"{\"game\":\"x\"}", options).unwrap();
    journal.greet("a", None).unwrap();
    let mut lines = Vec::new();
    for sequence in 1..=12 {
        let payload = format!("record {sequence}").into_bytes();
        let (epoch, generation) = (1, Generation(0));
        let record = Record { actor: "a", epoch, sequence, generation, payload: &payload };
        lines.push(line(1, sequence, &payload, false));
        if sequence == 5 {
            journal.refuse(Record { payload: b"late", ..record }).unwrap();
        } else {
            journal.append(record).unwrap();
        }
        journal.commit().unwrap();
        if sequence <= 10 {
            lines.push(ClientLine { refused: sequence == 5, ..line(1, sequence, &payload, true) });
        }
    }
    Run { _scratch: scratch, folder, journal, lines }
}

#[test]
fn a_sound_run_is_told_in_numbers() {
    let run = run();
    let joined = join(&run.folder, run.lines.clone()).unwrap();
    assert!(joined.is_sound(), "{joined}");
    assert_eq!((joined.sent, joined.acked, joined.released, joined.unknown), (12, 10, 0, 0));
    let inspection = &joined.inspection;
    assert_eq!((inspection.entries, inspection.records.clone()), ([11, 1, 1], 0..11));
    assert_eq!(inspection.watermarks, [("a".to_owned(), 1, 12)]);
    assert!(inspection.segments.len() > 2);
    let said = joined.to_string();
    for expected in [
        "run        {\"game\":\"x\"}\n",
        "segment    segment-000000000001.journal: ",
        "entries    11 accepted, 1 refused, 1 epochs\n",
        "watermark  a: epoch 1, record 12\n",
        "damage     none\n",
        "logs       12 sent, 10 acknowledged, of these 0 released\n",
        "verdict    sound\n",
    ] {
        assert!(said.contains(expected), "{said}");
    }
    // A record that no log mentions is no fault; the log may be lost with its actor.
    let joined = join(&run.folder, run.lines[..4].to_vec()).unwrap();
    assert!(joined.is_sound() && joined.unknown == 10);
}

#[test]
fn everything_that_must_not_be_is_found_and_named() {
    let run = run();
    let found = |change: &dyn Fn(&mut Vec<ClientLine>)| {
        let mut lines = run.lines.clone();
        change(&mut lines);
        let joined = join(&run.folder, lines).unwrap();
        assert!(!joined.is_sound() && joined.to_string().contains("verdict    NOT SOUND"));
        joined.findings
    };
    let lost = found(&|lines| lines.push(line(1, 13, b"never came", true)));
    assert_eq!(lost, [Finding::Lost(id(1, 13))]);
    let lost = found(&|lines| lines.push(line(2, 1, b"another life", true)));
    assert_eq!(lost, [Finding::Lost(id(2, 1))]);
    let changed = found(&|lines| {
        lines.iter_mut().filter(|line| line.sequence == 3).for_each(|line| {
            line.hash = "0123456789abcdef".into();
        });
    });
    assert!(matches!(&changed[..], [Finding::Changed { id, .. }] if id.sequence == 3));
    let reused = found(&|lines| lines.push(line(1, 2, b"something else", true)));
    assert_eq!(reused, [Finding::Reused(id(1, 2))]);
    let disputed = found(&|lines| lines.iter_mut().for_each(|line| line.refused = false));
    assert_eq!(disputed, [Finding::Disputed(id(1, 5))]);
}

#[test]
fn the_same_game_under_two_names_is_found_whatever_the_epoch() {
    let mut run = run();
    assert_eq!(run.journal.greet("a", None).unwrap(), Greeting::Issued(2));
    let again = Record {
        actor: "a",
        epoch: 2,
        sequence: 1,
        generation: Generation(0),
        payload: b"record 7",
    };
    run.journal.append(again).unwrap();
    run.journal.commit().unwrap();
    let joined = join(&run.folder, run.lines).unwrap();
    assert_eq!(joined.findings, [Finding::Repeated(id(2, 1), id(1, 7))]);
    let said = joined.findings[0].to_string();
    assert_eq!(said, "REPEATED: a, epoch 2, record 1 is a, epoch 1, record 7 once more");
}

#[test]
fn a_repeated_game_is_no_finding_once_one_of_the_two_is_purged() {
    let mut run = run();
    for (epoch, actor) in [(2, "b"), (3, "c")] {
        assert_eq!(run.journal.greet(actor, None).unwrap(), Greeting::Issued(epoch));
        let (sequence, generation, payload) = (1, Generation(0), &b"record 7"[..]);
        run.journal.append(Record { actor, epoch, sequence, generation, payload }).unwrap();
        run.journal.commit().unwrap();
    }
    let found = || join(&run.folder, run.lines.clone()).unwrap();
    let of = |actor: &str, epoch| RecordId { actor: actor.into(), epoch, sequence: 1 };
    let (b, c) = (of("b", 2), of("c", 3));
    let both = [Finding::Repeated(b.clone(), id(1, 7)), Finding::Repeated(c.clone(), b)];
    assert_eq!(found().findings, both);
    // The record between the two others is void, and they are still equal.
    run.journal.purge(&["b"], "a test", 7).unwrap();
    assert_eq!(found().findings, [Finding::Repeated(c, id(1, 7))]);
    run.journal.purge(&["a"], "a test", 8).unwrap();
    let joined = join(&run.folder, run.lines).unwrap();
    assert!(joined.is_sound(), "{joined}");
}

#[test]
fn released_records_of_an_actor_that_was_forgotten_are_not_lost() {
    let mut run = run();
    for number in 0..MAX_ACTORS {
        run.journal.greet(&format!("other {number}"), None).unwrap();
    }
    run.journal.commit().unwrap();
    assert_eq!(run.journal.watermark("a"), None);
    // This commit starts a segment, and only that one stays.
    let (sequence, generation, payload) = (1, Generation(0), &b"another"[..]);
    let record = Record { actor: "other 0", epoch: 2, sequence, generation, payload };
    run.journal.append(record).unwrap();
    run.journal.commit().unwrap();
    run.journal.release_before(11).unwrap();
    assert_eq!((run.journal.size().0, run.journal.oldest_record()), (1, 11));
    let mut lines = run.lines;
    let joined = join(&run.folder, lines.clone()).unwrap();
    assert!(joined.is_sound(), "{joined}");
    assert_eq!((joined.acked, joined.released, joined.unknown), (10, 10, 1));
    // An epoch that was issued later, or never, is in no removed segment.
    let never = MAX_ACTORS as u64 + 2;
    lines.push(line(never, 1, b"never came", true));
    let joined = join(&run.folder, lines).unwrap();
    assert_eq!(joined.findings, [Finding::Lost(id(never, 1))]);
}

#[test]
fn records_in_segments_that_are_gone_are_released_not_lost() {
    let mut run = run();
    run.journal.release_before(6).unwrap();
    let oldest = run.journal.oldest_record();
    assert!(oldest > 0);
    let mut lines = run.lines;
    let joined = join(&run.folder, lines.clone()).unwrap();
    assert!(joined.is_sound(), "{joined}");
    assert_eq!((joined.inspection.records.start, joined.acked), (oldest, 10));
    assert!(joined.released as u64 >= oldest);
    lines.push(line(1, 13, b"never came", true));
    let joined = join(&run.folder, lines).unwrap();
    assert_eq!(joined.findings, [Finding::Lost(id(1, 13))]);
}

#[test]
fn damage_is_reported_with_what_could_be_read_before_it() {
    let run = run();
    drop(run.journal);
    let second = run.folder.join(segment_name(2));
    let mut bytes = fs::read(&second).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&second, &bytes).unwrap();
    let joined = join(&run.folder, run.lines).unwrap();
    assert_eq!(joined.inspection.segments.len(), 1);
    assert!(matches!(joined.inspection.damage, Some(JournalError::Damaged { .. })));
    assert!(!joined.is_sound());
    fs::remove_file(&second).unwrap();
    let inspection = inspect(&run.folder, |_, _| {}).unwrap();
    assert!(matches!(inspection.damage, Some(JournalError::Missing { next: 3, .. })));
    assert!(inspect(&run.folder.join("nowhere"), |_, _| {}).is_err());
}

#[test]
fn an_unfinished_write_is_neither_damage_nor_a_loss() {
    let run = run();
    drop(run.journal);
    let last = run.folder.join(segment_name(fs::read_dir(&run.folder).unwrap().count() as u64 - 1));
    let mut bytes = fs::read(&last).unwrap();
    bytes.extend(b"OFRM and no more");
    fs::write(&last, &bytes).unwrap();
    let joined = join(&run.folder, run.lines).unwrap();
    assert!(joined.is_sound() && joined.inspection.torn == 16, "{joined}");
    assert!(joined.to_string().contains("unfinished 16 bytes at the end"));
    // The check has not changed the file.
    assert_eq!(fs::read(&last).unwrap(), bytes);
}
