//! Weights as files of a folder.
//!
//! A file under its final name is complete: bytes go to a temporary file, which is synced and then
//! renamed, and the folder is synced.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use ouro_net::{ContentHash, RunId};
use ouro_replay::disk::is_exhausted;
use ouro_service::files::sync_folder;

use super::{WeightsError, WeightsStore, hash_in, name_of};

/// Extension of files that are being written.
const PARTIAL: &str = "partial";

/// A folder of weights files.
#[derive(Clone, Debug)]
pub struct WeightsFolder {
    path: PathBuf,
}

impl WeightsFolder {
    /// Opens the folder, or creates it.
    pub fn open(path: &Path) -> Result<Self, WeightsError> {
        let folder = Self { path: path.to_owned() };
        fs::create_dir_all(path).map_err(|source| folder.failed(path, source))?;
        Ok(folder)
    }

    /// Opens the folder to read weights. A folder that is missing is not created; it has no weights.
    pub fn open_to_read(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// Removes a file, if it is there.
    fn remove_file(&self, file: &Path) -> Result<(), WeightsError> {
        match fs::remove_file(file) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(self.failed(file, source))
            }
            _ => Ok(()),
        }
    }

    fn file(&self, hash: ContentHash) -> PathBuf {
        self.path.join(name_of(hash))
    }

    fn failed(&self, path: &Path, source: io::Error) -> WeightsError {
        WeightsError::Io { path: path.to_owned(), source }
    }
}

impl WeightsStore for WeightsFolder {
    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn write(&self, hash: ContentHash, bytes: &[u8]) -> Result<(), WeightsError> {
        let (path, partial) = (self.file(hash), self.path.join(format!("{hash}.{PARTIAL}")));
        if self.read(hash).is_ok() {
            // An attempt before may have ended between the new name and its sync.
            return sync_folder(&self.path).map_err(|source| self.failed(&path, source));
        }
        let write = || -> io::Result<()> {
            let mut file = File::create(&partial)?;
            file.write_all(bytes)?;
            file.sync_all()?;
            fs::rename(&partial, &path)?;
            // The new name is durable only after the folder is synced.
            sync_folder(&self.path)
        };
        write().map_err(|source| {
            // The partial file takes space. If this fails, the next start removes it.
            let _ = fs::remove_file(&partial);
            if is_exhausted(&source) {
                return WeightsError::Exhausted { folder: self.path.clone(), source };
            }
            self.failed(&path, source)
        })
    }

    fn read(&self, hash: ContentHash) -> Result<Vec<u8>, WeightsError> {
        let path = self.file(hash);
        let bytes = fs::read(&path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => WeightsError::Missing(hash),
            _ if is_exhausted(&source) => {
                WeightsError::Exhausted { folder: self.path.clone(), source }
            }
            _ => self.failed(&path, source),
        })?;
        let found = ContentHash::of(&bytes);
        if found == hash { Ok(bytes) } else { Err(WeightsError::Damaged { path, found }) }
    }

    fn hashes(&self) -> Result<Vec<ContentHash>, WeightsError> {
        let failed = |source| self.failed(&self.path, source);
        let entries = match fs::read_dir(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(failed)?,
        };
        let mut hashes = Vec::new();
        for entry in entries {
            let name = entry.map_err(failed)?.file_name();
            hashes.extend(name.to_str().and_then(hash_in));
        }
        Ok(hashes)
    }

    fn remove(&self, hash: ContentHash) -> Result<(), WeightsError> {
        self.remove_file(&self.file(hash))
    }

    /// Removes partial files of interrupted writes. [`open`](WeightsFolder::open) leaves them: a
    /// reader, or an arena that will be refused, may open the folder while its arena writes.
    fn bind_run(&self, _: RunId) -> Result<(), WeightsError> {
        let failed = |source| self.failed(&self.path, source);
        for entry in fs::read_dir(&self.path).map_err(failed)? {
            let file = entry.map_err(failed)?.path();
            if file.extension().is_some_and(|extension| extension == PARTIAL) {
                self.remove_file(&file)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_whole_or_absent_and_damage_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let weights = WeightsFolder::open(folder.path()).unwrap();
        let hash = ContentHash::of(b"weights");
        assert!(matches!(weights.read(hash), Err(WeightsError::Missing(_))));
        weights.write(hash, b"weights").unwrap();
        weights.write(hash, b"weights").unwrap();
        assert_eq!(weights.read(hash).unwrap(), b"weights");
        fs::write(folder.path().join(name_of(hash)), b"weighty").unwrap();
        assert!(matches!(weights.read(hash), Err(WeightsError::Damaged { .. })));
        // Writing the file again repairs it.
        weights.write(hash, b"weights").unwrap();
        assert_eq!(weights.read(hash).unwrap(), b"weights");
    }

    #[test]
    fn a_folder_that_is_missing_has_no_weights_and_is_not_created_to_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("weights");
        let weights = WeightsFolder::open_to_read(&path);
        assert!(weights.hashes().unwrap().is_empty());
        let missing = weights.read(ContentHash::of(b"weights"));
        assert!(matches!(missing, Err(WeightsError::Missing(_))), "{missing:?}");
        assert!(!path.exists());
    }

    #[test]
    fn only_the_arena_of_the_run_removes_half_written_files() {
        let folder = tempfile::tempdir().unwrap();
        let weights = WeightsFolder::open(folder.path()).unwrap();
        let (kept, dropped) = (ContentHash::of(b"a"), ContentHash::of(b"b"));
        weights.write(kept, b"a").unwrap();
        weights.write(dropped, b"b").unwrap();
        let half = folder.path().join("x.partial");
        fs::write(&half, b"half").unwrap();
        fs::write(folder.path().join("notes.txt"), b"mine").unwrap();
        let weights = WeightsFolder::open(folder.path()).unwrap();
        assert!(half.exists(), "another arena may be writing it");
        weights.bind_run(RunId::of(b"run")).unwrap();
        weights.remove(dropped).unwrap();
        let mut names: Vec<_> = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, [format!("{kept}.safetensors"), "notes.txt".into()]);
    }
}
