//! The sessions of games in progress, a bounded number.
//!
//! The session used longest ago makes room for a new one. A game whose end is never reported leaves an
//! idle session, which the owner takes out from time to time.

use std::num::NonZero;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lru::LruCache;

/// Ids of a game and of a snake in it.
pub(super) type SnakeKey = (String, String);

/// Time after which a session that was not used is idle.
const IDLE: Duration = Duration::from_secs(120);

/// Sessions by key.
#[derive(Debug)]
pub(super) struct Sessions<S> {
    /// With the time of the last use.
    cache: LruCache<SnakeKey, (Instant, Arc<S>)>,
}

impl<S: Default> Sessions<S> {
    /// Room for `most` sessions.
    pub(super) fn new(most: NonZero<usize>) -> Self {
        Self { cache: LruCache::new(most) }
    }

    /// The session of `key`, used at `now`; `None` if there is none.
    pub(super) fn find(&mut self, key: &SnakeKey, now: Instant) -> Option<Arc<S>> {
        let (used, session) = self.cache.get_mut(key)?;
        *used = now;
        Some(Arc::clone(session))
    }

    /// The session of `key`, new if there is none, used at `now`. Also returns the session that made room
    /// for it, which may be large to drop.
    pub(super) fn get(&mut self, key: SnakeKey, now: Instant) -> (Arc<S>, Option<Arc<S>>) {
        if let Some(session) = self.find(&key, now) {
            return (session, None);
        }
        let session = Arc::<S>::default();
        let replaced = self.cache.push(key, (now, Arc::clone(&session)));
        (session, replaced.map(|(_, (_, session))| session))
    }

    /// Takes out the sessions that were not used for two minutes. They may be large to drop.
    pub(super) fn take_idle(&mut self, now: Instant) -> Vec<Arc<S>> {
        let mut idle = Vec::new();
        let is_idle = |used: &Instant| now.saturating_duration_since(*used) > IDLE;
        while self.cache.peek_lru().is_some_and(|(_, (used, _))| is_idle(used)) {
            idle.extend(self.cache.pop_lru().map(|(_, (_, session))| session));
        }
        idle
    }

    /// Removes and returns the session of `key`.
    pub(super) fn remove(&mut self, key: &SnakeKey) -> Option<Arc<S>> {
        self.cache.pop(key).map(|(_, session)| session)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn sessions_make_room_by_use_and_are_dropped_when_idle() {
        let key = |name: &str| (name.to_owned(), "snake".to_owned());
        let start = Instant::now();
        let second = |number| start + Duration::from_secs(number);
        let mut sessions = Sessions::<AtomicU32>::new(NonZero::new(2).expect("two"));
        sessions.get(key("a"), second(0)).0.store(1, Ordering::Relaxed);
        sessions.get(key("b"), second(1)).0.store(2, Ordering::Relaxed);
        let (a, replaced) = sessions.get(key("a"), second(2));
        assert!(a.load(Ordering::Relaxed) == 1 && replaced.is_none());
        let (c, replaced) = sessions.get(key("c"), second(3));
        c.store(3, Ordering::Relaxed);
        assert_eq!(replaced.map(|b| b.load(Ordering::Relaxed)), Some(2), "used longest ago");
        assert!(sessions.remove(&key("b")).is_none());
        assert_eq!(sessions.get(key("c"), second(122)).0.load(Ordering::Relaxed), 3);
        assert!(sessions.take_idle(second(122)).is_empty(), "two minutes have not passed");
        assert_eq!(sessions.take_idle(second(123)).len(), 1);
        assert_eq!(sessions.get(key("a"), second(123)).0.load(Ordering::Relaxed), 0, "a new one");
        assert!(sessions.remove(&key("c")).is_some());
    }
}
