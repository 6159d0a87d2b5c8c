//! The journal of accepted and refused games.
//!
//! The journal is append-only and checksummed. Entries are synced before they are acknowledged.
//!
//! ```text
//! greet               an epoch for an actor that connects
//! append, refuse, …   judged and kept in memory
//! commit              one write and one sync; acknowledgements may follow
//! visit               every accepted record from a number on, to refill a window
//! purge               voids the earlier records of an actor, in place
//! release_before      removes segments that no training state needs any more
//! ```
//!
//! The caller acknowledges [`Journal::watermark`] after a commit, never more. The deduplication
//! state ([`Dedup`]) follows from the entries. A record and its decision therefore reach the disk
//! together or not at all. Each segment starts with a snapshot of the deduplication state, so
//! removing earlier segments loses none of it.
//!
//! Opening cuts an unfinished write off the end. Its bytes stay in a file beside the segment,
//! because a file that lost acknowledged bytes looks the same.
//!
//! If the disk is full, a commit fails with [`JournalError::Exhausted`]. The partial write is cut
//! off, the entries stay in memory, and the commit may be repeated. If a sync fails, the handle
//! is unusable ([`JournalError::Fatal`]): the content of the disk is unknown, and a second sync
//! may report success for lost bytes.

use std::io;

pub use cut::Cut;
pub use dedup::{Dedup, MAX_ACTORS, Verdict};
pub use error::JournalError;
pub use format::{Entry, FORMAT_VERSION, Kind};
pub use group_commit::{Due, GroupCommit, Policy};
pub use open::Opened;
pub use purge::{Purge, RecordCount};

use ouro_net::Generation;

use crate::disk::{Disk, FolderDisk, SegmentFile, is_exhausted, write_all};
use format::{FRAME_BYTES, FramePlace, seal_frame};
use segments::Segment;

mod cut;
mod dedup;
pub(crate) mod error;
pub(crate) mod format;
mod group_commit;
pub(crate) mod open;
mod purge;
mod purging;
pub(crate) mod scan;
pub(crate) mod segment_name;
pub(crate) mod segments;
mod visit;

/// Longest name of an actor, in bytes. An entry stores the length in one byte.
pub const MAX_ACTOR_BYTES: usize = 255;
/// Longest identity of a run, in bytes.
pub const MAX_IDENTITY_BYTES: usize = 1 << 20;
/// Most epochs that a journal is believed to have lost. Each claim of a caller raises the numbers by
/// no more, so 2^48 claims would be needed to use them up.
pub const MAX_LOST_EPOCHS: u64 = 1 << 16;

/// Size limits of a journal, in bytes. They may differ each time the journal is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Size from which a segment takes no further commit. Opening and visiting read one segment
    /// at a time into memory.
    pub segment_bytes: u64,
    /// Longest payload of an entry.
    pub max_payload: usize,
    /// Bytes of uncommitted entries from which appending is refused.
    pub max_waiting: usize,
}

impl Default for Options {
    /// Segments of 32 MiB, payloads of 1 MiB, 64 MiB of uncommitted entries.
    fn default() -> Self {
        Self { segment_bytes: 32 << 20, max_payload: 1 << 20, max_waiting: 64 << 20 }
    }
}

/// A record to append, or one that [`Journal::visit`] reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// The actor's name.
    pub actor: &'a str,
    /// Epoch of the actor.
    pub epoch: u64,
    /// Sequence number in the epoch, from 1.
    pub sequence: u64,
    /// Generation of the weights that played it.
    pub generation: Generation,
    /// The record itself.
    pub payload: &'a [u8],
}

/// Result of an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Appended {
    /// The entry is in memory until the next commit. An accepted record carries its number
    /// among all accepted records, from 0; a refusal has none.
    Uncommitted(Option<u64>),
    /// The record was decided before, but perhaps not yet committed. Nothing changed.
    Duplicate,
    /// An earlier record is missing. Nothing changed.
    Gap {
        /// The next sequence number.
        expected: u64,
    },
    /// The record's epoch has ended or was never issued. Nothing changed.
    Fenced {
        /// The current epoch of the actor, if any.
        current: Option<u64>,
    },
}

/// Answer to an actor that connects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Greeting {
    /// The actor continues this epoch from its [watermark](Journal::watermark).
    Known(u64),
    /// A new epoch, which must not be sent to the actor before a commit.
    Issued(u64),
    /// The claimed epoch is not the current one of the name. Another process uses the name, or
    /// the actor was forgotten. Nothing changed.
    Fenced {
        /// The current epoch of the name, if any.
        current: Option<u64>,
    },
    /// The claimed epoch is above every issued one. The journal has lost its end, or the actor is
    /// of another run. Later epochs are above the claim, unless it is more than
    /// [`MAX_LOST_EPOCHS`] above the last.
    NeverIssued {
        /// The last issued epoch.
        last: u64,
    },
}

