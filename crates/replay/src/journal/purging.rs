//! The step that purges: which records it voids, and its entry.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use ouro_net::Generation;

use super::error::JournalError;
use super::format::Kind;
use super::purge::{Purge, RecordCount};
use super::{Decision, Journal, MAX_ACTOR_BYTES, Record};
use crate::disk::Disk;

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
