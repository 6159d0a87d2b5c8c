//! Purges: the records of an actor become void, in place.
//!
//! The journal is append-only, and training states refer to records by their numbers. A purge
//! therefore removes nothing. It appends an entry: all records of an actor below a number are void.
//! Readers keep void records in place and draw none of their positions, so numbers and counts stay. The
//! decisions about the records stay too, so a purged record that is sent again is a duplicate.
//!
//! A purge follows the records that it voids. Segments are removed oldest first, so a purge outlives
//! these records.

use std::fmt;

use super::format::Entry;
use crate::bytes::Reader;

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

    pub(super) fn payload(&self) -> Vec<u8> {
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

/// The records of an actor that a journal holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordCount {
    /// Records that may be trained on.
    pub valid: u64,
    /// Purged records.
    pub void: u64,
}
