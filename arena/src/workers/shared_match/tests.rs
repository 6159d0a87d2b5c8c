//! A shared match on a real Redis server: demand, results right and wrong, a server that is down.
//!
//! Without `redis-server` on this machine the tests are skipped, unless all checks are required.

use ouro_testkit::redis::RedisServer;

use super::*;
use crate::store::{Connection, RedisAddress};
use crate::workers::job::JobResult;
use crate::workers::job::tests::job;
use crate::workers::queue::worker::WorkerQueue;
use crate::workers::verify::tests::play;

const CLUSTERS: u32 = 40;

/// A server, and the arena's access to workers.
struct Home {
    server: RedisServer,
    workers: Workers,
    active: watch::Sender<u32>,
    _folder: tempfile::TempDir,
}

impl Home {
    fn new() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let server = RedisServer::start(folder.path())?;
        let mut connection =
            Connection::new(&RedisAddress::new(server.url("admin"), "any")).unwrap();
        let set = |redis: &mut redis::Connection| {
            redis::cmd("SET").arg("ouro:{test}:writer").arg(1).query::<()>(redis)
        };
        connection.run(set).unwrap();
        let address = RedisAddress::new(server.url("arena"), "test");
        let queue = ArenaQueue::new(&address, 1).unwrap().without_patience();
        let (active, receiver) = watch::channel(0);
        Some(Self { server, workers: Workers::new(queue, receiver), active, _folder: folder })
    }

    fn worker(&self, name: &str) -> WorkerQueue {
        let (url, name_of_run) = (self.server.url("worker"), "test".to_owned());
        WorkerQueue::new(&RedisAddress::new(url, &name_of_run), name).unwrap()
    }

    fn shared<'a>(&'a self, head: &'a JobHead) -> SharedMatch<'a> {
        SharedMatch::new(&self.workers, head.clone(), &head.game, 7, 8)
    }
}

/// What an honest worker delivers for a job.
fn honest(head: &JobHead, cluster: SeededCluster) -> String {
    let games = play(head.games(), cluster, head.max_plies).games;
    let result = JobResult { number: head.number, cluster: cluster.cluster, games };
    serde_json::to_string(&result).unwrap()
}

#[test]
fn without_workers_jobs_are_issued_only_once_a_match_is_long() {
    let Some(home) = Home::new() else { return };
    let (head, mut table) = (job(0).head, JobTable::new(0..CLUSTERS));
    let (mut shared, mut worker) = (home.shared(&head), home.worker("a"));
    let start = Duration::from_secs(77);
    shared.exchange(&mut table, start, false);
    assert_eq!(shared.take(&mut table, start, 4, false), [0, 1, 2, 3]);
    assert!(worker.take(1).unwrap().is_empty());
    shared.exchange(&mut table, start + DEMAND, false);
    assert_eq!(shared.take(&mut table, start + DEMAND, 2, true), [4, 5]);
    // A worker that is started now finds jobs.
    assert_eq!(worker.take(1).unwrap()[0].0.cluster, 6);
    shared.close();
    assert!(worker.take(1).unwrap().is_empty());
}

#[test]
fn right_results_count_and_wrong_ones_are_played_by_the_arena() {
    let Some(home) = Home::new() else { return };
    let (head, mut table) = (job(0).head, JobTable::new(0..CLUSTERS));
    let (mut shared, now) = (home.shared(&head), Duration::from_secs(1));
    let (mut right, mut wrong) = (home.worker("right"), home.worker("wrong"));
    home.active.send_replace(2);
    shared.exchange(&mut table, now, false);
    let (good, bad) = (right.take(2).unwrap(), wrong.take(3).unwrap());
    let read = |taken: &[(JobId, Vec<u8>)]| -> Vec<Job> {
        taken.iter().map(|(_, text)| Job::read(text, &head.game).unwrap()).collect()
    };
    let good_jobs = read(&good);
    assert_eq!(good_jobs[1].head, head);
    let results =
        good.iter().zip(&good_jobs).map(|((id, _), job)| (*id, honest(&head, job.seeded())));
    right.deliver(&results.collect::<Vec<_>>()).unwrap();
    // The games of another cluster, then right ones of a worker that has lied.
    let stolen = honest(&head, good_jobs[0].seeded());
    let late = honest(&head, read(&bad)[1].seeded());
    wrong.deliver(&[(bad[0].0, stolen), (bad[1].0, late)]).unwrap();
    shared.exchange(&mut table, now, true);
    let folded = table.fold();
    let expected: Vec<PlayedCluster> =
        good_jobs.iter().map(|job| play(head.games(), job.seeded(), head.max_plies)).collect();
    assert_eq!(folded, expected);
    assert_eq!(shared.take(&mut table, now, 2, true), [2, 3]);
    // The lie is remembered in later matches.
    assert!(home.workers.banned().contains("wrong") && !home.workers.banned().contains("right"));
}

