//! A store as an append-only log of entries.
//!
//! All tables are in memory and follow from the log. A change is one entry: it is checked against
//! the tables, appended by the [`Backend`], and applied. A start reads every entry.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use ouro_net::{Generation, RunId};
use ouro_proto::text::brief;
use ouro_proto::{Checkpoint, CheckpointStatus};
use ouro_service::metrics::Histogram;

use super::error::{SCHEMA_VERSION, StoreError};
use super::interface::Store;
use super::rows::{
    Decision, GameKey, LogEntry, MatchInfo, MatchSums, Promotion, Run, RunStarted, StoredCluster,
    StoredGame,
};
use super::tables::{MatchTable, Tables};
use crate::player_id::PlayerId;

/// Where a [`LoggedStore`] keeps its entries and its games, with a single writer.
pub trait Backend: Debug + Send {
    /// The kind of storage, as in metrics.
    const KIND: &'static str;

    /// The log, for messages.
    fn log_name(&self) -> String;

    /// Number of entries.
    fn entries(&self) -> u64;

    /// Appends an entry durably. After an error the log is as before, unless the outcome is not
    /// known: then [`settle`](Self::settle) finds it out.
    fn append(&mut self, text: &str) -> Result<(), StoreError>;

    /// The entries that are in the log although their append failed. They count from now on.
    fn settle(&mut self) -> Result<Vec<String>, StoreError> {
        Ok(Vec::new())
    }

    /// The entries from number `first` on, at most `limit`. Fails if the log has lost one of them.
    fn read(&mut self, first: u64, limit: usize) -> Result<Vec<String>, StoreError>;

    /// Adds games. A game that is kept already is replaced.
    fn keep_games(&mut self, games: &[(GameKey, StoredGame)]) -> Result<(), StoreError>;

    /// A game, if it is kept and intact.
    fn game(&mut self, key: GameKey) -> Result<Option<StoredGame>, StoreError>;

    /// The kept games of a match, in order.
    fn game_keys(&mut self, number: u32) -> Result<Vec<GameKey>, StoreError>;

    /// Removes the games for which `keep` is false and returns their number.
    fn prune_games(&mut self, keep: &dyn Fn(GameKey) -> bool) -> Result<u32, StoreError>;

    /// See [`Store::recover`].
    fn recover(&mut self) -> Result<(), StoreError>;

    /// Fails if another arena has taken over the log. A log with a lock needs no check.
    fn check_writer(&mut self) -> Result<(), StoreError> {
        Ok(())
    }
}

/// A store on a [`Backend`]: all tables are in memory and follow from its log.
#[derive(Debug)]
pub struct LoggedStore<B> {
    parts: Mutex<Parts<B>>,
    /// Times of the appends.
    appends: Histogram,
}

#[derive(Debug)]
struct Parts<B> {
    backend: B,
    tables: Tables,
}

impl<B: Backend> LoggedStore<B> {
    /// A store on a backend whose entries lead to `tables`.
    pub(super) fn new(backend: B, tables: Tables) -> Self {
        Self { parts: Mutex::new(Parts { backend, tables }), appends: Histogram::default() }
    }

    /// The run that the log names.
    pub fn run(&self) -> Option<RunId> {
        self.lock().tables.run.as_ref().map(|run| run.id)
    }

    /// The log, for messages.
    pub fn name(&self) -> String {
        self.lock().backend.log_name()
    }

    /// Number of entries of the log.
    pub(super) fn entries(&self) -> u64 {
        self.lock().backend.entries()
    }

    /// The texts of the entries from number `first` on, at most `limit`.
    pub(super) fn texts(&self, first: u64, limit: usize) -> Result<Vec<String>, StoreError> {
        self.lock().backend.read(first, limit)
    }

    /// Appends an entry of another store of the same run.
    pub(super) fn append_text(&self, text: &str) -> Result<(), StoreError> {
        let mut parts = self.lock();
        parts.settle()?;
        let (number, name) = (parts.backend.entries(), parts.backend.log_name());
        parts.append(&parse(number, text, &name)?)
    }

    /// Adds games, as [`Backend::keep_games`].
    pub(super) fn keep_games(&self, games: &[(GameKey, StoredGame)]) -> Result<(), StoreError> {
        self.lock().backend.keep_games(games)
    }

    /// A value of the backend.
    pub(super) fn with<T>(&self, read: impl FnOnce(&B) -> T) -> T {
        read(&self.lock().backend)
    }

    /// Changes the backend, as a fault would.
    #[cfg(test)]
    pub(super) fn with_mut<T>(&self, change: impl FnOnce(&mut B) -> T) -> T {
        change(&mut self.lock().backend)
    }

    fn lock(&self) -> MutexGuard<'_, Parts<B>> {
        // An entry is applied after it is written, and applying it changes one table row at a time.
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends the entry that `decide` returns for the current tables, if any, and applies it.
    fn step<T>(
        &self,
        decide: impl FnOnce(&Tables) -> Result<(Option<LogEntry>, T), StoreError>,
    ) -> Result<T, StoreError> {
        let mut parts = self.lock();
        parts.settle()?;
        let (entry, value) = decide(&parts.tables)?;
        if let Some(entry) = entry {
            let start = Instant::now();
            parts.append(&entry)?;
            self.appends.observe(start.elapsed());
        }
        Ok(value)
    }
}

