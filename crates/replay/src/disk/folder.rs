//! A folder of the file system, held by one process at a time.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::{Disk, SegmentFile};
use crate::journal::JournalError;

/// The file whose lock stands for the folder.
const LOCK: &str = "LOCK";

/// A folder. As long as the value lives no other process, and nobody else in this one, gets
/// the folder; the system gives the lock back however the process ends.
#[derive(Debug)]
pub struct FolderDisk {
    folder: PathBuf,
    _lock: File,
}

impl FolderDisk {
    /// Makes the folder if it is not there and locks it.
    pub fn open(folder: &Path) -> Result<Self, JournalError> {
        let at = |action: &'static str, path: &Path| {
            let path = path.display().to_string();
            move |source| JournalError::Io { action, path, source }
        };
        fs::create_dir_all(folder).map_err(at("make", folder))?;
        let path = folder.join(LOCK);
        let lock = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(at("open", &path))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { folder: folder.to_owned(), _lock: lock }),
            Err(TryLockError::WouldBlock) => {
                Err(JournalError::Locked { path: folder.display().to_string() })
            }
            Err(TryLockError::Error(source)) => Err(at("lock", &path)(source)),
        }
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
        // Windows cannot open folders; there the rename itself has to do.
        if cfg!(unix) { File::open(&self.folder)?.sync_all() } else { Ok(()) }
    }

    fn describe(&self, name: &str) -> String {
        os_path(&self.folder, name)
    }
}

/// Names of the files in `folder`; those that are not Unicode are not ours.
pub(crate) fn names(folder: &Path) -> io::Result<Vec<String>> {
    let names = fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name().into_string().ok()));
    names.filter_map(io::Result::transpose).collect()
}

/// How people find a file of `folder`; the folder itself for an empty name.
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
