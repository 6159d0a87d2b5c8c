//! A store in one redb file, or in memory.
//!
//! Rows are JSON, so that an operator can inspect a store. redb commits durably (fsync) by default
//! and is consistent after a crash. After a failed write the store reopens the database. If
//! reopening needs more space than is free, the store cannot be read until [`Store::recover`] finds
//! space.

use std::fs;
use std::io;
use std::path::Path;

use ouro_net::Generation;
use ouro_proto::{Checkpoint, CheckpointStatus};
use redb::{
    Database, ReadTransaction, ReadableDatabase, ReadableTable, Table, TableDefinition,
    WriteTransaction,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::disk::sync_folder;
use super::error::{SCHEMA_VERSION, StoreError, failed};
use super::interface::Store;
use super::rows::{
    Decision, GameKey, LogEntry, MatchInfo, MatchSums, Promotion, Run, StoredCluster, StoredGame,
};
use crate::player_id::PlayerId;

use connection::{Connection, or_exhausted};
use medium::{InFile, InMemory, Medium};

mod connection;
mod medium;
#[cfg(test)]
pub(crate) mod small_disk;

/// Schema version and run.
const META: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("meta");
/// Checkpoints by generation.
const CHECKPOINTS: TableDefinition<'_, u32, &[u8]> = TableDefinition::new("checkpoints");
/// Decisions by generation.
const DECISIONS: TableDefinition<'_, u32, &[u8]> = TableDefinition::new("decisions");
/// Promotions by number.
const PROMOTIONS: TableDefinition<'_, u32, &[u8]> = TableDefinition::new("promotions");
/// Matches by number.
const MATCHES: TableDefinition<'_, u32, &[u8]> = TableDefinition::new("matches");
/// Numbers of matches by key.
const NUMBERS: TableDefinition<'_, &str, u32> = TableDefinition::new("numbers");
/// Results by match and cluster.
const CLUSTERS: TableDefinition<'_, (u32, u32), &[u8]> = TableDefinition::new("clusters");
/// Sums of the clusters, by match.
const SUMS: TableDefinition<'_, u32, &[u8]> = TableDefinition::new("sums");
/// Games by match, cluster and game.
const GAMES: TableDefinition<'_, (u32, u32, u32), &[u8]> = TableDefinition::new("games");
/// Every change, by number.
const LOG: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("log");

/// A store in a file of its own, or in memory.
#[derive(Debug)]
pub struct EmbeddedStore {
    connection: Connection,
}

impl EmbeddedStore {
    /// Opens the store at `path`, or creates it.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let medium = InFile(path.to_owned());
        if !path.exists() {
            Self::create(path).map_err(|error| or_exhausted(error, &medium))?;
        }
        Self::on(Box::new(medium))
    }

    /// Creates an empty store beside `path` and renames it. redb grows a file before it writes the
    /// header. A `kill -9` between these two steps would leave a file that can never be opened.
    fn create(path: &Path) -> Result<(), StoreError> {
        let mut unfinished = path.as_os_str().to_owned();
        unfinished.push(".new");
        let unfinished = Path::new(&unfinished);
        match fs::remove_file(unfinished) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        drop(Self::on(Box::new(InFile(unfinished.to_owned())))?);
        fs::rename(unfinished, path).map_err(failed)?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        sync_folder(folder.unwrap_or(Path::new("."))).map_err(failed)
    }

    /// A store in memory, which is lost when the process ends.
    pub fn in_memory() -> Result<Self, StoreError> {
        Self::on(Box::new(InMemory))
    }

    fn on(medium: Box<dyn Medium>) -> Result<Self, StoreError> {
        Ok(Self { connection: Connection::open(medium, prepare)? })
    }

    /// Runs one durable transaction. An error in `change` rolls it back. A commit that fails may
    /// still have been applied.
    fn change<T>(
        &self,
        change: impl FnOnce(&WriteTransaction) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.connection.run(|database| {
            let write = database.begin_write().map_err(failed)?;
            let value = change(&write)?;
            write.commit().map_err(failed)?;
            Ok(value)
        })
    }

    /// Reads from the committed state.
    fn read<T>(
        &self,
        read: impl FnOnce(&ReadTransaction) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.connection.run(|database| read(&database.begin_read().map_err(failed)?))
    }
}

