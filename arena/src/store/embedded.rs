//! The store in one file, by redb.
//!
//! Rows are JSON, so that a store can be looked into. redb commits durably (fsync) by default
//! and is consistent after a crash.

use std::fs;
use std::io;
use std::path::Path;

use ouro_proto::{Checkpoint, CheckpointStatus, Generation};
use redb::backends::InMemoryBackend;
use redb::{
    Database, DatabaseError, ReadableDatabase, ReadableTable, StorageError, Table, TableDefinition,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Promotion, Run, SCHEMA_VERSION, Store, StoreError, sync_folder};
use crate::gate::{PairResult, Score};
use crate::player_id::{MatchId, PlayerId};

/// Schema version and run.
const META: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("meta");
/// Checkpoints by generation.
const CHECKPOINTS: TableDefinition<'_, u32, &[u8]> = TableDefinition::new("checkpoints");
/// Promotions by number.
const PROMOTIONS: TableDefinition<'_, u32, &[u8]> = TableDefinition::new("promotions");
/// Results by candidate, opponent and pair.
const PAIRS: TableDefinition<'_, (u32, u64, u32), &[u8]> = TableDefinition::new("pairs");
/// Scores by candidate and opponent: the sum of the match's pairs.
const SCORES: TableDefinition<'_, (u32, u64), &[u8]> = TableDefinition::new("scores");

/// A store in a file of its own, or in memory.
#[derive(Debug)]
pub struct EmbeddedStore {
    database: Database,
}

