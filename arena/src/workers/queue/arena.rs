//! The arena's side of the queue: it issues jobs, withdraws them and reads results.
//!
//! Every script checks the epoch of the writer, like those of the store, so an arena that was
//! replaced issues nothing.

use redis::Script;

use super::{Key, Queue, TAKE, script, text};
use crate::store::{RedisAddress, StoreError};
use crate::workers::job::JobId;

/// Checks that `KEYS[1]` holds the epoch `ARGV[1]`, then drops both.
const FENCE: &str = "
    if redis.call('GET', table.remove(KEYS, 1)) ~= table.remove(ARGV, 1) then return {'fenced'} end";

/// Ends session `ARGV[1]`, the last one of this arena: removes all jobs, leases and results, and
/// returns the number of a new session. With 0, ends any session.
///
/// A later session was opened by a call whose answer was lost, and is returned as it is. A call that
/// arrives late therefore ends no session but its own.
///
/// The number is above that of every earlier session, because a stream remembers its last id. An entry
/// with the number, which is removed at once, becomes this id. Without it, two sessions would share a
/// number if the jobs of the first arrived late.
const OPEN: &str = "
    redis.pcall('XGROUP', 'CREATE', KEYS[1], 'workers', '$', 'MKSTREAM')
    local info, known, last = redis.call('XINFO', 'STREAM', KEYS[1]), tonumber(ARGV[1]), nil
    for i = 1, #info, 2 do
        if info[i] == 'last-generated-id' then
            last = tonumber(string.match(info[i + 1], '^%d+'))
        end
    end
    if not last then return {} end
    if known > 0 and last > known then return {string.format('%.0f', last)} end
    local session = string.format('%.0f', math.max(last, known) + 1)
    redis.call('XTRIM', KEYS[2], 'MAXLEN', 0)
    redis.call('XADD', KEYS[1], 'MAXLEN', 0, session .. '-0', 'session', session)
    redis.call('XGROUP', 'DESTROY', KEYS[1], 'workers')
    redis.call('XGROUP', 'CREATE', KEYS[1], 'workers', '$')
    return {session}";

/// Adds jobs: ids and texts. An id that is not above the last one was added by a call whose answer
/// was lost, or is of a session that has ended.
const ISSUE: &str = "
    for i = 1, #ARGV, 2 do
        local added = redis.pcall('XADD', KEYS[1], ARGV[i], 'job', ARGV[i + 1])
        if added.err and not string.find(added.err, 'smaller') then return added end
    end
    return {}";

/// Removes the jobs that were taken, because the arena plays them.
const WITHDRAW: &str = "
    for i = 1, #taken, 2 do
        redis.call('XACK', KEYS[1], 'workers', taken[i])
        redis.call('XDEL', KEYS[1], taken[i])
    end
    return taken";