/// Checks the schema version and creates what is missing.
fn prepare(database: &Database) -> Result<(), StoreError> {
    let write = database.begin_write().map_err(failed)?;
    {
        let mut meta = write.open_table(META).map_err(failed)?;
        match get::<u32, _>(&meta, "schema", "schema")? {
            None => put(&mut meta, "schema", &SCHEMA_VERSION)?,
            Some(SCHEMA_VERSION) => {}
            Some(found) => return Err(StoreError::Schema { found }),
        }
        write.open_table(CHECKPOINTS).map_err(failed)?;
        write.open_table(DECISIONS).map_err(failed)?;
        write.open_table(PROMOTIONS).map_err(failed)?;
        write.open_table(MATCHES).map_err(failed)?;
        write.open_table(NUMBERS).map_err(failed)?;
        write.open_table(CLUSTERS).map_err(failed)?;
        write.open_table(SUMS).map_err(failed)?;
        write.open_table(GAMES).map_err(failed)?;
        write.open_table(LOG).map_err(failed)?;
    }
    write.commit().map_err(failed)
}

impl Store for EmbeddedStore {
    fn bind_run(&self, run: &Run) -> Result<(), StoreError> {
        self.change(|write| {
            let mut meta = write.open_table(META).map_err(failed)?;
            match get::<Run, _>(&meta, "run", "run")? {
                None => put(&mut meta, "run", run),
                Some(stored) if stored == *run => Ok(()),
                Some(stored) => {
                    Err(StoreError::OtherRun { stored: describe(&stored), asked: describe(run) })
                }
            }
        })
    }

    fn add_checkpoint(&self, checkpoint: &Checkpoint) -> Result<Checkpoint, StoreError> {
        self.change(|write| {
            let mut table = write.open_table(CHECKPOINTS).map_err(failed)?;
            let generation = checkpoint.generation;
            match get::<Checkpoint, _>(&table, generation.0, "checkpoint")? {
                None => {
                    put(&mut table, generation.0, checkpoint)?;
                    log(write, &LogEntry::Published(checkpoint.clone()))?;
                    Ok(checkpoint.clone())
                }
                Some(stored) if stored.hash == checkpoint.hash => Ok(stored),
                Some(stored) => {
                    Err(StoreError::GenerationTaken { generation, stored: stored.hash })
                }
            }
        })
    }

    fn checkpoints(&self) -> Result<Vec<Checkpoint>, StoreError> {
        self.read(|read| all(&read.open_table(CHECKPOINTS).map_err(failed)?, "checkpoint"))
    }

    fn decide(&self, decision: &Decision) -> Result<(), StoreError> {
        let generation = decision.generation;
        let promotion = decision.promotion();
        self.change(|write| {
            let mut checkpoints = write.open_table(CHECKPOINTS).map_err(failed)?;
            let mut decisions = write.open_table(DECISIONS).map_err(failed)?;
            let mut checkpoint = known(&checkpoints, generation)?;
            if let Some(stored) = get::<Decision, _>(&decisions, generation.0, "decision")? {
                // A repeated decision has another time, so only whether it promotes is compared.
                let same = stored.promotion().is_some() == promotion.is_some();
                return if same { Ok(()) } else { Err(StoreError::Decided(generation)) };
            }
            checkpoint.status = CheckpointStatus::Rejected;
            if let Some(promotion) = &promotion {
                let mut promotions = write.open_table(PROMOTIONS).map_err(failed)?;
                let (number, last) = last_promotion(&promotions)?;
                let champion = champion_of(last.as_ref());
                if champion != promotion.beat {
                    let (actual, expected) = (champion, promotion.beat.clone());
                    return Err(StoreError::ChampionChanged { actual, expected });
                }
                if let PlayerId::Generation(beaten) = champion {
                    let mut beaten = known(&checkpoints, beaten)?;
                    beaten.status = CheckpointStatus::Pool;
                    put(&mut checkpoints, beaten.generation.0, &beaten)?;
                }
                put(&mut promotions, number, promotion)?;
                checkpoint.status = CheckpointStatus::Champion;
            }
            put(&mut checkpoints, generation.0, &checkpoint)?;
            put(&mut decisions, generation.0, decision)?;
            log(write, &LogEntry::Decided(decision.clone()))
        })
    }

    fn decisions(&self) -> Result<Vec<Decision>, StoreError> {
        self.read(|read| all(&read.open_table(DECISIONS).map_err(failed)?, "decision"))
    }

