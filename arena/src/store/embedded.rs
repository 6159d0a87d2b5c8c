//! A store in the data folder of one arena.
//!
//! The file `results.log` is the store: one checksummed line of JSON per change. All tables are in
//! memory and are rebuilt from it at each start. `games.log` holds the games that can be shown.
//! Both can be read with standard tools.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ouro_net::{Generation, RunId};
use ouro_proto::{Checkpoint, CheckpointStatus};
use ouro_replay::disk::{Disk, FolderDisk};
use ouro_replay::journal::JournalError;

use super::error::{SCHEMA_VERSION, StoreError, io_error};
use super::interface::Store;
use super::kept_games::KeptGames;
use super::line_file::{LineFile, write_file};
use super::rows::{
    Decision, GameKey, LogEntry, MatchInfo, MatchSums, Promotion, Run, RunStarted, StoredCluster,
    StoredGame,
};
use super::tables::{MatchTable, Tables};
use crate::player_id::PlayerId;

/// Name of the log in the data folder.
pub const LOG_FILE: &str = "results.log";

/// Name of the file that checks whether there is space again.
const PROBE: &str = "space.probe";

/// Free bytes required before matches resume: some clusters with their games.
const ROOM: usize = 1 << 20;

/// A store on a disk, with a single writer.
#[derive(Debug)]
pub struct EmbeddedStore<D: Disk = FolderDisk> {
    parts: Mutex<Parts<D>>,
}

#[derive(Debug)]
struct Parts<D: Disk> {
    disk: D,
    log: LineFile<D::File>,
    games: KeptGames<D::File>,
    tables: Tables,
}

impl EmbeddedStore<FolderDisk> {
    /// Opens the store in `folder`, or creates it, and locks the folder. Verifies every entry of
    /// the log.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        Self::on(on_folder(folder)?)
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

impl<D: Disk> EmbeddedStore<D> {
    /// Opens the store on a disk, or creates it. Verifies every entry of the log.
    pub fn on(disk: D) -> Result<Self, StoreError> {
        let mut tables = Tables::default();
        let path = disk.describe(LOG_FILE);
        let log = LineFile::open(&disk, LOG_FILE, |number, text| {
            let entry = parse(number, text, &path)?;
            tables.apply(number, &entry).map_err(|problem| invalid(&path, number, problem))
        })?;
        let games = KeptGames::open(&disk)?;
        Ok(Self { parts: Mutex::new(Parts { disk, log, games, tables }) })
    }

    /// The run that the log names.
    pub fn run(&self) -> Option<RunId> {
        self.lock().tables.run.as_ref().map(|run| run.id)
    }

    fn lock(&self) -> MutexGuard<'_, Parts<D>> {
        // An entry is applied after it is written, and applying it changes one table row at a time.
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends the entry that `decide` returns for the current tables, if any, and applies it.
    fn step<T>(
        &self,
        decide: impl FnOnce(&Tables) -> Result<(Option<LogEntry>, T), StoreError>,
    ) -> Result<T, StoreError> {
        let mut parts = self.lock();
        let (entry, value) = decide(&parts.tables)?;
        if let Some(entry) = entry {
            parts.append(&entry)?;
        }
        Ok(value)
    }
}

impl<D: Disk> Parts<D> {
    fn append(&mut self, entry: &LogEntry) -> Result<(), StoreError> {
        let number = self.log.len();
        // An entry that does not apply must not be written: the log could not be opened again.
        let text = self
            .tables
            .check(entry)
            .and_then(|()| serde_json::to_string(entry).map_err(|error| error.to_string()));
        let invalid = |problem| invalid(&self.disk.describe(LOG_FILE), number, problem);
        let text = text.map_err(invalid)?;
        match number {
            0 => self.log.start(&self.disk, LOG_FILE, &text)?,
            _ => drop(self.log.append(&text)?),
        }
        self.tables.apply(number, entry).map_err(invalid)
    }

    /// The entries with these numbers.
    fn entries(&mut self, numbers: &[u64]) -> Result<Vec<LogEntry>, StoreError> {
        let mut entries = Vec::with_capacity(numbers.len());
        for &number in numbers {
            entries.extend(self.range(number, 1)?);
        }
        Ok(entries)
    }