/// Size of a commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Committed {
    /// Entries made durable.
    pub entries: u32,
    /// Bytes written.
    pub bytes: usize,
}

/// A decision that is not yet committed.
#[derive(Debug)]
enum Decision {
    Begin { actor: Box<str>, epoch: u64 },
    Decide { actor: Box<str>, epoch: u64, sequence: u64 },
    Purge(Purge),
}

/// An open journal. See the [module](self).
#[derive(Debug)]
pub struct Journal<D: Disk = FolderDisk> {
    disk: D,
    identity: Vec<u8>,
    options: Options,
    /// Complete segments, oldest first; the last is the tail.
    segments: Vec<Segment>,
    tail: D::File,
    /// Deduplication state on disk.
    durable: Dedup,
    /// `durable` after the uncommitted decisions.
    staged: Dedup,
    /// The purges on disk, oldest first.
    purges: Vec<Purge>,
    /// The frame of the next commit, with room for its header and without its last byte.
    frame: Vec<u8>,
    entries: u32,
    decisions: Vec<Decision>,
    next_commit: u64,
    /// Accepted records on disk since the start of the run.
    records: u64,
    /// Accepted records that are not yet committed.
    waiting_records: u64,
    fatal: Option<(String, String)>,
}

impl<D: Disk> Journal<D> {
    /// Returns the epoch for an actor that connects. Without a claim the actor gets a new epoch,
    /// which ends all earlier epochs of its name.
    pub fn greet(&mut self, actor: &str, claim: Option<u64>) -> Result<Greeting, JournalError> {
        self.check(actor, 0)?;
        let current = self.staged.watermark(actor).map(|(epoch, _)| epoch);
        if let Some(claim) = claim {
            return Ok(self.resume(claim, current));
        }
        let epoch = self.staged.issued() + 1;
        self.staged.begin(actor, epoch);
        self.decisions.push(Decision::Begin { actor: actor.into(), epoch });
        self.push(
            Kind::Epoch,
            Record { actor, epoch, sequence: 0, generation: Generation(0), payload: &[] },
        );
        Ok(Greeting::Issued(epoch))
    }

    /// Returns the answer to an actor that claims an epoch. `current` is the current one of its name.
    fn resume(&mut self, claim: u64, current: Option<u64>) -> Greeting {
        if current == Some(claim) {
            return Greeting::Known(claim);
        }
        let last = self.staged.issued();
        if claim <= last {
            return Greeting::Fenced { current };
        }
        if claim - last <= MAX_LOST_EPOCHS {
            // Only in memory: the entry of the next epoch makes the number durable.
            self.staged.skip_to(claim);
        }
        Greeting::NeverIssued { last }
    }

    /// The actor that [`greet`](Self::greet) forgets if it issues a new epoch to `actor`. Uncommitted
    /// decisions count.
    pub fn forgets(&self, actor: &str) -> Option<&str> {
        self.staged.forgets(actor)
    }

    /// Appends an accepted record.
    pub fn append(&mut self, record: Record<'_>) -> Result<Appended, JournalError> {
        let appended = self.decide(Kind::Record, record)?;
        let Appended::Uncommitted(_) = appended else { return Ok(appended) };
        let number = self.records + self.waiting_records;
        self.waiting_records += 1;
        Ok(Appended::Uncommitted(Some(number)))
    }

    /// Appends a permanent refusal; its payload is the reason.
    pub fn refuse(&mut self, refusal: Record<'_>) -> Result<Appended, JournalError> {
        self.decide(Kind::Refused, refusal)
    }

    fn decide(&mut self, kind: Kind, record: Record<'_>) -> Result<Appended, JournalError> {
        self.check(record.actor, record.payload.len())?;
        let Record { actor, epoch, sequence, .. } = record;
        match self.staged.decide(actor, epoch, sequence) {
            Verdict::New => {}
            Verdict::Duplicate => return Ok(Appended::Duplicate),
            Verdict::Gap { expected } => return Ok(Appended::Gap { expected }),
            Verdict::Fenced { current } => return Ok(Appended::Fenced { current }),
        }
        self.decisions.push(Decision::Decide { actor: actor.into(), epoch, sequence });
        self.push(kind, record);
        Ok(Appended::Uncommitted(None))
    }

    /// Checks that the handle is usable, the sizes are valid and there is room in memory.
    fn check(&self, actor: &str, payload: usize) -> Result<(), JournalError> {
        self.alive()?;
        let max = self.options.max_payload;
        let sizes =
            [("actor's name", actor.len(), 1, MAX_ACTOR_BYTES), ("payload", payload, 0, max)];
        for (what, found, min, max) in sizes {
            if !(min..=max).contains(&found) {
                return Err(JournalError::Size { what, found, min, max });
            }
        }
        let (waiting, max) = (self.waiting_bytes(), self.options.max_waiting);
        if waiting >= max { Err(JournalError::Backlog { waiting, max }) } else { Ok(()) }
    }

