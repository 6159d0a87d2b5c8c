//! Checks that a Redis server keeps what it acknowledges.

use std::time::Duration;

use redis::RedisResult;

use super::super::error::StoreError;
use super::connection::Connection;
use super::{RedisAddress, key};

/// Seconds since its last sign after which a worker no longer counts as active.
const ACTIVE_SECONDS: u64 = 10;

/// Time over which the questions of a report are repeated.
const PATIENCE: Duration = Duration::from_secs(2);

/// The oldest version whose commands the store uses.
const OLDEST: u32 = 7;

/// Settings of the server, each with the required value and what another value would lose.
const REQUIRED: [(&str, &str, &str); 5] = [
    ("appendonly", "yes", "a restart loses everything"),
    ("appendfsync", "always", "a power failure loses acknowledged results"),
    ("no-appendfsync-on-rewrite", "no", "a rewrite of the log suspends its fsync"),
    ("aof-load-truncated", "no", "a truncated log is loaded without an error"),
    ("maxmemory-policy", "noeviction", "results are evicted when memory is short"),
];

/// What a server says about itself, for an operator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerReport {
    /// The server, for messages.
    pub name: String,
    /// Version of the server.
    pub version: String,
    /// Why the server may lose what it acknowledges, each with the remedy. An arena refuses it.
    pub problems: Vec<String>,
    /// Whether it has an append-only file.
    pub has_log: bool,
    /// Result of the last write to that file: `ok` or `err`. A rewrite has a result of its own.
    pub last_write: String,
    /// Result of the last rewrite of that file.
    pub last_rewrite: String,
    /// Bytes of memory in use.
    pub memory_bytes: u64,
    /// Limit of the memory; 0 if there is none.
    pub memory_limit: u64,
    /// Entries of the results under the name of the run.
    pub entries: u64,
    /// Active workers of the arena.
    pub workers: u64,
    /// Jobs that no worker has taken.
    pub jobs_waiting: u64,
    /// Jobs that a worker plays.
    pub jobs_played: u64,
}

impl ServerReport {
    /// Asks the server at `address`. The results are only read, and their arena continues.
    pub fn ask(address: &RedisAddress) -> Result<Self, StoreError> {
        let mut connection = Connection::new(address)?;
        connection.set_patience(PATIENCE);
        let version = connection.run(version)?;
        let problems = connection.run(|redis| problems(redis, &version))?;
        let mut info = |part: &str| -> Result<String, StoreError> {
            connection.run(|redis| redis::cmd("INFO").arg(part).query(redis))
        };
        let (disk, memory) = (info("persistence")?, info("memory")?);
        let number = |name| field(&memory, name).parse().unwrap_or_default();
        let log = key(&address.name, "log");
        let entries = connection.run(|redis| redis::cmd("LLEN").arg(&log).query(redis))?;
        let (workers, jobs, jobs_played) = jobs(&mut connection, &address.name)?;
        Ok(Self {
            name: connection.name().to_owned(),
            version,
            problems,
            has_log: field(&disk, "aof_enabled") == "1",
            last_write: field(&disk, "aof_last_write_status").to_owned(),
            last_rewrite: field(&disk, "aof_last_bgrewrite_status").to_owned(),
            memory_bytes: number("used_memory"),
            memory_limit: number("maxmemory"),
            entries,
            workers,
            jobs_waiting: jobs.saturating_sub(jobs_played),
            jobs_played,
        })
    }
}

/// The active workers, the jobs, and those of them that are played.
fn jobs(connection: &mut Connection, name: &str) -> Result<(u64, u64, u64), StoreError> {
    let [jobs, workers] = ["jobs", "workers"].map(|part| key(name, part));
    let (now, _): (u64, u64) = connection.run(|redis| redis::cmd("TIME").query(redis))?;
    let since = now.saturating_sub(ACTIVE_SECONDS);
    let active = connection
        .run(|redis| redis::cmd("ZCOUNT").arg(&workers).arg(since).arg("+inf").query(redis))?;
    let all: u64 = connection.run(|redis| redis::cmd("XLEN").arg(&jobs).query(redis))?;
    if all == 0 {
        // Before the first job there may be no group to ask for.
        return Ok((active, 0, 0));
    }
    let (played, _, _, _): (u64, redis::Value, redis::Value, redis::Value) =
        connection.run(|redis| redis::cmd("XPENDING").arg(&jobs).arg("workers").query(redis))?;
    Ok((active, all, played))
}

/// Why the server is refused: it is too old, or its settings lose acknowledged writes. The text
/// names the setting, its value and the command that changes it.
pub(super) fn check(redis: &mut redis::Connection) -> RedisResult<Option<String>> {
    let version = version(redis)?;
    Ok(problems(redis, &version)?.into_iter().next())
}

fn version(redis: &mut redis::Connection) -> RedisResult<String> {
    let info: String = redis::cmd("INFO").arg("server").query(redis)?;
    Ok(field(&info, "redis_version").to_owned())
}

/// Why the server may lose what it acknowledges, each with the remedy.
fn problems(redis: &mut redis::Connection, version: &str) -> RedisResult<Vec<String>> {
    let major = version.split('.').next().and_then(|major| major.parse::<u32>().ok());
    if major.is_none_or(|major| major < OLDEST) {
        // Settings of such a server may have other names.
        return Ok(vec![format!("version is {version:?}; use {OLDEST}.0 or later")]);
    }
    let mut problems = Vec::new();
    for (name, wanted, loss) in REQUIRED {
        let found: Vec<String> = redis::cmd("CONFIG").arg("GET").arg(name).query(redis)?;
        let value = found.get(1).map_or("", String::as_str);
        if value != wanted {
            problems.push(format!(
                "{name} is {value:?}, so that {loss}; run CONFIG SET {name} {wanted} and CONFIG REWRITE"
            ));
        }
    }
    Ok(problems)
}

/// The value of a line `NAME:VALUE`.
fn field<'a>(info: &'a str, name: &str) -> &'a str {
    let line = info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.unwrap_or_default().trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_the_rest_of_its_line() {
        let info = "# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\n";
        assert_eq!(field(info, "redis_version"), "7.0.15");
        assert_eq!(field(info, "redis_git"), "");
    }
}
