//! A folder of the file system, locked by one process at a time.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Disk, SegmentFile};
use crate::journal::error::JournalError;

/// A locked folder. While the value or a [`FolderLock`] of it exists, it cannot be opened again,
/// neither by this process nor by another. The operating system releases the lock when the process
/// ends.
#[derive(Debug)]
pub struct FolderDisk {
    folder: PathBuf,
    lock: FolderLock,
    /// The folder itself, open so that a sync needs no further file. Windows cannot open folders.
    handle: Option<File>,
}

/// The lock of a [`FolderDisk`]. The folder is locked until the last clone is dropped.
#[derive(Clone, Debug)]
pub struct FolderLock {
    _file: Arc<LockFile>,
}

/// A locked file.
///
/// A process that is being started has copies of all open files until it executes its program.
/// The drop therefore releases the lock itself: a closed file stays locked while a copy is open.
#[derive(Debug)]
struct LockFile(File);

impl FolderDisk {
    /// Name of the lock file in the folder.
    pub const LOCK: &'static str = "LOCK";

    /// Creates the folder if it is missing, and locks it.
    pub fn open(folder: &Path) -> Result<Self, JournalError> {
        let at = |action: &'static str, path: &Path| {
            let path = path.display().to_string();
            move |source| JournalError::Io { action, path, source }
        };
        fs::create_dir_all(folder).map_err(at("make", folder))?;
        let path = folder.join(Self::LOCK);
        let lock = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(at("open", &path))?;
        let handle = cfg!(unix).then(|| File::open(folder)).transpose();
        let handle = handle.map_err(at("open", folder))?;
        match lock.try_lock() {
            Ok(()) => {
                let lock = FolderLock { _file: Arc::new(LockFile(lock)) };
                Ok(Self { folder: folder.to_owned(), lock, handle })
            }
            Err(TryLockError::WouldBlock) => {
                Err(JournalError::Locked { path: folder.display().to_string() })
            }
            Err(TryLockError::Error(source)) => Err(at("lock", &path)(source)),
        }
    }

    /// The lock, which may outlive the value.
    pub fn lock(&self) -> FolderLock {
        self.lock.clone()
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        // After an error, the lock ends with the last copy of the file.
        let _ = self.0.unlock();
    }
}

impl Disk for FolderDisk {
    type File = File;

    fn names(&self) -> io::Result<Vec<String>> {
        names(&self.folder)
    }

    fn open(&self, name: &str) -> io::Result<File> {
        OpenOptions::new().read(true).write(true).open(self.folder.join(name))
    }

    fn create(&self, name: &str) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(true).open(self.folder.join(name))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.folder.join(from), self.folder.join(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.folder.join(name))
    }

    fn sync(&self) -> io::Result<()> {
        // Without a handle, the rename alone must suffice.
        self.handle.as_ref().map_or(Ok(()), File::sync_all)
    }

    fn describe(&self, name: &str) -> String {
        os_path(&self.folder, name)
    }
}

/// Names of the files in `folder`, without names that are not Unicode, which no journal uses.
pub(crate) fn names(folder: &Path) -> io::Result<Vec<String>> {
    let names = fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name().into_string().ok()));
    names.filter_map(io::Result::transpose).collect()
}

/// The path of a file in `folder`, for messages; the folder itself for an empty name.
pub(crate) fn os_path(folder: &Path, name: &str) -> String {
    let path = if name.is_empty() { folder.to_owned() } else { folder.join(name) };
    path.display().to_string()
}

impl SegmentFile for File {
    fn read(&mut self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.seek(SeekFrom::Start(0))?;
        self.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn read_at(&mut self, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        self.seek(SeekFrom::Start(offset))?;
        self.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        self.seek(SeekFrom::Start(offset))?;
        self.write(bytes)
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A copy of the lock's file stands for a process that is being started.
    #[test]
    fn a_dropped_folder_is_free_although_a_copy_of_its_lock_is_open() {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let first = FolderDisk::open(folder.path()).expect("a free folder");
        let copy = first.lock._file.0.try_clone().expect("another handle");
        let refused = FolderDisk::open(folder.path());
        assert!(matches!(refused, Err(JournalError::Locked { .. })), "{refused:?}");
        drop(first);
        FolderDisk::open(folder.path()).expect("a free folder");
        drop(copy);
    }

    #[test]
    fn a_folder_stays_locked_until_the_last_copy_of_its_lock_is_dropped() {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let disk = FolderDisk::open(folder.path()).expect("a free folder");
        let (first, second) = (disk.lock(), disk.lock());
        for part in [Box::new(disk) as Box<dyn std::any::Any>, Box::new(first)] {
            drop(part);
            let refused = FolderDisk::open(folder.path());
            assert!(matches!(refused, Err(JournalError::Locked { .. })), "{refused:?}");
        }
        drop(second);
        FolderDisk::open(folder.path()).expect("a free folder");
    }
}
