//! A worker's side of the queue: it takes jobs, renews their leases and delivers results.

use std::time::Duration;

use redis::{RedisError, Script, Value};

use super::{Key, Queue, TAKE, script, text};
use crate::store::{RedisAddress, StoreError};
use crate::workers::job::JobId;

/// Time that one call waits for a job.
const WAIT: Duration = Duration::from_secs(1);

/// Pause while the queue has no consumers. Short, because each match opens the queue anew, and a
/// match may take less than a second.
const CLOSED: Duration = Duration::from_millis(50);

/// Time over which a command is repeated. A stopping worker must not exceed its grace.
const PATIENCE: Duration = Duration::from_secs(3);

/// Gives a sign of worker `ARGV[1]` and renews the leases of its jobs from `ARGV[3]` on, if `ARGV[2]`
/// says so. Returns the jobs that it no longer has.
const RENEW: &str = "
    local renews = ARGV[2] == '1'
    if renews then redis.call('ZADD', KEYS[2], redis.call('TIME')[1], ARGV[1]) end
    local lost = {}
    for i = 3, #ARGV do
        local held = redis.pcall('XPENDING', KEYS[1], 'workers', ARGV[i], ARGV[i], 1, ARGV[1])
        if held.err or #held == 0 then
            lost[#lost + 1] = ARGV[i]
        elseif renews then
            redis.call('XCLAIM', KEYS[1], 'workers', ARGV[1], 0, ARGV[i], 'JUSTID')
        end
    end
    return lost";

/// Adds the results of worker `ARGV[1]`, ids and games, for jobs that still exist, and removes these
/// jobs. The result is added first: if that fails, the job stays.
const DELIVER: &str = "
    for i = 2, #ARGV, 2 do
        if #redis.call('XRANGE', KEYS[1], ARGV[i], ARGV[i]) > 0 then
            redis.call('XADD', KEYS[2], '*', 'job', ARGV[i], 'worker', ARGV[1], 'games', ARGV[i + 1])
            redis.call('XACK', KEYS[1], 'workers', ARGV[i])
            redis.call('XDEL', KEYS[1], ARGV[i])
        end
    end
    return {}";

/// Ends the leases of worker `ARGV[1]` on jobs from `ARGV[2]` on, so that anybody takes them at once.
/// They pass to a consumer that does not exist, so a renewal that is under way renews nothing.
const HAND_BACK: &str = "
    for i = 2, #ARGV do
        local held = redis.pcall('XPENDING', KEYS[1], 'workers', ARGV[i], ARGV[i], 1, ARGV[1])
        if not held.err and #held > 0 then
            redis.call('XCLAIM', KEYS[1], 'workers', 'nobody', 0, ARGV[i],
                'IDLE', 1000 * LEASE_MS, 'JUSTID')
        end
    end
    return {}";

/// A worker's connection to the queue. A call that waits for a job blocks it, so it is
/// not shared.
#[derive(Debug)]
pub(crate) struct WorkerQueue {
    queue: Queue,
    worker: String,
    take: Script,
    renew: Script,
    deliver: Script,
    hand_back: Script,
}

/// A job as it arrived.
pub(crate) type Taken = (JobId, Vec<u8>);

impl WorkerQueue {
    /// A queue for the worker of this name.
    pub(crate) fn new(address: &RedisAddress, worker: &str) -> Result<Self, StoreError> {
        let mut queue = Queue::new(address)?;
        queue.connection.set_patience(PATIENCE);
        Ok(Self {
            queue,
            worker: worker.to_owned(),
            take: script(&format!("{TAKE}\n    return taken")),
            renew: script(RENEW),
            deliver: script(DELIVER),
            hand_back: script(HAND_BACK),
        })
    }

    /// The server, for messages.
    pub(crate) fn server(&self) -> &str {
        self.queue.connection.name()
    }

    /// Tries each command only once.
    pub(crate) fn without_patience(mut self) -> Self {
        self.queue.connection.set_patience(Duration::ZERO);
        self
    }

    /// Takes up to `room` jobs, without waiting for any.
    pub(crate) fn take(&mut self, room: usize) -> Result<Vec<Taken>, StoreError> {
        let room = room.to_string();
        let keys = [Key::Jobs, Key::Workers];
        let arguments = [self.worker.as_bytes(), room.as_bytes()];
        let taken = self.queue.call(&self.take, &keys, &arguments)?;
        let job = |job: &[Vec<u8>]| Some((text(job.first()?).parse().ok()?, job.get(1)?.clone()));
        Ok(taken.chunks(2).filter_map(job).collect())
    }

    /// Waits up to a second for a new job.
    pub(crate) fn wait(&mut self) -> Result<Option<Taken>, StoreError> {
        let worker = &self.worker;
        let jobs = self.queue.keys.of(Key::Jobs);
        let answer = self.queue.connection.run(|redis| {
            let mut command = redis::cmd("XREADGROUP");
            command.arg("GROUP").arg("workers").arg(worker).arg("COUNT").arg(1);
            command.arg("BLOCK").arg(WAIT.as_millis() as u64);
            command.arg("STREAMS").arg(&jobs).arg(">");
            match command.query::<Value>(redis) {
                // No arena has opened this queue yet, or a new match opens it right now.
                Err(error) if is_closed(&error) => Ok(None),
                answer => answer.map(Some),
            }
        })?;
        match answer {
            Some(answer) => Ok(first_job(&answer)),
            None => {
                std::thread::sleep(CLOSED);
                Ok(None)
            }
        }
    }

    /// Looks whether jobs are still this worker's. With `renews`, also renews their leases and gives
    /// a sign of activity. Returns those that were lost.
    pub(crate) fn renew(&mut self, jobs: &[JobId], renews: bool) -> Result<Vec<JobId>, StoreError> {
        let flag: &[u8] = if renews { b"1" } else { b"0" };
        let ids: Vec<String> = jobs.iter().map(ToString::to_string).collect();
        let mut arguments = vec![self.worker.as_bytes(), flag];
        arguments.extend(ids.iter().map(String::as_bytes));
        let lost = self.queue.call(&self.renew, &[Key::Jobs, Key::Workers], &arguments)?;
        Ok(lost.iter().filter_map(|id| text(id).parse().ok()).collect())
    }

    /// Delivers results, each the games of a job as JSON. Results of jobs that were withdrawn or
    /// delivered by another worker are dropped.
    pub(crate) fn deliver(&mut self, results: &[(JobId, String)]) -> Result<(), StoreError> {
        let ids: Vec<String> = results.iter().map(|(id, _)| id.to_string()).collect();
        let mut arguments = vec![self.worker.as_bytes()];
        for (id, (_, games)) in ids.iter().zip(results) {
            arguments.extend([id.as_bytes(), games.as_bytes()]);
        }
        let keys = [Key::Jobs, Key::Results];
        self.queue.call(&self.deliver, &keys, &arguments).map(drop)
    }

    /// Hands jobs back.
    pub(crate) fn hand_back(&mut self, jobs: &[JobId]) -> Result<(), StoreError> {
        let ids: Vec<String> = jobs.iter().map(ToString::to_string).collect();
        let mut arguments = vec![self.worker.as_bytes()];
        arguments.extend(ids.iter().map(String::as_bytes));
        self.queue.call(&self.hand_back, &[Key::Jobs], &arguments).map(drop)
    }

    /// Leaves the list of active workers.
    pub(crate) fn leave(&mut self) -> Result<(), StoreError> {
        let (worker, workers) = (&self.worker, self.queue.keys.of(Key::Workers));
        let leave = |redis: &mut redis::Connection| {
            redis::cmd("ZREM").arg(&workers).arg(worker).query::<()>(redis)
        };
        self.queue.connection.run(leave)
    }
}

/// Whether a queue has no consumers now.
fn is_closed(error: &RedisError) -> bool {
    matches!(error.code(), Some("NOGROUP" | "UNBLOCKED"))
}

/// The job in the answer of `XREADGROUP`: a list of streams, each with its entries, each with an id
/// and its fields.
fn first_job(answer: &Value) -> Option<Taken> {
    let item = |value: &Value, index: usize| match value {
        Value::Array(items) => items.get(index).cloned(),
        _ => None,
    };
    let bytes = |value: Value| match value {
        Value::BulkString(bytes) => Some(bytes),
        _ => None,
    };
    let entry = item(&item(&item(answer, 0)?, 1)?, 0)?;
    let id = text(&bytes(item(&entry, 0)?)?).parse().ok()?;
    Some((id, bytes(item(&item(&entry, 1)?, 1)?)?))
}
