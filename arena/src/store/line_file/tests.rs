//! Appends, damage of every byte, crashes and full disks.

use ouro_game::Rng;
use ouro_replay::testing::{Faults, MemoryDisk, Survival};

use super::*;

const NAME: &str = "lines";

/// Opens the file and returns it with its lines.
fn open(
    disk: &MemoryDisk,
) -> Result<(LineFile<ouro_replay::testing::MemoryFile>, Vec<String>), StoreError> {
    let mut seen = Vec::new();
    let file = LineFile::open(disk, NAME, |number, text| {
        assert_eq!(number, seen.len() as u64);
        seen.push(text.to_owned());
        Ok(())
    })?;
    Ok((file, seen))
}

/// A disk with lines of several lengths, and their texts.
fn filled(count: u32) -> (MemoryDisk, Vec<String>) {
    let disk = MemoryDisk::new();
    let (mut file, _) = open(&disk).unwrap();
    let texts: Vec<String> =
        (0..count).map(|n| format!("{{\"n\":{}}}", "7".repeat(n as usize * 40 + 1))).collect();
    for (number, text) in (0..).zip(&texts) {
        assert_eq!(file.append(text).unwrap(), number);
    }
    (disk, texts)
}

#[test]
fn lines_are_read_back_in_any_range() {
    let (disk, texts) = filled(5);
    let (mut file, seen) = open(&disk).unwrap();
    assert_eq!((file.len(), &seen), (5, &texts));
    for (first, limit) in [(0, 5), (0, 1), (2, 2), (4, 100), (5, 1), (99, 1), (0, 0)] {
        let expected: Vec<_> = texts.iter().skip(first).take(limit).cloned().collect();
        assert_eq!(file.read(first as u64, limit).unwrap(), expected, "{first} {limit}");
    }
}

#[test]
fn a_changed_byte_is_named_with_its_line_and_never_read() {
    let (disk, texts) = filled(4);
    let content = disk.content(NAME).unwrap();
    let line_of =
        |byte: usize| content[..byte].iter().filter(|&&byte| byte == b'\n').count() as u64;
    for byte in 0..content.len() {
        for bit in [0, 3, 6] {
            let mut changed = content.clone();
            changed[byte] ^= 1 << bit;
            let disk = disk.copy();
            disk.put(NAME, &changed);
            match open(&disk) {
                Err(StoreError::Damaged { entry, .. }) => {
                    assert_eq!(entry, line_of(byte), "{byte}")
                }
                // Without its newline the last line is complete, or incomplete as after a crash.
                Ok((file, seen)) => {
                    assert_eq!(byte, content.len() - 1, "{byte} {bit}");
                    assert_eq!(seen, texts[..seen.len()]);
                    assert_eq!(file.len(), 3);
                }
                Err(error) => panic!("{byte}: {error}"),
            }
        }
    }
}

#[test]
fn a_lost_a_repeated_and_a_moved_line_are_damage() {
    let (disk, _) = filled(4);
    let content = disk.content(NAME).unwrap();
    let lines: Vec<&[u8]> = content.split_inclusive(|&byte| byte == b'\n').collect();
    for (order, damaged) in
        [(vec![0, 2, 3], 1), (vec![1, 2, 3], 0), (vec![0, 1, 1, 2, 3], 2), (vec![0, 2, 1, 3], 1)]
    {
        let disk = disk.copy();
        disk.put(NAME, &order.iter().flat_map(|&line| lines[line]).copied().collect::<Vec<_>>());
        let error = open(&disk).unwrap_err();
        assert!(matches!(error, StoreError::Damaged { entry, .. } if entry == damaged), "{error}");
    }
}

#[test]
fn a_file_cut_anywhere_keeps_its_whole_lines_and_the_cut_bytes() {
    let (disk, texts) = filled(3);
    let content = disk.content(NAME).unwrap();
    for length in 0..content.len() {
        let disk = disk.copy();
        disk.put(NAME, &content[..length]);
        let first = content.iter().position(|&byte| byte == b'\n').unwrap();
        if (1..first).contains(&length) {
            assert!(matches!(open(&disk).unwrap_err(), StoreError::Damaged { entry: 0, .. }));
            continue;
        }
        let (mut file, seen) = open(&disk).unwrap();
        assert_eq!(seen, texts[..seen.len()]);
        let whole = content[..length].iter().filter(|&&byte| byte == b'\n').count();
        // A line that lacks nothing but its newline is whole.
        assert!(seen.len() == whole || content[length] == b'\n' && seen.len() == whole + 1);
        let start =
            content[..length].iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        if seen.len() == whole && start < length {
            assert_eq!(disk.content("lines.cut-0").unwrap(), content[start..length]);
        }
        file.append("more").unwrap();
        assert_eq!(open(&disk).unwrap().1.last().unwrap(), "more");
    }
}