    fn promotions(&self) -> Result<Vec<Promotion>, StoreError> {
        self.read(|read| all(&read.open_table(PROMOTIONS).map_err(failed)?, "promotion"))
    }

    fn champion(&self) -> Result<PlayerId, StoreError> {
        self.read(|read| {
            let (_, last) = last_promotion(&read.open_table(PROMOTIONS).map_err(failed)?)?;
            Ok(champion_of(last.as_ref()))
        })
    }

    fn open_match(&self, info: &MatchInfo) -> Result<MatchInfo, StoreError> {
        let name = serde_json::to_string(&info.key)
            .map_err(|error| StoreError::Row("new", error.to_string()))?;
        self.change(|write| {
            let mut numbers = write.open_table(NUMBERS).map_err(failed)?;
            let mut matches = write.open_table(MATCHES).map_err(failed)?;
            let known = numbers.get(name.as_str()).map_err(failed)?.map(|number| number.value());
            if let Some(number) = known {
                let stored = get(&matches, number, "match")?;
                return stored.ok_or(StoreError::UnknownMatch(number));
            }
            // Matches are never removed, so the last number plus one is free.
            let last = matches.last().map_err(failed)?.map(|(number, _)| number.value());
            let number = last.map_or(0, |last| last + 1);
            let info = MatchInfo { number, ..info.clone() };
            numbers.insert(name.as_str(), number).map_err(failed)?;
            put(&mut matches, number, &info)?;
            let mut sums = write.open_table(SUMS).map_err(failed)?;
            put(&mut sums, number, &MatchSums::default())?;
            log(write, &LogEntry::Opened(info.clone()))?;
            Ok(info)
        })
    }

    fn matches(&self) -> Result<Vec<(MatchInfo, MatchSums)>, StoreError> {
        self.read(|read| {
            let infos: Vec<MatchInfo> = all(&read.open_table(MATCHES).map_err(failed)?, "match")?;
            let sums = read.open_table(SUMS).map_err(failed)?;
            let sums_of = |info: &MatchInfo| get(&sums, info.number, "sums");
            infos
                .into_iter()
                .map(|info| Ok((sums_of(&info)?.unwrap_or_default(), info)))
                .map(|row| row.map(|(sums, info)| (info, sums)))
                .collect()
        })
    }

    fn record(
        &self,
        number: u32,
        results: &[StoredCluster],
        games: &[(GameKey, StoredGame)],
    ) -> Result<u32, StoreError> {
        self.change(|write| {
            let mut clusters = write.open_table(CLUSTERS).map_err(failed)?;
            let mut sums_table = write.open_table(SUMS).map_err(failed)?;
            let mut kept = write.open_table(GAMES).map_err(failed)?;
            let mut sums: MatchSums =
                get(&sums_table, number, "sums")?.ok_or(StoreError::UnknownMatch(number))?;
            let mut new = Vec::new();
            for played in results {
                let key = (number, played.result.cluster);
                if clusters.get(key).map_err(failed)?.is_none() {
                    put(&mut clusters, key, played)?;
                    sums.add(played);
                    new.push(played.clone());
                }
            }
            for (GameKey { number, cluster, game }, stored) in games {
                put(&mut kept, (*number, *cluster, *game), stored)?;
            }
            // Without new clusters no line is logged: the replay would see clusters more than once.
            if new.is_empty() {
                return Ok(0);
            }
            put(&mut sums_table, number, &sums)?;
            let count = new.len() as u32;
            log(write, &LogEntry::Played { number, clusters: new })?;
            Ok(count)
        })
    }

    fn results(&self, number: u32) -> Result<Vec<StoredCluster>, StoreError> {
        self.read(|read| {
            let clusters = read.open_table(CLUSTERS).map_err(failed)?;
            let rows = clusters.range((number, 0)..=(number, u32::MAX)).map_err(failed)?;
            rows.map(|row| parse(row.map_err(failed)?.1.value(), "cluster")).collect()
        })
    }

    fn game(&self, key: GameKey) -> Result<Option<StoredGame>, StoreError> {
        self.read(|read| {
            let games = read.open_table(GAMES).map_err(failed)?;
            get(&games, (key.number, key.cluster, key.game), "game")
        })
    }

