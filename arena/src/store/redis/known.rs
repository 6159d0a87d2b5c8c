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
    /// `None`: the file is only read.
    file: Option<File>,
}

impl KnownFile {
    /// Opens or creates the file in the folder of an arena.
    pub(super) fn open(folder: &Path) -> io::Result<Self> {
        std::fs::create_dir_all(folder)?;
        let path = folder.join(FILE);
        Ok(Self { file: Some(open(&path)?), path })
    }

    /// The file in the folder of an arena, which is only read, and need not exist.
    pub(super) fn to_read(folder: &Path) -> Self {
        Self { path: folder.join(FILE), file: None }
    }

    /// Path of the file, for messages.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The last known entry; `None` before the first, and if a crash of the machine damaged the file.
    ///
    /// An operator who accepts a loss may remove the file while the arena starts. It is then made
    /// again, unless it is only read.
    pub(super) fn read(&mut self) -> io::Result<Option<KnownEntry>> {
        match read(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if self.file.is_some() {
                    self.file = Some(open(&self.path)?);
                }
                Ok(None)
            }
            known => known,
        }
    }

    /// Notes an entry that is stored. All lines have the same length, so each write replaces the line
    /// before, and a killed process leaves one of the two. A file that is only read does not change.
    pub(super) fn note(&self, entry: &KnownEntry) -> io::Result<()> {
        let KnownEntry { number, checksum } = entry;
        let Some(mut file) = self.file.as_ref() else { return Ok(()) };
        file.seek(SeekFrom::Start(0))?;
        file.write_all(format!("{number:020} {checksum:>8}\n").as_bytes())
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

    fn known_in(folder: &Path) -> Option<KnownEntry> {
        KnownFile::to_read(folder).read().unwrap()
    }

    #[test]
    fn a_file_that_is_only_read_is_neither_made_nor_changed() {
        let folder = tempfile::tempdir().unwrap();
        let mut reader = KnownFile::to_read(folder.path());
        let entry = KnownEntry::new(7, "00c0ffee entry");
        reader.note(&entry).unwrap();
        assert_eq!(reader.read().unwrap(), None);
        assert!(!reader.path().exists());
        KnownFile::open(folder.path()).unwrap().note(&entry).unwrap();
        reader.note(&KnownEntry::new(8, "00c0ffee entry")).unwrap();
        assert_eq!(reader.read().unwrap(), Some(entry));
    }

    #[test]
    fn a_file_that_is_removed_during_a_start_is_made_again() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = KnownFile::open(folder.path()).unwrap();
        file.note(&KnownEntry::new(7, "00c0ffee entry")).unwrap();
        std::fs::remove_file(file.path()).unwrap();
        assert_eq!(file.read().unwrap(), None);
        let known = KnownEntry::new(8, "00c0ffee entry");
        file.note(&known).unwrap();
        assert_eq!(known_in(folder.path()), Some(known));
    }

    #[test]
    fn the_last_note_counts() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(known_in(folder.path()), None);
        let mut file = KnownFile::open(folder.path()).unwrap();
        assert_eq!(file.read().unwrap(), None);
        for number in [9, 10] {
            file.note(&KnownEntry::new(number, "0a1b2c3d 9 {}")).unwrap();
        }
        let known = KnownEntry { number: 10, checksum: "0a1b2c3d".to_owned() };
        assert_eq!(KnownFile::open(folder.path()).unwrap().read().unwrap(), Some(known.clone()));
        assert_eq!(known_in(folder.path()), Some(known));
    }
}
