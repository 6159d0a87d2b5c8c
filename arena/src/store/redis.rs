//! A store in Redis or Valkey, which outlives the machine of the arena.
//!
//! The log is a list of the lines that the embedded store writes to its file, checksums included.
//! An append is one script. It checks that no other arena has taken over since, and that the list has
//! the expected length, so that a repeated append changes nothing. Keys are `ouro:{NAME}:…`: the braces
//! keep them in one slot of a Redis cluster.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;
use std::time::Duration;

use redis::Script;

pub(crate) use connection::Connection;
use known::{KnownEntry, KnownFile};

use super::error::{StoreError, io_error};
use super::line_file::{format_line, parse_line};
use super::logged::{Backend, LoggedStore, apply, check_start};
use super::rows::{GameKey, Run, StoredGame};
use super::tables::Tables;

mod connection;
mod known;
mod server;
#[cfg(test)]
pub(super) mod tests;

pub use server::ServerReport;

/// Entries that a start reads at once.
const CHUNK: u64 = 1_000;

/// The key that holds the epoch of the arena that may write.
pub(crate) const WRITER: &str = "writer";

/// The epoch of no writer.
const NO_WRITER: u64 = 0;

/// Makes the caller the writer in `KEYS[1]` and returns its epoch.
///
/// Epochs are times of the server in milliseconds, unless its clock is behind the last epoch. A server
/// that lost the last epoch with the end of its file therefore does not give it again. A server without
/// memory accepts it: the arena then starts and pauses its matches.
const CLAIM: &str = "#!lua flags=allow-oom
    local last, time = tonumber(redis.call('GET', KEYS[1]) or 0), redis.call('TIME')
    local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
    local epoch = string.format('%.0f', math.max(last + 1, now))
    redis.call('SET', KEYS[1], epoch)
    return epoch";

/// Appends `ARGV[3]` to the list `KEYS[1]` of length `ARGV[2]`, for the writer with epoch `ARGV[1]`.
const APPEND: &str = "
    if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 'fenced' end
    local length, expected = redis.call('LLEN', KEYS[1]), tonumber(ARGV[2])
    if length == expected then
        redis.call('RPUSH', KEYS[1], ARGV[3])
        return 'ok'
    end
    if length == expected + 1 and redis.call('LINDEX', KEYS[1], expected) == ARGV[3] then
        return 'ok'
    end
    return 'changed'";

/// Stores fields `ARGV[i]` with values `ARGV[i + 1]`, from `ARGV[2]` on, for the epoch `ARGV[1]`.
const KEEP_GAMES: &str = "
    if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 'fenced' end
    for i = 2, #ARGV, 2 do redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end
    return 'ok'";

/// Stores the epoch `ARGV[1]` again, for the writer that has it. The first line makes it a script that
/// writes: a server that takes no writes refuses it as a whole.
const KEEP_EPOCH: &str = "#!lua
    if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 'fenced' end
    redis.call('SET', KEYS[2], ARGV[1])
    return 'ok'";

/// Removes the fields from `ARGV[2]` on, for the writer with epoch `ARGV[1]`.
const REMOVE_GAMES: &str = "
    if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 'fenced' end
    for i = 2, #ARGV do redis.call('HDEL', KEYS[1], ARGV[i]) end
    return 'ok'";

/// A store in Redis.
pub type RedisStore = LoggedStore<RedisLog>;

/// Where a [`RedisStore`] is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedisAddress {
    /// `redis://[USER[:PASSWORD]@]HOST[:PORT][/DB]`, or `rediss://` for TLS.
    pub url: String,
    /// Replaces the password of the URL.
    pub password: Option<String>,
    /// Name of the run in the keys.
    pub name: String,
    /// Certificates for `rediss://`.
    pub tls: RedisTls,
}

impl RedisAddress {
    /// A server without further password and certificates.
    pub fn new(url: impl Into<String>, name: &str) -> Self {
        Self { url: url.into(), password: None, name: name.to_owned(), tls: RedisTls::default() }
    }
}

/// How the server at a `rediss://` address is verified, and what is presented to it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct RedisTls {
    /// Authorities that sign the server's certificate, as PEM; `None`: those of the machine.
    pub authorities: Option<Vec<u8>>,
    /// Own certificate and its private key, as PEM.
    pub own: Option<(Vec<u8>, Vec<u8>)>,
}

impl fmt::Debug for RedisTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisTls").finish_non_exhaustive()
    }
}

/// The log and the games of a run in Redis.
#[derive(Debug)]
pub struct RedisLog {
    connection: Connection,
    keys: Keys,
    /// Number of this writer. Each arena that opens the store has a higher one than those before it.
    /// See [`CLAIM`].
    epoch: u64,
    entries: u64,
    /// Whether the outcome of the last append is not known.
    is_uncertain: bool,
    games: BTreeSet<GameKey>,
    /// Remembers the last entry; `None`: the log is opened without the folder of an arena.
    known: Option<KnownFile>,
}

