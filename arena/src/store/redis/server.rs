//! Checks that a Redis server keeps what it acknowledges.

use super::super::error::StoreError;
use super::connection::Connection;

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

/// Refuses a server that is too old, or whose settings lose acknowledged writes. The error names the
/// setting, its value and the command that changes it.
pub(super) fn check(connection: &mut Connection) -> Result<(), StoreError> {
    let info: String = connection.run(|redis| redis::cmd("INFO").arg("server").query(redis))?;
    let store = connection.name().to_owned();
    let refused = |problem| StoreError::Server { store: store.clone(), problem };
    let version = field(&info, "redis_version");
    let major = version.split('.').next().and_then(|major| major.parse::<u32>().ok());
    if major.is_none_or(|major| major < OLDEST) {
        return Err(refused(format!("version is {version:?}; use {OLDEST}.0 or later")));
    }
    for (name, wanted, loss) in REQUIRED {
        let found: Vec<String> =
            connection.run(|redis| redis::cmd("CONFIG").arg("GET").arg(name).query(redis))?;
        let value = found.get(1).map_or("", String::as_str);
        if value != wanted {
            return Err(refused(format!(
                "{name} is {value:?}, so that {loss}; run CONFIG SET {name} {wanted} and CONFIG REWRITE"
            )));
        }
    }
    Ok(())
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