    fn range(&mut self, first: u64, limit: usize) -> Result<Vec<LogEntry>, StoreError> {
        let path = self.disk.describe(LOG_FILE);
        let texts = self.log.read(first, limit)?;
        (first..).zip(&texts).map(|(number, text)| parse(number, text, &path)).collect()
    }
}

fn invalid(path: &str, entry: u64, problem: String) -> StoreError {
    StoreError::Contradiction { path: path.to_owned(), entry, problem }
}

/// Reads an entry. Entry 0 names the version of all entries.
pub(super) fn parse(number: u64, text: &str, path: &str) -> Result<LogEntry, StoreError> {
    let entry = serde_json::from_str(text);
    let version = match &entry {
        Ok(LogEntry::RunStarted(run)) => Some(run.version),
        Ok(_) => None,
        Err(_) => serde_json::from_str::<serde_json::Value>(text).ok().and_then(|entry| {
            u32::try_from(entry.get("run_started")?.get("version")?.as_u64()?).ok()
        }),
    };
    match version {
        Some(found) if found != SCHEMA_VERSION => Err(StoreError::Schema { found }),
        _ => entry.map_err(|error| invalid(path, number, error.to_string())),
    }
}

impl<D> Store for EmbeddedStore<D>
where
    D: Disk + Send,
    D::File: Send,
{
    fn bind_run(&self, run: &Run, id: RunId) -> Result<RunId, StoreError> {
        self.step(|tables| match &tables.run {
            None => {
                let started = RunStarted { version: SCHEMA_VERSION, id, run: run.clone() };
                Ok((Some(LogEntry::RunStarted(started)), id))
            }
            Some(stored) if stored.run == *run => Ok((None, stored.id)),
            Some(stored) => {
                let (stored, asked) = (describe(&stored.run), describe(run));
                Err(StoreError::OtherRun { stored, asked })
            }
        })
    }

    fn add_checkpoint(&self, checkpoint: &Checkpoint) -> Result<Checkpoint, StoreError> {
        let generation = checkpoint.generation;
        self.step(|tables| match tables.checkpoints.get(&generation) {
            None => {
                let entry = LogEntry::CheckpointPublished(checkpoint.clone());
                Ok((Some(entry), checkpoint.clone()))
            }
            Some(stored) if stored.hash == checkpoint.hash => Ok((None, stored.clone())),
            Some(stored) => Err(StoreError::GenerationTaken { generation, stored: stored.hash }),
        })
    }

    fn checkpoints(&self) -> Result<Vec<Checkpoint>, StoreError> {
        Ok(self.lock().tables.checkpoints.values().cloned().collect())
    }

    fn decide(&self, decision: &Decision) -> Result<(), StoreError> {
        let generation = decision.generation;
        let promotion = decision.promotion();
        self.step(|tables| {
            if !tables.checkpoints.contains_key(&generation) {
                return Err(StoreError::Unknown(generation));
            }
            if let Some(stored) = tables.decisions.get(&generation) {
                // A repeated decision has another time, so only whether it promotes is compared.
                let same = stored.promotion().is_some() == promotion.is_some();
                return if same { Ok((None, ())) } else { Err(StoreError::Decided(generation)) };
            }
            let champion = tables.champion();
            match &promotion {
                Some(promotion) if promotion.beat != champion => {
                    let (actual, expected) = (champion, promotion.beat.clone());
                    Err(StoreError::ChampionChanged { actual, expected })
                }
                _ => Ok((Some(LogEntry::CandidateDecided(decision.clone())), ())),
            }
        })
    }

    fn decisions(&self) -> Result<Vec<Decision>, StoreError> {
        Ok(self.lock().tables.decisions.values().cloned().collect())
    }

    fn promotions(&self) -> Result<Vec<Promotion>, StoreError> {
        Ok(self.lock().tables.promotions.clone())
    }

    fn set_aside(&self, generation: Generation, reason: &str, at: f64) -> Result<bool, StoreError> {
        self.step(|tables| {
            let is_new = !is_set_aside(tables, generation)?;
            let reason = reason.to_owned();
            let entry = LogEntry::CheckpointSetAside { generation, reason, at };
            Ok((is_new.then_some(entry), is_new))
        })
    }

    fn restore(&self, generation: Generation, at: f64) -> Result<bool, StoreError> {
        self.step(|tables| {
            let is_out = is_set_aside(tables, generation)?;
            let entry = LogEntry::CheckpointRestored { generation, at };
            Ok((is_out.then_some(entry), is_out))
        })
    }

    fn champion(&self) -> Result<PlayerId, StoreError> {
        Ok(self.lock().tables.champion())
    }

    fn open_match(&self, info: &MatchInfo) -> Result<MatchInfo, StoreError> {
        self.step(|tables| {
            let known = tables.numbers.get(&info.key).and_then(|number| tables.matches.get(number));
            if let Some(known) = known {
                return Ok((None, known.info.clone()));
            }
            // Matches are never removed, so the last number plus one is free.
            let number = tables.matches.last_key_value().map_or(0, |(last, _)| last + 1);
            let info = MatchInfo { number, ..info.clone() };
            Ok((Some(LogEntry::MatchStarted(info.clone())), info))
        })
    }

    fn matches(&self) -> Result<Vec<(MatchInfo, MatchSums)>, StoreError> {
        let parts = self.lock();
        let row = |table: &MatchTable| (table.info.clone(), table.sums.clone());
        Ok(parts.tables.matches.values().map(row).collect())
    }

    fn record(
        &self,
        number: u32,
        results: &[StoredCluster],
        games: &[(GameKey, StoredGame)],
    ) -> Result<u32, StoreError> {
        let mut parts = self.lock();
        let table = parts.tables.matches.get(&number).ok_or(StoreError::UnknownMatch(number))?;
        let mut new = BTreeSet::new();
        let is_new = |played: &&StoredCluster| {
            let cluster = played.result.cluster;
            !table.clusters.contains(&cluster) && new.insert(cluster)
        };
        let clusters: Vec<_> = results.iter().filter(is_new).cloned().collect();
        // Games come first: after a crash in between, a kept game has no result yet and is
        // replaced when its cluster is played again.
        parts.games.insert(games)?;
        // Without new clusters no entry is written: the replay would see clusters more than once.
        if clusters.is_empty() {
            return Ok(0);
        }
        let count = clusters.len() as u32;
        parts.append(&LogEntry::GamesPlayed { number, clusters })?;
        Ok(count)
    }

    fn results(&self, number: u32) -> Result<Vec<StoredCluster>, StoreError> {
        let mut parts = self.lock();
        let entries = parts.tables.matches.get(&number).map(|table| table.entries.clone());
        let entries = parts.entries(&entries.unwrap_or_default())?;
        let clusters = entries.into_iter().filter_map(|entry| match entry {
            LogEntry::GamesPlayed { clusters, .. } => Some(clusters),
            _ => None,
        });
        let mut clusters: Vec<_> = clusters.flatten().collect();
        clusters.sort_by_key(|played| played.result.cluster);
        Ok(clusters)
    }

    fn game(&self, key: GameKey) -> Result<Option<StoredGame>, StoreError> {
        self.lock().games.get(key)
    }

    fn game_keys(&self, number: u32) -> Result<Vec<GameKey>, StoreError> {
        Ok(self.lock().games.keys(number))
    }

    fn prune_games(&self, keep: &dyn Fn(GameKey) -> bool) -> Result<u32, StoreError> {
        let Parts { disk, games, .. } = &mut *self.lock();
        games.retain(disk, keep)
    }

    fn recover(&self) -> Result<(), StoreError> {
        let Parts { disk, .. } = &*self.lock();
        let written = write_file(disk, PROBE, &[0; ROOM]);
        // The probe is removed even if writing it failed.
        let removed = disk.remove(PROBE);
        written.and(removed).map_err(io_error("write", &disk.describe(PROBE)))
    }

    fn log(&self, first: u64, limit: usize) -> Result<Vec<LogEntry>, StoreError> {
        self.lock().range(first, limit)
    }
}

/// Whether a member of the pool is set aside.
fn is_set_aside(tables: &Tables, generation: Generation) -> Result<bool, StoreError> {
    let row = tables.checkpoints.get(&generation).filter(|_| tables.is_member(generation));
    let row = row.ok_or(StoreError::NotInPool(generation))?;
    Ok(row.status == CheckpointStatus::SetAside)
}

fn describe(run: &Run) -> String {
    let game = serde_json::to_string(&run.game).unwrap_or_else(|error| error.to_string());
    format!("{game} with seed {}", run.seed)
}
