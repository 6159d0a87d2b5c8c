//! The job table: order of results, duplicates, withdrawn and refused jobs, restarts.

use proptest::prelude::*;

use super::*;

const NOW: Duration = Duration::from_secs(100);

/// Finishes a cluster with its own number as the result.
fn finish(table: &mut JobTable<u32>, cluster: u32) -> bool {
    table.finish(cluster, cluster)
}

#[test]
fn results_are_folded_in_the_order_of_clusters_and_once() {
    let mut table = JobTable::new(3..7);
    assert_eq!(table.issue(2, NOW), 3..5);
    assert_eq!(table.take(9), [5, 6]);
    assert!(finish(&mut table, 6) && finish(&mut table, 4));
    assert_eq!(table.fold(), [0; 0]);
    assert!(finish(&mut table, 3));
    assert!(!finish(&mut table, 4), "a duplicate before its fold");
    assert_eq!(table.fold(), [3, 4]);
    assert!(!finish(&mut table, 3), "a duplicate after its fold");
    assert!(!finish(&mut table, 7) && !finish(&mut table, 2), "other clusters");
    assert!(!table.is_complete());
    assert!(finish(&mut table, 5));
    assert_eq!(table.fold(), [5, 6]);
    assert!(table.is_complete());
    assert_eq!((table.issue(9, NOW), table.take(9)), (7..7, vec![]));
}

#[test]
fn the_window_bounds_how_far_workers_run_ahead() {
    let mut table = JobTable::new(0..100);
    assert_eq!(table.issue(10, NOW), 0..10);
    assert_eq!(table.issue(10, NOW), 10..10);
    // Results behind a gap hold their place.
    for cluster in 1..9 {
        assert!(finish(&mut table, cluster));
    }
    assert_eq!(table.fold(), [0; 0]);
    assert_eq!(table.issue(10, NOW), 10..10);
    assert!(finish(&mut table, 0));
    assert_eq!(table.fold().len(), 9);
    assert_eq!(table.issue(10, NOW), 10..19);
}

#[test]
fn no_cluster_is_given_away_that_cannot_count() {
    let mut table = JobTable::new(0..20);
    table.set_missing(3);
    assert_eq!((table.issue(2, NOW), table.take(9)), (0..2, vec![2]));
    // Cluster 0 does not count, so a further one may be needed.
    assert!(finish(&mut table, 0));
    table.fold();
    table.set_missing(3);
    assert_eq!(table.take(9), [3]);
    // Clusters 1 and 2 count.
    assert!(finish(&mut table, 1) && finish(&mut table, 2));
    table.fold();
    table.set_missing(1);
    assert_eq!((table.issue(9, NOW), table.take(9)), (4..4, vec![]));
    // What is given away stays so, and a match never goes beyond its end.
    table.set_missing(0);
    assert!(table.is_open(3) && finish(&mut table, 3));
    table.fold();
    table.set_missing(99);
    assert_eq!(table.take(99).len(), 16);
}

#[test]
fn the_arena_plays_what_it_withdrew_and_what_came_back() {
    let mut table = JobTable::<u32>::new(0..10);
    table.issue(6, NOW);
    assert!(finish(&mut table, 2));
    // Cluster 2 has ended, 9 was never issued.
    assert_eq!(table.withdraw(&[1, 2, 9]), [1]);
    assert_eq!(table.withdraw(&[1]), [0; 0], "it plays it already");
    table.refuse(4);
    table.refuse(2);
    table.refuse(1);
    assert_eq!(table.take_returned(9), [4]);
    // A worker may still send a cluster that the arena plays.
    assert!(finish(&mut table, 4) && !finish(&mut table, 4));
    table.recall();
    assert_eq!(table.take(3), [0, 3, 5]);
    assert_eq!(table.take(9), [6, 7, 8, 9]);
}

#[test]
fn the_arena_plays_clusters_that_never_come_back() {
    let mut table = JobTable::<u32>::new(0..10);
    table.issue(2, NOW);
    table.issue(4, NOW + Duration::from_secs(1));
    assert_eq!(table.take_overdue(9, NOW - Duration::from_secs(1)), [0; 0]);
    assert_eq!(table.take_overdue(1, NOW), [0]);
    assert_eq!(table.take_overdue(9, NOW), [1]);
    assert_eq!(table.take_overdue(9, NOW), [0; 0]);
    assert_eq!(table.take_overdue(9, NOW + Duration::from_secs(1)), [2, 3]);
}

/// A step of somebody, with an arbitrary choice.
#[derive(Clone, Copy, Debug)]
enum Step {
    Issue(usize),
    Take(usize),
    Withdraw(u32),
    Refuse(u32),
    Recall,
    Finish(u32),
    Overdue,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0_usize..12).prop_map(Step::Issue),
        (0_usize..4).prop_map(Step::Take),
        (0_u32..40).prop_map(Step::Withdraw),
        (0_u32..40).prop_map(Step::Refuse),
        Just(Step::Recall),
        (0_u32..40).prop_map(Step::Finish),
        Just(Step::Overdue),
    ]
}

proptest! {
    #[test]
    fn any_history_folds_every_cluster_once_in_order(
        start in 0_u32..5,
        steps in prop::collection::vec(step(), 0..200),
    ) {
        let end = 37;
        let mut table = JobTable::new(start..end);
        let mut folded = Vec::new();
        for step in steps {
            match step {
                Step::Issue(window) => drop(table.issue(window, NOW)),
                Step::Take(room) => drop(table.take(room)),
                Step::Withdraw(cluster) => drop(table.withdraw(&[cluster])),
                Step::Refuse(cluster) => table.refuse(cluster),
                Step::Recall => table.recall(),
                Step::Finish(cluster) => drop(finish(&mut table, cluster)),
                Step::Overdue => drop(table.take_overdue(1, NOW)),
            }
            folded.extend(table.fold());
            // A restart forgets everything that was not folded.
            let restarted = start + folded.len() as u32;
            prop_assert_eq!(JobTable::<u32>::new(restarted..end).is_complete(), table.is_complete());
        }
        // Nothing is ever stuck: alone, the arena completes the match.
        table.recall();
        table.take(usize::MAX);
        for cluster in start..end {
            finish(&mut table, cluster);
        }
        folded.extend(table.fold());
        prop_assert_eq!(folded, (start..end).collect::<Vec<_>>());
        prop_assert!(table.is_complete());
    }
}