    fn alive(&self) -> Result<(), JournalError> {
        match &self.fatal {
            None => Ok(()),
            Some((path, reason)) => {
                Err(JournalError::Fatal { path: path.clone(), reason: reason.clone() })
            }
        }
    }

    fn push(&mut self, kind: Kind, record: Record<'_>) {
        let Record { actor, epoch, sequence, generation, payload } = record;
        let entry = Entry { kind, actor, epoch, sequence, generation, payload };
        entry.encode(self.next_commit, self.entries, &mut self.frame);
        self.entries += 1;
    }

    /// Writes and syncs all uncommitted entries. After [`JournalError::Exhausted`] they stay in
    /// memory.
    pub fn commit(&mut self) -> Result<Committed, JournalError> {
        self.alive()?;
        if self.entries == 0 {
            return Ok(Committed::default());
        }
        // A program that does not know purges must not read past one, so the version of the segment
        // says that it holds one.
        let needs_version =
            self.has_waiting_purge() && self.tail_segment().version < FORMAT_VERSION;
        if needs_version || self.tail_segment().bytes >= self.options.segment_bytes {
            self.rotate()?;
        }
        let (segment, length) = (self.tail_segment().number, self.tail_segment().bytes);
        let at = FramePlace { segment, offset: length as usize };
        seal_frame(&mut self.frame, at, self.next_commit, self.entries);
        let written = write_all(&mut self.tail, length, &self.frame);
        let bytes = self.frame.len();
        // Without its last byte the frame can be sealed again if the commit is repeated.
        self.frame.pop();
        if let Err(source) = written {
            return Err(self.take_back(length, source));
        }
        self.tail.sync().map_err(|error| self.fatal(self.tail_segment().name(), "sync", &error))?;
        // The durable state changes only after the sync, so no watermark is acknowledged early.
        let committed = Committed { entries: self.entries, bytes };
        for decision in self.decisions.drain(..) {
            match decision {
                Decision::Begin { actor, epoch } => drop(self.durable.begin(&actor, epoch)),
                Decision::Decide { actor, epoch, sequence } => {
                    self.durable.decide(&actor, epoch, sequence);
                }
                Decision::Purge(purge) => self.purges.push(purge),
            }
        }
        self.records += self.waiting_records;
        let records = self.records;
        if let Some(tail) = self.segments.last_mut() {
            tail.bytes += bytes as u64;
            tail.end_record = records;
        }
        self.next_commit += 1;
        (self.entries, self.waiting_records) = (0, 0);
        self.frame.truncate(FRAME_BYTES);
        Ok(committed)
    }

    /// Removes a failed write from the tail. The truncation is synced before anything else is
    /// written there; otherwise a crash could mix old and new bytes.
    fn take_back(&mut self, length: u64, source: io::Error) -> JournalError {
        let name = self.tail_segment().name();
        if !is_exhausted(&source) {
            return self.fatal(name, "write", &source);
        }
        if let Err(error) = self.tail.truncate(length).and_then(|()| self.tail.sync()) {
            return self.fatal(name, "cut", &error);
        }
        JournalError::Exhausted { path: self.disk.describe(&name), source }
    }

    /// Makes the handle unusable, because the content of the disk is unknown.
    fn fatal(&mut self, name: String, action: &str, error: &io::Error) -> JournalError {
        let (path, reason) = (self.disk.describe(&name), format!("{action} failed: {error}"));
        self.fatal = Some((path.clone(), reason.clone()));
        JournalError::Fatal { path, reason }
    }

    /// Epoch and watermark of an actor on disk, which may be acknowledged.
    pub fn watermark(&self, actor: &str) -> Option<(u64, u64)> {
        self.durable.watermark(actor)
    }

    /// Accepted records on disk since the start of the run; also the number of the next record.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Number of the oldest record in the journal.
    pub fn oldest_record(&self) -> u64 {
        self.segments.first().map_or(self.records, |segment| segment.first_record)
    }

    /// Uncommitted entries.
    pub fn waiting(&self) -> u32 {
        self.entries
    }

    /// Bytes of uncommitted entries.
    pub fn waiting_bytes(&self) -> usize {
        self.frame.len() - FRAME_BYTES
    }

    /// The disk that holds the journal.
    pub fn disk(&self) -> &D {
        &self.disk
    }

    /// Segments and bytes on disk.
    pub fn size(&self) -> (usize, u64) {
        (self.segments.len(), self.segments.iter().map(|segment| segment.bytes).sum())
    }
}

#[cfg(test)]
mod tests;
