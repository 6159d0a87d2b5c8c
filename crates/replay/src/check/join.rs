//! What actors were told against what is in the journal.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{Inspection, inspect};
use crate::journal::{Entry, JournalError, Kind};
use crate::trajectory::fingerprint;

/// A record's name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RecordId {
    /// The actor.
    pub actor: String,
    /// Which life of it.
    pub epoch: u64,
    /// Its number in that life.
    pub sequence: u64,
}

impl fmt::Display for RecordId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { actor, epoch, sequence } = self;
        write!(f, "{actor}, epoch {epoch}, record {sequence}")
    }
}

/// One line of an actor's log. The line of a record that was sent has `acked` false, and there
/// may be several; the line of its acknowledgement has it true.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientLine {
    /// The actor.
    pub actor: String,
    /// The epoch that it sent under.
    pub epoch: u64,
    /// The record's number.
    pub sequence: u64,
    /// [`fingerprint`] of the payload that it expects in the journal, 16 hexadecimal digits.
    pub hash: String,
    /// Whether it was acknowledged.
    pub acked: bool,
    /// Whether it was refused; part of the acknowledgement.
    #[serde(default)]
    pub refused: bool,
}

/// Something that must not be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// Acknowledged, and not in the journal.
    Lost(RecordId),
    /// In the journal more than once under the same name.
    Doubled(RecordId),
    /// The same bytes in the journal under two names.
    Repeated(RecordId, RecordId),
    /// In the journal, but not as it was sent.
    Changed {
        /// The record.
        id: RecordId,
        /// Its hash in the log.
        sent: String,
        /// Its hash in the journal.
        held: String,
    },
    /// Accepted there and refused here, or the other way round.
    Disputed(RecordId),
    /// An actor used one number for two records.
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

/// What [`join()`] found.
#[derive(Debug, Default)]
pub struct Joined {
    /// The journal.
    pub inspection: Inspection,
    /// Records that the logs know.
    pub sent: usize,
    /// Those that were acknowledged.
    pub acked: usize,
    /// Acknowledged records that were decided in segments that are gone: known to have been
    /// decided, no longer there to be looked at.
    pub released: usize,
    /// Records in the journal that no log knows.
    pub unknown: usize,
    /// What must not be.
    pub findings: Vec<Finding>,
}

impl Joined {
    /// Whether journal and logs agree and the journal is sound.
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

/// What the logs say of a record.
struct Told {
    hash: String,
    acked: bool,
    refused: bool,
}

/// What the journal says of a record.
#[derive(Clone, Copy)]
struct HeldRecord {
    hash: u64,
    is_refused: bool,
}

/// Holds the lines of all actors against the journal in `folder`.
pub fn join(
    folder: &Path,
    lines: impl IntoIterator<Item = ClientLine>,
) -> Result<Joined, JournalError> {
    let mut joined = Joined::default();
    let mut told: BTreeMap<RecordId, Told> = BTreeMap::new();
    for line in lines {
        let ClientLine { actor, epoch, sequence, hash, acked, refused } = line;
        let id = RecordId { actor, epoch, sequence };
        match told.get_mut(&id) {
            None => drop(told.insert(id, Told { hash, acked, refused })),
            Some(known) if known.hash != hash => joined.findings.push(Finding::Reused(id)),
            Some(known) => {
                known.acked |= acked;
                known.refused |= refused;
            }
        }
    }
    let (mut held, mut by_hash) = (BTreeMap::new(), BTreeMap::new());
    let findings = &mut joined.findings;
    joined.inspection = inspect(folder, |_, entry| {
        hold(entry, &mut held, &mut by_hash, findings);
    })?;
    joined.sent = told.len();
    for (id, Told { hash, acked, refused }) in &told {
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
    joined.unknown = held.keys().filter(|id| !told.contains_key(id)).count();
    Ok(joined)
}

/// Notes an entry of the journal.
fn hold(
    entry: &Entry<'_>,
    held: &mut BTreeMap<RecordId, HeldRecord>,
    by_hash: &mut BTreeMap<u64, RecordId>,
    findings: &mut Vec<Finding>,
) {
    let is_refused = match entry.kind {
        Kind::Record => false,
        Kind::Refused => true,
        Kind::Epoch | Kind::Snapshot => return,
    };
    let Entry { epoch, sequence, .. } = *entry;
    let id = RecordId { actor: entry.actor.to_owned(), epoch, sequence };
    let hash = fingerprint(entry.payload);
    if !is_refused && let Some(other) = by_hash.insert(hash, id.clone()) {
        findings.push(Finding::Repeated(id.clone(), other));
    }
    if held.insert(id.clone(), HeldRecord { hash, is_refused }).is_some() {
        findings.push(Finding::Doubled(id));
    }
}

/// Whether a record was decided before the oldest segment that is left. Of lives that were over
/// by then only the epoch is known.
fn was_released(inspection: &Inspection, id: &RecordId) -> bool {
    let released = &inspection.released;
    match released.watermark(&id.actor) {
        Some((epoch, watermark)) if epoch == id.epoch => id.sequence <= watermark,
        Some((epoch, _)) => id.epoch < epoch,
        None => false,
    }
}