impl<B: Backend> Parts<B> {
    /// Applies entries whose append failed with an unknown outcome and took place.
    fn settle(&mut self) -> Result<(), StoreError> {
        let texts = self.backend.settle()?;
        let first = self.backend.entries() - texts.len() as u64;
        for (number, text) in (first..).zip(&texts) {
            apply(&mut self.tables, number, text, &self.backend.log_name())?;
        }
        Ok(())
    }

    fn append(&mut self, entry: &LogEntry) -> Result<(), StoreError> {
        let number = self.backend.entries();
        // An entry that does not apply must not be written: the log could not be opened again.
        let text = self
            .tables
            .check(entry)
            .and_then(|()| serde_json::to_string(entry).map_err(|error| error.to_string()));
        let text = text.map_err(|problem| invalid(&self.backend.log_name(), number, problem))?;
        self.backend.append(&text)?;
        let applied = self.tables.apply(number, entry);
        applied.map_err(|problem| invalid(&self.backend.log_name(), number, problem))
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
        let name = self.backend.log_name();
        let texts = self.backend.read(first, limit)?;
        (first..).zip(&texts).map(|(number, text)| parse(number, text, &name)).collect()
    }
}

/// Reads entry `number` of the log and applies it.
pub(super) fn apply(
    tables: &mut Tables,
    number: u64,
    text: &str,
    name: &str,
) -> Result<(), StoreError> {
    let entry = parse(number, text, name)?;
    tables.apply(number, &entry).map_err(|problem| invalid(name, number, problem))
}

fn invalid(path: &str, entry: u64, problem: String) -> StoreError {
    StoreError::Contradiction { path: path.to_owned(), entry, problem }
}

/// Reads an entry. Entry 0 names the version of all entries.
fn parse(number: u64, text: &str, path: &str) -> Result<LogEntry, StoreError> {
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
        _ => entry.map_err(|error| invalid(path, number, brief(&error.to_string()))),
    }
}

impl<B: Backend> Store for LoggedStore<B> {
    fn bind_run(&self, run: &Run, id: RunId) -> Result<RunId, StoreError> {
        self.step(|tables| match &tables.run {
            None => {
                let started = RunStarted { version: SCHEMA_VERSION, id, run: run.clone() };
                Ok((Some(LogEntry::RunStarted(started)), id))
            }
            Some(stored) => check_run(&stored.run, run).map(|()| (None, stored.id)),
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

    fn last_decisions(&self, limit: usize) -> Result<Vec<Decision>, StoreError> {
        let parts = self.lock();
        let Tables { decided, decisions, .. } = &parts.tables;
        let last = decided.iter().rev().take(limit);
        Ok(last.filter_map(|generation| decisions.get(generation)).cloned().collect())
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
        parts.settle()?;
        let table = parts.tables.matches.get(&number).ok_or(StoreError::UnknownMatch(number))?;
        let mut new = BTreeSet::new();
        let is_new = |played: &&StoredCluster| {
            let cluster = played.result.cluster;
            !table.clusters.contains(&cluster) && new.insert(cluster)
        };
        let clusters: Vec<_> = results.iter().filter(is_new).cloned().collect();
        // Games come first: after a crash in between, a kept game has no result yet and is
        // replaced when its cluster is played again.
        parts.backend.keep_games(games)?;
        // Without new clusters no entry is written: the replay would see clusters more than once.
        if clusters.is_empty() {
            return Ok(0);
        }
        let count = clusters.len() as u32;
        let start = Instant::now();
        parts.append(&LogEntry::GamesPlayed { number, clusters })?;
        self.appends.observe(start.elapsed());
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
        self.lock().backend.game(key)
    }

    fn game_keys(&self, number: u32) -> Result<Vec<GameKey>, StoreError> {
        self.lock().backend.game_keys(number)
    }

    fn prune_games(&self, keep: &dyn Fn(GameKey) -> bool) -> Result<u32, StoreError> {
        self.lock().backend.prune_games(keep)
    }

    fn recover(&self) -> Result<(), StoreError> {
        let mut parts = self.lock();
        parts.backend.recover()?;
        // What the tables lack would be missing from everything that is computed from them now.
        parts.settle()
    }

    fn check_writer(&self) -> Result<(), StoreError> {
        let mut parts = self.lock();
        parts.backend.check_writer()?;
        parts.settle()
    }

    fn append_times(&self) -> (&'static str, &Histogram) {
        (B::KIND, &self.appends)
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

/// Fails if `text`, entry 0 of the log called `name`, starts another run than `run`.
pub(super) fn check_start(text: &str, run: &Run, name: &str) -> Result<(), StoreError> {
    match parse(0, text, name)? {
        LogEntry::RunStarted(stored) => check_run(&stored.run, run),
        _ => Ok(()),
    }
}

fn check_run(stored: &Run, asked: &Run) -> Result<(), StoreError> {
    if stored == asked {
        return Ok(());
    }
    Err(StoreError::OtherRun { stored: describe(stored), asked: describe(asked) })
}

fn describe(run: &Run) -> String {
    let game = serde_json::to_string(&run.game).unwrap_or_else(|error| error.to_string());
    format!("{game} with seed {}", run.seed)
}
