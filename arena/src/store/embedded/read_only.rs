//! A disk that is read and never changed.

use std::io::{self, Cursor, Read, Write};

use ouro_replay::disk::{Disk, SegmentFile};

/// A disk to read from. Its files are copies in memory, and no change reaches the disk.
///
/// Opening a store cuts an incomplete last entry, and creates a file that is missing. On this disk, both
/// happen in memory. A file that is opened again has the content of the disk.
#[derive(Debug)]
pub struct ReadOnly<D>(D);

impl<D: Disk> ReadOnly<D> {
    /// A view of a disk.
    pub(super) fn new(disk: D) -> Self {
        Self(disk)
    }
}

impl<D: Disk> Disk for ReadOnly<D> {
    type File = FileCopy;

    fn names(&self) -> io::Result<Vec<String>> {
        self.0.names()
    }

    fn open(&self, name: &str) -> io::Result<FileCopy> {
        Ok(FileCopy(Cursor::new(self.0.open(name)?.read()?)))
    }

    fn create(&self, _name: &str) -> io::Result<FileCopy> {
        Ok(FileCopy(Cursor::default()))
    }

    fn rename(&self, _from: &str, _to: &str) -> io::Result<()> {
        Ok(())
    }

    fn remove(&self, _name: &str) -> io::Result<()> {
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn describe(&self, name: &str) -> String {
        self.0.describe(name)
    }
}

/// The content of a file, in memory.
#[derive(Debug)]
pub struct FileCopy(Cursor<Vec<u8>>);

impl SegmentFile for FileCopy {
    fn read(&mut self) -> io::Result<Vec<u8>> {
        Ok(self.0.get_ref().clone())
    }

    fn read_at(&mut self, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        self.0.set_position(offset);
        self.0.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        self.0.set_position(offset);
        self.0.write(bytes)
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.0.get_mut().truncate(length as usize);
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;
    use std::path::Path;

    use crate::store::conformance::{content, fill};
    use crate::store::{EmbeddedStore, LOG_FILE};

    /// Every file of a folder with its content.
    fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
        let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
        let file = |entry: fs::DirEntry| {
            (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())
        };
        files.map(file).collect()
    }

    #[test]
    fn a_store_opened_to_read_has_all_entries_and_leaves_every_byte() {
        let folder = tempfile::tempdir().unwrap();
        let store = EmbeddedStore::open(folder.path()).unwrap();
        fill(&store);
        drop(store);
        // Games that a store has dropped are in its log until the file is written anew.
        let store = EmbeddedStore::open(folder.path()).unwrap();
        let before = content(&store);
        drop(store);
        let length = fs::read(folder.path().join(LOG_FILE)).unwrap().len() as u64;
        // What a crash leaves in both files: an incomplete line, or a line without its newline.
        for (dropped, added) in [(0, &b"0badc0de 9 {\"half"[..]), (1, b"")] {
            let whole = files(folder.path());
            for name in [LOG_FILE, "games.log"] {
                let bytes = &whole[name];
                let changed = [&bytes[..bytes.len() - dropped], added].concat();
                fs::write(folder.path().join(name), changed).unwrap();
            }
            let damaged = files(folder.path());
            let store = EmbeddedStore::open_to_read(folder.path()).unwrap();
            assert_eq!(content(&store), before);
            assert_eq!(store.log_bytes(), length);
            drop(store);
            assert_eq!(files(folder.path()), damaged);
            for (name, bytes) in whole {
                fs::write(folder.path().join(name), bytes).unwrap();
            }
        }
    }
}
