//! Deduplication: keeps track of decided records, so that no record is decided twice.
//!
//! Every actor has an *epoch*, a number that is issued only once. A new epoch of an actor ends its
//! older ones, and records with an older epoch are rejected. Within an epoch records are numbered
//! 1, 2, 3 …. The *watermark* is the number of the last decided record, accepted or refused. Only
//! the next number is new. A record with a smaller number was decided before. A record with a
//! larger number is rejected, because it would leave a gap that can never be filled.
//!
//! A refusal counts like an acceptance: it raises the watermark and survives restarts. A refused
//! record is therefore not judged again with other weights or by another version of the program.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::bytes::Reader;

/// Maximum number of actors in the state. Beyond this limit the longest silent actor is removed. A
/// removed actor needs a new epoch, because an epoch cannot be issued again.
pub const MAX_ACTORS: usize = 4_096;

/// Relation of a record to the decisions so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The next record of its actor.
    New,
    /// Decided before.
    Duplicate,
    /// A number above the next one.
    Gap {
        /// The next sequence number.
        expected: u64,
    },
    /// From an epoch that has ended, was forgotten or was never issued.
    Fenced {
        /// The current epoch of the actor, if any.
        current: Option<u64>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ActorEntry {
    epoch: u64,
    watermark: u64,
    /// Value of `Dedup::decisions` at this actor's last decision or start of an epoch. The longest
    /// silent actor has the smallest value.
    last: u64,
}

/// The deduplication state: a few numbers for each actor.
#[derive(Clone, Debug, Default)]
pub struct Dedup {
    actors: BTreeMap<Arc<str>, ActorEntry>,
    issued: u64,
    decisions: u64,
}

impl Dedup {
    /// Classifies a record without deciding it.
    pub fn judge(&self, actor: &str, epoch: u64, sequence: u64) -> Verdict {
        match self.actors.get(actor) {
            Some(entry) if entry.epoch == epoch => match entry.watermark + 1 {
                next if sequence == next => Verdict::New,
                next if sequence < next => Verdict::Duplicate,
                expected => Verdict::Gap { expected },
            },
            entry => Verdict::Fenced { current: entry.map(|entry| entry.epoch) },
        }
    }

    /// Epoch and watermark of an actor.
    pub fn watermark(&self, actor: &str) -> Option<(u64, u64)> {
        self.actors.get(actor).map(|entry| (entry.epoch, entry.watermark))
    }

    /// Every actor with its epoch and watermark, the longest silent actor first.
    pub fn watermarks(&self) -> Vec<(&str, u64, u64)> {
        let mut entries: Vec<_> = self.actors.iter().collect();
        entries.sort_by_key(|(_, entry)| entry.last);
        entries.into_iter().map(|(name, entry)| (&**name, entry.epoch, entry.watermark)).collect()
    }

    /// Number of the last issued epoch; 0 before the first. Numbers that a journal has lost are
    /// skipped.
    pub fn issued(&self) -> u64 {
        self.issued
    }

    /// Skips the epochs up to `epoch`, so that none of them is issued again.
    pub(crate) fn skip_to(&mut self, epoch: u64) {
        self.issued = self.issued.max(epoch);
    }

    /// Starts `epoch` for an actor. Returns `false` and changes nothing unless `epoch` is above
    /// all issued epochs.
    pub fn begin(&mut self, actor: &str, epoch: u64) -> bool {
        if epoch <= self.issued {
            return false;
        }
        self.issued = epoch;
        self.decisions += 1;
        let entry = ActorEntry { epoch, watermark: 0, last: self.decisions };
        match self.actors.get_mut(actor) {
            Some(old) => *old = entry,
            None => {
                self.actors.insert(actor.into(), entry);
            }
        }
        if self.actors.len() > MAX_ACTORS {
            let silent = self.actors.iter().min_by_key(|(_, entry)| entry.last);
            if let Some(name) = silent.map(|(name, _)| Arc::clone(name)) {
                self.actors.remove(&name);
            }
        }
        true
    }

    /// The actor that is removed if `actor` starts an epoch: the longest silent one, if the state
    /// is full and does not hold `actor`.
    pub fn forgets(&self, actor: &str) -> Option<&str> {
        if self.actors.len() < MAX_ACTORS || self.actors.contains_key(actor) {
            return None;
        }
        let silent = self.actors.iter().min_by_key(|(_, entry)| entry.last);
        silent.map(|(name, _)| &**name)
    }

    /// Records the decision of a [`Verdict::New`] record. Returns the verdict.
    pub fn decide(&mut self, actor: &str, epoch: u64, sequence: u64) -> Verdict {
        let verdict = self.judge(actor, epoch, sequence);
        if let (Verdict::New, Some(entry)) = (verdict, self.actors.get_mut(actor)) {
            self.decisions += 1;
            *entry = ActorEntry { epoch, watermark: sequence, last: self.decisions };
        }
        verdict
    }

    /// Encodes the state; equal states give equal bytes.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = self.issued.to_le_bytes().to_vec();
        for (name, epoch, watermark) in self.watermarks() {
            bytes.push(name.len() as u8);
            bytes.extend_from_slice(name.as_bytes());
            bytes.extend(epoch.to_le_bytes());
            bytes.extend(watermark.to_le_bytes());
        }
        bytes
    }

    /// Decodes the output of [`encode`](Self::encode); `None` for other bytes.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(bytes);
        let mut dedup = Self { issued: reader.u64()?, ..Self::default() };
        while reader.left() > 0 {
            let length = reader.u8()?;
            let name = std::str::from_utf8(reader.take(usize::from(length))?).ok()?;
            let (epoch, watermark) = (reader.u64()?, reader.u64()?);
            dedup.decisions += 1;
            let entry = ActorEntry { epoch, watermark, last: dedup.decisions };
            let never_issued = epoch == 0 || epoch > dedup.issued;
            if never_issued || watermark == u64::MAX || dedup.actors.len() == MAX_ACTORS {
                return None;
            }
            if dedup.actors.insert(name.into(), entry).is_some() {
                return None;
            }
        }
        Some(dedup)
    }
}

#[cfg(test)]
mod tests;
