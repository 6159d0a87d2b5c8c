//! The sessions of actors, as the journal writer's thread holds them.
//!
//! The session of a disconnected actor is kept while it has refusals, because the answer with them
//! may be lost. A caller with many names must not fill the memory with them, so the sum of their
//! refusals is limited. Sessions of the actors that disconnected first are forgotten. Such an actor
//! then counts refused games as accepted, and the journal is authoritative.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ouro_proto::RefusedGame;
use tokio::sync::watch;

use super::command::PushSession;
use super::refusals::Refusals;

/// Refusals that are kept for all disconnected actors together, about 8 MiB. As many as 256 actors
/// have with full outboxes of the default size (`deploy.outbox_games`).
pub(super) const MAX_REFUSALS: usize = 65_536;

/// The session of each actor.
#[derive(Debug)]
pub(super) struct Sessions {
    by_actor: BTreeMap<Arc<str>, OpenSession>,
    /// Maximum number of refusals of all disconnected actors.
    max_refusals: usize,
}

/// The thread's end of a [`PushSession`].
#[derive(Debug)]
struct OpenSession {
    epoch: u64,
    watermark: watch::Sender<u64>,
    refusals: Refusals,
    is_fenced: Arc<AtomicBool>,
    /// Time of the first commit after the actor disconnected.
    disconnected: Option<Duration>,
}

impl Sessions {
    pub(super) fn new(max_refusals: usize) -> Self {
        Self { by_actor: BTreeMap::new(), max_refusals }
    }

    /// Opens the session of an actor in `epoch` and ends the former one. `known` is the watermark.
    pub(super) fn open(&mut self, actor: Arc<str>, epoch: u64, known: u64) -> PushSession {
        let (sender, watermark) = watch::channel(known);
        // Dropping the sender closes the watermark of the connection that held the name.
        let mut before = self.by_actor.remove(&actor);
        if let Some(ended) = before.take_if(|former| former.epoch != epoch) {
            ended.is_fenced.store(true, Ordering::Release);
        }
        let refusals = before.map(|former| former.refusals).unwrap_or_default();
        let is_fenced = Arc::<AtomicBool>::default();
        let session = PushSession {
            actor: Arc::clone(&actor),
            epoch,
            watermark,
            refusals: refusals.clone(),
            is_fenced: Arc::clone(&is_fenced),
        };
        let (watermark, disconnected) = (sender, None);
        let open = OpenSession { epoch, watermark, refusals, is_fenced, disconnected };
        self.by_actor.insert(actor, open);
        session
    }

    /// Whether an actor is connected.
    pub(super) fn is_connected(&self, actor: &str) -> bool {
        self.by_actor.get(actor).is_some_and(|open| !open.watermark.is_closed())
    }

    /// Adds a refusal to the session of an actor, if that has this epoch.
    pub(super) fn refuse(&self, actor: &str, epoch: u64, refused: RefusedGame) {
        if let Some(open) = self.by_actor.get(actor).filter(|open| open.epoch == epoch) {
            open.refusals.push(refused);
        }
    }

    /// Marks every watermark as changed.
    pub(super) fn notify(&self) {
        self.by_actor.values().for_each(|open| open.watermark.send_modify(|_| {}));
    }

    /// Raises the watermarks after a commit, and forgets the sessions that are not needed any more.
    /// `durable` returns the epoch and the watermark of an actor in the journal.
    pub(super) fn committed(
        &mut self,
        durable: impl Fn(&str) -> Option<(u64, u64)>,
        now: Duration,
    ) {
        self.by_actor.retain(|actor, open| {
            // The journal forgets the longest silent actor when there are too many. It is not
            // connected, but its refusals were kept.
            let Some((_, watermark)) = durable(actor).filter(|&(epoch, _)| epoch == open.epoch)
            else {
                return false;
            };
            let raise = |known: &mut u64| std::mem::replace(known, watermark) != watermark;
            open.watermark.send_if_modified(raise);
            if !open.watermark.is_closed() {
                return true;
            }
            open.disconnected = open.disconnected.or(Some(now));
            // The session of a disconnected actor is kept only while it has refusals to report.
            open.refusals.count() > 0
        });
        self.limit_refusals();
    }