#[test]
fn a_result_of_an_earlier_match_is_played_by_the_arena_and_bans_no_worker() {
    let Some(home) = Home::new() else { return };
    let (head, mut table) = (job(0).head, JobTable::new(0..CLUSTERS));
    let (mut shared, now) = (home.shared(&head), Duration::from_secs(1));
    let mut worker = home.worker("a");
    home.active.send_replace(1);
    shared.exchange(&mut table, now, false);
    let taken = worker.take(2).unwrap();
    // As after a restore of the server, which gave the number of the session again.
    let mut earlier = head.clone();
    earlier.number -= 1;
    let results = taken.iter().zip([&earlier, &head]).map(|((id, text), head)| {
        let cluster = Job::read(text, &head.game).unwrap().seeded();
        (*id, honest(head, cluster))
    });
    worker.deliver(&results.collect::<Vec<_>>()).unwrap();
    shared.exchange(&mut table, now, true);
    assert!(home.workers.banned().is_empty());
    assert!(table.is_open(0) && !table.is_open(1));
    assert_eq!(shared.take(&mut table, now, 1, true), [0]);
}

#[test]
fn jobs_whose_withdrawal_has_lost_its_answer_are_played_by_the_idle_arena() {
    let Some(home) = Home::new() else { return };
    let (head, mut table) = (job(0).head, JobTable::new(0..CLUSTERS));
    let (mut shared, now) = (home.shared(&head), Duration::from_secs(1));
    let mut worker = home.worker("a");
    home.active.send_replace(1);
    shared.exchange(&mut table, now, false);
    // As when the server dies after the script: the jobs are gone, and a repeated call gets others.
    let lost = home.workers.queue().withdraw(2).unwrap();
    assert_eq!(lost.iter().map(|job| job.cluster).collect::<Vec<_>>(), [0, 1]);
    let taken = worker.take(99).unwrap();
    let read = |text| Job::read(text, &head.game).unwrap().seeded();
    let mut results: Vec<_> =
        taken.iter().map(|(id, text)| (*id, honest(&head, read(text)))).collect();
    let held = results.pop().unwrap();
    // What is delivered meanwhile is not played again, nor what a worker still plays.
    let mut played = BTreeSet::new();
    for step in 0..30 {
        let now = now + step * Duration::from_millis(100);
        shared.exchange(&mut table, now, true);
        if step == 5 {
            worker.deliver(&results).unwrap();
        }
        played.extend(shared.take(&mut table, now, 8, true));
    }
    assert!(played.contains(&0) && played.contains(&1), "{played:?}");
    assert!(taken.iter().all(|(id, _)| !played.contains(&id.cluster)), "{played:?} {held:?}");
}

#[test]
fn without_its_server_the_arena_plays_alone() {
    let Some(home) = Home::new() else { return };
    let mut worker = home.worker("a");
    let Home { mut server, workers, active, _folder } = home;
    active.send_replace(1);
    let (head, now) = (job(0).head, Duration::from_secs(1));
    let start =
        || (SharedMatch::new(&workers, head.clone(), &head.game, 7, 8), JobTable::new(0..CLUSTERS));
    let (mut shared, mut table) = start();
    server.kill();
    shared.exchange(&mut table, now, false);
    assert_eq!(shared.take(&mut table, now, 3, false), [0, 1, 2]);
    shared.close();
    server.start_again();
    let (mut shared, mut table) = start();
    shared.exchange(&mut table, now, false);
    assert_eq!(worker.take(2).unwrap().len(), 2);
    server.kill();
    // Clusters that a worker held are played again.
    shared.exchange(&mut table, now, true);
    assert_eq!(shared.take(&mut table, now, 5, true), [0, 1, 2, 3, 4]);
    shared.close();
}