/// Removes the results below id `ARGV[1]` and returns up to `ARGV[2]` others: id, job, worker and
/// games of each.
const READ: &str = "
    redis.call('XTRIM', KEYS[1], 'MINID', ARGV[1])
    local results = {}
    for _, entry in ipairs(redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', ARGV[2])) do
        results[#results + 1] = entry[1]
        local fields = {}
        for i = 1, #entry[2], 2 do fields[entry[2][i]] = entry[2][i + 1] end
        results[#results + 1] = fields['job'] or ''
        results[#results + 1] = fields['worker'] or ''
        results[#results + 1] = fields['games'] or ''
    end
    return results";

/// Returns those of the jobs `ARGV` that are not in the queue.
const MISSING: &str = "
    local missing = {}
    for _, job in ipairs(ARGV) do
        if #redis.call('XRANGE', KEYS[1], job, job) == 0 then missing[#missing + 1] = job end
    end
    return missing";

/// Returns the active workers in `KEYS[1]`, at most `ARGV[1]`, and forgets those that are gone.
const ACTIVE: &str = "
    local since = tonumber(redis.call('TIME')[1]) - ACTIVE_SECONDS
    redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', '(' .. since)
    return redis.call('ZRANGE', KEYS[1], 0, tonumber(ARGV[1]) - 1)";

/// The id below which a stream has no entry.
const FIRST: &str = "0-0";

/// Results that are read at once.
const RESULTS: usize = 64;

/// The name of the arena among the consumers of jobs.
const ARENA: &str = "arena";

/// A result as it arrived.
#[derive(Debug)]
pub(crate) struct Arrived {
    /// `None` if its job has no valid id.
    pub(crate) job: Option<JobId>,
    /// Name of the worker.
    pub(crate) worker: String,
    pub(crate) games: Vec<u8>,
}

/// The arena's connection to the queue.
#[derive(Debug)]
pub(crate) struct ArenaQueue {
    queue: Queue,
    epoch: String,
    scripts: Scripts,
    /// The last session that was opened; 0 before the first.
    session: u64,
    /// The id below which all results were read.
    read: String,
}

#[derive(Debug)]
struct Scripts {
    open: Script,
    issue: Script,
    withdraw: Script,
    read: Script,
    missing: Script,
}

impl ArenaQueue {
    /// A queue of the arena that writes with `epoch`.
    pub(crate) fn new(address: &RedisAddress, epoch: u64) -> Result<Self, StoreError> {
        let fenced = |code: &str| script(&format!("{FENCE}{code}"));
        let scripts = Scripts {
            open: fenced(OPEN),
            issue: fenced(ISSUE),
            withdraw: fenced(&format!("{TAKE}{WITHDRAW}")),
            read: fenced(READ),
            missing: fenced(MISSING),
        };
        let (queue, read) = (Queue::new(address)?, FIRST.to_owned());
        Ok(Self { queue, epoch: epoch.to_string(), scripts, session: 0, read })
    }

    /// Tries each command only once.
    #[cfg(test)]
    pub(crate) fn without_patience(mut self) -> Self {
        self.queue.connection.set_patience(std::time::Duration::ZERO);
        self
    }

    /// Removes everything in the queue and returns a new session number.
    pub(crate) fn open(&mut self) -> Result<u64, StoreError> {
        let known = self.session.to_string();
        let arguments = [self.epoch.as_bytes(), known.as_bytes()];
        let keys = [Key::Writer, Key::Jobs, Key::Results];
        let answer = self.queue.call(&self.scripts.open, &keys, &arguments)?;
        let session: Option<u64> = answer.first().and_then(|session| text(session).parse().ok());
        self.session = session.ok_or_else(|| StoreError::Server {
            store: self.queue.keys.of(Key::Jobs),
            problem: "the stream does not say its last id".to_owned(),
        })?;
        // On a server that was restored, the ids of new results may be below those that were read.
        FIRST.clone_into(&mut self.read);
        Ok(self.session)
    }

    /// Issues jobs, in the order of their clusters.
    pub(crate) fn issue(&mut self, jobs: &[(JobId, String)]) -> Result<(), StoreError> {
        if jobs.is_empty() {
            return Ok(());
        }
        let ids: Vec<String> = jobs.iter().map(|(id, _)| id.to_string()).collect();
        let mut arguments = vec![self.epoch.as_bytes()];
        for (id, (_, job)) in ids.iter().zip(jobs) {
            arguments.extend([id.as_bytes(), job.as_bytes()]);
        }
        let keys = [Key::Writer, Key::Jobs];
        self.queue.call(&self.scripts.issue, &keys, &arguments).map(drop)
    }

    /// Withdraws up to `room` jobs that no worker plays, for the arena to play. If an answer was lost,
    /// a repeated call withdraws others: the first ones are [`missing`](Self::missing) then.
    pub(crate) fn withdraw(&mut self, room: usize) -> Result<Vec<JobId>, StoreError> {
        let room = room.to_string();
        let arguments = [self.epoch.as_bytes(), ARENA.as_bytes(), room.as_bytes()];
        let keys = [Key::Writer, Key::Jobs, Key::Workers];
        let taken = self.queue.call(&self.scripts.withdraw, &keys, &arguments)?;
        Ok(taken.chunks(2).filter_map(|job| text(job.first()?).parse().ok()).collect())
    }

    /// Those of `jobs` that are not in the queue: they were delivered, or withdrawn by a call whose
    /// answer was lost.
    pub(crate) fn missing(&mut self, jobs: &[JobId]) -> Result<Vec<JobId>, StoreError> {
        let ids: Vec<String> = jobs.iter().map(ToString::to_string).collect();
        let mut arguments = vec![self.epoch.as_bytes()];
        arguments.extend(ids.iter().map(String::as_bytes));
        let keys = [Key::Writer, Key::Jobs];
        let missing = self.queue.call(&self.scripts.missing, &keys, &arguments)?;
        Ok(missing.iter().filter_map(|id| text(id).parse().ok()).collect())
    }

    /// The next results. They stay in the queue until the next call, so a lost answer loses none.
    pub(crate) fn read(&mut self) -> Result<Vec<Arrived>, StoreError> {
        let count = RESULTS.to_string();
        let arguments = [self.epoch.as_bytes(), self.read.as_bytes(), count.as_bytes()];
        let keys = [Key::Writer, Key::Results];
        let answer = self.queue.call(&self.scripts.read, &keys, &arguments)?;
        let mut arrived = Vec::with_capacity(answer.len() / 4);
        for entry in answer.chunks_exact(4) {
            let [id, job, worker, games] = entry else { continue };
            self.read = after(&text(id));
            let worker = text(worker).chars().take(80).collect();
            arrived.push(Arrived { job: text(job).parse().ok(), worker, games: games.clone() });
        }
        Ok(arrived)
    }
}

/// The id after this one.
fn after(id: &str) -> String {
    let next = id.split_once('-').and_then(|(time, number)| {
        let number: u64 = number.parse().ok()?;
        Some(format!("{time}-{}", number.checked_add(1)?))
    });
    next.unwrap_or_else(|| id.to_owned())
}

/// Watches which workers are active, on a connection of its own.
#[derive(Debug)]
pub(crate) struct Presence {
    queue: Queue,
    active: Script,
}

impl Presence {
    /// The number of workers that are looked at.
    const MOST: usize = 10_000;

    pub(crate) fn new(address: &RedisAddress) -> Result<Self, StoreError> {
        let mut queue = Queue::new(address)?;
        // The next look is a second later anyway.
        queue.connection.set_patience(std::time::Duration::ZERO);
        Ok(Self { queue, active: script(ACTIVE) })
    }

    /// The names of the active workers.
    pub(crate) fn active(&mut self) -> Result<Vec<String>, StoreError> {
        let most = Self::MOST.to_string();
        let keys = [Key::Workers];
        let names = self.queue.call(&self.active, &keys, &[most.as_bytes()])?;
        Ok(names.iter().map(|name| text(name)).collect())
    }
}