    /// Forgets the actors that disconnected first, until the refusals of the others are few enough.
    fn limit_refusals(&mut self) {
        let disconnected = self.by_actor.values().filter(|open| open.disconnected.is_some());
        let mut kept: usize = disconnected.map(|open| open.refusals.count()).sum();
        if kept <= self.max_refusals {
            return;
        }
        let since = |(actor, open): (&Arc<str>, &OpenSession)| {
            open.disconnected.map(|since| (since, Arc::clone(actor)))
        };
        let mut longest: Vec<_> = self.by_actor.iter().filter_map(since).collect();
        longest.sort_unstable();
        for (_, actor) in longest {
            if kept <= self.max_refusals {
                return;
            }
            let forgotten = self.by_actor.remove(&actor);
            // A connection that is ending may have removed refusals since they were counted.
            kept = kept.saturating_sub(forgotten.map_or(0, |open| open.refusals.count()));
        }
    }
}

#[cfg(test)]
mod tests {
    use ouro_replay::RefusalReason;

    use super::*;

    /// Opens the first epoch of an actor and refuses games.
    fn open(sessions: &mut Sessions, actor: &str, refused: u64) -> PushSession {
        let session = sessions.open(actor.into(), 1, 0);
        for sequence in 1..=refused {
            let (reason, detail) = (RefusalReason::Stale, "old".to_owned());
            sessions.refuse(actor, 1, RefusedGame { sequence, reason, detail });
        }
        session
    }

    fn commit(sessions: &mut Sessions, second: u64) {
        sessions.committed(|_| Some((1, 0)), Duration::from_secs(second));
    }

    fn names(sessions: &Sessions) -> Vec<&str> {
        sessions.by_actor.keys().map(|name| &**name).collect()
    }

    /// Before, a caller with many names could make a learner keep 256 refusals for each.
    #[test]
    fn beyond_the_limit_the_actors_that_disconnected_first_are_forgotten() {
        let mut sessions = Sessions::new(4);
        let connected = open(&mut sessions, "a", 9);
        drop(open(&mut sessions, "d", 2));
        commit(&mut sessions, 1);
        drop(open(&mut sessions, "b", 2));
        drop(open(&mut sessions, "c", 0));
        commit(&mut sessions, 2);
        // The limit does not count connected actors, and a session without refusals is not kept.
        assert_eq!(names(&sessions), ["a", "b", "d"]);
        drop(open(&mut sessions, "e", 1));
        commit(&mut sessions, 3);
        assert_eq!(names(&sessions), ["a", "b", "e"]);
        // An actor that was connected again keeps its refusals, and its time starts anew.
        let again = open(&mut sessions, "b", 0);
        assert_eq!(again.refusals.count(), 2);
        drop(again);
        commit(&mut sessions, 4);
        drop(open(&mut sessions, "f", 2));
        commit(&mut sessions, 5);
        assert_eq!(names(&sessions), ["a", "b", "f"]);
        // One actor may be too many alone.
        drop(connected);
        commit(&mut sessions, 6);
        assert_eq!(names(&sessions), [""; 0]);
    }

    #[test]
    fn refusals_of_another_epoch_are_dropped() {
        let mut sessions = Sessions::new(4);
        let first = open(&mut sessions, "a", 2);
        let second = sessions.open("a".into(), 2, 0);
        assert!(first.is_fenced.load(Ordering::Acquire));
        let (reason, detail) = (RefusalReason::Stale, "old".to_owned());
        sessions.refuse("a", 1, RefusedGame { sequence: 3, reason, detail });
        assert_eq!((first.refusals.count(), second.refusals.count()), (2, 0));
        assert!(sessions.is_connected("a"));
        drop(second);
        assert!(!sessions.is_connected("a"));
    }
}
