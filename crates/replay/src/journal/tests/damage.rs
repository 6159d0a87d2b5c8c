//! Tests with every truncation of a 4 KiB sample and every flip of a bit or byte.

use super::*;

/// A journal of one segment of at least 4 KiB, with the offsets of the ends of its commits.
fn sample() -> (Vec<u8>, Vec<usize>) {
    let mut ends = Vec::new();
    loop {
        let (disk, commits) = (MemoryDisk::new(), ends.len() as u64 + 1);
        let bytes = filled(&disk, commits, Options::default()).size().1 as usize;
        ends.push(bytes);
        if bytes >= 4 << 10 {
            return (disk.content("segment-000000000001.journal").unwrap(), ends);
        }
    }
}

fn open_bytes(bytes: &[u8]) -> Result<(Journal<MemoryDisk>, Opened), JournalError> {
    let disk = MemoryDisk::new();
    disk.put("segment-000000000001.journal", bytes);
    Journal::open(disk, RUN, Options::default())
}

#[test]
fn a_segment_cut_at_any_byte_keeps_every_whole_commit_or_is_refused_by_name() {
    let (bytes, ends) = sample();
    let (empty, _) = Journal::open(MemoryDisk::new(), RUN, Options::default()).unwrap();
    let start = empty.size().1 as usize;
    for cut in 0..=bytes.len() {
        match open_bytes(&bytes[..cut]) {
            Ok((mut journal, opened)) => {
                assert!(cut >= start, "cut at {cut}");
                let commits = ends.iter().filter(|&&end| end <= cut).count();
                let kept = if commits == 0 { start } else { ends[commits - 1] };
                assert_eq!(journal.size().1 as usize, kept, "cut at {cut}");
                let cut_off = opened.cut.map_or(0, |cut| {
                    assert_eq!(cut.offset as usize, kept);
                    let said = cut.to_string();
                    assert!(said.starts_with("segment-000000000001.journal: the last write"));
                    assert!(said.contains(&format!("{} bytes from byte {kept} on", cut.bytes)));
                    cut.bytes
                });
                assert_eq!(cut_off as usize, cut - kept);
                let watermark = 2 * commits as u64;
                let expected = (commits > 0).then_some((1, watermark));
                assert_eq!(journal.watermark("a"), expected, "cut at {cut}");
                let found = all(&journal, 0);
                let records = (1..=watermark).filter(|sequence| sequence % 5 != 0);
                assert!(found.iter().map(|found| found.2).eq(records));
                // The journal accepts further records.
                if commits > 0 {
                    let more = journal.append(record("a", 1, watermark + 1, b"more")).unwrap();
                    assert!(matches!(more, Appended::Uncommitted(Some(_))));
                    journal.commit().unwrap();
                }
            }
            // Header and snapshot are synced before the rename, so no crash cuts them.
            Err(JournalError::Damaged { path, offset, .. }) => {
                assert!(cut < start, "cut at {cut}");
                assert!(offset as usize <= cut && path.starts_with("segment-"), "cut at {cut}");
            }
            Err(error) => panic!("cut at {cut}: {error}"),
        }
    }
}

#[test]
fn every_flipped_bit_is_found_and_its_place_named() {
    let (bytes, ends) = sample();
    let (mut flipped, start) = (bytes.clone(), 44 + RUN.len());
    for (byte, mask) in (0..bytes.len()).flat_map(|byte| (0..9).map(move |bit| (byte, bit))) {
        let mask = if mask == 8 { 0xff } else { 1 << mask };
        flipped[byte] ^= mask;
        match open_bytes(&flipped) {
            Err(JournalError::Damaged { offset, expected, found, what, .. }) => {
                // The reported offset lies in the same commit or header.
                let offset = offset as usize;
                let unit = |at: usize| match at {
                    at if at < start => 0,
                    at => 1 + ends.iter().filter(|&&end| end <= at).count(),
                };
                let place = format!("byte {byte} ^ {mask:#x}: named {offset}");
                assert!(unit(offset) == unit(byte) || unit(byte) == 0, "{place}");
                assert!(expected != found && !what.is_empty(), "{place}");
            }
            Ok((_, opened)) => panic!("byte {byte} ^ {mask:#x} opened: {opened:?}"),
            Err(error) => panic!("byte {byte} ^ {mask:#x}: {error}"),
        }
        flipped[byte] ^= mask;
    }
}

