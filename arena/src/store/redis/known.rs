//! The last entry that an arena knows to be stored, in a file beside its weights.
//!
//! A server whose file lost its end, and was repaired or restored, looks like one that never had these
//! entries. The arena remembers them: a start with a server that lacks one is refused. The file is not
//! synced, so after a power failure it may be older, and then a loss may not be noticed.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Name of the file in the folder of the arena.
const FILE: &str = "store.known";

/// The last entry that is known to be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KnownEntry {
    /// Its number.
    pub(super) number: u64,
    /// The checksum with which its line starts.
    pub(super) checksum: String,
}

impl KnownEntry {
    /// The entry with this number and line.
    pub(super) fn new(number: u64, line: &str) -> Self {
        let checksum = line.split(' ').next().unwrap_or_default().to_owned();
        Self { number, checksum }
    }
}

/// The file. See the [module](self).
#[derive(Debug)]
pub(super) struct KnownFile {
    path: PathBuf,
    file: File,
}

impl KnownFile {
    /// Opens or creates the file in the folder of an arena.
    pub(super) fn open(folder: &Path) -> io::Result<Self> {
        std::fs::create_dir_all(folder)?;
        let path = path_in(folder);
        Ok(Self { file: open(&path)?, path })
    }

    /// Path of the file, for messages.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The last known entry; `None` before the first, and if a crash of the machine damaged the file.
    ///
    /// An operator who accepts a loss may remove the file while the arena starts. It is then made again.
    pub(super) fn read(&mut self) -> io::Result<Option<KnownEntry>> {
        match read(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.file = open(&self.path)?;
                Ok(None)
            }
            known => known,
        }
    }

    /// Notes an entry that is stored. All lines have the same length, so each write replaces the line
    /// before, and a killed process leaves one of the two.
    pub(super) fn note(&self, entry: &KnownEntry) -> io::Result<()> {
        let KnownEntry { number, checksum } = entry;
        let mut file = &self.file;
        file.seek(SeekFrom::Start(0))?;
        file.write_all(format!("{number:020} {checksum:>8}\n").as_bytes())
    }
}

/// The file in the folder of an arena.
pub(super) fn path_in(folder: &Path) -> PathBuf {
    folder.join(FILE)
}

/// The last known entry in the folder of an arena that is not running.
pub(super) fn known_in(folder: &Path) -> io::Result<Option<KnownEntry>> {
    match read(&path_in(folder)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        known => known,
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)
}

fn read(path: &Path) -> io::Result<Option<KnownEntry>> {
    let text = std::fs::read_to_string(path)?;
    let parse = |line: &str| {
        let (number, checksum) = line.split_once(' ')?;
        Some(KnownEntry { number: number.parse().ok()?, checksum: checksum.to_owned() })
    };
    Ok(text.lines().next().and_then(parse))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_removed_during_a_start_is_made_again() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = KnownFile::open(folder.path()).unwrap();
        file.note(&KnownEntry::new(7, "00c0ffee entry")).unwrap();
        std::fs::remove_file(file.path()).unwrap();
        assert_eq!(file.read().unwrap(), None);
        let known = KnownEntry::new(8, "00c0ffee entry");
        file.note(&known).unwrap();
        assert_eq!(known_in(folder.path()).unwrap(), Some(known));
    }

    #[test]
    fn the_last_note_counts() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(known_in(folder.path()).unwrap(), None);
        let mut file = KnownFile::open(folder.path()).unwrap();
        assert_eq!(file.read().unwrap(), None);
        for number in [9, 10] {
            file.note(&KnownEntry::new(number, "0a1b2c3d 9 {}")).unwrap();
        }
        let known = KnownEntry { number: 10, checksum: "0a1b2c3d".to_owned() };
        assert_eq!(KnownFile::open(folder.path()).unwrap().read().unwrap(), Some(known.clone()));
        assert_eq!(known_in(folder.path()).unwrap(), Some(known));
    }
}