    fn game_keys(&self, number: u32) -> Result<Vec<GameKey>, StoreError> {
        self.read(|read| {
            let games = read.open_table(GAMES).map_err(failed)?;
            let range = (number, 0, 0)..=(number, u32::MAX, u32::MAX);
            games
                .range(range)
                .map_err(failed)?
                .map(|row| Ok(game_key(row.map_err(failed)?.0.value())))
                .collect()
        })
    }

    fn prune_games(&self, keep: &dyn Fn(GameKey) -> bool) -> Result<u32, StoreError> {
        self.change(|write| {
            let mut games = write.open_table(GAMES).map_err(failed)?;
            let mut removed = 0;
            games
                .retain(|key, _| {
                    let kept = keep(game_key(key));
                    removed += u32::from(!kept);
                    kept
                })
                .map_err(failed)?;
            Ok(removed)
        })
    }

    fn recover(&self) -> Result<(), StoreError> {
        self.connection.recover()
    }

    fn log(&self, first: u64, limit: usize) -> Result<Vec<LogEntry>, StoreError> {
        self.read(|read| {
            let table = read.open_table(LOG).map_err(failed)?;
            let rows = table.range(first..).map_err(failed)?.take(limit);
            rows.map(|row| parse(row.map_err(failed)?.1.value(), "log")).collect()
        })
    }
}

fn game_key((number, cluster, game): (u32, u32, u32)) -> GameKey {
    GameKey { number, cluster, game }
}

/// Writes the next line of the log.
fn log(write: &WriteTransaction, entry: &LogEntry) -> Result<(), StoreError> {
    let mut table = write.open_table(LOG).map_err(failed)?;
    let last = table.last().map_err(failed)?.map(|(number, _)| number.value());
    put(&mut table, last.map_or(0, |last| last + 1), entry)
}

fn describe(run: &Run) -> String {
    let game = serde_json::to_string(&run.game).unwrap_or_else(|error| error.to_string());
    format!("{game} with seed {}", run.seed)
}

fn champion_of(last: Option<&Promotion>) -> PlayerId {
    last.map_or_else(PlayerId::random, |last| last.generation.into())
}

/// The number of the next promotion, and the last promotion.
fn last_promotion(
    log: &impl ReadableTable<u32, &'static [u8]>,
) -> Result<(u32, Option<Promotion>), StoreError> {
    match log.last().map_err(failed)? {
        None => Ok((0, None)),
        Some((number, row)) => Ok((number.value() + 1, Some(parse(row.value(), "promotion")?))),
    }
}

fn known(
    table: &impl ReadableTable<u32, &'static [u8]>,
    generation: Generation,
) -> Result<Checkpoint, StoreError> {
    get(table, generation.0, "checkpoint")?.ok_or(StoreError::Unknown(generation))
}

fn get<'k, T: DeserializeOwned, K: redb::Key + 'static>(
    table: &impl ReadableTable<K, &'static [u8]>,
    key: impl std::borrow::Borrow<K::SelfType<'k>>,
    row: &'static str,
) -> Result<Option<T>, StoreError> {
    table.get(key).map_err(failed)?.map(|value| parse(value.value(), row)).transpose()
}

fn put<'k, K: redb::Key + 'static>(
    table: &mut Table<'_, K, &'static [u8]>,
    key: impl std::borrow::Borrow<K::SelfType<'k>>,
    value: &impl Serialize,
) -> Result<(), StoreError> {
    let json =
        serde_json::to_vec(value).map_err(|error| StoreError::Row("new", error.to_string()))?;
    table.insert(key, json.as_slice()).map_err(failed)?;
    Ok(())
}

fn all<T: DeserializeOwned>(
    table: &impl ReadableTable<u32, &'static [u8]>,
    name: &'static str,
) -> Result<Vec<T>, StoreError> {
    table.iter().map_err(failed)?.map(|row| parse(row.map_err(failed)?.1.value(), name)).collect()
}

fn parse<T: DeserializeOwned>(bytes: &[u8], row: &'static str) -> Result<T, StoreError> {
    serde_json::from_slice(bytes).map_err(|error| StoreError::Row(row, error.to_string()))
}

#[cfg(test)]
impl EmbeddedStore {
    /// Sets the schema version, as a newer program would.
    pub(super) fn set_schema(&self, version: u32) {
        self.change(|write| put(&mut write.open_table(META).map_err(failed)?, "schema", &version))
            .unwrap();
    }
}
