//! Weights on disk, by content hash.
//!
//! A [`Cache`] is a folder that the actors of a machine may share and that outlives them. A file is
//! complete or absent: it is written under a temporary name and renamed. Every file read is checked
//! against its hash; a damaged file is removed and fetched again. If the files exceed the size
//! limit, the least recently used files are removed. The caller passes the time.
//!
//! The files have an ending that nothing else writes, and a cache removes no others. Its folder may
//! therefore hold other files, even the weights of an arena.

use std::fs::{self, File};
use std::hash::BuildHasher;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use ouro_net::ContentHash;
use tracing::warn;

/// Ending of cached weights.
const ENDING: &str = ".cached-weights";
/// Ending of an unfinished file. Its name is that of the complete file, the [`Cache::writer`], a number
/// and this ending.
const UNFINISHED: &str = ".part";

/// Age at which an unfinished file counts as abandoned by its writer.
const ABANDONED: Duration = Duration::from_secs(3_600);

/// A folder of weights. See the [module](self).
#[derive(Debug)]
pub struct Cache {
    folder: PathBuf,
    most_bytes: u64,
    /// Random, so that no two caches of a folder write the same unfinished file. Process ids are not
    /// enough: in a container it is usually 1.
    writer: u64,
    written: AtomicU64,
}

impl Cache {
    /// Opens a folder, creates it if it is missing, and removes abandoned unfinished files.
    pub fn open(folder: PathBuf, most_bytes: u64, now: SystemTime) -> io::Result<Self> {
        fs::create_dir_all(&folder)?;
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            let is_old = || modified(&path).is_some_and(|at| is_abandoned(at, now));
            if is_unfinished(&path) && is_old() {
                remove(&path);
            }
        }
        Ok(Self { folder, most_bytes, writer: random_number(), written: AtomicU64::new(0) })
    }

    /// The file of this hash, if it exists and is undamaged.
    pub fn get(&self, hash: ContentHash, now: SystemTime) -> Option<Vec<u8>> {
        let path = self.path(hash);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) => {
                if error.kind() != io::ErrorKind::NotFound {
                    warn!(path = %path.display(), %error, "cannot read cached weights");
                }
                return None;
            }
        };
        if ContentHash::of(&bytes) != hash {
            warn!(path = %path.display(), bytes = bytes.len(), "cached weights are damaged; dropped");
            remove(&path);
            return None;
        }
        // If setting the time fails, the file is only removed earlier.
        let _ = File::options().append(true).open(&path).and_then(|file| file.set_modified(now));
        Some(bytes)
    }

    /// Stores a file and removes the least recently used files that no longer fit. A file larger
    /// than the whole cache is not stored.
    pub fn put(&self, hash: ContentHash, bytes: &[u8], now: SystemTime) -> io::Result<()> {
        if bytes.len() as u64 > self.most_bytes {
            return Ok(());
        }
        let unfinished = self.unfinished(hash);
        let written = fs::write(&unfinished, bytes)
            .and_then(|()| File::options().append(true).open(&unfinished))
            .and_then(|file| file.set_modified(now))
            .and_then(|()| fs::rename(&unfinished, self.path(hash)));
        if written.is_err() {
            remove(&unfinished);
        }
        written?;
        self.shrink(hash)
    }

    fn path(&self, hash: ContentHash) -> PathBuf {
        self.folder.join(format!("{hash}{ENDING}"))
    }

    /// A new name for an unfinished file.
    fn unfinished(&self, hash: ContentHash) -> PathBuf {
        let number = self.written.fetch_add(1, Ordering::Relaxed);
        let writer = self.writer;
        self.folder.join(format!("{hash}{ENDING}.{writer:016x}-{number}{UNFINISHED}"))
    }

    /// Removes the least recently used files until the rest fit. Never removes the file of `hash`.
    fn shrink(&self, hash: ContentHash) -> io::Result<()> {
        let newest = self.path(hash);
        let mut files = Vec::new();
        let mut total = 0;
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            // Another actor may have removed the file meanwhile.
            let Ok(about) = fs::metadata(&path) else { continue };
            if is_cached(&path) {
                total += about.len();
                files.push((about.modified().unwrap_or(SystemTime::UNIX_EPOCH), path, about.len()));
            }
        }
        files.sort();
        for (_, path, bytes) in files {
            if total <= self.most_bytes {
                break;
            }
            if path != newest {
                remove(&path);
                total -= bytes;
            }
        }
        Ok(())
    }
}

/// Whether a file is one that [`Cache::put`] has written.
fn is_cached(path: &Path) -> bool {
    name(path).and_then(|name| name.strip_suffix(ENDING)).is_some_and(is_hash)
}

/// Whether a file is one that [`Cache::put`] writes before it renames it.
fn is_unfinished(path: &Path) -> bool {
    let name = name(path).and_then(|name| name.strip_suffix(UNFINISHED));
    let parts = name.and_then(|name| name.split_once(ENDING));
    parts.is_some_and(|(hash, writer)| is_hash(hash) && writer.starts_with('.'))
}

/// A number that differs between processes, machines and calls.
#[expect(clippy::disallowed_types, reason = "its random keys are needed; nothing is iterated")]
fn random_number() -> u64 {
    std::hash::RandomState::new().hash_one(0)
}

fn name(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()
}

fn is_hash(text: &str) -> bool {
    text.parse::<ContentHash>().is_ok()
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|about| about.modified()).ok()
}

fn is_abandoned(at: SystemTime, now: SystemTime) -> bool {
    now.duration_since(at).is_ok_and(|age| age > ABANDONED)
}

