//! The bytes that opening a journal cuts off its end.
//!
//! A crash in the middle of a write leaves bytes that are not needed. A file that lost its end looks
//! the same, but then the bytes belong to acknowledged records. The bytes are therefore copied to
//! a file beside the segment before the segment is truncated. Reading a journal ignores these
//! files. The newest [`KEPT`] of them stay, so that repeated crashes do not fill the disk.

use std::io;

use super::error::JournalError;
use super::segment_name::segment_number;
use crate::disk::{Disk, SegmentFile, is_exhausted, write_all};

/// Number of files with cut bytes that stay.
const KEPT: usize = 4;
/// Between the name of the segment and the number of the cut in the name of a file.
const INFIX: &str = ".cut-";
/// Name of a file with cut bytes that is not yet complete.
pub(super) const TEMPORARY: &str = "cut.tmp";

/// An incomplete write that was cut off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The segment.
    pub path: String,
    /// Length of the segment after the cut, in bytes.
    pub offset: u64,
    /// Bytes cut off.
    pub bytes: u64,
    /// The file that has these bytes now; `None` if all of them were zero.
    pub kept: Option<String>,
}

impl std::fmt::Display for Cut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { path, offset, bytes, kept } = self;
        write!(f, "{path}: the last write is incomplete: {bytes} bytes from byte {offset} on ")?;
        match kept {
            Some(kept) => write!(f, "moved to {kept}")?,
            None => f.write_str("removed, all of them zero")?,
        }
        f.write_str(
            "; a crash in the middle of a write leaves that, and none of it was acknowledged; after a clean stop it means that the file was damaged",
        )
    }
}

/// Name of cut number `number`, from the segment with the name `segment`.
fn name(segment: &str, number: u64) -> String {
    format!("{segment}{INFIX}{number}")
}

/// The number in the name of a file with cut bytes. The numbers count the cuts of all segments.
fn number(file: &str) -> Option<u64> {
    let (segment, number) = file.rsplit_once(INFIX)?;
    segment_number(segment)?;
    // A u32, so that the next number cannot overflow.
    let number = u64::from(number.parse::<u32>().ok()?);
    (name(segment, number) == file).then_some(number)
}

/// The files with cut bytes among `names`, with their numbers, oldest first.
fn kept(names: &[String]) -> Vec<(u64, &str)> {
    let numbered = names.iter().filter_map(|name| Some((number(name)?, name.as_str())));
    let mut kept: Vec<_> = numbered.collect();
    kept.sort_unstable();
    kept
}

/// Copies the bytes that will be cut off `segment` to a file, durably. Returns its name, or `None`
/// if all bytes are zero. `names` are the files on the disk.
pub(super) fn keep<D: Disk>(
    disk: &D,
    names: &[String],
    segment: &str,
    bytes: &[u8],
) -> Result<Option<String>, JournalError> {
    if bytes.iter().all(|&byte| byte == 0) {
        return Ok(None);
    }
    let newest = kept(names).pop();
    // A start that was killed before the cut has already copied the bytes.
    let is_same = |file: &str| {
        let read = disk.open(file).and_then(|mut file| file.read());
        file.starts_with(segment) && read.is_ok_and(|read| read == bytes)
    };
    let file = match newest {
        Some((_, file)) if is_same(file) => file.to_owned(),
        newest => {
            let file = name(segment, newest.map_or(1, |(number, _)| number + 1));
            write(disk, &file, bytes).map_err(|error| {
                // If this fails, the next start removes the file.
                let _ = disk.remove(TEMPORARY);
                failed(disk, "write", &file)(error)
            })?;
            file
        }
    };
    disk.sync().map_err(failed(disk, "sync the folder of", &file))?;
    Ok(Some(file))
}

/// Writes a file under a temporary name, so that a crash leaves no partial copy.
fn write<D: Disk>(disk: &D, file: &str, bytes: &[u8]) -> io::Result<()> {
    let mut copy = disk.create(TEMPORARY)?;
    write_all(&mut copy, 0, bytes)?;
    copy.sync()?;
    disk.rename(TEMPORARY, file)
}

/// Removes all but the newest [`KEPT`] files with cut bytes. `names` are the files on the disk
/// before `added` was written.
pub(super) fn remove_old<D: Disk>(
    disk: &D,
    names: &[String],
    added: &str,
) -> Result<(), JournalError> {
    let mut files = kept(names);
    files.retain(|(_, name)| *name != added);
    let old = (files.len() + 1).saturating_sub(KEPT);
    for (_, name) in &files[..old] {
        disk.remove(name).map_err(failed(disk, "remove", name))?;
    }
    Ok(())
}

/// Adds the path and the action to an error. A full disk has an error of its own.
fn failed<D: Disk>(
    disk: &D,
    action: &'static str,
    name: &str,
) -> impl FnOnce(io::Error) -> JournalError + use<D> {
    let path = disk.describe(name);
    move |source| match is_exhausted(&source) {
        true => JournalError::Exhausted { path, source },
        false => JournalError::Io { action, path, source },
    }
}
