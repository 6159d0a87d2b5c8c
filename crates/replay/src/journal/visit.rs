//! Reading accepted records back, to fill a window after a restart.

use std::ops::ControlFlow;

use super::error::JournalError;
use super::format::{Fault, FramePlace, Header, HeaderRead, Kind};
use super::open::Unreadable;
use super::scan::{Found, commit_at};
use super::segments::Segment;
use super::{Journal, Record};
use crate::disk::{Disk, SegmentFile};

impl<D: Disk> Journal<D> {
    /// Calls `each` with every committed record from number `from` on, in order, until it breaks.
    /// Checksums are verified again. Segments are read into memory one at a time.
    pub fn visit<B>(
        &self,
        from: u64,
        mut each: impl FnMut(u64, Record<'_>) -> ControlFlow<B>,
    ) -> Result<Option<B>, JournalError> {
        self.alive()?;
        let (oldest, next) = (self.oldest_record(), self.records);
        if !(oldest..=next).contains(&from) {
            return Err(JournalError::Range { from, oldest, next });
        }
        for segment in self.segments.iter().filter(|segment| segment.end_record > from) {
            let name = segment.name();
            let read = self.disk.open(&name).and_then(|mut file| file.read());
            let bytes = read.map_err(|source| {
                let path = self.disk.describe(&name);
                JournalError::Io { action: "read", path, source }
            })?;
            match records(segment, &bytes, |number, record| {
                if number < from { ControlFlow::Continue(()) } else { each(number, record) }
            }) {
                Ok(ControlFlow::Continue(())) => {}
                Ok(ControlFlow::Break(value)) => return Ok(Some(value)),
                Err(reason) => {
                    return Err(reason.into_error(self.disk.describe(&name), &self.identity));
                }
            }
        }
        Ok(None)
    }
}

/// Calls `each` with the records of a segment whose commits were complete at opening.
fn records<B>(
    segment: &Segment,
    bytes: &[u8],
    mut each: impl FnMut(u64, Record<'_>) -> ControlFlow<B>,
) -> Result<ControlFlow<B>, Unreadable> {
    // Bytes after the last commit belong to a write in progress.
    let length = usize::try_from(segment.bytes).unwrap_or(usize::MAX);
    let bytes = bytes.get(..length).ok_or_else(|| {
        Fault::new(bytes.len(), "the length of the segment", segment.bytes, bytes.len())
    })?;
    let mut offset = match Header::decode(bytes)? {
        HeaderRead::Known(_, identity) => super::format::HEADER_BYTES + identity.len(),
        HeaderRead::Newer(version) => return Err(Unreadable::Newer(version)),
    };
    let (mut commit, mut number) = (segment.first_commit, segment.first_record);
    let mut entries = Vec::new();
    loop {
        let at = FramePlace { segment: segment.number, offset };
        match commit_at(bytes, at, commit, &mut entries) {
            Found::Commit { end } => (offset, commit) = (end, commit + 1),
            Found::End => return Ok(ControlFlow::Continue(())),
            Found::Torn => {
                return Err(Fault::new(offset, "a commit", "whole", "cut short").into());
            }
            Found::Damaged(fault) => return Err(fault.into()),
        }
        for entry in entries.iter().filter(|entry| entry.kind == Kind::Record) {
            let record = Record {
                actor: entry.actor,
                epoch: entry.epoch,
                sequence: entry.sequence,
                generation: entry.generation,
                payload: entry.payload,
            };
            if let ControlFlow::Break(value) = each(number, record) {
                return Ok(ControlFlow::Break(value));
            }
            number += 1;
        }
    }
}
