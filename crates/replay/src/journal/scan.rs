//! Reads the commits of a segment and distinguishes torn writes from damage.
//!
//! A commit is acknowledged only after its sync, and the next one is written only after that.
//! A bad commit is *torn* if nothing was written after it and some of its bytes are missing.
//! Bytes are missing if the file ends too soon, or if a disk sector was never written and reads
//! as zeros. A torn commit was never acknowledged and is cut off.
//!
//! Any other bad commit was once complete and has changed since. Such damage is never removed.
//! etcd's log reader uses the same criterion of zero sectors.
//!
//! Two kinds of damage look like a torn write: a file that lost its end, and a zeroed sector that
//! held the headers of all of the last commits.

use super::format::{Entry, FRAME_BYTES, FRAME_END, FRAME_MAGIC, Fault, FrameHeader, FramePlace};
use crate::bytes::Reader;

/// Smallest unit that a disk writes atomically, in bytes.
const SECTOR: usize = 512;

/// The content at an offset of a segment.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// A complete commit; its entries were collected.
    Commit {
        /// Offset after its last byte.
        end: usize,
    },
    /// The end of the segment.
    End,
    /// An unfinished write.
    Torn,
    /// Bytes that were complete and have changed.
    Damaged(Fault),
}

/// The extent of a bad commit.
enum Extent {
    /// Past the end of the file.
    Beyond,
    /// To this offset.
    Until(usize),
    /// Complete, but with another commit's number.
    Whole,
}

/// Reads the commit at `at`, which must have number `commit`. Its entries replace those in
/// `entries`.
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

/// Whether nothing was written after a bad commit that extends to `end`: there is no header of
/// another commit, and all bytes from `end` on are zero.
fn is_last(bytes: &[u8], at: FramePlace, end: usize) -> bool {
    let last = bytes.len().saturating_sub(FRAME_BYTES);
    let another = (at.offset + 1..=last).any(|offset| {
        bytes[offset..].starts_with(&FRAME_MAGIC)
            && FrameHeader::decode(bytes, FramePlace { offset, ..at }).is_ok()
    });
    !another && bytes[end..].iter().all(|&byte| byte == 0)
}

/// Whether some sector's part of `from..to` is all zeros.
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
