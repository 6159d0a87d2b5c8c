//! What has been decided, so that nothing is decided twice.
//!
//! Every actor lives under an *epoch*, a number that is issued once and never again. A new
//! epoch of an actor ends its older ones: whoever still uses one is a leftover and is turned
//! away. Within an epoch records are numbered 1, 2, 3 …, and the *watermark* is the last
//! number decided, accepted or refused. Only the next number is news; a smaller one was decided
//! before, a larger one would leave a gap that nobody could fill later.
//!
//! A refusal counts like an acceptance: it raises the watermark, is journalled and survives
//! restarts, so a refused record is not judged again by other weights or another program.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::bytes::Reader;

/// Actors remembered at most. Beyond it the one that has been silent longest is forgotten: it
/// needs a new epoch to go on, because old numbers are never issued again.
pub const MAX_ACTORS: usize = 4_096;

/// What a record would be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The next one of its actor.
    New,
    /// Decided before.
    Duplicate,
    /// Not the next one.
    Gap {
        /// The sequence number that is due.
        expected: u64,
    },
    /// From a life of the actor that is over, was forgotten or never began.
    Fenced {
        /// The epoch that the actor lives under, if any.
        current: Option<u64>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Life {
    epoch: u64,
    watermark: u64,
    /// Counts decisions, to know who has been silent longest.
    last: u64,
}

/// The state of deduplication: a few numbers for each actor.
#[derive(Clone, Debug, Default)]
pub struct Dedup {
    actors: BTreeMap<Arc<str>, Life>,
    issued: u64,
    decisions: u64,
}

impl Dedup {
    /// What a record would be.
    pub fn judge(&self, actor: &str, epoch: u64, sequence: u64) -> Verdict {
        match self.actors.get(actor) {
            Some(life) if life.epoch == epoch => match life.watermark + 1 {
                next if sequence == next => Verdict::New,
                next if sequence < next => Verdict::Duplicate,
                expected => Verdict::Gap { expected },
            },
            life => Verdict::Fenced { current: life.map(|life| life.epoch) },
        }
    }

    /// Epoch and watermark of an actor.
    pub fn watermark(&self, actor: &str) -> Option<(u64, u64)> {
        self.actors.get(actor).map(|life| (life.epoch, life.watermark))
    }

    /// Every actor with its epoch and watermark, the longest silent first.
    pub fn watermarks(&self) -> Vec<(&str, u64, u64)> {
        let mut lives: Vec<_> = self.actors.iter().collect();
        lives.sort_by_key(|(_, life)| life.last);
        lives.into_iter().map(|(name, life)| (&**name, life.epoch, life.watermark)).collect()
    }

    /// Epochs issued so far: the last one's number.
    pub fn issued(&self) -> u64 {
        self.issued
    }

    /// Begins a life of an actor under `epoch`, which must be above all issued before; `false`
    /// and no change if it is not.
    pub fn begin(&mut self, actor: &str, epoch: u64) -> bool {
        if epoch <= self.issued {
            return false;
        }
        self.issued = epoch;
        self.decisions += 1;
        let life = Life { epoch, watermark: 0, last: self.decisions };
        match self.actors.get_mut(actor) {
            Some(old) => *old = life,
            None => {
                self.actors.insert(actor.into(), life);
            }
        }
        if self.actors.len() > MAX_ACTORS {
            let silent = self.actors.iter().min_by_key(|(_, life)| life.last);
            if let Some(name) = silent.map(|(name, _)| Arc::clone(name)) {
                self.actors.remove(&name);
            }
        }
        true
    }

    /// Takes a record as decided, if it is [`Verdict::New`]; says what it was.
    pub fn decide(&mut self, actor: &str, epoch: u64, sequence: u64) -> Verdict {
        let verdict = self.judge(actor, epoch, sequence);
        if let (Verdict::New, Some(life)) = (verdict, self.actors.get_mut(actor)) {
            self.decisions += 1;
            *life = Life { epoch, watermark: sequence, last: self.decisions };
        }
        verdict
    }

    /// The state as bytes: equal states give equal bytes.
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

    /// The state that [`encode`](Self::encode) gave, or nothing for other bytes.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(bytes);
        let mut dedup = Self { issued: reader.u64()?, ..Self::default() };
        while reader.left() > 0 {
            let length = reader.u8()?;
            let name = std::str::from_utf8(reader.take(usize::from(length))?).ok()?;
            let (epoch, watermark) = (reader.u64()?, reader.u64()?);
            dedup.decisions += 1;
            let life = Life { epoch, watermark, last: dedup.decisions };
            let never_issued = epoch == 0 || epoch > dedup.issued;
            if never_issued || watermark == u64::MAX || dedup.actors.len() == MAX_ACTORS {
                return None;
            }
            if dedup.actors.insert(name.into(), life).is_some() {
                return None;
            }
        }
        Some(dedup)
    }
}

#[cfg(test)]
mod tests;
