//! The file operations on which a journal is built.
//!
//! A [`Disk`] is one flat folder of [`SegmentFile`]s. Bytes are durable after
//! [`SegmentFile::sync`] has returned, names after [`Disk::sync`]. Programs use a [`FolderDisk`].
//! Tests use a [`MemoryDisk`](crate::testing::MemoryDisk), which simulates full disks, short
//! writes, failed syncs and crashes.

use std::fmt::Debug;
use std::io;

mod folder;

pub use folder::{FolderDisk, FolderLock};
pub(crate) use folder::{names, os_path};

/// What the system lacks, so that a file operation failed without harm and may succeed later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shortage {
    /// The disk, a quota or the file is full.
    Space,
    /// The process or the system has too many files open.
    Files,
}

impl Shortage {
    /// What an error says is lacking; `None` for an error with another cause.
    pub fn of(error: &io::Error) -> Option<Self> {
        use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
        // The library has no kind for these: ENFILE and EMFILE of Linux and macOS.
        let is_files = cfg!(unix) && matches!(error.raw_os_error(), Some(23 | 24));
        match error.kind() {
            StorageFull | QuotaExceeded | FileTooLarge => Some(Self::Space),
            _ => is_files.then_some(Self::Files),
        }
    }

    /// What is lacking, for an error known to be a shortage.
    pub fn name(error: &io::Error) -> &'static str {
        match Self::of(error) {
            Some(Self::Files) => "no file can be opened",
            _ => "no space",
        }
    }

    /// What an operator does about an error known to be a shortage.
    pub fn remedy(error: &io::Error) -> &'static str {
        match Self::of(error) {
            Some(Self::Files) => "raise the limit of open files (ulimit -n)",
            _ => "free space there",
        }
    }
}

/// Whether an error is a shortage of space or files.
pub fn is_exhausted(error: &io::Error) -> bool {
    Shortage::of(error).is_some()
}

/// A flat folder of files.
pub trait Disk: Debug {
    /// An open file.
    type File: SegmentFile;

    /// Names of the files, in any order.
    fn names(&self) -> io::Result<Vec<String>>;

    /// Opens an existing file for reading and writing.
    fn open(&self, name: &str) -> io::Result<Self::File>;

    /// Creates an empty file. An existing file of that name loses its content.
    fn create(&self, name: &str) -> io::Result<Self::File>;

    /// Renames a file atomically and replaces any file of the new name.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Makes all names durable.
    fn sync(&self) -> io::Result<()>;

    /// The path of a file, for messages.
    fn describe(&self, name: &str) -> String;
}

/// One file of a [`Disk`].
pub trait SegmentFile: Debug {
    /// Reads the complete file.
    fn read(&mut self) -> io::Result<Vec<u8>>;

    /// Reads `length` bytes at `offset`, or fails if the file ends before.
    fn read_at(&mut self, offset: u64, length: usize) -> io::Result<Vec<u8>>;

    /// Writes at `offset` and returns the number of bytes written, which may be less than all.
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<usize>;

    /// Cuts the file to `length` bytes.
    fn truncate(&mut self, length: u64) -> io::Result<()>;

    /// Makes content and length durable. After an error the content of the disk is unknown. Do
    /// not call this again then, because a second call may report success for lost bytes.
    fn sync(&mut self) -> io::Result<()>;
}

/// Writes all of `bytes`, with repeated calls after short writes.
pub fn write_all(file: &mut impl SegmentFile, mut offset: u64, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.write_at(offset, bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => {
                offset += written as u64;
                bytes = bytes.get(written..).unwrap_or_default();
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_and_too_many_open_files_are_told_from_other_errors() {
        let of = |kind: io::ErrorKind| Shortage::of(&kind.into());
        assert_eq!(of(io::ErrorKind::StorageFull), Some(Shortage::Space));
        assert_eq!(of(io::ErrorKind::PermissionDenied), None);
        if cfg!(unix) {
            let error = io::Error::from_raw_os_error(24);
            assert_eq!(Shortage::of(&error), Some(Shortage::Files));
            assert!(Shortage::remedy(&error).contains("ulimit -n"));
        }
    }
}
