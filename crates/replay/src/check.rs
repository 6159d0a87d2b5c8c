//! Checks a run afterwards: reads a journal without touching it, and joins it with what the
//! actors say they were told.
//!
//! Every actor may keep a log: one [`ClientLine`] when it sends a record and one when the record
//! is acknowledged. [`join()`] holds all of them against the journal: what was acknowledged must
//! be there, as it was sent, once. A journal that is in use may be read too; its last write may
//! then look torn.

use std::fmt;
use std::ops::Range;
use std::path::Path;

use crate::disk::{names, os_path};
use crate::journal::format::{Header, HeaderRead};
use crate::journal::open::{Walk, numbers};
use crate::journal::{Dedup, Entry, JournalError, Kind, segments};

mod join;

pub use join::{ClientLine, Finding, Joined, RecordId, join};

/// What a journal holds.
#[derive(Debug, Default)]
pub struct Inspection {
    /// Whose journal it is; empty if it has no segment.
    pub identity: String,
    /// The segments that could be read, oldest first.
    pub segments: Vec<SegmentReport>,
    /// Entries by kind: accepted, refused, epochs.
    pub entries: [u64; 3],
    /// Numbers of the records held.
    pub records: Range<u64>,
    /// What is decided: actor, epoch and watermark, the longest silent actor first.
    pub watermarks: Vec<(String, u64, u64)>,
    /// Bytes at the end of the last segment that are no whole commit.
    pub torn: u64,
    /// The first thing that is wrong, if anything; what is behind it was not read.
    pub damage: Option<JournalError>,
    /// What segments that are gone had decided.
    pub(crate) released: Dedup,
}

/// One segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentReport {
    /// File name.
    pub name: String,
    /// Bytes of whole commits, header included.
    pub bytes: u64,
    /// Commits, its snapshot included.
    pub commits: u64,
    /// Numbers of its records.
    pub records: Range<u64>,
}

/// Reads the journal in `folder` and hands every entry to `each`: an accepted record with its
/// number, any other with the number of the next record. Damage ends the reading and is part of
/// the result; an error says that the folder or a file cannot be read at all.
pub fn inspect(
    folder: &Path,
    mut each: impl FnMut(u64, &Entry<'_>),
) -> Result<Inspection, JournalError> {
    let io = |action: &'static str, name: &str| {
        let path = os_path(folder, name);
        move |source| JournalError::Io { action, path, source }
    };
    let files = names(folder).map_err(io("list", ""))?;
    let mut inspection = Inspection::default();
    let numbers = match numbers(&files, |name| os_path(folder, name)) {
        Ok(numbers) => numbers,
        Err(missing) => {
            inspection.damage = Some(missing);
            return Ok(inspection);
        }
    };
    let (mut walk, mut identity) = (Walk::new(), None);
    for (index, &number) in numbers.iter().enumerate() {
        let (name, is_last) = (segments::name(number), index + 1 == numbers.len());
        let bytes = std::fs::read(folder.join(&name)).map_err(io("read", &name))?;
        if let (None, Ok(HeaderRead::Known(_, found))) = (&identity, Header::decode(&bytes)) {
            inspection.identity = String::from_utf8_lossy(found).into_owned();
            identity = Some(found.to_vec());
        }
        let walked = walk.segment(number, &bytes, identity.as_deref(), is_last, |record, entry| {
            match entry.kind {
                Kind::Record => inspection.entries[0] += 1,
                Kind::Refused => inspection.entries[1] += 1,
                Kind::Epoch => inspection.entries[2] += 1,
                Kind::Snapshot if index == 0 => {
                    inspection.released = Dedup::decode(entry.payload).unwrap_or_default();
                }
                Kind::Snapshot => {}
            }
            each(record, entry);
        });
        match walked {
            Ok(walked) => {
                let segment = walked.segment;
                inspection.torn = walked.torn as u64;
                inspection.segments.push(SegmentReport {
                    name,
                    bytes: segment.bytes,
                    commits: walked.commits,
                    records: segment.first_record..segment.end_record,
                });
            }
            Err(reason) => {
                let identity = identity.unwrap_or_default();
                inspection.damage = Some(reason.into_error(os_path(folder, &name), &identity));
                break;
            }
        }
    }
    let mark = |(actor, epoch, sequence): (&str, u64, u64)| (actor.to_owned(), epoch, sequence);
    inspection.watermarks = walk.dedup.watermarks().into_iter().map(mark).collect();
    if let (Some(first), Some(last)) = (inspection.segments.first(), inspection.segments.last()) {
        inspection.records = first.records.start..last.records.end;
    }
    Ok(inspection)
}

impl fmt::Display for Inspection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "run        {}", self.identity)?;
        for SegmentReport { name, bytes, commits, records } in &self.segments {
            let Range { start, end } = records;
            writeln!(
                f,
                "segment    {name}: {bytes} bytes, {commits} commits, records {start}..{end}"
            )?;
        }
        let [accepted, refused, epochs] = self.entries;
        writeln!(f, "entries    {accepted} accepted, {refused} refused, {epochs} epochs")?;
        for (actor, epoch, sequence) in &self.watermarks {
            writeln!(f, "watermark  {actor}: epoch {epoch}, record {sequence}")?;
        }
        if self.torn > 0 {
            writeln!(f, "unfinished {} bytes at the end, acknowledged to nobody", self.torn)?;
        }
        match &self.damage {
            None => writeln!(f, "damage     none"),
            Some(damage) => writeln!(f, "damage     {damage}"),
        }
    }
}

#[cfg(test)]
mod tests;
