//! The folder of a run: one `ouro train` at a time uses it. A new run that is refused leaves no data of a
//! part in it; the lock file may stay.
//!
//! Contract: a refused start removes only what it created itself, which is never a link. The [`RunLock`]
//! keeps other starts of `ouro train` out. A service in a process of its own, such as `ouro-arena`, may
//! start in the folder at any time. Its data stays: it holds the lock of its part, or a file has content
//! that no start writes.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use ouro_replay::FolderDisk;
use ouro_replay::journal::JournalError;

use crate::failure::Failure;

/// A part of a run, which keeps data in the run's folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// The first part that a start creates.
    Arena,
    /// Started once the arena is bound.
    Learner,
    /// The last part.
    Actor,
}

impl Part {
    /// All parts, in the order of their start.
    pub(super) const ALL: [Self; 3] = [Self::Arena, Self::Learner, Self::Actor];

    /// Its folder in the folder of the run.
    pub(super) const fn folder(self) -> &'static str {
        match self {
            Self::Arena => "arena",
            Self::Learner => "learner",
            Self::Actor => "actor",
        }
    }

    /// The folder that its process locks. An actor locks none, nor does an arena with results in Redis.
    const fn locked(self) -> Option<&'static str> {
        match self {
            Self::Arena => Some("arena"),
            Self::Learner => Some("learner/journal"),
            Self::Actor => None,
        }
    }

    /// A folder in which no file has content before the part runs.
    const fn idle(self) -> &'static str {
        match self {
            Self::Arena => "arena/weights",
            Self::Learner => "learner/training-states",
            Self::Actor => "actor",
        }
    }
}

/// Whether a part has data in the folder of a run. A link counts even if its target is not there, because
/// the disk with the data may not be mounted.
pub(super) fn has_parts(folder: &Path) -> bool {
    Part::ALL.iter().any(|part| fs::symlink_metadata(folder.join(part.folder())).is_ok())
}

/// The lock of a run's folder. The operating system releases it when the process ends.
#[derive(Debug)]
pub(super) struct RunLock {
    folder: PathBuf,
    _disk: FolderDisk,
}

impl RunLock {
    /// Locks the folder of a run, which is created if it is missing.
    pub(super) fn take(folder: &Path) -> Result<Self, Failure> {
        match FolderDisk::open(folder) {
            Ok(disk) => Ok(Self { folder: folder.to_owned(), _disk: disk }),
            Err(JournalError::Locked { .. }) => Err(Failure::unavailable(format_args!(
                "run folder {} is in use by another process; stop that one, or choose another with \
                 --run",
                folder.display()
            ))),
            // The error names the path and the remedy.
            Err(error) => Err(Failure::io(error)),
        }
    }

    /// Removes the data that the parts of a new run created before one of them refused to start. This
    /// process holds the locks of the parts in `bound`.
    ///
    /// Leaves everything if another process uses a part, or if a part is a link.
    pub(super) fn discard_parts(&self, bound: &[Part]) {
        // Held until the folders are gone, so that no process starts in one of them.
        let mut locks = Vec::new();
        for part in Part::ALL {
            let Ok(found) = fs::symlink_metadata(self.folder.join(part.folder())) else { continue };
            if found.is_symlink() || has_content(&self.folder.join(part.idle())) {
                return;
            }
            if let Some(locked) = part.locked()
                && !bound.contains(&part)
            {
                let Ok(lock) = FolderDisk::open(&self.folder.join(locked)) else { return };
                locks.push(lock);
            }
        }
        for part in Part::ALL {
            // If a folder cannot be removed, the next start reports it.
            let _ = fs::remove_dir_all(self.folder.join(part.folder()));
        }
    }

    /// Removes the folder if nothing but the lock is in it.
    pub(super) fn discard_folder(&self) {
        let _ = fs::remove_file(self.folder.join(FolderDisk::LOCK));
        // `remove_dir` removes only an empty folder.
        let _ = fs::remove_dir(&self.folder);
    }
}

