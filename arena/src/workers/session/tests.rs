//! Which leases a session keeps for the clusters that it plays.

use std::collections::BTreeMap;

use super::*;
use crate::store::RedisAddress;
use crate::workers::job::tests::job;

/// The jobs that leases remain for, after a session with cluster 0 in play under the first id took
/// the same cluster under the second; and whether all jobs of its clusters are lost.
fn leases_after([playing, taken]: [JobId; 2]) -> (Vec<JobId>, bool) {
    // No call reaches the server: the job is here.
    let address = RedisAddress::new("redis://127.0.0.1:9", "test");
    let mut queue = WorkerQueue::new(&address, "worker").unwrap();
    let (leases, stop, job) = (Leases::default(), Stop::default(), job(0));
    [playing, taken].into_iter().for_each(|id| leases.add(id));
    let mut waiting = VecDeque::from([(taken, job.to_json().into_bytes())]);
    let mut session = Session {
        head: &job.head,
        queue: &mut queue,
        leases: &leases,
        stop: &stop,
        waiting: &mut waiting,
        held: BTreeMap::from([(0, playing)]),
        next_look: None,
        played: 0,
        failed: None,
    };
    assert!(session.take(1).is_empty(), "the cluster is in play already");
    assert_eq!(session.held, BTreeMap::from([(0, taken)]));
    let are_lost = leases.are_lost(session.held.values());
    (leases.clear(), are_lost)
}

#[test]
fn a_cluster_under_a_new_number_gives_up_the_lease_of_its_former_job() {
    let [former, new] = [1, 2].map(|session| JobId { session, cluster: 0 });
    assert_eq!(leases_after([former, new]), (vec![new], false));
}

#[test]
fn a_job_that_was_lost_and_taken_again_keeps_its_new_lease() {
    let id = JobId { session: 1, cluster: 0 };
    assert_eq!(leases_after([id, id]), (vec![id], false));
}
