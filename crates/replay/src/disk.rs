//! The few file operations that a journal is made of.
//!
//! A [`Disk`] is one flat folder of [`SegmentFile`]s. Nothing is durable before the matching
//! sync has returned: bytes before [`SegmentFile::sync`], names before [`Disk::sync`]. The
//! journal works on any disk, so that tests can take away space, cut writes short, fail syncs
//! and lose what was not synced ([`MemoryDisk`](crate::testing::MemoryDisk)); programs use a
//! [`FolderDisk`].

use std::fmt::Debug;
use std::io;

mod folder;

pub use folder::FolderDisk;
pub(crate) use folder::{names, os_path};

/// A flat folder.
pub trait Disk: Debug {
    /// An open file.
    type File: SegmentFile;

    /// Names of the files, in any order.
    fn names(&self) -> io::Result<Vec<String>>;

    /// Opens a file that is there, for reading and writing.
    fn open(&self, name: &str) -> io::Result<Self::File>;

    /// Makes an empty file; one of that name loses its content.
    fn create(&self, name: &str) -> io::Result<Self::File>;

    /// Gives a file another name, in one step, instead of any file that had it.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Makes all names durable.
    fn sync(&self) -> io::Result<()>;

    /// How people find a file, for messages.
    fn describe(&self, name: &str) -> String;
}

/// One file of a [`Disk`].
pub trait SegmentFile: Debug {
    /// Everything in the file.
    fn read(&mut self) -> io::Result<Vec<u8>>;

    /// Writes at `offset`; may write less than asked, and says how much.
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<usize>;

    /// Cuts the file to `length` bytes.
    fn truncate(&mut self, length: u64) -> io::Result<()>;

    /// Makes content and length durable. After an error nobody knows what is on disk, and a
    /// second call may wrongly succeed: never sync again.
    fn sync(&mut self) -> io::Result<()>;
}
