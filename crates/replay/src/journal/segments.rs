//! Segments: names, creation, rotation and removal.
//!
//! A segment is written under a temporary name with its header and its snapshot, synced, and
//! only then renamed. A segment with its final name therefore has a complete start, and the
//! previous segment is complete.

use ouro_net::Generation;

use super::Journal;
use super::dedup::Dedup;
use super::error::JournalError;
use super::format::{
    BASE_VERSION, Entry, FORMAT_VERSION, FRAME_BYTES, FramePlace, Header, Kind, seal_frame,
};
use super::segment_name::segment_name;
use crate::disk::{Disk, SegmentFile, is_exhausted, write_all};

/// File name of a segment that is not yet complete.
pub(super) const TEMPORARY: &str = "segment.tmp";

const MAKE: &str = "make";
const WRITE: &str = "write";
const RENAME: &str = "rename";

/// The numbers of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    /// Its format version.
    pub(crate) version: u32,
    pub(crate) number: u64,
    pub(crate) bytes: u64,
    pub(crate) first_commit: u64,
    pub(crate) first_record: u64,
    /// One past its last record.
    pub(crate) end_record: u64,
}

impl Segment {
    pub(crate) fn name(&self) -> String {
        segment_name(self.number)
    }
}

/// Creates a segment that starts with a snapshot of `dedup`, durably. An error names the failed
/// action.
pub(super) fn create<D: Disk>(
    disk: &D,
    header: Header,
    identity: &[u8],
    dedup: &Dedup,
) -> Result<(Segment, D::File), (&'static str, std::io::Error)> {
    let mut bytes = header.encode(identity);
    let mut frame = vec![0; FRAME_BYTES];
    let (actor, payload) = ("", dedup.encode());
    let kind = Kind::Snapshot;
    let snapshot =
        Entry { kind, actor, epoch: 0, sequence: 0, generation: Generation(0), payload: &payload };
    snapshot.encode(header.first_commit, 0, &mut frame);
    let at = FramePlace { segment: header.segment, offset: bytes.len() };
    seal_frame(&mut frame, at, header.first_commit, 1);
    bytes.append(&mut frame);
    let mut file = disk.create(TEMPORARY).map_err(|error| (MAKE, error))?;
    write_all(&mut file, 0, &bytes).map_err(|error| (WRITE, error))?;
    file.sync().map_err(|error| ("sync", error))?;
    disk.rename(TEMPORARY, &segment_name(header.segment)).map_err(|error| (RENAME, error))?;
    disk.sync().map_err(|error| ("sync the folder of", error))?;
    let Header { version, segment: number, first_commit, first_record } = header;
    let bytes = bytes.len() as u64;
    let end_record = first_record;
    Ok((Segment { version, number, bytes, first_commit, first_record, end_record }, file))
}

impl<D: Disk> Journal<D> {
    pub(super) fn tail_segment(&self) -> &Segment {
        self.segments.last().expect("an open journal has a tail")
    }

    /// Starts the next segment. Its snapshot repeats the number of the last commit.
    ///
    /// The uncommitted entries are already encoded with the next number (it salts their
    /// checksums), so the snapshot cannot take that number.
    pub(super) fn rotate(&mut self) -> Result<(), JournalError> {
        let header = Header {
            version: if self.has_waiting_purge() { FORMAT_VERSION } else { BASE_VERSION },
            segment: self.tail_segment().number + 1,
            first_commit: self.next_commit - 1,
            first_record: self.records,
        };
        match create(&self.disk, header, &self.identity, &self.durable) {
            Ok((segment, file)) => {
                self.segments.push(segment);
                self.tail = file;
                Ok(())
            }
            // Before the rename succeeds, only the temporary file has to be removed. After a
            // failed sync the state on disk is unknown.
            Err((MAKE | WRITE | RENAME, source)) if is_exhausted(&source) => {
                // If this fails, the next attempt overwrites the file, or the next start removes
                // it.
                let _ = self.disk.remove(TEMPORARY);
                let path = self.disk.describe(&segment_name(header.segment));
                Err(JournalError::Exhausted { path, source })
            }
            Err((action, error)) => Err(self.fatal(segment_name(header.segment), action, &error)),
        }
    }

    /// Removes segments that hold only records before `record`, but never the last segment.
    /// Returns the number of removed segments. The oldest is removed first, one at a time, so a
    /// crash leaves no gap. A segment whose file is missing counts as removed.
    pub fn release_before(&mut self, record: u64) -> Result<usize, JournalError> {
        self.alive()?;
        let last = self.segments.len() - 1;
        let old = self.segments[..last].iter().take_while(|segment| segment.end_record <= record);
        let old: Vec<String> = old.map(Segment::name).collect();
        for name in &old {
            match self.disk.remove(name) {
                // Otherwise a file removed by hand would keep all later segments for good.
                Err(source) if source.kind() == std::io::ErrorKind::NotFound => {}
                removed => removed.map_err(|source| {
                    let path = self.disk.describe(name);
                    JournalError::Io { action: "remove", path, source }
                })?,
            }
            self.segments.remove(0);
            self.disk.sync().map_err(|error| self.fatal(name.clone(), "remove", &error))?;
        }
        Ok(old.len())
    }
}
