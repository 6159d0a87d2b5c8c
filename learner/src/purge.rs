//! Purging the games of an actor from the journal of a stopped learner.
//!
//! The games stay in the journal and become void, see [`Journal::purge`]. From the next start on,
//! whatever training state it resumes from, training uses none of them.

use std::collections::BTreeMap;
use std::path::Path;

use ouro_replay::check::inspect;
use ouro_replay::journal::Options;
use ouro_replay::{FolderDisk, Journal, JournalError, Purge, RecordCount};

use crate::journal_writer::JOURNAL;

/// The journal of a stopped learner. While the value exists, the learner cannot start.
#[derive(Debug)]
pub struct StoppedJournal {
    /// `None` without a segment, as after a first start on a full disk.
    journal: Option<Journal>,
    games: BTreeMap<String, RecordCount>,
}

impl StoppedJournal {
    /// Opens the journal of the learner in `directory`. An unfinished write at its end is cut off, as
    /// at a start.
    pub fn open(directory: &Path) -> Result<Self, JournalError> {
        let folder = directory.join(JOURNAL);
        let disk = FolderDisk::open(&folder)?;
        let inspection = inspect(&folder, |_, _| {})?;
        if let Some(damage) = inspection.damage {
            return Err(damage);
        }
        if inspection.segments.is_empty() {
            // A journal without a segment names no run, and opening it would make one for no run.
            return Ok(Self { journal: None, games: BTreeMap::new() });
        }
        let identity = inspection.identity.as_bytes();
        let (journal, _) = Journal::open(disk, identity, Options::default())?;
        let games = journal.record_counts()?;
        Ok(Self { journal: Some(journal), games })
    }

    /// The games that the journal holds, by actor.
    pub fn games(&self) -> &BTreeMap<String, RecordCount> {
        &self.games
    }

    /// The purges so far, oldest first. A purge is forgotten with the games that it covers.
    pub fn purges(&self) -> &[Purge] {
        self.journal.as_ref().map_or(&[], Journal::purges)
    }

    /// Makes all games of `actors` void, durably and all at once. `by` names who does this, and `at` is
    /// the time in seconds since 1970. Returns the purges; actors without games have none.
    pub fn purge(
        &mut self,
        actors: &[&str],
        by: &str,
        at: u64,
    ) -> Result<Vec<Purge>, JournalError> {
        let Some(journal) = &mut self.journal else { return Ok(Vec::new()) };
        let purges = journal.purge(actors, by, at)?;
        self.games = journal.record_counts()?;
        Ok(purges)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_without_a_segment_has_no_games_and_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join(JOURNAL)).unwrap();
        let mut stopped = StoppedJournal::open(folder.path()).unwrap();
        assert!(stopped.games().is_empty() && stopped.purges().is_empty());
        assert_eq!(stopped.purge(&["a"], "test", 0).unwrap(), []);
        drop(stopped);
        let disk = FolderDisk::open(&folder.path().join(JOURNAL)).unwrap();
        let (journal, _) = Journal::open(disk, b"run", Options::default()).unwrap();
        assert_eq!(journal.records(), 0);
    }
}