/// Removes a file. A failure is ignored, because a remaining file does no harm.
fn remove(path: &Path) {
    let _ = fs::remove_file(path);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 + seconds)
    }

    fn file(content: u8, bytes: usize) -> (ContentHash, Vec<u8>) {
        let bytes = vec![content; bytes];
        (ContentHash::of(&bytes), bytes)
    }

    fn names(cache: &Cache) -> usize {
        fs::read_dir(&cache.folder).unwrap().count()
    }

    #[test]
    fn a_file_is_there_after_a_restart_and_under_its_hash_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("weights");
        let (hash, bytes) = file(1, 100);
        let cache = Cache::open(path.clone(), 1_000, at(0)).unwrap();
        assert_eq!(cache.get(hash, at(0)), None);
        cache.put(hash, &bytes, at(1)).unwrap();
        let cache = Cache::open(path, 1_000, at(2)).unwrap();
        assert_eq!(cache.get(hash, at(3)), Some(bytes));
        assert_eq!(cache.get(file(2, 100).0, at(3)), None);
        assert_eq!(names(&cache), 1);
    }

    #[test]
    fn the_least_recently_used_files_go_first() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(folder.path().into(), 350, at(0)).unwrap();
        let files: Vec<_> = (0..4).map(|content| file(content, 100)).collect();
        for (second, (hash, bytes)) in (0..).zip(&files[..3]) {
            cache.put(*hash, bytes, at(second)).unwrap();
        }
        // The first file is used again, so the second is the least recently used.
        assert!(cache.get(files[0].0, at(10)).is_some());
        cache.put(files[3].0, &files[3].1, at(11)).unwrap();
        let there = |index: usize| cache.get(files[index].0, at(12)).is_some();
        assert_eq!([0, 1, 2, 3].map(there), [true, false, true, true]);
        // A file larger than the cache is not stored and removes nothing.
        let (hash, bytes) = file(9, 351);
        cache.put(hash, &bytes, at(13)).unwrap();
        assert_eq!((cache.get(hash, at(14)), names(&cache)), (None, 3));
        // A file of exactly the size of the cache replaces all others.
        let (hash, bytes) = file(9, 350);
        cache.put(hash, &bytes, at(15)).unwrap();
        assert_eq!((cache.get(hash, at(16)), names(&cache)), (Some(bytes), 1));
    }

    #[test]
    fn a_damaged_file_is_dropped_wherever_it_is_cut_or_changed() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(folder.path().into(), 1_000, at(0)).unwrap();
        let (hash, bytes) = file(7, 60);
        for damage in 0..=bytes.len() {
            let mut damaged = bytes.clone();
            match damaged.get_mut(damage) {
                Some(byte) if damage % 2 == 0 => *byte ^= 1,
                Some(_) => damaged.truncate(damage),
                None => damaged.push(7),
            }
            fs::write(cache.path(hash), damaged).unwrap();
            assert_eq!(cache.get(hash, at(1)), None);
            assert_eq!(names(&cache), 0);
        }
        cache.put(hash, &bytes, at(2)).unwrap();
        assert_eq!(cache.get(hash, at(3)), Some(bytes));
    }

    #[test]
    fn what_was_half_written_long_ago_is_removed_and_what_is_being_written_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let now = SystemTime::now();
        let (hash, _) = file(1, 100);
        let part = folder.path().join(format!("{hash}{ENDING}.1-0{UNFINISHED}"));
        fs::write(&part, b"half").unwrap();
        Cache::open(folder.path().into(), 1_000, now).unwrap();
        assert!(part.exists());
        Cache::open(folder.path().into(), 1_000, now + 2 * ABANDONED).unwrap();
        assert!(!part.exists());
    }

    #[test]
    fn caches_of_one_folder_never_write_the_same_unfinished_file() {
        let folder = tempfile::tempdir().unwrap();
        let open = || Cache::open(folder.path().into(), 1_000, at(0)).unwrap();
        let (one, other) = (open(), open());
        let (hash, _) = file(1, 100);
        let mut paths = [&one, &one, &other, &other].map(|cache| cache.unfinished(hash));
        assert!(paths.iter().all(|path| is_unfinished(path) && !is_cached(path)), "{paths:?}");
        paths.sort();
        assert!(paths.windows(2).all(|pair| pair[0] != pair[1]), "{paths:?}");
    }

    #[test]
    fn files_of_others_in_the_folder_stay() {
        let folder = tempfile::tempdir().unwrap();
        let (foreign, bytes) = file(9, 300);
        let names = ["champion.safetensors", "HASH.safetensors", "x.part", "HASH.part"];
        let named = |name: &str| folder.path().join(name.replace("HASH", &foreign.to_string()));
        let others = names.map(named);
        for path in &others {
            fs::write(path, &bytes).unwrap();
            let file = File::options().append(true).open(path).unwrap();
            file.set_modified(at(0)).unwrap();
        }
        let open = |now| Cache::open(folder.path().into(), 350, now).unwrap();
        let cache = open(at(1));
        let files: Vec<_> = (0..4).map(|content| file(content, 100)).collect();
        for (second, (hash, bytes)) in (2..).zip(&files) {
            cache.put(*hash, bytes, at(second)).unwrap();
        }
        let cache = open(at(7_200));
        assert!(others.iter().all(|path| path.exists()), "{others:?}");
        let kept = files.iter().filter(|(hash, _)| cache.get(*hash, at(7_201)).is_some());
        assert_eq!(kept.count(), 3);
        // The cache does not read another file of the same hash.
        assert_eq!(cache.get(foreign, at(7_201)), None);
    }
}
