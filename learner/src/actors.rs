//! The actors that are connected, with what each has sent.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ouro_net::Generation;
use ouro_proto::ConnectedActor;
use ouro_proto::status::MOST_ACTORS;

mod homes;

use homes::Homes;

/// Time constant of the mean rate of an actor: long enough for actors of slow games, and short
/// enough that an actor that stops is noticed within a minute.
const RATE_OVER: Duration = Duration::from_secs(30);

/// The connected actors. Clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Actors(Arc<Mutex<Connections>>);

#[derive(Debug, Default)]
struct Connections {
    /// Connections by their number, because two may have the same name for a moment.
    rows: BTreeMap<u64, Row>,
    next: u64,
    homes: Homes,
}

/// The peer of a connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Client {
    /// Its program and version; empty if it names none.
    pub(crate) program: String,
    /// Its IP address, if it is known.
    pub(crate) address: Option<IpAddr>,
}

#[derive(Debug)]
struct Row {
    name: Arc<str>,
    client: Client,
    since: Instant,
    games: u32,
    positions: u64,
    refused: u32,
    generation: Option<Generation>,
    rate: Rate,
}

/// One connection, which counts as long as the handle lives.
#[derive(Debug)]
pub(crate) struct ActorHandle {
    actors: Actors,
    number: u64,
}

impl Actors {
    fn lock(&self) -> MutexGuard<'_, Connections> {
        // Poisoning is ignored, because a panic elsewhere cannot leave the numbers inconsistent.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a connection.
    pub(crate) fn connect(&self, name: Arc<str>, client: Client, now: Instant) -> ActorHandle {
        let mut connections = self.lock();
        let number = connections.next;
        connections.next += 1;
        if let Some(address) = client.address {
            connections.homes.connected(&name, address, now);
        }
        let row = Row {
            name,
            client,
            since: now,
            games: 0,
            positions: 0,
            refused: 0,
            generation: None,
            rate: Rate::new(now),
        };
        connections.rows.insert(number, row);
        ActorHandle { actors: self.clone(), number }
    }

    /// The number of connections.
    pub(crate) fn count(&self) -> usize {
        self.lock().rows.len()
    }

    /// The connected actors by name, at most [`MOST_ACTORS`].
    pub(crate) fn list(&self, now: Instant) -> Vec<ConnectedActor> {
        let connections = self.lock();
        let report = |row: &Row| row.report(connections.homes.moves(&row.name, now), now);
        let mut list: Vec<ConnectedActor> =
            connections.rows.values().take(MOST_ACTORS).map(report).collect();
        drop(connections);
        list.sort_by(|a, b| a.name.cmp(&b.name));
        list
    }
}

impl Row {
    fn report(&self, moves: u32, now: Instant) -> ConnectedActor {
        ConnectedActor {
            name: self.name.to_string(),
            program: self.client.program.clone(),
            seconds: now.saturating_duration_since(self.since).as_secs_f64(),
            games: self.games,
            positions: self.positions as f64,
            positions_per_second: self.rate.per_second(now),
            refused: self.refused,
            generation: self.generation,
            address: self.client.address.map(|address| address.to_string()).unwrap_or_default(),
            moves,
        }
    }
}

impl ActorHandle {
    fn update(&self, change: impl FnOnce(&mut Row)) {
        if let Some(row) = self.actors.lock().rows.get_mut(&self.number) {
            change(row);
        }
    }

    /// Counts an accepted game.
    pub(crate) fn accepted(&self, positions: u64, generation: Generation, now: Instant) {
        self.update(|row| {
            row.games = row.games.saturating_add(1);
            row.positions += positions;
            row.generation = Some(generation);
            row.rate.add(positions, now);
        });
    }

    /// Counts a refused game.
    pub(crate) fn refused(&self) {
        self.update(|row| row.refused = row.refused.saturating_add(1));
    }
}

impl Drop for ActorHandle {
    fn drop(&mut self) {
        self.actors.lock().rows.remove(&self.number);
    }
}

/// A mean rate in which events count less the older they are: `exp(-age / RATE_OVER)`.
#[derive(Clone, Copy, Debug)]
struct Rate {
    start: Instant,
    at: Instant,
    sum: f64,
}

impl Rate {
    fn new(now: Instant) -> Self {
        Self { start: now, at: now, sum: 0.0 }
    }

    /// The weight of an event at `then`.
    fn weight(then: Instant, now: Instant) -> f64 {
        (-now.saturating_duration_since(then).as_secs_f64() / RATE_OVER.as_secs_f64()).exp()
    }

    fn add(&mut self, count: u64, now: Instant) {
        self.sum = self.sum * Self::weight(self.at, now) + count as f64;
        self.at = now;
    }

    /// The rate. The first seconds of a connection are not diluted by the time before it.
    fn per_second(&self, now: Instant) -> f64 {
        let seconds = RATE_OVER.as_secs_f64() * (1.0 - Self::weight(self.start, now));
        // A rate over less than a second would be noise.
        self.sum * Self::weight(self.at, now) / seconds.max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_listed_while_its_handle_lives() {
        let (actors, start) = (Actors::default(), Instant::now());
        let now = start + Duration::from_secs(60);
        let client = |program: &str, last: u8| Client {
            program: program.to_owned(),
            address: Some([10, 0, 0, last].into()),
        };
        let second = actors.connect("b".into(), client("ouro-actor/1", 1), start);
        let first = actors.connect("a".into(), Client::default(), now);
        second.accepted(40, Generation(3), now);
        second.accepted(20, Generation(4), now);
        second.refused();
        let list = actors.list(now);
        assert_eq!(list.iter().map(|row| &*row.name).collect::<Vec<_>>(), ["a", "b"]);
        let row = &list[1];
        assert_eq!((row.games, row.positions, row.refused), (2, 60.0, 1));
        assert_eq!((row.seconds, row.generation), (60.0, Some(Generation(4))));
        assert_eq!((&*row.program, &*row.address, row.moves), ("ouro-actor/1", "10.0.0.1", 0));
        assert_eq!(list[0].address, "");
        // The same name again: the end of the first connection does not remove the second.
        let again = actors.connect("b".into(), client("", 2), now);
        drop((second, first));
        let list = actors.list(now);
        assert_eq!((list.len(), &*list[0].address, list[0].moves), (1, "10.0.0.2", 1));
        drop(again);
        assert!(actors.list(now).is_empty());
    }

    #[test]
    fn a_steady_rate_is_found_and_an_end_is_noticed() {
        let start = Instant::now();
        let at = |tenths: u64| start + Duration::from_millis(100 * tenths);
        let mut rate = Rate::new(start);
        for tenths in 1..=6_000 {
            rate.add(5, at(tenths));
            // Two seconds after the connection the mean is right already.
            if tenths >= 20 {
                let now = rate.per_second(at(tenths));
                assert!((now - 50.0).abs() < 3.0, "{now} after {tenths} tenths");
            }
        }
        assert!(rate.per_second(at(6_000 + 600)) < 10.0, "a minute after its last game");
    }
}
