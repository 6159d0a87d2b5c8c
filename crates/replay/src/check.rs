//! Checks the journal of a run, and compares it with the logs of the actors.
//!
//! An actor may keep a log: one [`ClientLine`] when it sends a record and one when the record is
//! acknowledged. [`join()`] compares all logs with the journal. Every acknowledged record must be
//! in the journal once and unchanged.
//!
//! The check never writes to the journal. A journal in use can be read too, but its last write
//! may look torn.

use std::fmt;
use std::ops::Range;
use std::path::Path;

use crate::disk::{names, os_path};
use crate::journal::format::{Entry, Kind};
use crate::journal::format::{Header, HeaderRead};
use crate::journal::open::{Walk, numbers};
use crate::journal::segment_name::segment_name;
use crate::journal::{Dedup, JournalError, Purge};

mod join;

pub use join::{ClientLine, Finding, Joined, RecordId, join};

/// The content of a journal.
#[derive(Debug, Default)]
pub struct Inspection {
    /// Identity of the run; empty if the journal has no segment.
    pub identity: String,
    /// The readable segments, oldest first.
    pub segments: Vec<SegmentReport>,
    /// Entries by kind: accepted, refused, epochs.
    pub entries: [u64; 3],
    /// Numbers of the records held.
    pub records: Range<u64>,
    /// Actor, epoch and watermark of all decisions, the longest silent actor first.
    pub watermarks: Vec<(String, u64, u64)>,
    /// The purges, oldest first.
    pub purges: Vec<Purge>,
    /// Bytes of an incomplete commit at the end of the last segment.
    pub torn: u64,
    /// The first damage, if any; nothing after it was read.
    pub damage: Option<JournalError>,
    /// Decisions in segments that were removed.
    pub(crate) released: Dedup,
}

/// One segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentReport {
    /// File name.
    pub name: String,
    /// Bytes of the header and of all complete commits.
    pub bytes: u64,
    /// Commits, including the snapshot.
    pub commits: u64,
    /// Numbers of its records.
    pub records: Range<u64>,
}

/// Reads the journal in `folder` and calls `each` with every entry. An accepted record comes with
/// its number, any other entry with the number of the next record.
///
/// Damage ends the reading and is part of the result. An error means that the folder or a file
/// cannot be read.
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
        let (name, is_last) = (segment_name(number), index + 1 == numbers.len());
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
                Kind::Snapshot | Kind::Purge => {}
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
    inspection.purges = walk.purges;
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
        for purge in &self.purges {
            writeln!(f, "purge      {purge}")?;
        }
        if self.torn > 0 {
            writeln!(
                f,
                "unfinished {} bytes at the end, of a crash or of a damaged file",
                self.torn
            )?;
        }
        match &self.damage {
            None => writeln!(f, "damage     none"),
            Some(damage) => writeln!(f, "damage     {damage}"),
        }
    }
}

#[cfg(test)]
mod tests;
