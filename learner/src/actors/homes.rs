//! The addresses from which actors connect.
//!
//! Two processes with one name take the stream from each other again and again. Their supervisors
//! start them anew, so each looks healthy. A name that moves between addresses gives them away.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Age at which a move is forgotten.
const REMEMBERED: Duration = Duration::from_secs(600);
/// Moves of a name that are remembered.
const MOST_MOVES: usize = 16;
/// Names whose address is remembered. Each new container is a new name.
const MOST_NAMES: usize = 4_096;

/// The last address of each actor, and when it changed.
#[derive(Debug, Default)]
pub(super) struct Homes(BTreeMap<Arc<str>, Home>);

#[derive(Debug)]
struct Home {
    address: IpAddr,
    seen: Instant,
    moves: VecDeque<Instant>,
}

impl Homes {
    /// Notes that an actor connected from `address`.
    pub(super) fn connected(&mut self, name: &Arc<str>, address: IpAddr, now: Instant) {
        if let Some(home) = self.0.get_mut(name) {
            if home.address != address {
                home.address = address;
                home.moves.truncate(MOST_MOVES - 1);
                home.moves.push_front(now);
            }
            home.seen = now;
            return;
        }
        if self.0.len() >= MOST_NAMES {
            let oldest = self.0.iter().min_by_key(|(_, home)| home.seen);
            if let Some(oldest) = oldest.map(|(name, _)| Arc::clone(name)) {
                self.0.remove(&oldest);
            }
        }
        let home = Home { address, seen: now, moves: VecDeque::new() };
        self.0.insert(Arc::clone(name), home);
    }

    /// How often an actor came from another address than before, in the last ten minutes.
    pub(super) fn moves(&self, name: &str, now: Instant) -> u32 {
        let is_recent = |at: &&Instant| now.saturating_duration_since(**at) < REMEMBERED;
        self.0.get(name).map_or(0, |home| home.moves.iter().filter(is_recent).count() as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_recent_changes_of_an_address_count_and_the_memory_is_bounded() {
        let (mut homes, start) = (Homes::default(), Instant::now());
        let [one, other] = [[10, 0, 0, 1], [10, 0, 0, 2]].map(IpAddr::from);
        let name: Arc<str> = "gpu".into();
        for address in [one, one, other, one] {
            homes.connected(&name, address, start);
        }
        assert_eq!((homes.moves("gpu", start), homes.moves("none", start)), (2, 0));
        assert_eq!(homes.moves("gpu", start + REMEMBERED), 0);
        let later = start + Duration::from_secs(1);
        for number in 0..MOST_NAMES {
            homes.connected(&format!("actor-{number}").into(), one, later);
        }
        assert_eq!(homes.0.len(), MOST_NAMES);
        assert!(!homes.0.contains_key(&name), "the name that was silent longest is forgotten");
        for at in 0..100 {
            homes.connected(&name, if at % 2 == 0 { one } else { other }, later);
        }
        assert_eq!(homes.moves("gpu", later), MOST_MOVES as u32);
    }
}
