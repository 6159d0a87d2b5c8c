//! The queue between the arena and its workers, in Redis.
//!
//! Jobs are a stream with one consumer group. The lease of a job is its idle time in the group: a
//! worker that plays renews it, and a job whose lease has expired belongs to whoever claims it
//! next. Results are a second stream. A worker adds a result and removes its job in one step, so a
//! job has at most one result, and results are no more than jobs were issued.
//!
//! Every step is one script and can be repeated after a lost answer. All keys of a run share the
//! hash tag `{NAME}`.

use redis::Script;

use crate::store::{Connection, RedisAddress, StoreError, WRITER, key};

pub(crate) mod arena;
pub(crate) mod worker;

/// Time after which a job that was not renewed is given to somebody else, in milliseconds. Longer
/// than three renewals, so that a moment without the server loses no lease.
const LEASE_MS: u64 = 10_000;

/// Seconds since its last sign after which a worker no longer counts as active. Signs come with
/// renewals.
const ACTIVE_SECONDS: u64 = 10;

/// The start of the scripts that take jobs.
///
/// Takes jobs from `KEYS[1]` for consumer `ARGV[1]`, at most `ARGV[2]`: first those with an expired
/// lease, then a share of those that wait, so that a short match is spread over all workers in
/// `KEYS[2]`. Leaves `taken`, a list of ids and jobs.
const TAKE: &str = "
    local taken = {}
    local room = tonumber(ARGV[2])
    local function add(entries)
        for _, entry in ipairs(entries) do
            taken[#taken + 1] = entry[1]
            taken[#taken + 1] = entry[2][2]
        end
    end
    local cursor = '0-0'
    repeat
        local claimed = redis.pcall('XAUTOCLAIM', KEYS[1], 'workers', ARGV[1], LEASE_MS, cursor,
            'COUNT', room - #taken / 2)
        if claimed.err then return {} end
        cursor = claimed[1]
        add(claimed[2])
    until cursor == '0-0' or #taken / 2 >= room
    local free = room - #taken / 2
    local waiting = redis.call('XLEN', KEYS[1]) - redis.call('XPENDING', KEYS[1], 'workers')[1]
    if free > 0 and waiting > 0 then
        local since = tonumber(redis.call('TIME')[1]) - ACTIVE_SECONDS
        local players = redis.call('ZCOUNT', KEYS[2], since, '+inf') + 1
        local read = redis.call('XREADGROUP', 'GROUP', 'workers', ARGV[1],
            'COUNT', math.min(free, math.ceil(waiting / players)), 'STREAMS', KEYS[1], '>')
        if read then add(read[1][2]) end
    end";

/// A connection to the queue of a run.
#[derive(Debug)]
struct Queue {
    connection: Connection,
    keys: Keys,
}

/// A key of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    Jobs,
    Results,
    /// The workers by the time of their last sign.
    Workers,
    /// The epoch of the arena that may write.
    Writer,
}

#[derive(Debug)]
struct Keys {
    run: String,
}

impl Keys {
    fn of(&self, one: Key) -> String {
        let part = match one {
            Key::Jobs => "jobs",
            Key::Results => "results",
            Key::Workers => "workers",
            Key::Writer => WRITER,
        };
        key(&self.run, part)
    }
}

impl Queue {
    fn new(address: &RedisAddress) -> Result<Self, StoreError> {
        let connection = Connection::new(address)?;
        Ok(Self { connection, keys: Keys { run: address.name.clone() } })
    }

    /// Runs a script. A script that is fenced fails.
    fn call(
        &mut self,
        script: &Script,
        keys: &[Key],
        arguments: &[&[u8]],
    ) -> Result<Vec<Vec<u8>>, StoreError> {
        let keys: Vec<String> = keys.iter().map(|key| self.keys.of(*key)).collect();
        let answer: Vec<Vec<u8>> = self.connection.run(|redis| {
            let mut call = script.prepare_invoke();
            for key in &keys {
                call.key(key);
            }
            for argument in arguments {
                call.arg(*argument);
            }
            call.invoke(redis)
        })?;
        if answer.first().is_some_and(|first| first == b"fenced") {
            return Err(StoreError::Fenced { store: self.keys.of(Key::Jobs) });
        }
        Ok(answer)
    }
}

/// A script, with the constants of this module in their places.
fn script(code: &str) -> Script {
    let code = code.replace("LEASE_MS", &LEASE_MS.to_string());
    Script::new(&code.replace("ACTIVE_SECONDS", &ACTIVE_SECONDS.to_string()))
}

/// An answer of the queue, as text.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests;