#[derive(Debug)]
struct Keys {
    log: String,
    games: String,
    writer: String,
}

impl Keys {
    fn new(name: &str) -> Self {
        let key = |part| key(name, part);
        Self { log: key("log"), games: key("games"), writer: key(WRITER) }
    }
}

/// A key of the run called `name`.
pub(crate) fn key(name: &str, part: &str) -> String {
    format!("ouro:{{{name}}}:{part}")
}

impl RedisStore {
    /// Opens the store, or creates it, and takes it over from any other arena. Checks the settings of
    /// the server and verifies every entry.
    pub fn open(address: &RedisAddress) -> Result<Self, StoreError> {
        Self::take_over(address, None, None).map_err(at_start)
    }

    /// Like [`open`](Self::open), for an arena with its files in `folder`. Refuses a server that lacks
    /// an entry which this arena has stored.
    pub fn open_in(address: &RedisAddress, folder: &Path) -> Result<Self, StoreError> {
        Self::take_over(address, Some(folder), None).map_err(at_start)
    }

    /// Like [`open_in`](Self::open_in), for an arena of `run`. A log of another run is refused before
    /// it is taken over, so its own arena continues.
    pub fn open_for(address: &RedisAddress, folder: &Path, run: &Run) -> Result<Self, StoreError> {
        Self::take_over(address, Some(folder), Some(run)).map_err(at_start)
    }

    fn take_over(
        address: &RedisAddress,
        folder: Option<&Path>,
        run: Option<&Run>,
    ) -> Result<Self, StoreError> {
        RedisLog::claim(address, folder, run).and_then(Self::load)
    }

    /// Tries each command only once.
    #[cfg(test)]
    pub(crate) fn without_patience(self) -> Self {
        self.with_mut(|log| log.connection.set_patience(Duration::ZERO));
        self
    }

    /// Number of this writer, which the key [`WRITER`] holds until another arena takes over.
    pub(crate) fn epoch(&self) -> u64 {
        self.with(|log| log.epoch)
    }

    /// Opens the store to read it. An arena that uses the store continues, and writes here fail.
    pub fn open_to_read(address: &RedisAddress) -> Result<Self, StoreError> {
        RedisLog::new(address).and_then(Self::load).map_err(at_start)
    }

    /// Like [`open_to_read`](Self::open_to_read). Refuses a server that lacks an entry which the arena
    /// with its files in `folder` has stored.
    pub fn open_to_read_in(address: &RedisAddress, folder: &Path) -> Result<Self, StoreError> {
        RedisLog::to_read(address, folder).and_then(Self::load).map_err(at_start)
    }

    /// Reads and verifies every entry.
    fn load(mut log: RedisLog) -> Result<Self, StoreError> {
        let games = &log.keys.games;
        let games: Vec<String> =
            log.connection.run(|redis| redis::cmd("HKEYS").arg(games).query(redis))?;
        log.games = games.iter().filter_map(|field| serde_json::from_str(field).ok()).collect();
        let (mut tables, mut last) = (Tables::default(), None);
        loop {
            let mut texts = log.read_lines(log.entries, CHUNK)?;
            for text in &texts {
                apply(&mut tables, log.entries, text, &log.log_name())?;
                log.entries += 1;
            }
            let Some(text) = texts.pop() else { break };
            last = Some(text);
        }
        // Again, because the server may have lost entries since the first check.
        log.check_known_file()?;
        // Noted only now: a start that a damaged or lost entry ends must not forget a later one.
        log.note(last.as_deref());
        Ok(Self::new(log, tables))
    }
}

impl RedisLog {
    /// The log of a run, of which nothing is read yet, and which cannot be written.
    fn new(address: &RedisAddress) -> Result<Self, StoreError> {
        Ok(Self {
            connection: Connection::new(address)?,
            keys: Keys::new(&address.name),
            epoch: NO_WRITER,
            entries: 0,
            is_uncertain: false,
            games: BTreeSet::new(),
            known: None,
        })
    }

    /// The log of a run, which cannot be written. It has the entry that the arena with its files in
    /// `folder` remembers.
    fn to_read(address: &RedisAddress, folder: &Path) -> Result<Self, StoreError> {
        let mut log = Self::new(address)?;
        log.known = Some(KnownFile::to_read(folder));
        log.check_known_file()?;
        Ok(log)
    }