#[test]
fn a_lost_sector_of_the_last_commit_is_cut_and_one_of_an_older_commit_refused() {
    let disk = MemoryDisk::new();
    let (mut journal, _) = Journal::open(disk.clone(), RUN, Options::default()).unwrap();
    journal.greet("a", None).unwrap();
    let mut ends = Vec::new();
    for sequence in 1..=4 {
        journal.append(record("a", 1, sequence, &[b'.'; 1_500])).unwrap();
        journal.commit().unwrap();
        ends.push(journal.size().1 as usize);
    }
    let bytes = disk.content("segment-000000000001.journal").unwrap();
    let last = ends[2];
    for sector in 0..bytes.len().div_ceil(512) {
        // A sector that a crash did not write holds the synced bytes, followed by zeros.
        for from in [ends[0], ends[1], last] {
            let (start, end) = ((sector * 512).max(from), ((sector + 1) * 512).min(bytes.len()));
            if start >= end {
                continue;
            }
            let mut lost = bytes.clone();
            lost[start..end].fill(0);
            match open_bytes(&lost) {
                Ok((journal, _)) => {
                    assert!(start >= last, "sector {sector}");
                    assert_eq!(journal.size().1 as usize, last);
                }
                Err(JournalError::Damaged { .. }) => assert!(start < last, "sector {sector}"),
                Err(error) => panic!("{error}"),
            }
        }
    }
    // The file has grown, but none of the new bytes were written.
    let mut grown = bytes[..last].to_vec();
    grown.resize(bytes.len() + 3_000, 0);
    let (journal, opened) = open_bytes(&grown).unwrap();
    assert_eq!(journal.size().1 as usize, last);
    assert_eq!(opened.cut.map(|cut| cut.bytes), Some((bytes.len() + 3_000 - last) as u64));
}

#[test]
fn damage_in_a_segment_that_is_not_the_last_is_refused_even_at_its_end() {
    let disk = MemoryDisk::new();
    drop(filled(&disk, 40, small()));
    let name = "segment-000000000002.journal";
    let bytes = disk.content(name).unwrap();
    for cut in (0..bytes.len()).step_by(13).chain([bytes.len() - 1]) {
        let damaged = disk.copy();
        damaged.put(name, &bytes[..cut]);
        let error = Journal::open(damaged, RUN, small()).unwrap_err();
        assert!(matches!(&error, JournalError::Damaged { path, .. } if path.contains("0002")));
    }
    // A cut between two commits leaves valid bytes, but contradicts the next segment's header.
    let damaged = disk.copy();
    let (journal, _) = Journal::open(disk, RUN, small()).unwrap();
    drop(journal);
    let last = bytes.len() - bytes.windows(4).rev().position(|four| four == b"OFRM").unwrap() - 4;
    damaged.put(name, &bytes[..last]);
    let error = Journal::open(damaged, RUN, small()).unwrap_err().to_string();
    assert!(error.contains("0003.journal is damaged at byte 24: the first commit is"), "{error}");
}

#[test]
fn a_whole_commit_of_another_number_is_damage_even_at_the_end() {
    let (bytes, ends) = sample();
    let offset = ends[ends.len() - 2];
    let at = FramePlace { segment: 1, offset };
    for commit in [0, ends.len() as u64 - 1, ends.len() as u64 + 1] {
        let mut frame = vec![0; FRAME_BYTES];
        seal_frame(&mut frame, at, commit, 0);
        let error = open_bytes(&[&bytes[..offset], &frame].concat()).unwrap_err().to_string();
        let said = format!("the number of a commit is {commit}, not {}", ends.len());
        assert!(error.contains(&said), "{error}");
    }
}

#[test]
fn noise_never_panics() {
    let mut stream = ouro_game::Rng::new(11, "noise");
    let (bytes, _) = sample();
    for _ in 0..2_000 {
        let mut noise = bytes.clone();
        for _ in 0..=stream.below(8) {
            let at = stream.below(noise.len() as u32) as usize;
            let count = (stream.below(40) as usize).min(noise.len() - at);
            noise[at..at + count].fill_with(|| stream.bits() as u8);
        }
        noise.truncate(stream.below(bytes.len() as u32 + 1) as usize);
        let _ = open_bytes(&noise);
    }
}