/// Whether a file below the folder has content, as far as can be read.
fn has_content(folder: &Path) -> bool {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => return error.kind() != ErrorKind::NotFound,
    };
    entries.into_iter().any(|entry| {
        let Ok(entry) = entry else { return true };
        match entry.metadata() {
            Ok(found) if found.is_dir() => has_content(&entry.path()),
            Ok(found) => found.len() > 0,
            Err(_) => true,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A locked folder of a run with a folder of each part.
    fn with_parts(home: &Path) -> RunLock {
        let lock = RunLock::take(&home.join("run")).expect("no other process is here");
        for part in Part::ALL {
            fs::create_dir_all(lock.folder.join(part.folder())).expect("as a part does");
        }
        lock
    }

    #[test]
    fn one_start_at_a_time_uses_a_folder() {
        let home = tempfile::tempdir().expect("a scratch folder");
        let lock = with_parts(home.path());
        let error = format!("{:?}", RunLock::take(&lock.folder).expect_err("it is locked"));
        assert!(error.contains("run is in use by another process; stop that one"), "{error}");
        let folder = lock.folder.clone();
        drop(lock);
        RunLock::take(&folder).expect("it is free again");
    }

    #[test]
    fn a_folder_that_cannot_be_locked_is_named_with_one_remedy() {
        let home = tempfile::tempdir().expect("a scratch folder");
        fs::create_dir(home.path().join(FolderDisk::LOCK)).expect("nothing is there");
        let error = RunLock::take(home.path()).expect_err("the lock is a folder");
        let error = format!("{error:?}");
        assert!(error.contains("LOCK: ") && error.contains("; check the path"), "{error}");
        assert_eq!(error.matches(';').count(), 1, "{error}");
    }

    #[test]
    fn a_refused_start_leaves_the_data_of_services_that_use_the_folder() {
        let home = tempfile::tempdir().expect("a scratch folder");
        let lock = with_parts(home.path());
        let has_all = || Part::ALL.iter().all(|part| lock.folder.join(part.folder()).exists());
        for locked in ["arena", "learner/journal"] {
            let service = FolderDisk::open(&lock.folder.join(locked)).expect("as a service does");
            lock.discard_parts(&[]);
            assert!(has_all(), "{locked}");
            drop(service);
        }
        for written in ["arena/weights/a", "learner/training-states/step-1/a", "actor/a"] {
            let file = lock.folder.join(written);
            fs::create_dir_all(file.parent().expect("it has one")).expect("as a service does");
            fs::write(&file, "content").expect("as a service does");
            lock.discard_parts(&Part::ALL);
            assert!(has_all(), "{written}");
            fs::write(&file, "").expect("it is ours");
        }
        lock.discard_folder();
        assert!(has_all(), "the folder is not empty");
        // The locks of bound parts are those of this process.
        let own = FolderDisk::open(&lock.folder.join("arena")).expect("as the arena does");
        lock.discard_parts(&[Part::Arena]);
        lock.discard_folder();
        assert!(!lock.folder.exists(), "all is from this start");
        drop(own);
    }

    #[cfg(unix)]
    #[test]
    fn a_refused_start_leaves_all_parts_if_one_is_a_link() {
        let home = tempfile::tempdir().expect("a scratch folder");
        let lock = with_parts(home.path());
        let (link, disk) = (lock.folder.join("arena"), home.path().join("disk"));
        fs::rename(&link, &disk).expect("a folder of ours");
        for target in [Path::new("/nowhere"), disk.as_path()] {
            std::os::unix::fs::symlink(target, &link).expect("nothing is there");
            lock.discard_parts(&Part::ALL);
            assert!(link.is_symlink() && disk.exists(), "{}", target.display());
            assert!(lock.folder.join("learner").exists(), "{}", target.display());
            fs::remove_file(&link).expect("it is a link");
        }
    }
}
