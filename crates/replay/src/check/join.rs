//! Compares the acknowledgements in the actors' logs with the journal.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{Inspection, inspect};
use crate::journal::format::{Entry, Kind};
use crate::journal::{JournalError, Purge};
use crate::trajectory::fingerprint;

/// Identifier of a record.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RecordId {
    /// The actor.
    pub actor: String,
    /// Epoch of the actor.
    pub epoch: u64,
    /// Sequence number in the epoch.
    pub sequence: u64,
}

impl fmt::Display for RecordId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { actor, epoch, sequence } = self;
        write!(f, "{actor}, epoch {epoch}, record {sequence}")
    }
}

/// One line of an actor's log. Each send of a record adds a line with `acked` false. The
/// acknowledgement adds a line with `acked` true.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientLine {
    /// The actor.
    pub actor: String,
    /// The actor's epoch when it sent the record.
    pub epoch: u64,
    /// The record's sequence number.
    pub sequence: u64,
    /// Expected [`fingerprint`] of the payload in the journal, 16 hexadecimal digits.
    pub hash: String,
    /// Whether the line reports the acknowledgement.
    pub acked: bool,
    /// Whether the acknowledgement was a refusal.
    #[serde(default)]
    pub refused: bool,
}

/// A contradiction between a log and the journal, or within one of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// Acknowledged, but not in the journal.
    Lost(RecordId),
    /// In the journal more than once under the same identifier.
    Doubled(RecordId),
    /// The same bytes in the journal under two identifiers, neither of them purged.
    Repeated(RecordId, RecordId),
    /// In the journal, but with other bytes than were sent.
    Changed {
        /// The record.
        id: RecordId,
        /// Its hash in the log.
        sent: String,
        /// Its hash in the journal.
        held: String,
    },
    /// The journal and the log disagree on whether the record was accepted or refused.
    Disputed(RecordId),
    /// An actor used one sequence number for two records.
    Reused(RecordId),
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lost(id) => write!(f, "LOST: {id} was acknowledged and is not in the journal"),
            Self::Doubled(id) => write!(f, "DOUBLED: {id} is in the journal more than once"),
            Self::Repeated(id, other) => write!(f, "REPEATED: {id} is {other} once more"),
            Self::Changed { id, sent, held } => {
                write!(f, "CHANGED: {id} was sent as {sent} and is held as {held}")
            }
            Self::Disputed(id) => {
                write!(f, "DISPUTED: {id} was acknowledged otherwise than the journal says")
            }
            Self::Reused(id) => write!(f, "REUSED: {id} was sent with two contents"),
        }
    }
}

/// Result of [`join()`].
#[derive(Debug, Default)]
pub struct Joined {
    /// The journal.
    pub inspection: Inspection,
    /// Records in the logs.
    pub sent: usize,
    /// Acknowledged records in the logs.
    pub acked: usize,
    /// Acknowledged records whose segments were removed. A snapshot confirms that they were
    /// decided; their content cannot be compared.
    pub released: usize,
    /// Records in the journal that no log mentions.
    pub unknown: usize,
    /// All contradictions.
    pub findings: Vec<Finding>,
}

impl Joined {
    /// Whether the journal is undamaged and agrees with the logs.
    pub fn is_sound(&self) -> bool {
        self.findings.is_empty() && self.inspection.damage.is_none()
    }
}

impl fmt::Display for Joined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.inspection)?;
        let Self { sent, acked, released, unknown, .. } = self;
        writeln!(f, "logs       {sent} sent, {acked} acknowledged, of these {released} released")?;
        writeln!(f, "unknown    {unknown} records that no log mentions")?;
        for finding in &self.findings {
            writeln!(f, "{finding}")?;
        }
        writeln!(f, "verdict    {}", if self.is_sound() { "sound" } else { "NOT SOUND" })
    }
}

/// A record as the logs report it.
struct Answer {
    hash: String,
    acked: bool,
    refused: bool,
}

/// A record as the journal holds it.
#[derive(Clone, Copy)]
struct HeldRecord {
    hash: u64,
    is_refused: bool,
}

/// An accepted record with its number.
type Numbered = (u64, RecordId);

/// The records of a journal.
#[derive(Default)]
struct HeldRecords {
    records: BTreeMap<RecordId, HeldRecord>,
    /// The newest accepted record with each hash.
    by_hash: BTreeMap<u64, Numbered>,
    /// The accepted records with each hash that several have, oldest first.
    equal: BTreeMap<u64, Vec<Numbered>>,
}

