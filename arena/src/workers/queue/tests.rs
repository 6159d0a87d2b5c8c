//! The queue on a real Redis server: leases, single results, restarts, fences, rights.
//!
//! Without `redis-server` on this machine the tests are skipped, unless all checks are required.

use std::collections::BTreeSet;

use ouro_testkit::redis::{RedisServer, USERS};

use super::arena::{ArenaQueue, Arrived, Presence};
use super::worker::WorkerQueue;
use super::*;
use crate::workers::job::JobId;

/// Commands that Redis lets everyone run, and those of the test itself.
const OF_THE_TEST: [&str; 4] = ["auth", "hello", "info", "config|resetstat"];

/// A server with a queue.
struct Home {
    server: RedisServer,
    _folder: tempfile::TempDir,
}

impl Home {
    fn new() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let home = Self { server: RedisServer::start(folder.path())?, _folder: folder };
        home.command(&["SET", "ouro:{test}:writer", "1"]);
        Some(home)
    }

    fn address(&self, user: &str) -> RedisAddress {
        RedisAddress::new(self.server.url(user), "test")
    }

    fn arena(&self) -> ArenaQueue {
        ArenaQueue::new(&self.address("arena"), 1).unwrap()
    }

    fn worker(&self, name: &str) -> WorkerQueue {
        WorkerQueue::new(&self.address("worker"), name).unwrap()
    }

    /// Runs a command of the server.
    fn command(&self, words: &[&str]) -> redis::Value {
        let mut connection =
            Connection::new(&RedisAddress::new(self.server.url("admin"), "any")).unwrap();
        connection.run(|redis| redis::cmd(words[0]).arg(&words[1..]).query(redis)).unwrap()
    }

    /// Lets the lease of a job expire.
    fn expire(&self, job: JobId, worker: &str) {
        let (job, late) = (job.to_string(), (LEASE_MS + 1).to_string());
        let jobs = "ouro:{test}:jobs";
        self.command(&["XCLAIM", jobs, "workers", worker, "0", &job, "IDLE", &late, "JUSTID"]);
    }
}

/// Opens a session with this many jobs.
fn issue(arena: &mut ArenaQueue, jobs: u32) -> u64 {
    let session = arena.open().unwrap();
    let job = |cluster| (JobId { session, cluster }, format!("job {cluster}"));
    arena.issue(&(0..jobs).map(job).collect::<Vec<_>>()).unwrap();
    session
}

fn clusters(taken: &[super::worker::Taken]) -> Vec<u32> {
    taken.iter().map(|(id, _)| id.cluster).collect()
}

fn delivered(arena: &mut ArenaQueue) -> Vec<(u32, String, String)> {
    let row = |Arrived { job, worker, games }| (job.unwrap().cluster, worker, text(&games));
    arena.read().unwrap().into_iter().map(row).collect()
}

#[test]
fn a_job_is_held_by_one_player_at_a_time_and_shared_fairly() {
    let Some(home) = Home::new() else { return };
    let (mut arena, mut first, mut second) = (home.arena(), home.worker("a"), home.worker("b"));
    assert!(first.take(9).unwrap().is_empty(), "no arena has opened the queue");
    issue(&mut arena, 12);
    first.renew(&[], true).unwrap();
    second.renew(&[], true).unwrap();
    // Two workers and the arena: each takes a third of what waits.
    assert_eq!(clusters(&first.take(9).unwrap()), [0, 1, 2, 3]);
    assert_eq!(clusters(&second.take(2).unwrap()), [4, 5]);
    let own: Vec<u32> = arena.withdraw(9).unwrap().iter().map(|job| job.cluster).collect();
    assert_eq!(own, [6, 7]);
    let waited = second.wait().unwrap().unwrap();
    assert_eq!((waited.0.cluster, &waited.1[..]), (8, &b"job 8"[..]));
    assert_eq!(clusters(&first.take(1).unwrap()), [9]);
    assert_eq!(clusters(&first.take(9).unwrap()), [10]);
    assert_eq!(clusters(&first.take(9).unwrap()), [11]);
    assert!(first.take(9).unwrap().is_empty() && arena.withdraw(9).unwrap().is_empty());
}

#[test]
fn an_expired_lease_passes_to_another_player_and_a_renewed_one_does_not() {
    let Some(home) = Home::new() else { return };
    let (mut arena, mut first, mut second) = (home.arena(), home.worker("a"), home.worker("b"));
    let session = issue(&mut arena, 3);
    let jobs: Vec<JobId> = (0..3).map(|cluster| JobId { session, cluster }).collect();
    let taken = (0..3).flat_map(|_| first.take(1).unwrap()).collect::<Vec<_>>();
    assert_eq!(clusters(&taken), [0, 1, 2]);
    jobs.iter().for_each(|job| home.expire(*job, "a"));
    assert_eq!(first.renew(&jobs[..1], true).unwrap(), []);
    assert_eq!(clusters(&second.take(1).unwrap()), [1]);
    assert_eq!(arena.withdraw(5).unwrap(), [jobs[2]]);
    // Only the renewed job is left to its first worker.
    assert_eq!(first.renew(&jobs, false).unwrap(), jobs[1..]);
    assert!(second.take(5).unwrap().is_empty());
    // A job that is handed back passes on at once.
    first.hand_back(&jobs).unwrap();
    assert_eq!(clusters(&second.take(5).unwrap()), [0]);
}

