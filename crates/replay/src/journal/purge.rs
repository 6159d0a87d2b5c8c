//! Purges: the records of an actor become void, in place.
//!
//! The journal is append-only, and training states refer to records by their numbers. A purge
//! therefore removes nothing. It appends an entry: all records of an actor below a number are void.
//! Readers keep void records in place and draw none of their positions, so numbers and counts stay. The
//! decisions about the records stay too, so a purged record that is sent again is a duplicate.
//!
//! A purge follows the records that it voids. Segments are removed oldest first, so a purge outlives
//! these records.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::ControlFlow;

use ouro_net::Generation;

use super::error::JournalError;
use super::format::{Entry, Kind};
use super::{Decision, Journal, MAX_ACTOR_BYTES, Record};
use crate::bytes::Reader;
use crate::disk::Disk;

/// The note of a purge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Purge {
    /// The actor whose records are void.
    pub actor: String,
    /// Records of the actor with a number below this one are void.
    pub before: u64,
    /// Records that the journal held and that this purge made void.
    pub records: u64,
    /// Seconds since 1970.
    pub at: u64,
    /// Who purged them.
    pub by: String,
}

impl Purge {
    /// Decodes a purge; `None` for a payload that no journal writes.
    pub(crate) fn decode(entry: &Entry<'_>) -> Option<Self> {
        let mut reader = Reader::new(entry.payload);
        let (before, records, at) = (reader.u64()?, reader.u64()?, reader.u64()?);
        let by = std::str::from_utf8(reader.take(reader.left())?).ok()?.to_owned();
        Some(Self { actor: entry.actor.to_owned(), before, records, at, by })
    }

    fn payload(&self) -> Vec<u8> {
        let numbers = [self.before, self.records, self.at].map(u64::to_le_bytes);
        [numbers.as_flattened(), self.by.as_bytes()].concat()
    }

    /// Whether the purge makes the record `number` of `actor` void.
    pub fn covers(&self, actor: &str, number: u64) -> bool {
        self.actor == actor && number < self.before
    }
}

impl fmt::Display for Purge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { actor, before, records, at, by } = self;
        write!(f, "{records} games of {actor} before number {before}, by {by}, at Unix time {at}")
    }
}

impl<D: Disk> Journal<D> {
    /// Makes all records of `actors` void, durably and in one commit. Returns the purges, without
    /// actors that have no record that is not void yet.
    ///
    /// `by` names who does this, and `at` is the time in seconds since 1970. The call first commits
    /// the uncommitted entries. After [`JournalError::Exhausted`], nothing or all becomes void with the
    /// next commit.
    pub fn purge(
        &mut self,
        actors: &[&str],
        by: &str,
        at: u64,
    ) -> Result<Vec<Purge>, JournalError> {
        if by.len() > MAX_ACTOR_BYTES {
            let (what, found) = ("name of who purges", by.len());
            return Err(JournalError::Size { what, found, min: 0, max: MAX_ACTOR_BYTES });
        }
        self.commit()?;
        let counts = self.record_counts()?;
        let mut purges = Vec::new();
        for (actor, count) in &counts {
            if actors.contains(&actor.as_str()) && count.valid > 0 {
                let (actor, by) = (actor.clone(), by.to_owned());
                purges.push(Purge { actor, before: self.records, records: count.valid, at, by });
            }
        }
        for purge in &purges {
            self.check(&purge.actor, 0)?;
            let (actor, payload) = (purge.actor.as_str(), purge.payload());
            let generation = Generation(0);
            let entry = Record { actor, epoch: 0, sequence: 0, generation, payload: &payload };
            self.push(Kind::Purge, entry);
            self.decisions.push(Decision::Purge(purge.clone()));
        }
        self.commit()?;
        Ok(purges)
    }

    /// The purges on disk whose segments are still there, oldest first.
    pub fn purges(&self) -> &[Purge] {
        &self.purges
    }

    /// Whether a purge has made the record `number` of `actor` void.
    pub fn is_void(&self, actor: &str, number: u64) -> bool {
        self.purges.iter().any(|purge| purge.covers(actor, number))
    }

    /// The committed records that the journal holds, by actor. Reads the complete journal.
    pub fn record_counts(&self) -> Result<BTreeMap<String, RecordCount>, JournalError> {
        let mut counts = BTreeMap::<String, RecordCount>::new();
        self.visit(self.oldest_record(), |number, record| {
            let count = match counts.get_mut(record.actor) {
                Some(count) => count,
                None => counts.entry(record.actor.to_owned()).or_default(),
            };
            match self.is_void(record.actor, number) {
                true => count.void += 1,
                false => count.valid += 1,
            }
            ControlFlow::<()>::Continue(())
        })?;
        Ok(counts)
    }

    /// Whether the next commit contains a purge.
    pub(super) fn has_waiting_purge(&self) -> bool {
        self.decisions.iter().any(|decision| matches!(decision, Decision::Purge(_)))
    }
}

/// The records of an actor that a journal holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordCount {
    /// Records that may be trained on.
    pub valid: u64,
    /// Purged records.
    pub void: u64,
}
