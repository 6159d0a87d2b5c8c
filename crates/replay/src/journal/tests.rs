//! Helpers of the journal's tests.

use std::ops::ControlFlow;

use super::*;
use crate::testing::MemoryDisk;

mod basic;
mod crash;
mod cut;
mod damage;
mod purge;
mod space;

const RUN: &[u8] = br#"{"game":"tic_tac_toe"}"#;

fn small() -> Options {
    Options { segment_bytes: 700, ..Options::default() }
}

fn open(disk: &MemoryDisk) -> Journal<MemoryDisk> {
    Journal::open(disk.clone(), RUN, small()).expect("opens").0
}

fn record<'a>(actor: &'a str, epoch: u64, sequence: u64, payload: &'a [u8]) -> Record<'a> {
    Record { actor, epoch, sequence, generation: Generation(7), payload }
}

/// Payload of the record `sequence` of `actor`, with a length from 0 to 60.
fn payload(actor: &str, sequence: u64) -> Vec<u8> {
    let mut payload = format!("{actor}{sequence} ").into_bytes();
    payload.resize(sequence as usize * 7 % 61, b'.');
    payload
}

/// Actor, epoch, sequence and payload of every record from `from` on.
fn all(journal: &Journal<MemoryDisk>, from: u64) -> Vec<(String, u64, u64, Vec<u8>)> {
    let (mut found, mut expected) = (Vec::new(), from);
    let broken = journal.visit(from, |number, record| {
        assert_eq!(number, expected, "records are numbered without holes");
        expected += 1;
        let Record { actor, epoch, sequence, payload, .. } = record;
        found.push((actor.to_owned(), epoch, sequence, payload.to_vec()));
        ControlFlow::<()>::Continue(())
    });
    assert_eq!(broken.expect("reads"), None);
    assert_eq!(expected, journal.records());
    found
}

/// A journal of one actor with `commits` commits of two records each. Every fifth is refused.
fn filled(disk: &MemoryDisk, commits: u64, options: Options) -> Journal<MemoryDisk> {
    let (mut journal, _) = Journal::open(disk.clone(), RUN, options).expect("opens");
    assert_eq!(journal.greet("a", None).unwrap(), Greeting::Issued(1));
    for sequence in 1..=2 * commits {
        let payload = payload("a", sequence);
        if sequence % 5 == 0 {
            journal.refuse(record("a", 1, sequence, b"too late")).unwrap();
        } else {
            journal.append(record("a", 1, sequence, &payload)).unwrap();
        }
        if sequence % 2 == 0 {
            journal.commit().unwrap();
        }
    }
    journal
}