#[test]
fn a_job_has_one_result_whoever_delivers_it_and_how_often() {
    let Some(home) = Home::new() else { return };
    let (mut arena, mut first, mut second) = (home.arena(), home.worker("a"), home.worker("b"));
    let session = issue(&mut arena, 3);
    let result = |cluster, games: &str| (JobId { session, cluster }, games.to_owned());
    let taken = [first.take(1).unwrap(), second.take(1).unwrap(), first.take(1).unwrap()];
    assert_eq!(clusters(&taken.concat()), [0, 1, 2]);
    // Workers may deliver a job whose lease has passed to another one. The first result counts.
    second.deliver(&[result(0, "x"), result(1, "y")]).unwrap();
    second.deliver(&[result(1, "y")]).unwrap();
    first.deliver(&[result(0, "z")]).unwrap();
    let expected = [(0, "b".to_owned(), "x".to_owned()), (1, "b".to_owned(), "y".to_owned())];
    assert_eq!(delivered(&mut arena), expected);
    assert_eq!(delivered(&mut arena), []);
    // A withdrawn job has no result.
    home.expire(JobId { session, cluster: 2 }, "a");
    assert_eq!(arena.withdraw(1).unwrap().len(), 1);
    first.deliver(&[result(2, "late")]).unwrap();
    assert_eq!(delivered(&mut arena), []);
    assert_eq!(first.renew(&[JobId { session, cluster: 2 }], true).unwrap().len(), 1);
}

#[test]
fn a_new_session_takes_everything_back_and_its_jobs_are_new() {
    let Some(home) = Home::new() else { return };
    let (mut arena, mut worker) = (home.arena(), home.worker("a"));
    let first = issue(&mut arena, 2);
    let old: Vec<JobId> = worker.take(2).unwrap().iter().map(|(id, _)| *id).collect();
    worker.deliver(&[(old[0], "x".to_owned())]).unwrap();
    let second = issue(&mut arena, 1);
    assert!(second > first);
    assert_eq!(worker.renew(&old, true).unwrap(), old);
    worker.deliver(&[(old[1], "y".to_owned())]).unwrap();
    assert_eq!(delivered(&mut arena), []);
    assert_eq!(worker.wait().unwrap().unwrap().0, JobId { session: second, cluster: 0 });
    // Jobs that are issued twice, because an answer was lost, are one job.
    let job = (JobId { session: second, cluster: 0 }, "again".to_owned());
    arena.issue(&[job]).unwrap();
    assert!(worker.take(1).unwrap().is_empty());
}

#[test]
fn two_sessions_never_share_a_number_even_if_jobs_arrive_late() {
    let Some(home) = Home::new() else { return };
    let (mut arena, mut worker) = (home.arena(), home.worker("a"));
    let first = arena.open().unwrap();
    let second = arena.open().unwrap();
    assert_eq!(second, first + 1);
    // Jobs of the first session, which the network has held back.
    arena.issue(&[(JobId { session: first, cluster: 0 }, "late".to_owned())]).unwrap();
    assert!(worker.take(1).unwrap().is_empty());
    let job = JobId { session: second, cluster: 0 };
    arena.issue(&[(job, "new".to_owned())]).unwrap();
    assert_eq!(worker.take(9).unwrap(), [(job, b"new".to_vec())]);
    assert_eq!(arena.open().unwrap(), second + 1);
}

#[test]
fn a_session_whose_number_was_lost_is_opened_once() {
    let Some(mut home) = Home::new() else { return };
    let mut arena = home.arena().without_patience();
    let session = issue(&mut arena, 2);
    // A stopped server reads nothing, and executes the command once it continues.
    home.server.signal("-STOP");
    assert!(arena.open().unwrap_err().is_passing());
    home.server.signal("-CONT");
    home.command(&["PING"]);
    assert_eq!(arena.open().unwrap(), session + 1);
    // The number of a session without jobs survives a restart, and another arena takes the next one.
    home.server.restart();
    assert_eq!(home.arena().open().unwrap(), session + 2);
}

#[test]
fn results_of_a_new_session_are_read_although_their_ids_are_below_earlier_ones() {
    let Some(home) = Home::new() else { return };
    let (mut arena, mut worker) = (home.arena(), home.worker("a"));
    issue(&mut arena, 1);
    let job = worker.take(1).unwrap()[0].0;
    worker.deliver(&[(job, "x".to_owned())]).unwrap();
    assert_eq!(delivered(&mut arena).len(), 1);
    // As on a server that was restored from an older copy and whose clock is behind.
    let results = "ouro:{test}:results";
    home.command(&["DEL", results]);
    let session = issue(&mut arena, 1);
    let job = JobId { session, cluster: 0 }.to_string();
    home.command(&["XADD", results, "1-1", "job", &job, "worker", "a", "games", "y"]);
    assert_eq!(delivered(&mut arena), [(0, "a".to_owned(), "y".to_owned())]);
}

