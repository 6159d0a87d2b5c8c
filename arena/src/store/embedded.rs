//! A store in the data folder of one arena.
//!
//! The file `results.log` is the log: one checksummed line of JSON per change. `games.log` holds
//! the games that can be shown. Both can be read with standard tools.

use std::path::Path;

use ouro_replay::disk::{Disk, FolderDisk};
use ouro_replay::journal::JournalError;

use super::error::{StoreError, io_error};
use super::kept_games::KeptGames;
use super::line_file::{LineFile, write_file};
use super::logged::{Backend, LoggedStore, apply};
use super::rows::{GameKey, StoredGame};
use super::tables::Tables;

mod read_only;

use read_only::ReadOnly;

/// Name of the log in the data folder.
pub const LOG_FILE: &str = "results.log";

/// Name of the file that checks whether there is space again.
const PROBE: &str = "space.probe";

/// Free bytes required before matches resume: some clusters with their games.
const ROOM: usize = 1 << 20;

/// A store in two files on a disk.
pub type EmbeddedStore<D = FolderDisk> = LoggedStore<Files<D>>;

/// The files of a store.
#[derive(Debug)]
pub struct Files<D: Disk> {
    disk: D,
    log: LineFile<D::File>,
    games: KeptGames<D::File>,
}

impl EmbeddedStore<FolderDisk> {
    /// Opens the store in `folder`, or creates it, and locks the folder. Verifies every entry of
    /// the log.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        Self::on(on_folder(folder)?)
    }
}

impl EmbeddedStore<ReadOnly<FolderDisk>> {
    /// Opens an existing store in `folder` to read it, and locks the folder. Verifies every entry of the
    /// log. An incomplete last entry is left out, and stays in the log.
    pub fn open_to_read(folder: &Path) -> Result<Self, StoreError> {
        Self::on(ReadOnly::new(on_folder(folder)?))
    }
}

/// Locks the data folder of an arena.
pub(super) fn on_folder(folder: &Path) -> Result<FolderDisk, StoreError> {
    FolderDisk::open(folder).map_err(|error| match error {
        JournalError::Locked { path } => StoreError::Locked { path },
        JournalError::Io { action, path, source } => io_error(action, &path)(source),
        error => {
            let path = folder.display().to_string();
            io_error("open", &path)(std::io::Error::other(error))
        }
    })
}

impl<D> EmbeddedStore<D>
where
    D: Disk + Send,
    D::File: Send,
{
    /// Opens the store on a disk, or creates it. Verifies every entry of the log.
    pub fn on(disk: D) -> Result<Self, StoreError> {
        let mut tables = Tables::default();
        let name = disk.describe(LOG_FILE);
        let visit = |number, text: &str| apply(&mut tables, number, text, &name);
        let log = LineFile::open(&disk, LOG_FILE, visit)?;
        let games = KeptGames::open(&disk)?;
        Ok(Self::new(Files { disk, log, games }, tables))
    }

    /// Kept games that could not be read when the store was opened. They are not shown.
    pub fn damaged_games(&self) -> usize {
        self.with(|files| files.games.damaged())
    }

    /// Length of the entries of the log, in bytes. An incomplete last entry does not count.
    pub fn log_bytes(&self) -> u64 {
        self.with(|files| files.log.bytes())
    }
}

impl<D> Backend for Files<D>
where
    D: Disk + Send,
    D::File: Send,
{
    const KIND: &'static str = "files";

    fn log_name(&self) -> String {
        self.disk.describe(LOG_FILE)
    }

    fn entries(&self) -> u64 {
        self.log.len()
    }

    fn append(&mut self, text: &str) -> Result<(), StoreError> {
        match self.log.len() {
            0 => self.log.start(&self.disk, LOG_FILE, text),
            _ => self.log.append(text).map(drop),
        }
    }

    fn read(&mut self, first: u64, limit: usize) -> Result<Vec<String>, StoreError> {
        self.log.read(first, limit)
    }

    fn keep_games(&mut self, games: &[(GameKey, StoredGame)]) -> Result<(), StoreError> {
        self.games.insert(games)
    }

    fn game(&mut self, key: GameKey) -> Result<Option<StoredGame>, StoreError> {
        self.games.get(key)
    }

    fn game_keys(&mut self, number: u32) -> Result<Vec<GameKey>, StoreError> {
        Ok(self.games.keys(number))
    }

    fn prune_games(&mut self, keep: &dyn Fn(GameKey) -> bool) -> Result<u32, StoreError> {
        self.games.retain(&self.disk, keep)
    }

    fn recover(&mut self) -> Result<(), StoreError> {
        let written = write_file(&self.disk, PROBE, &[0; ROOM]);
        // The probe is removed even if writing it failed.
        let removed = self.disk.remove(PROBE);
        written.and(removed).map_err(io_error("write", &self.disk.describe(PROBE)))
    }
}
