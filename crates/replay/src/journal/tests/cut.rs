//! Tests of the bytes that a start cuts off the end of the journal.

use super::*;
use crate::disk::SegmentFile;
use crate::testing::{Faults, Survival};

const SEGMENT: &str = "segment-000000000001.journal";

/// Appends bytes to the segment, as an unfinished write leaves them.
fn append_torn(disk: &MemoryDisk, torn: &[u8]) {
    let bytes = [disk.content(SEGMENT).expect("a segment"), torn.to_vec()].concat();
    disk.put(SEGMENT, &bytes);
}

fn cuts(disk: &MemoryDisk) -> Vec<String> {
    disk.names().unwrap().into_iter().filter(|name| name.contains(".cut-")).collect()
}

#[test]
fn a_journal_one_byte_short_keeps_what_is_cut_off_and_names_the_file() {
    let disk = MemoryDisk::new();
    drop(filled(&disk, 3, Options::default()));
    let whole = disk.content(SEGMENT).unwrap();
    let short = whole.len() - 1;
    disk.put(SEGMENT, &whole[..short]);
    let (journal, opened) = Journal::open(disk.clone(), RUN, Options::default()).unwrap();
    assert_eq!((journal.watermark("a"), all(&journal, 0).len()), (Some((1, 4)), 4));
    let said = opened.cut.expect("a cut").to_string();
    let offset = disk.content(SEGMENT).unwrap().len();
    let moved =
        format!("{} bytes from byte {offset} on moved to {SEGMENT}.cut-1; ", short - offset);
    assert!(said.contains(&moved), "{said}");
    let kept = disk.content("segment-000000000001.journal.cut-1").expect("a file");
    assert_eq!(kept, whole[offset..short]);
    drop(journal);
    // The next start reads the journal without it and leaves it alone.
    let (_, opened) = Journal::open(disk.clone(), RUN, Options::default()).unwrap();
    assert_eq!((opened.cut, opened.segments, cuts(&disk).len()), (None, 1, 1));
    // Nothing is lost: with the missing byte, the segment is whole again.
    append_torn(&disk, &[&kept, &whole[short..]].concat());
    let (journal, opened) = Journal::open(disk, RUN, Options::default()).unwrap();
    assert_eq!((journal.watermark("a"), opened.cut), (Some((1, 6)), None));
}

#[test]
fn repeated_cuts_keep_the_newest_files() {
    let disk = MemoryDisk::new();
    drop(filled(&disk, 3, small()));
    for number in 1..=12 {
        append_torn(&disk, format!("OFRM torn {number}").as_bytes());
        drop(open(&disk));
        let mut newest: Vec<_> = (1..=number).rev().take(4).collect();
        newest.sort_by_key(|number| number.to_string());
        let names: Vec<_> = newest.iter().map(|number| format!("{SEGMENT}.cut-{number}")).collect();
        assert_eq!(cuts(&disk), names);
        for (name, number) in names.iter().zip(newest) {
            assert_eq!(disk.content(name), Some(format!("OFRM torn {number}").into_bytes()));
        }
    }
}

#[test]
fn zeros_are_cut_off_without_a_copy() {
    let disk = MemoryDisk::new();
    drop(filled(&disk, 3, small()));
    append_torn(&disk, &[0; 700]);
    let (_, opened) = Journal::open(disk.clone(), RUN, small()).unwrap();
    let said = opened.cut.expect("a cut").to_string();
    assert!(said.contains("700 bytes from byte "), "{said}");
    assert!(said.contains(" on removed, all of them zero; "), "{said}");
    assert_eq!(disk.names().unwrap(), [SEGMENT]);
}

#[test]
fn a_start_without_space_for_the_copy_cuts_nothing() {
    let disk = MemoryDisk::new();
    drop(filled(&disk, 3, small()));
    append_torn(&disk, b"OFRM torn");
    let before = disk.content(SEGMENT).unwrap();
    for free in 0..9 {
        let capacity = Some(before.len() + free);
        disk.set_faults(Faults { capacity, ..Faults::default() });
        let error = Journal::open(disk.clone(), RUN, small()).expect_err("no space");
        assert!(matches!(&error, JournalError::Exhausted { path, .. } if path.contains(".cut-1")));
        assert_eq!(disk.content(SEGMENT), Some(before.clone()));
        assert_eq!(disk.names().unwrap(), [SEGMENT]);
    }
    disk.set_faults(Faults { capacity: Some(before.len() + 9), ..Faults::default() });
    drop(open(&disk));
    assert_eq!(cuts(&disk).len(), 1);
}

#[test]
fn a_crash_at_any_moment_of_a_start_loses_no_byte_that_is_cut_off() {
    let whole = MemoryDisk::new();
    let mut journal = filled(&whole, 3, Options::default());
    let offset = journal.size().1 as usize;
    journal.append(record("a", 1, 7, &[7; 1_500])).unwrap();
    journal.commit().unwrap();
    drop(journal);
    let bytes = whole.content(SEGMENT).unwrap();
    whole.put(SEGMENT, &bytes[..bytes.len() - 1]);
    let torn = &bytes[offset..bytes.len() - 1];
    let finished = whole.copy();
    drop(open(&finished));
    for operation in 0..finished.operations() {
        let disk = whole.copy();
        disk.set_faults(Faults { crash_at: Some(operation), ..Faults::default() });
        Journal::open(disk.clone(), RUN, small()).expect_err("it crashed");
        let random = (0..40).map(|index| {
            let rng = ouro_game::Rng::indexed(operation, "survival", index);
            disk.after_crash(Survival::Some(rng))
        });
        let certain = [Survival::Synced, Survival::All].map(|survival| disk.after_crash(survival));
        for survived in certain.into_iter().chain([disk.after_kill()]).chain(random) {
            drop(open(&survived));
            let copies = cuts(&survived);
            let mut contents = copies.iter().map(|name| survived.content(name).expect("a file"));
            assert!(contents.any(|content| content == torn), "operation {operation}: {copies:?}");
            assert!(survived.content("cut.tmp").is_none(), "operation {operation}");
        }
        // A start that was only killed has copied the bytes once.
        let killed = disk.after_kill();
        drop(open(&killed));
        assert_eq!(cuts(&killed).len(), 1, "operation {operation}");
    }
}

#[test]
fn a_file_that_is_no_cut_is_neither_overwritten_nor_removed() {
    let disk = MemoryDisk::new();
    drop(filled(&disk, 3, small()));
    let others = [".cut-", ".cut-x", ".cut-+1", ".cut-1.bak", ".cut-99999999999"];
    let others = others.map(|ending| format!("{SEGMENT}{ending}"));
    others.iter().for_each(|name| disk.put(name, b"mine"));
    for _ in 0..6 {
        append_torn(&disk, b"OFRM torn");
        let mut file = disk.open(SEGMENT).unwrap();
        // Different bytes at every start.
        let length = file.read().unwrap().len() as u64;
        file.write_at(length, disk.operations().to_string().as_bytes()).unwrap();
        drop(open(&disk));
    }
    for name in &others {
        assert_eq!(disk.content(name).as_deref(), Some(b"mine".as_slice()), "{name}");
    }
    assert_eq!(cuts(&disk).len(), 4 + others.len());
}