impl EmbeddedStore {
    /// Opens the store at `path`, or creates it.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        if !path.exists() {
            Self::create(path)?;
        }
        Self::open_file(path)
    }

    /// Makes an empty store beside `path` and moves it there. redb grows a file before it
    /// writes what it knows it by: one that a `kill -9` left between the two would never open.
    fn create(path: &Path) -> Result<(), StoreError> {
        let mut unfinished = path.as_os_str().to_owned();
        unfinished.push(".new");
        let unfinished = Path::new(&unfinished);
        match fs::remove_file(unfinished) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        drop(Self::open_file(unfinished)?);
        fs::rename(unfinished, path).map_err(failed)?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        sync_folder(folder.unwrap_or(Path::new("."))).map_err(failed)
    }

    fn open_file(path: &Path) -> Result<Self, StoreError> {
        let database = Database::create(path).map_err(|error| match error {
            DatabaseError::DatabaseAlreadyOpen => StoreError::Locked { path: path.to_owned() },
            DatabaseError::Storage(StorageError::Io(error))
                if error.kind() != io::ErrorKind::InvalidData =>
            {
                StoreError::Database(Box::new(redb::Error::Io(error)))
            }
            error => StoreError::NotAStore { path: path.to_owned(), reason: error.to_string() },
        })?;
        Self::prepare(database)
    }

    /// A store that ends with the process.
    pub fn in_memory() -> Result<Self, StoreError> {
        Self::prepare(
            Database::builder().create_with_backend(InMemoryBackend::new()).map_err(failed)?,
        )
    }

    /// Checks the schema version and creates what is missing.
    fn prepare(database: Database) -> Result<Self, StoreError> {
        let write = database.begin_write().map_err(failed)?;
        {
            let mut meta = write.open_table(META).map_err(failed)?;
            match get::<u32, _>(&meta, "schema", "schema")? {
                None => put(&mut meta, "schema", &SCHEMA_VERSION)?,
                Some(found) if found > SCHEMA_VERSION => return Err(StoreError::Schema { found }),
                Some(_) => {}
            }
            write.open_table(CHECKPOINTS).map_err(failed)?;
            write.open_table(PROMOTIONS).map_err(failed)?;
            write.open_table(PAIRS).map_err(failed)?;
            write.open_table(SCORES).map_err(failed)?;
        }
        write.commit().map_err(failed)?;
        Ok(Self { database })
    }

    /// One durable transaction; an error leaves no trace of it.
    fn change<T>(
        &self,
        change: impl FnOnce(&redb::WriteTransaction) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let write = self.database.begin_write().map_err(failed)?;
        let value = change(&write)?;
        write.commit().map_err(failed)?;
        Ok(value)
    }
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
        let read = self.database.begin_read().map_err(failed)?;
        all(&read.open_table(CHECKPOINTS).map_err(failed)?, "checkpoint")
    }

    fn reject(&self, generation: Generation) -> Result<(), StoreError> {
        self.change(|write| {
            let mut table = write.open_table(CHECKPOINTS).map_err(failed)?;
            let mut checkpoint = known(&table, generation)?;
            match checkpoint.status {
                CheckpointStatus::Candidate => {
                    checkpoint.status = CheckpointStatus::Rejected;
                    put(&mut table, generation.0, &checkpoint)
                }
                CheckpointStatus::Rejected => Ok(()),
                CheckpointStatus::Pool | CheckpointStatus::Champion => {
                    Err(StoreError::Decided(generation))
                }
            }
        })
    }

    fn promote(&self, promotion: &Promotion) -> Result<(), StoreError> {
        self.change(|write| {
            let mut table = write.open_table(CHECKPOINTS).map_err(failed)?;
            let mut log = write.open_table(PROMOTIONS).map_err(failed)?;
            let (number, last) = last_promotion(&log)?;
            if let Some(last) = &last
                && (last.generation, last.beat) == (promotion.generation, promotion.beat)
            {
                return Ok(());
            }
            let actual = champion_of(last.as_ref());
            if actual != promotion.beat {
                return Err(StoreError::ChampionChanged { actual, expected: promotion.beat });
            }
            let mut winner = known(&table, promotion.generation)?;
            if winner.status != CheckpointStatus::Candidate {
                return Err(StoreError::Decided(promotion.generation));
            }
            winner.status = CheckpointStatus::Champion;
            put(&mut table, promotion.generation.0, &winner)?;
            if let PlayerId::Generation(generation) = actual {
                let mut beaten = known(&table, generation)?;
                beaten.status = CheckpointStatus::Pool;
                put(&mut table, generation.0, &beaten)?;
            }
            put(&mut log, number, promotion)
        })
    }

    fn promotions(&self) -> Result<Vec<Promotion>, StoreError> {
        let read = self.database.begin_read().map_err(failed)?;
        all(&read.open_table(PROMOTIONS).map_err(failed)?, "promotion")
    }

    fn champion(&self) -> Result<PlayerId, StoreError> {
        let read = self.database.begin_read().map_err(failed)?;
        let (_, last) = last_promotion(&read.open_table(PROMOTIONS).map_err(failed)?)?;
        Ok(champion_of(last.as_ref()))
    }

    fn record(&self, id: MatchId, results: &[PairResult]) -> Result<u32, StoreError> {
        let (candidate, opponent) = (id.candidate.0, id.opponent.code());
        self.change(|write| {
            let mut pairs = write.open_table(PAIRS).map_err(failed)?;
            let mut scores = write.open_table(SCORES).map_err(failed)?;
            let mut score: Score =
                get(&scores, (candidate, opponent), "score")?.unwrap_or_default();
            let mut new = 0;
            for result in results {
                let key = (candidate, opponent, result.pair);
                if pairs.get(key).map_err(failed)?.is_none() {
                    put(&mut pairs, key, result)?;
                    result.outcomes.into_iter().for_each(|outcome| score.add(outcome));
                    new += 1;
                }
            }
            put(&mut scores, (candidate, opponent), &score)?;
            Ok(new)
        })
    }

    fn results(&self, id: MatchId) -> Result<Vec<PairResult>, StoreError> {
        let (candidate, opponent) = (id.candidate.0, id.opponent.code());
        let read = self.database.begin_read().map_err(failed)?;
        let pairs = read.open_table(PAIRS).map_err(failed)?;
        pairs
            .range((candidate, opponent, 0)..=(candidate, opponent, u32::MAX))
            .map_err(failed)?
            .map(|row| parse(row.map_err(failed)?.1.value(), "pair"))
            .collect()
    }

    fn scores(&self) -> Result<Vec<(MatchId, Score)>, StoreError> {
        let read = self.database.begin_read().map_err(failed)?;
        let scores = read.open_table(SCORES).map_err(failed)?;
        scores
            .iter()
            .map_err(failed)?
            .map(|row| {
                let (key, value) = row.map_err(failed)?;
                let (candidate, code) = key.value();
                let opponent = PlayerId::from_code(code)
                    .ok_or_else(|| StoreError::Row("score", format!("opponent {code}")))?;
                let id = MatchId { candidate: Generation(candidate), opponent };
                Ok((id, parse(value.value(), "score")?))
            })
            .collect()
    }
}

fn describe(run: &Run) -> String {
    let game = serde_json::to_string(&run.game).unwrap_or_else(|error| error.to_string());
    format!("{game} with seed {}", run.seed)
}

fn champion_of(last: Option<&Promotion>) -> PlayerId {
    last.map_or(PlayerId::Random, |last| PlayerId::Generation(last.generation))
}

/// The number of the next promotion, and the last.
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

fn failed(error: impl Into<redb::Error>) -> StoreError {
    StoreError::Database(Box::new(error.into()))
}

#[cfg(test)]
impl EmbeddedStore {
    /// Pretends that a newer program wrote the store.
    pub(super) fn set_schema(&self, version: u32) {
        self.change(|write| put(&mut write.open_table(META).map_err(failed)?, "schema", &version))
            .unwrap();
    }
}
