//! The file operations on which a journal is built.
//!
//! A [`Disk`] is one flat folder of [`SegmentFile`]s. Bytes are durable after
//! [`SegmentFile::sync`] has returned, names after [`Disk::sync`]. Programs use a [`FolderDisk`].
//! Tests use a [`MemoryDisk`](crate::testing::MemoryDisk), which simulates full disks, short
//! writes, failed syncs and crashes.

use std::fmt::Debug;
use std::io;

mod folder;

pub use folder::FolderDisk;
pub(crate) use folder::{names, os_path};

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

    /// Writes at `offset` and returns the number of bytes written, which may be less than all.
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<usize>;

    /// Cuts the file to `length` bytes.
    fn truncate(&mut self, length: u64) -> io::Result<()>;

    /// Makes content and length durable. After an error the content of the disk is unknown. Do
    /// not call this again then, because a second call may report success for lost bytes.
    fn sync(&mut self) -> io::Result<()>;
}