/// Compares the log lines of all actors with the journal in `folder`.
pub fn join(
    folder: &Path,
    lines: impl IntoIterator<Item = ClientLine>,
) -> Result<Joined, JournalError> {
    let mut joined = Joined::default();
    let mut answers: BTreeMap<RecordId, Answer> = BTreeMap::new();
    for line in lines {
        let ClientLine { actor, epoch, sequence, hash, acked, refused } = line;
        let id = RecordId { actor, epoch, sequence };
        match answers.get_mut(&id) {
            None => drop(answers.insert(id, Answer { hash, acked, refused })),
            Some(known) if known.hash != hash => joined.findings.push(Finding::Reused(id)),
            Some(known) => {
                known.acked |= acked;
                known.refused |= refused;
            }
        }
    }
    let mut held = HeldRecords::default();
    let findings = &mut joined.findings;
    joined.inspection = inspect(folder, |number, entry| held.add(number, entry, findings))?;
    joined.findings.extend(held.repeated(&joined.inspection.purges));
    let held = held.records;
    joined.sent = answers.len();
    for (id, Answer { hash, acked, refused }) in &answers {
        joined.acked += usize::from(*acked);
        match held.get(id) {
            None if !acked => {}
            None if was_released(&joined.inspection, id) => joined.released += 1,
            None => joined.findings.push(Finding::Lost(id.clone())),
            Some(record) if *acked && record.is_refused != *refused => {
                joined.findings.push(Finding::Disputed(id.clone()));
            }
            Some(HeldRecord { is_refused: true, .. }) => {}
            Some(record) => {
                let (id, sent, held) = (id.clone(), hash.clone(), format!("{:016x}", record.hash));
                if sent != held {
                    joined.findings.push(Finding::Changed { id, sent, held });
                }
            }
        }
    }
    joined.unknown = held.keys().filter(|id| !answers.contains_key(id)).count();
    Ok(joined)
}

impl HeldRecords {
    /// Adds an entry of the journal, and a contradiction with earlier entries to `findings`. An
    /// accepted record comes with its number.
    fn add(&mut self, number: u64, entry: &Entry<'_>, findings: &mut Vec<Finding>) {
        let is_refused = match entry.kind {
            Kind::Record => false,
            Kind::Refused => true,
            Kind::Epoch | Kind::Snapshot | Kind::Purge => return,
        };
        let Entry { epoch, sequence, .. } = *entry;
        let id = RecordId { actor: entry.actor.to_owned(), epoch, sequence };
        let hash = fingerprint(entry.payload);
        let numbered = || (number, id.clone());
        if !is_refused && let Some(other) = self.by_hash.insert(hash, numbered()) {
            self.equal.entry(hash).or_insert_with(|| vec![other]).push(numbered());
        }
        if self.records.insert(id.clone(), HeldRecord { hash, is_refused }).is_some() {
            findings.push(Finding::Doubled(id));
        }
    }

    /// The repeated records that are not purged, oldest first. A purged one is not trained on, so it
    /// repeats nothing.
    fn repeated(&self, purges: &[Purge]) -> Vec<Finding> {
        let is_valid =
            |(number, id): &&Numbered| !purges.iter().any(|purge| purge.covers(&id.actor, *number));
        let mut repeated = Vec::new();
        for equal in self.equal.values() {
            let valid: Vec<&Numbered> = equal.iter().filter(is_valid).collect();
            repeated.extend(valid.windows(2).map(|pair| (pair[1], pair[0])));
        }
        repeated.sort_by_key(|((number, _), _)| *number);
        let finding = |((_, id), (_, other)): (&Numbered, &Numbered)| {
            Finding::Repeated(id.clone(), other.clone())
        };
        repeated.into_iter().map(finding).collect()
    }
}

/// Whether a record was decided before the oldest remaining segment. The watermarks of epochs that
/// had ended by then are unknown, so all records of these epochs count as decided. Epochs are issued
/// in ascending order, so an actor that was forgotten by then had one of the epochs issued by then.
fn was_released(inspection: &Inspection, id: &RecordId) -> bool {
    let released = &inspection.released;
    match released.watermark(&id.actor) {
        Some((epoch, watermark)) if epoch == id.epoch => id.sequence <= watermark,
        Some((epoch, _)) => id.epoch < epoch,
        None => id.epoch <= released.issued(),
    }
}
