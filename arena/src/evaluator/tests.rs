//! Matches on a disk that runs full, and after a restart.

use std::thread::JoinHandle;

use ouro_rating::GateConfig;
use ouro_service::Trouble;
use tokio::sync::broadcast;

use super::*;
use crate::event::ArenaEvent;
use crate::store::{Decision, EmbeddedStore, Played, SmallDisk, replay};
use crate::testing::{keeper, offer};

/// An evaluator that runs, and what it works on.
struct Running {
    disk: SmallDisk,
    keeper: Arc<Keeper>,
    /// Since the start.
    events: broadcast::Receiver<ArenaEvent>,
    stop: CancellationToken,
    /// Cancelled when the thread ends, however it does.
    ended: CancellationToken,
    thread: JoinHandle<Result<(), ArenaError>>,
    _folder: tempfile::TempDir,
}

impl Running {
    /// Starts with room for so many bytes, and a candidate if `has_candidate`.
    fn start(room: Option<usize>, has_candidate: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let disk = SmallDisk::default();
        let config = MatchConfig {
            spare_share: 0.0,
            parallel: 4,
            gate: GateConfig { games: 40, ..GateConfig::default() },
            ..MatchConfig::default()
        };
        let (keeper, wake) = keeper(folder.path(), disk.store(), &config);
        let events = keeper.events();
        if has_candidate {
            offer(&keeper, 0).unwrap();
        }
        disk.leave_room(room);
        let (keeper, stop) = (Arc::new(keeper), CancellationToken::new());
        let evaluator = Evaluator { keeper: keeper.clone(), config, wake, stop: stop.clone() };
        let ended = CancellationToken::new();
        let guard = ended.clone().drop_guard();
        let thread = std::thread::spawn(move || {
            let _guard = guard;
            evaluator.run()
        });
        Self { disk, keeper, events, stop, ended, thread, _folder: folder }
    }

    fn is_decided(&self) -> bool {
        // A store without room may have to wait for some before it can be read again.
        self.keeper.store().decisions().is_ok_and(|decisions| !decisions.is_empty())
    }

    fn wait_until_decided(&mut self) {
        let decided = async {
            while !self.is_decided() {
                tokio::select! {
                    // A decision has an event of its own; if its commit failed and happened all
                    // the same, ratings come after it.
                    _ = self.events.recv() => {}
                    () = self.ended.cancelled() => panic!("the evaluator gave up"),
                }
            }
        };
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(decided);
    }

    fn trouble(&self) -> Trouble<Waiting> {
        self.keeper.trouble().borrow().clone()
    }

    fn end(self) -> (Decision, Vec<Played>) {
        self.stop.cancel();
        self.keeper.wake();
        self.thread.join().unwrap().unwrap();
        assert_eq!(self.keeper.trouble().borrow().describe(), None);
        let store = self.keeper.store();
        let replayed = replay(store).unwrap();
        assert_eq!(replayed.matches, store.matches().unwrap());
        assert_eq!(replayed.decisions, store.decisions().unwrap());
        // What is kept at hand is what is stored.
        let held: Vec<_> = self.keeper.ledger().matches().cloned().collect();
        assert_eq!(held, replayed.matches);
        (store.decisions().unwrap().remove(0), store.results(0).unwrap())
    }
}

/// A candidate's way through the gate; the disk runs full after `room` bytes, if given.
fn gate(room: Option<usize>) -> (Decision, Vec<Played>) {
    let mut running = Running::start(room, true);
    if room.is_some() {
        running.disk.wait_until_looked_at();
        assert!(!running.is_decided());
        let trouble = running.trouble();
        assert_eq!(trouble.of(Waiting::Candidates), None);
        let said = trouble.of(Waiting::Matches).expect("matches wait");
        assert!(said.starts_with("no space in small: "), "{said}");
        assert!(said.ends_with("; make room there, and it goes on by itself"), "{said}");
        // What is at hand can be asked for while it waits.
        assert_eq!(running.keeper.ratings().borrow().anchor, "random");
        running.disk.leave_room(None);
        running.keeper.wake();
    }
    running.wait_until_decided();
    running.end()
}

#[test]
fn a_full_disk_pauses_a_match_and_changes_nothing_about_it() {
    let undisturbed = gate(None);
    assert!(undisturbed.1.len() >= 10, "{undisturbed:?}");
    for room in [0, 10_000, 100_000] {
        assert_eq!(gate(Some(room)), undisturbed, "{room} bytes of room");
    }
}

#[test]
fn a_stop_ends_the_wait_for_space() {
    let running = Running::start(Some(0), true);
    running.disk.wait_until_looked_at();
    running.stop.cancel();
    running.keeper.wake();
    assert!(!running.is_decided());
    running.thread.join().unwrap().unwrap();
}

#[test]
fn a_candidate_that_finds_no_room_is_taken_when_it_comes_again() {
    let mut running = Running::start(Some(0), false);
    let refused = offer(&running.keeper, 0).unwrap_err();
    assert!(refused.is_no_space(), "{refused}");
    assert!(refused.to_string().contains("small"), "{refused}");
    // The evaluator may have come upon it, too.
    assert_eq!(running.trouble().of(Waiting::Candidates), Some(&*refused.to_string()));
    running.disk.leave_room(None);
    offer(&running.keeper, 0).unwrap();
    assert_eq!(running.trouble().of(Waiting::Candidates), None);
    running.wait_until_decided();
    running.end();
}

#[test]
fn games_against_anchors_that_were_broken_off_are_played_by_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    let gate = GateConfig { games: 40, ..GateConfig::default() };
    let config = MatchConfig { spare_share: 0.0, gate, ..MatchConfig::default() };
    let (keeper, _) = keeper(folder.path(), EmbeddedStore::in_memory().unwrap(), &config);
    let (keeper, stop) = (Arc::new(keeper), CancellationToken::new());
    offer(&keeper, 0).unwrap();
    let candidate = keeper.next_candidate().unwrap().unwrap();
    // Nobody can wake it, so that it ends when there is nothing left to do.
    let evaluator = || {
        let (keeper, config, stop) = (keeper.clone(), config.clone(), stop.clone());
        Evaluator { keeper, config, wake: std::sync::mpsc::sync_channel(1).1, stop }
    };
    let broken_off = evaluator();
    let engine = broken_off.engine(candidate.hash).unwrap();
    assert_eq!(broken_off.challenge(candidate.generation, &engine).unwrap(), Ended::Whole);
    assert_eq!(*keeper.rested().borrow(), None);
    // The second start has nothing to add to what the first has played.
    for _ in 0..2 {
        evaluator().run().unwrap();
        assert_eq!(*keeper.rested().borrow(), Some(candidate.generation));
        for anchor in &keeper.checked().anchors {
            let anchor = PlayerId::Anchor(anchor.clone());
            let key = MatchKey::rating(candidate.generation.into(), anchor);
            assert_eq!(keeper.ledger().clusters(&key) * 2, config.anchor_games);
        }
    }
}
