//! Copies the results and the weights of an arena, which may be running.
//!
//! The log refers to weights that were stored before, so a copy of the log is followed by one of the
//! weights. Weights are also copied before the log, because an arena removes those of rejected
//! candidates. The log is append-only: a copy is a moment of the run, up to an incomplete last line,
//! which is left out. The copy is always in files, even if the results are in Redis.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use ouro_service::files::{copy_file, read_regular, unless_gone};

use super::copy::copy_games as copy_between;
use super::embedded::{EmbeddedStore, LOG_FILE};
use super::error::StoreError;
use super::kept_games::FILE as GAMES_FILE;
use super::line_file::format_line;
use super::redis::{RedisAddress, RedisStore};
use super::verify::{VerifyError, verify};
use super::weights::{WEIGHTS_FOLDER, WeightsError, WeightsFolder, WeightsStore};

/// Copies after which no needed weights may be missing. A candidate that is published and rejected
/// during one copy lacks them.
const ATTEMPTS: u32 = 5;

/// Ending of weights files.
const WEIGHTS: &str = ".safetensors";

/// Entries that are written at once.
const CHUNK: usize = 1_024;

/// Why an arena cannot be copied.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// A file cannot be copied.
    #[error("cannot copy {}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The message of the system.
        source: io::Error,
    },
    /// The results cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Weights in an object store cannot be read, or cannot be written to the copy.
    #[error(transparent)]
    Weights(#[from] WeightsError),
    /// The copy is not sound.
    #[error("the copy is not sound: {0}")]
    Verify(#[from] VerifyError),
}

/// Copies the arena in `from` to the new folder `to`. `redis` is the server of its results, and `objects`
/// the object store of its weights; `None`: they are in files.
///
/// The copy holds every result that was stored before the call. It lacks only weights that the arena
/// itself cannot read.
pub fn copy_arena(
    from: &Path,
    redis: Option<&RedisAddress>,
    objects: Option<&dyn WeightsStore>,
    to: &Path,
) -> Result<(), BackupError> {
    let (source, copied) = (from.join(WEIGHTS_FOLDER), to.join(WEIGHTS_FOLDER));
    let folder = WeightsFolder::open(&copied)?;
    let copy_weights = || match objects {
        Some(objects) => copy_objects(objects, &folder),
        None => copy_files(&source, &copied),
    };
    let (mut attempt, mut missing) = (1, None);
    loop {
        copy_weights()?;
        copy_log(from, redis, to)?;
        copy_weights()?;
        let store = EmbeddedStore::open(to)?;
        match verify(&store, &folder) {
            Ok(_) => break,
            // Weights that the arena has lost do not come back. It plays without them, and so does the
            // copy.
            Err(VerifyError::Weights(WeightsError::Missing(hash)))
                if missing == Some(hash) || attempt == ATTEMPTS =>
            {
                break;
            }
            Err(VerifyError::Weights(WeightsError::Missing(hash))) => {
                (attempt, missing) = (attempt + 1, Some(hash));
            }
            Err(VerifyError::Weights(WeightsError::Damaged { .. })) => break,
            Err(error) => return Err(error.into()),
        }
    }
    copy_games(from, redis, to)
}

/// Copies the weights files that the copy lacks. The arena writes them under another name first.
fn copy_files(from: &Path, to: &Path) -> Result<(), BackupError> {
    for entry in fs::read_dir(from).map_err(at(from))? {
        let name = entry.map_err(at(from))?.file_name();
        let (file, copy) = (from.join(&name), to.join(&name));
        if !name.to_string_lossy().ends_with(WEIGHTS) || copy.exists() {
            continue;
        }
        unless_gone(copy_file(&file, &copy)).map_err(at(&file))?;
    }
    Ok(())
}

/// Copies the weights that the copy lacks from an object store.
fn copy_objects(from: &dyn WeightsStore, to: &WeightsFolder) -> Result<(), BackupError> {
    let known = to.hashes()?;
    for hash in from.hashes()?.into_iter().filter(|hash| !known.contains(hash)) {
        match from.read(hash) {
            Ok(bytes) => to.write(hash, &bytes)?,
            // The arena removed them meanwhile, or cannot read them either.
            Err(WeightsError::Missing(_) | WeightsError::Damaged { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Copies the log up to its last complete line.
fn copy_log(from: &Path, redis: Option<&RedisAddress>, to: &Path) -> Result<(), BackupError> {
    let (log, copy) = (from.join(LOG_FILE), to.join(LOG_FILE));
    let mut bytes = match redis {
        None => read_regular(&log, u64::MAX).map_err(at(&log))?,
        Some(address) => lines(&RedisStore::open_to_read_in(address, from)?)?.into_bytes(),
    };
    bytes.truncate(bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1));
    let write = || {
        let mut file = fs::File::create(&copy)?;
        file.write_all(&bytes)?;
        file.sync_all()
    };
    write().map_err(at(&copy))
}

/// The log of a store, as the lines of its file. Fails if the server loses entries meanwhile.
fn lines(store: &RedisStore) -> Result<String, StoreError> {
    let (mut text, mut number) = (String::new(), 0);
    while number < store.entries() {
        for line in store.texts(number, CHUNK)? {
            text.push_str(&format_line(number, &line));
            number += 1;
        }
    }
    Ok(text)
}

/// Copies the games that can be shown.
fn copy_games(from: &Path, redis: Option<&RedisAddress>, to: &Path) -> Result<(), BackupError> {
    let Some(address) = redis else {
        let games = from.join(GAMES_FILE);
        unless_gone(copy_file(&games, &to.join(GAMES_FILE))).map_err(at(&games))?;
        return Ok(());
    };
    let store = RedisStore::open_to_read_in(address, from)?;
    copy_between(&store, &EmbeddedStore::open(to)?)?;
    Ok(())
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> BackupError + '_ {
    |source| BackupError::Io { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use ouro_net::{ContentHash, Generation};
    use ouro_proto::{Checkpoint, CheckpointStatus};

    use super::super::conformance::{content, fill, start};
    use super::super::interface::Store;
    use super::super::redis::tests::Server;
    use super::*;

    /// A folder of an arena, with weights for what its store holds.
    fn arena(folder: &Path, store: &dyn Store) {
        let weights = WeightsFolder::open(&folder.join(WEIGHTS_FOLDER)).unwrap();
        for row in store.checkpoints().unwrap() {
            // The content does not hash to the name, so the copy is not sound; see below.
            let path = folder.join(WEIGHTS_FOLDER).join(format!("{}{WEIGHTS}", row.hash));
            fs::write(path, b"weights").unwrap();
        }
        assert!(!weights.hashes().unwrap().is_empty());
    }

    fn publish(store: &dyn Store, folder: &Path, generation: u32) {
        let bytes = generation.to_le_bytes();
        let hash = ContentHash::of(&bytes);
        let weights = WeightsFolder::open(&folder.join(WEIGHTS_FOLDER)).unwrap();
        weights.write(hash, &bytes).unwrap();
        let row = Checkpoint {
            hash,
            generation: Generation(generation),
            step: 1,
            size_bytes: 4,
            status: CheckpointStatus::Candidate,
            published_at: 1.0,
            parent: None,
        };
        store.add_checkpoint(&row).unwrap();
    }

    #[test]
    fn the_copy_of_a_locked_store_has_its_entries_without_an_incomplete_last_line() {
        let folder = tempfile::tempdir().unwrap();
        let [from, to] = ["arena", "copy"].map(|name| folder.path().join(name));
        let store = EmbeddedStore::open(&from).unwrap();
        start(&store, 1);
        (0..3).for_each(|generation| publish(&store, &from, generation));
        let entries = content(&store);
        let mut log = fs::OpenOptions::new().append(true).open(from.join(LOG_FILE)).unwrap();
        log.write_all(b"0badc0de 4 {\"half").unwrap();
        fs::write(from.join(WEIGHTS_FOLDER).join("new.partial"), b"half").unwrap();
        copy_arena(&from, None, None, &to).unwrap();
        let copied = EmbeddedStore::open(&to).unwrap();
        assert_eq!(content(&copied), entries);
        let weights = WeightsFolder::open(&to.join(WEIGHTS_FOLDER)).unwrap();
        assert_eq!(verify(&copied, &weights).unwrap().weights, 3);
        assert!(
            from.join(WEIGHTS_FOLDER).join("new.partial").exists(),
            "the source stays as it is"
        );
    }

    #[test]
    fn an_arena_that_lost_weights_is_copied_without_them() {
        let folder = tempfile::tempdir().unwrap();
        let [from, to] = ["arena", "copy"].map(|name| folder.path().join(name));
        let store = EmbeddedStore::open(&from).unwrap();
        start(&store, 1);
        (0..3).for_each(|generation| publish(&store, &from, generation));
        let lost = ContentHash::of(&1_u32.to_le_bytes());
        fs::remove_file(from.join(WEIGHTS_FOLDER).join(format!("{lost}{WEIGHTS}"))).unwrap();
        copy_arena(&from, None, None, &to).unwrap();
        assert_eq!(content(&EmbeddedStore::open(&to).unwrap()), content(&store));
    }

    #[test]
    fn weights_elsewhere_are_copied_to_files() {
        let folder = tempfile::tempdir().unwrap();
        let [from, elsewhere, to] =
            ["arena", "bucket", "copy"].map(|name| folder.path().join(name));
        let store = EmbeddedStore::open(&from).unwrap();
        start(&store, 1);
        (0..3).for_each(|generation| publish(&store, &elsewhere, generation));
        // Any store of weights serves as the object store.
        let objects = WeightsFolder::open(&elsewhere.join(WEIGHTS_FOLDER)).unwrap();
        let damaged = ContentHash::of(b"other");
        let path = elsewhere.join(WEIGHTS_FOLDER).join(format!("{damaged}{WEIGHTS}"));
        fs::write(path, b"damaged").unwrap();
        copy_arena(&from, None, Some(&objects), &to).unwrap();
        let copied = EmbeddedStore::open(&to).unwrap();
        assert_eq!(content(&copied), content(&store));
        let weights = WeightsFolder::open(&to.join(WEIGHTS_FOLDER)).unwrap();
        assert_eq!(verify(&copied, &weights).unwrap().weights, 3);
        assert!(!from.join(WEIGHTS_FOLDER).exists(), "the source stays as it is");
    }

    #[test]
    fn results_in_redis_are_copied_to_files_while_their_arena_continues() {
        let Some(server) = Server::start() else { return };
        let folder = tempfile::tempdir().unwrap();
        let [from, to] = ["arena", "copy"].map(|name| folder.path().join(name));
        let store = server.open();
        fill(&store);
        arena(&from, &store);
        copy_arena(&from, Some(&server.address_of("test")), None, &to).unwrap();
        assert_eq!(content(&EmbeddedStore::open(&to).unwrap()), content(&store));
        // The arena still is the writer.
        publish(&store, &from, 77);
    }

    #[test]
    fn a_log_that_its_server_loses_while_it_is_copied_is_an_error() {
        let Some(server) = Server::start() else { return };
        let store = server.open();
        fill(&store);
        assert_eq!(lines(&store).unwrap().lines().count() as u64, store.entries());
        server.lose_entry();
        let error = lines(&store).unwrap_err();
        assert!(matches!(error, StoreError::LostEntry { .. }), "{error}");
    }
}