#[test]
fn a_killed_server_loses_no_job_lease_or_result() {
    let Some(mut home) = Home::new() else { return };
    let (mut arena, mut first, mut second) = (home.arena(), home.worker("a"), home.worker("b"));
    let session = issue(&mut arena, 6);
    let held = first.take(2).unwrap();
    let id = |cluster| JobId { session, cluster };
    home.server.restart();
    first.deliver(&[(id(0), "x".to_owned())]).unwrap();
    home.server.restart();
    assert_eq!(delivered(&mut arena), [(0, "a".to_owned(), "x".to_owned())]);
    assert_eq!(clusters(&held), [0, 1]);
    assert_eq!(first.renew(&[id(1)], true).unwrap(), []);
    assert_eq!(clusters(&second.take(1).unwrap()), [2]);
    assert_eq!(arena.open().unwrap(), session + 1);
}

#[test]
fn an_arena_that_was_replaced_can_neither_issue_nor_withdraw() {
    let Some(home) = Home::new() else { return };
    let mut arena = home.arena();
    let session = issue(&mut arena, 2);
    home.command(&["INCR", "ouro:{test}:writer"]);
    let job = (JobId { session, cluster: 2 }, String::new());
    let is_fenced = |error| matches!(error, StoreError::Fenced { .. });
    assert!(is_fenced(arena.issue(&[job]).unwrap_err()));
    assert!(is_fenced(arena.withdraw(1).unwrap_err()));
    assert!(is_fenced(arena.open().unwrap_err()));
    assert!(is_fenced(arena.read().unwrap_err()));
    assert_eq!(home.worker("a").take(9).unwrap().len(), 2);
}

#[test]
fn workers_are_active_from_their_first_sign_until_they_leave_or_fall_silent() {
    let Some(home) = Home::new() else { return };
    let mut presence = Presence::new(&home.address("arena")).unwrap();
    assert!(presence.active().unwrap().is_empty());
    for name in ["a", "b", "c"] {
        home.worker(name).renew(&[], true).unwrap();
    }
    // A look without a renewal is no sign.
    home.worker("d").renew(&[], false).unwrap();
    home.worker("b").leave().unwrap();
    home.command(&["ZADD", "ouro:{test}:workers", "1000", "c"]);
    assert_eq!(presence.active().unwrap(), ["a"]);
}

/// Commands that were called since the last `CONFIG RESETSTAT`. Scripts count like their commands, and a
/// refused command has no calls.
fn called(home: &Home) -> BTreeSet<String> {
    let statistics: String =
        redis::from_redis_value(home.command(&["INFO", "commandstats"])).unwrap();
    let called = statistics.lines().filter_map(|line| {
        let (name, counts) = line.strip_prefix("cmdstat_")?.split_once(':')?;
        (!counts.starts_with("calls=0,")).then(|| name.to_owned())
    });
    called.filter(|name| !OF_THE_TEST.contains(&name.as_str())).collect()
}

#[test]
fn the_user_of_workers_has_the_commands_that_they_run_and_no_others() {
    let Some(home) = Home::new() else { return };
    let (mut arena, mut worker) = (home.arena(), home.worker("a"));
    let session = issue(&mut arena, 2);
    home.command(&["CONFIG", "RESETSTAT"]);
    let job = worker.wait().unwrap().unwrap().0;
    home.expire(job, "a");
    assert_eq!(worker.take(2).unwrap().len(), 2);
    assert_eq!(worker.renew(&[job], true).unwrap(), []);
    worker.deliver(&[(job, "x".to_owned())]).unwrap();
    worker.hand_back(&[JobId { session, cluster: 1 }]).unwrap();
    worker.leave().unwrap();
    let line = USERS.lines().find(|line| line.starts_with("user worker ")).unwrap();
    let granted = line.split(' ').filter_map(|rule| rule.strip_prefix('+')).map(str::to_owned);
    assert_eq!(granted.collect::<BTreeSet<_>>(), called(&home));
    assert_eq!(delivered(&mut arena).len(), 1);
}

#[test]
fn a_worker_cannot_touch_the_results_of_the_run() {
    let Some(home) = Home::new() else { return };
    let mut connection =
        Connection::new(&RedisAddress::new(home.server.url("worker"), "any")).unwrap();
    for words in [
        &["LLEN", "ouro:{test}:log"][..],
        &["XRANGE", "ouro:{test}:log", "-", "+"],
        &["XADD", "ouro:{test}:log", "*", "a", "b"],
        &["GET", "ouro:{test}:writer"],
        &["DEL", "ouro:{test}:jobs"],
        &["XTRIM", "ouro:{test}:jobs", "MAXLEN", "0"],
        &["XGROUP", "DESTROY", "ouro:{test}:jobs", "workers"],
        &["CONFIG", "GET", "*"],
    ] {
        let run =
            |redis: &mut redis::Connection| redis::cmd(words[0]).arg(&words[1..]).query(redis);
        let error = connection.run::<redis::Value>(run).unwrap_err();
        assert!(matches!(error, StoreError::Server { .. }), "{error}");
    }
}
