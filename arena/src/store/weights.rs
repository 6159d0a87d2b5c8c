//! Weights files by content hash, beside the store.
//!
//! A file under its final name is complete: bytes go to a temporary file, which is synced and then
//! renamed, and the folder is synced. Reading checks the hash, so damaged weights are never used.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use ouro_net::ContentHash;
use ouro_replay::disk::{Shortage, is_exhausted};

use super::disk::sync_folder;

const SUFFIX: &str = "safetensors";

/// Why a weights file cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum WeightsError {
    /// The disk failed.
    #[error("weights file {}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The message of the system.
        source: io::Error,
    },
    /// The disk is full, or too many files are open. A later write may succeed.
    #[error(
        "{} in {}: {source}; {}, and the arena resumes by itself",
        Shortage::name(source), folder.display(), Shortage::remedy(source)
    )]
    Exhausted {
        /// The folder of weights.
        folder: PathBuf,
        /// The message of the system.
        source: io::Error,
    },
    /// The file was removed or never arrived.
    #[error("weights {0} are not held here; only pool members, candidates and the newest are kept")]
    Missing(ContentHash),
    /// The bytes on disk have changed.
    #[error(
        "weights file {} is damaged: its content hashes to {found}; put a copy of the file back",
        path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Hash of the bytes.
        found: ContentHash,
    },
}

impl WeightsError {
    /// Whether the disk is full or too many files are open. The same call may succeed later.
    pub fn is_exhausted(&self) -> bool {
        matches!(self, Self::Exhausted { .. })
    }
}

/// A folder of weights files.
#[derive(Clone, Debug)]
pub struct WeightsFolder {
    path: PathBuf,
}

impl WeightsFolder {
    /// Opens the folder, or creates it, and removes partial files of interrupted writes.
    pub fn open(path: &Path) -> Result<Self, WeightsError> {
        let folder = Self { path: path.to_owned() };
        fs::create_dir_all(path).map_err(|source| folder.failed(path, source))?;
        for entry in fs::read_dir(path).map_err(|source| folder.failed(path, source))? {
            let file = entry.map_err(|source| folder.failed(path, source))?.path();
            if file.extension().is_some_and(|extension| extension == "partial") {
                fs::remove_file(&file).map_err(|source| folder.failed(&file, source))?;
            }
        }
        Ok(folder)
    }

    /// Writes a file durably. An existing file is kept unless it is damaged.
    pub fn write(&self, hash: ContentHash, bytes: &[u8]) -> Result<(), WeightsError> {
        let (path, partial) = (self.file(hash), self.path.join(format!("{hash}.partial")));
        if self.read(hash).is_ok() {
            return Ok(());
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
            // The partial file takes space. If it cannot be removed now, the next start removes it.
            let _ = fs::remove_file(&partial);
            if is_exhausted(&source) {
                return WeightsError::Exhausted { folder: self.path.clone(), source };
            }
            self.failed(&path, source)
        })
    }

    /// Reads a file and checks its hash.
    pub fn read(&self, hash: ContentHash) -> Result<Vec<u8>, WeightsError> {
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

    /// Number of weights files.
    pub fn count(&self) -> Result<usize, WeightsError> {
        Ok(self.hashes()?.len())
    }

    /// Removes every weights file for which `keep` is false.
    pub fn retain(&self, keep: impl Fn(ContentHash) -> bool) -> Result<(), WeightsError> {
        for hash in self.hashes()?.into_iter().filter(|hash| !keep(*hash)) {
            let file = self.file(hash);
            fs::remove_file(&file).map_err(|source| self.failed(&file, source))?;
        }
        Ok(())
    }

    /// The hashes that name the weights files.
    pub fn hashes(&self) -> Result<Vec<ContentHash>, WeightsError> {
        let failed = |source| self.failed(&self.path, source);
        let mut hashes = Vec::new();
        for entry in fs::read_dir(&self.path).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            let stem = name.to_str().and_then(|name| name.strip_suffix(&format!(".{SUFFIX}")));
            hashes.extend(stem.and_then(|stem| stem.parse::<ContentHash>().ok()));
        }
        Ok(hashes)
    }

    fn file(&self, hash: ContentHash) -> PathBuf {
        self.path.join(format!("{hash}.{SUFFIX}"))
    }

    fn failed(&self, path: &Path, source: io::Error) -> WeightsError {
        WeightsError::Io { path: path.to_owned(), source }
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
        fs::write(folder.path().join(format!("{hash}.safetensors")), b"weighty").unwrap();
        assert!(matches!(weights.read(hash), Err(WeightsError::Damaged { .. })));
        // Writing the file again repairs it.
        weights.write(hash, b"weights").unwrap();
        assert_eq!(weights.read(hash).unwrap(), b"weights");
    }

    #[test]
    fn opening_removes_half_written_files_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let weights = WeightsFolder::open(folder.path()).unwrap();
        let (kept, dropped) = (ContentHash::of(b"a"), ContentHash::of(b"b"));
        weights.write(kept, b"a").unwrap();
        weights.write(dropped, b"b").unwrap();
        fs::write(folder.path().join("x.partial"), b"half").unwrap();
        fs::write(folder.path().join("notes.txt"), b"mine").unwrap();
        let weights = WeightsFolder::open(folder.path()).unwrap();
        weights.retain(|hash| hash == kept).unwrap();
        let mut names: Vec<_> = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, [format!("{kept}.safetensors"), "notes.txt".into()]);
    }
}