    /// The log of a run, taken over from any other arena. Nothing is read yet.
    fn claim(
        address: &RedisAddress,
        folder: Option<&Path>,
        run: Option<&Run>,
    ) -> Result<Self, StoreError> {
        let mut log = Self::new(address)?;
        log.connection.set_check(server::check);
        if let Some(folder) = folder {
            let known = KnownFile::open(folder);
            log.known = Some(known.map_err(io_error("open", &folder.display().to_string()))?);
        }
        // An arena that is refused takes nothing over.
        log.check_known_file()?;
        log.check_run(run)?;
        let (claim, writer) = (Script::new(CLAIM), &log.keys.writer);
        // From here on no other arena can write, so what is read is complete.
        log.epoch = log.connection.run(|redis| claim.key(writer).invoke(redis))?;
        Ok(log)
    }

    /// Fails if the log is that of another run than `run`.
    fn check_run(&mut self, run: Option<&Run>) -> Result<(), StoreError> {
        let Some(run) = run else { return Ok(()) };
        match self.read_lines(0, 1)?.pop() {
            Some(text) => check_start(&text, run, &self.log_name()),
            None => Ok(()),
        }
    }

    /// Fails if the log lacks the entry that the arena remembers in its file.
    fn check_known_file(&mut self) -> Result<(), StoreError> {
        let Some(file) = &mut self.known else { return Ok(()) };
        let path = file.path().display().to_string();
        let Some(known) = file.read().map_err(io_error("read", &path))? else { return Ok(()) };
        let text = self.read_lines(known.number, 1)?.pop();
        let line = text.map(|text| format_line(known.number, &text));
        match line.map(|line| KnownEntry::new(known.number, &line)) {
            Some(found) if found == known => Ok(()),
            _ => Err(StoreError::LostEntry { store: self.log_name(), entry: known.number, path }),
        }
    }

    /// Remembers the text of the last entry, if there is one.
    fn note(&self, text: Option<&str>) {
        if let (Some(file), Some(text), Some(number)) =
            (&self.known, text, self.entries.checked_sub(1))
        {
            // Without the note a loss may not be noticed, but nothing is lost.
            let _ = file.note(&KnownEntry::new(number, &format_line(number, text)));
        }
    }

    /// `error`, the reason why a write was refused, unless the server has lost entries: such a server
    /// may have lost the epoch of this arena as well.
    fn refused(&mut self, error: StoreError) -> StoreError {
        let log = &self.keys.log;
        let length = self.connection.run(|redis| redis::cmd("LLEN").arg(log).query::<u64>(redis));
        match length {
            Ok(length) if self.entries > length => self.lost(),
            Ok(_) => error,
            Err(error) => error,
        }
    }

    /// The error of a server that lacks the last entry which it had.
    fn lost(&self) -> StoreError {
        let path = self.known.as_ref().map_or(Path::new(""), KnownFile::path);
        StoreError::LostEntry {
            store: self.log_name(),
            entry: self.entries.saturating_sub(1),
            path: path.display().to_string(),
        }
    }

    /// The texts of the lines from number `first` on, at most `limit`.
    fn read_lines(&mut self, first: u64, limit: u64) -> Result<Vec<String>, StoreError> {
        let Some(last) = first.saturating_add(limit).checked_sub(1).filter(|last| *last >= first)
        else {
            return Ok(Vec::new());
        };
        let log = &self.keys.log;
        let last = i64::try_from(last).unwrap_or(i64::MAX);
        let lines: Vec<Vec<u8>> = self
            .connection
            .run(|redis| redis::cmd("LRANGE").arg(log).arg(first).arg(last).query(redis))?;
        let parse = |(number, line)| match parse_line(line) {
            Some((found, text)) if found == number => Ok(text.to_owned()),
            _ => Err(StoreError::DamagedEntry { store: self.log_name(), entry: number }),
        };
        (first..).zip(lines.iter().map(Vec::as_slice)).map(parse).collect()
    }

    /// Runs a script that first checks that this arena is the writer.
    fn write(&mut self, script: &str, key: &str, arguments: &[&[u8]]) -> Result<(), StoreError> {
        let script = Script::new(script);
        let (writer, epoch) = (&self.keys.writer, self.epoch);
        let answer: String = self.connection.run(|redis| {
            let mut call = script.key(key);
            call.key(writer).arg(epoch);
            for argument in arguments {
                call.arg(*argument);
            }
            call.invoke(redis)
        })?;
        let store = self.log_name();
        match answer.as_str() {
            "ok" => Ok(()),
            "changed" => {
                // An append that had been given up arrived late. It counts.
                let problem = "an entry arrived late".to_owned();
                Err(self.refused(StoreError::Unreachable { store, problem }))
            }
            _ => Err(self.refused(StoreError::Fenced { store })),
        }
    }
}

impl Backend for RedisLog {
    const KIND: &'static str = "redis";

    fn log_name(&self) -> String {
        format!("{} of {}", self.keys.log, self.connection.name())
    }