#[test]
fn the_last_cuts_are_kept() {
    let (disk, _) = filled(1);
    for _ in 0..9 {
        let mut content = disk.content(NAME).unwrap();
        content.extend(b"half a l");
        disk.put(NAME, &content);
        open(&disk).unwrap();
    }
    let mut names = disk.names().unwrap();
    names.sort();
    assert_eq!(names, ["lines", "lines.cut-5", "lines.cut-6", "lines.cut-7", "lines.cut-8"]);
}

#[test]
fn a_full_disk_refuses_the_line_and_accepts_it_later() {
    let (disk, mut texts) = filled(2);
    let (mut file, _) = open(&disk).unwrap();
    let length = disk.content(NAME).unwrap().len();
    let line = format_line(2, "a line that does not fit").len();
    for room in 0..line {
        disk.set_faults(Faults { capacity: Some(length + room), ..Faults::default() });
        let error = file.append("a line that does not fit").unwrap_err();
        assert!(matches!(error, StoreError::Exhausted { .. }), "{error}");
        assert_eq!(disk.content(NAME).unwrap().len(), length, "the space is free again");
        assert_eq!(file.len(), 2);
    }
    disk.set_faults(Faults { short_write: Some(3), ..Faults::default() });
    file.append("a line that does not fit").unwrap();
    texts.push("a line that does not fit".into());
    assert_eq!(open(&disk).unwrap().1, texts);
}

#[test]
fn a_line_whose_sync_failed_is_replaced_by_the_next_one() {
    let (disk, mut texts) = filled(2);
    let (mut file, _) = open(&disk).unwrap();
    disk.set_faults(Faults { sync_fails: true, ..Faults::default() });
    assert!(matches!(file.append("never").unwrap_err(), StoreError::Io { .. }));
    disk.set_faults(Faults::default());
    file.append("at last").unwrap();
    texts.push("at last".into());
    assert_eq!(open(&disk.after_crash(Survival::Synced)).unwrap().1, texts);
}

#[test]
fn no_crash_loses_an_acknowledged_line() {
    for crash_at in 0..30 {
        let (disk, mut texts) = filled(2);
        let (mut file, _) = open(&disk).unwrap();
        let at = Some(disk.operations() + crash_at);
        disk.set_faults(Faults { crash_at: at, short_write: Some(350), ..Faults::default() });
        let mut attempted = texts.clone();
        for n in 0..8 {
            let text = format!("{n}").repeat(300);
            attempted.push(text.clone());
            if file.append(&text).is_err() {
                break;
            }
            texts.push(text);
        }
        for round in 0..12 {
            let survival = match round {
                0 => Survival::Synced,
                1 => Survival::All,
                _ => Survival::Some(Rng::indexed(3, "test", 100 * crash_at + round)),
            };
            let (_, seen) = open(&disk.after_crash(survival)).unwrap();
            assert!(seen.len() >= texts.len(), "{crash_at}: {} of {}", seen.len(), texts.len());
            assert_eq!(seen, attempted[..seen.len()]);
        }
    }
}

/// Before, an entry that a killed process had written and not synced was visited and could be lost later.
#[test]
fn what_is_visited_after_a_kill_survives_a_loss_of_power() {
    for crash_at in 0..12 {
        let (disk, _) = filled(2);
        let (mut file, _) = open(&disk).unwrap();
        let at = Some(disk.operations() + crash_at);
        disk.set_faults(Faults { crash_at: at, ..Faults::default() });
        for n in 0..4 {
            if file.append(&format!("{n}").repeat(50)).is_err() {
                break;
            }
        }
        // The next process finds all writes of the last one, synced or not.
        let killed = disk.after_kill();
        let (_, seen) = open(&killed).unwrap();
        let (_, later) = open(&killed.after_crash(Survival::Synced)).unwrap();
        assert_eq!(later, seen, "{crash_at}");
    }
}

#[test]
fn a_changed_newline_of_the_last_line_is_damage_and_not_an_interrupted_write() {
    let line = format_line(0, "{}") + &format_line(1, "{\"a\":1}");
    for end in [0x0b, b' ', b'0'] {
        let mut file = line.clone().into_bytes();
        *file.last_mut().unwrap() = end;
        assert_eq!(intact(&file), Err((1, format_line(0, "{}").len() as u64)), "{end}");
    }
    // Without its newline the line is whole; with a zero in its place the write was interrupted.
    let without = line.trim_end().as_bytes();
    assert!(intact(without).is_ok_and(|found| found.lacks_newline));
}
