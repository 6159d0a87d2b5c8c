//! An edited journal file either opens with an unchanged prefix of the committed entries, or is
//! refused. A journal that opens accepts further entries.
//!
//! Checksums would reject almost every random file. The input is therefore a list of edits to a
//! valid file.
#![no_main]

mod byte_edits;

use std::ops::ControlFlow;
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use ouro_net::Generation;
use ouro_replay::testing::MemoryDisk;
use ouro_replay::{Appended, Greeting, Journal, Options, Record};

const SEGMENT: &str = "segment-000000000001.journal";
const RECORDS: u64 = 24;

fn payload(sequence: u64) -> Vec<u8> {
    // Long enough to fill sectors, with zeros in it.
    vec![(sequence % 3) as u8; sequence as usize * 97 % 900]
}

fn append(journal: &mut Journal<MemoryDisk>, epoch: u64, sequence: u64) -> Appended {
    let payload = payload(sequence);
    let record =
        Record { actor: "a", epoch, sequence, generation: Generation(1), payload: &payload };
    journal.append(record).expect("it fits")
}

/// The bytes of a valid segment.
fn valid_segment() -> &'static [u8] {
    static SEGMENT_BYTES: OnceLock<Vec<u8>> = OnceLock::new();
    SEGMENT_BYTES.get_or_init(|| {
        let disk = MemoryDisk::new();
        let opened = Journal::open(disk.clone(), b"run", Options::default());
        let mut journal = opened.expect("it is new").0;
        assert!(matches!(journal.greet("a", None), Ok(Greeting::Issued(1))));
        for sequence in 1..=RECORDS {
            append(&mut journal, 1, sequence);
            if sequence % 3 == 0 {
                journal.commit().expect("there is space");
            }
        }
        disk.content(SEGMENT).expect("it was just written")
    })
}

fuzz_target!(|input: &[u8]| {
    let mut bytes = valid_segment().to_vec();
    byte_edits::apply(&mut bytes, input);
    let disk = MemoryDisk::new();
    disk.put(SEGMENT, &bytes);
    let Ok((mut journal, _)) = Journal::open(disk, b"run", Options::default()) else { return };

    let records = journal.records();
    let mut next = 0;
    let visited = journal.visit(0, |number, record| {
        next += 1;
        assert_eq!((number + 1, record.sequence), (next, next), "from the start, in order");
        assert_eq!(record.payload, payload(record.sequence), "unchanged");
        ControlFlow::<()>::Continue(())
    });
    assert!(visited.is_ok() && next == records && records <= RECORDS);
    let epoch = match journal.watermark("a") {
        Some((epoch, watermark)) => {
            assert_eq!((epoch, watermark), (1, records));
            epoch
        }
        None => {
            assert!(records == 0 && journal.greet("a", None).is_ok());
            1
        }
    };
    assert_eq!(append(&mut journal, epoch, records + 1), Appended::Uncommitted(Some(records)));
    assert!(journal.commit().is_ok());
});