    fn entries(&self) -> u64 {
        self.entries
    }

    fn append(&mut self, text: &str) -> Result<(), StoreError> {
        let line = format_line(self.entries, text);
        let expected = self.entries.to_string();
        let key = self.keys.log.clone();
        let appended = self.write(APPEND, &key, &[expected.as_bytes(), line.trim_end().as_bytes()]);
        match &appended {
            Ok(()) => {
                self.entries += 1;
                self.note(Some(text));
            }
            // An attempt whose answer was lost may precede the one that was refused.
            Err(error) => self.is_uncertain = !error.is_final(),
        }
        appended
    }

    fn settle(&mut self) -> Result<Vec<String>, StoreError> {
        if !self.is_uncertain {
            return Ok(Vec::new());
        }
        // Only this arena has written, if it still is the writer.
        self.check_writer()?;
        let texts = self.read_lines(self.entries, CHUNK)?;
        self.entries += texts.len() as u64;
        self.is_uncertain = false;
        self.note(texts.last().map(String::as_str));
        Ok(texts)
    }

    fn read(&mut self, first: u64, limit: usize) -> Result<Vec<String>, StoreError> {
        let limit = (limit as u64).min(self.entries.saturating_sub(first));
        let texts = self.read_lines(first, limit)?;
        match texts.len() as u64 == limit {
            true => Ok(texts),
            false => Err(self.lost()),
        }
    }

    fn keep_games(&mut self, games: &[(GameKey, StoredGame)]) -> Result<(), StoreError> {
        let mut arguments = Vec::with_capacity(2 * games.len());
        for (key, game) in games {
            arguments.push(field(key).into_bytes());
            arguments.push(serde_json::to_vec(game).map_err(|error| StoreError::Server {
                store: self.log_name(),
                problem: format!("a game cannot be written as JSON: {error}"),
            })?);
        }
        if arguments.is_empty() {
            return Ok(());
        }
        let arguments: Vec<&[u8]> = arguments.iter().map(Vec::as_slice).collect();
        let key = self.keys.games.clone();
        self.write(KEEP_GAMES, &key, &arguments)?;
        self.games.extend(games.iter().map(|(key, _)| *key));
        Ok(())
    }

    fn game(&mut self, key: GameKey) -> Result<Option<StoredGame>, StoreError> {
        let (games, field) = (&self.keys.games, field(&key));
        let text: Option<Vec<u8>> =
            self.connection.run(|redis| redis::cmd("HGET").arg(games).arg(&field).query(redis))?;
        // A game that cannot be read is not shown, as in the embedded store.
        Ok(text.and_then(|text| serde_json::from_slice(&text).ok()))
    }

    fn game_keys(&mut self, number: u32) -> Result<Vec<GameKey>, StoreError> {
        let first = GameKey { number, cluster: 0, game: 0 };
        let last = GameKey { number, cluster: u32::MAX, game: u32::MAX };
        Ok(self.games.range(first..=last).copied().collect())
    }

    fn prune_games(&mut self, keep: &dyn Fn(GameKey) -> bool) -> Result<u32, StoreError> {
        let gone: Vec<GameKey> = self.games.iter().copied().filter(|key| !keep(*key)).collect();
        let fields: Vec<String> = gone.iter().map(field).collect();
        let key = self.keys.games.clone();
        // Lua unpacks a limited number of arguments.
        for fields in fields.chunks(CHUNK as usize) {
            let arguments: Vec<&[u8]> = fields.iter().map(String::as_bytes).collect();
            self.write(REMOVE_GAMES, &key, &arguments)?;
        }
        gone.iter().for_each(|key| {
            self.games.remove(key);
        });
        Ok(gone.len() as u32)
    }

    fn recover(&mut self) -> Result<(), StoreError> {
        // The script writes, because a server without memory answers scripts that only read. It is
        // tried once: the caller repeats it, and others use the store meanwhile.
        let patience = self.connection.set_patience(Duration::ZERO);
        let recovered = self.write(KEEP_EPOCH, &self.keys.writer.clone(), &[]);
        self.connection.set_patience(patience);
        recovered
    }

    fn check_writer(&mut self) -> Result<(), StoreError> {
        // The script checks the writer before it stores games, of which there are none here.
        let key = self.keys.games.clone();
        self.write(KEEP_GAMES, &key, &[])
    }
}

/// An error of a start. A running arena repeats its writes, but a start does not.
fn at_start(error: StoreError) -> StoreError {
    match error {
        StoreError::Unreachable { store, problem } => StoreError::Server {
            store,
            problem: format!("{problem}; start the server, or correct deploy.store"),
        },
        error => error,
    }
}

/// The field of a game in the hash of games.
fn field(key: &GameKey) -> String {
    serde_json::to_string(key).unwrap_or_default()
}
