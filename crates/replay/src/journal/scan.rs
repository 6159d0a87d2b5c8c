//! Reading a segment's bytes, and telling a write that a crash cut short from damage.
//!
//! A commit is acknowledged only after its sync, and the next one is written only after that.
//! So a bad commit is *torn*, never acknowledged and safe to cut off, only if nothing was
//! written behind it and bytes of it are missing: the file ends too soon, or a disk sector of it
//! was never written and reads as zeros. Anything else that is wrong was once whole and has
//! changed since: damage, which is never cut off. (etcd's log reader draws the same line by
//! sectors.)
//!
//! What this cannot tell from a torn write: a file that lost its end, and a sector turned to
//! zeros that held the headers of the last commits, all of them.

use super::format::{Entry, FRAME_BYTES, FRAME_END, FRAME_MAGIC, Fault, FrameHeader, FramePlace};
use crate::bytes::Reader;

/// Smallest unit that a disk writes whole, bytes.
const SECTOR: usize = 512;

/// What lies at an offset of a segment.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// A whole commit that ends at this offset; its entries were collected.
    Commit {
        /// One past its last byte.
        end: usize,
    },
    /// The end of the segment.
    End,
    /// A write that never finished.
    Torn,
    /// Something else.
    Damaged(Fault),
}

/// How far a bad commit reaches.
enum Extent {
    /// Past the end of the file.
    Beyond,
    /// To this offset.
    Until(usize),
    /// It is whole, but not what should be here.
    Whole,
}

/// Reads the commit at `offset`, which should have number `commit`; its entries replace those
/// in `entries`.
pub(crate) fn commit_at<'a>(
    bytes: &'a [u8],
    at: FramePlace,
    commit: u64,
    entries: &mut Vec<Entry<'a>>,
) -> Found {
    entries.clear();
    if at.offset == bytes.len() {
        return Found::End;
    }
    let (fault, extent) = match read(bytes, at, commit, entries) {
        Ok(end) => return Found::Commit { end },
        Err(bad) => bad,
    };
    let is_torn = match extent {
        Extent::Beyond => true,
        Extent::Whole => false,
        Extent::Until(end) => is_last(bytes, at, end) && has_lost_sector(bytes, at.offset, end),
    };
    if is_torn { Found::Torn } else { Found::Damaged(fault) }
}

fn read<'a>(
    bytes: &'a [u8],
    at: FramePlace,
    commit: u64,
    entries: &mut Vec<Entry<'a>>,
) -> Result<usize, (Fault, Extent)> {
    let left = bytes.len() - at.offset;
    let short = |expected: usize| {
        let fault = Fault::new(at.offset, "the length of a commit", expected, left);
        (fault, Extent::Beyond)
    };
    if left < FRAME_BYTES {
        return Err(short(FRAME_BYTES));
    }
    let header =
        FrameHeader::decode(bytes, at).map_err(|fault| (fault, Extent::Until(bytes.len())))?;
    if header.commit != commit {
        let offset = at.offset + 8;
        let fault = Fault::new(offset, "the number of a commit", commit, header.commit);
        return Err((fault, Extent::Whole));
    }
    let (body, end) = (at.offset + FRAME_BYTES, at.offset + FRAME_BYTES + header.body + 1);
    if end > bytes.len() {
        return Err(short(end - at.offset));
    }
    let bad = |fault| (fault, Extent::Until(end));
    let mut reader = Reader::new(&bytes[body..end - 1]);
    for index in 0..header.entries {
        let offset = end - 1 - reader.left();
        entries.push(Entry::decode(&mut reader, commit, index, offset).map_err(bad)?);
    }
    if reader.left() > 0 {
        let offset = end - 1 - reader.left();
        let found = format!("{} bytes more", reader.left());
        return Err(bad(Fault::new(offset, "the end of a commit's entries", "here", found)));
    }
    if bytes[end - 1] != FRAME_END {
        let (expected, found) = (FRAME_END, bytes[end - 1]);
        return Err(bad(Fault::new(end - 1, "the last byte of a commit", expected, found)));
    }
    Ok(end)
}

/// Whether nothing was written behind a bad commit that reaches to `end`: no header of another
/// one, and nothing but zeros past the end.
fn is_last(bytes: &[u8], at: FramePlace, end: usize) -> bool {
    let last = bytes.len().saturating_sub(FRAME_BYTES);
    let another = (at.offset + 1..=last).any(|offset| {
        bytes[offset..].starts_with(&FRAME_MAGIC)
            && FrameHeader::decode(bytes, FramePlace { offset, ..at }).is_ok()
    });
    !another && bytes[end..].iter().all(|&byte| byte == 0)
}

/// Whether the part of some sector that lies in `from..to` is all zeros.
fn has_lost_sector(bytes: &[u8], from: usize, to: usize) -> bool {
    let mut start = from;
    while start < to {
        let end = (start / SECTOR * SECTOR + SECTOR).min(to);
        if bytes[start..end].iter().all(|&byte| byte == 0) {
            return true;
        }
        start = end;
    }
    false
}
