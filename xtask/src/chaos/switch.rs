//! Forwards packets between processes, and drops or delays them by rules.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::io;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::fault::Role;
use crate::random::Random;

/// Packets that wait for one process. More are dropped, as by any router.
const QUEUE: usize = 4_096;
/// Longest wait for a packet.
const IDLE: Duration = Duration::from_millis(20);
/// Wait for a packet while a process does not take its own.
const BUSY: Duration = Duration::from_millis(1);
/// A packet is at most this long.
const LONGEST: usize = 65_536;

/// What happens to the packets from one process to another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rule {
    /// Share of packets that are lost, in percent.
    pub(crate) loss: u64,
    /// Time that each packet takes, in milliseconds; up to half as much again at random.
    pub(crate) delay_ms: u64,
}

/// The rules by sender and receiver.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rules(BTreeMap<(u8, u8), Rule>);

impl Rules {
    /// Sets the rule of one direction.
    pub(crate) fn set(&mut self, from: Role, to: Role, rule: Rule) {
        self.0.insert((from.number(), to.number()), rule);
    }

    /// Sets the rule of both directions.
    pub(crate) fn set_both(&mut self, a: Role, b: Role, rule: Rule) {
        self.set(a, b, rule);
        self.set(b, a, rule);
    }

    /// Removes all rules.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    fn of(&self, from: u8, to: u8) -> Rule {
        self.0.get(&(from, to)).copied().unwrap_or_default()
    }
}

/// Counts of packets.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    forwarded: AtomicU64,
    dropped: AtomicU64,
}

impl Traffic {
    /// Forwarded and dropped packets.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.forwarded.load(Ordering::Relaxed), self.dropped.load(Ordering::Relaxed))
    }
}

/// A packet to be sent later: when, a number that keeps the order of equal times, its receiver and its
/// bytes.
type Delayed = (Instant, u64, u8, Vec<u8>);

/// The switch. See the [module](self).
#[derive(Debug)]
pub(crate) struct Switch {
    socket: UnixDatagram,
    folder: PathBuf,
    random: Random,
    rules: Arc<Mutex<Rules>>,
    traffic: Arc<Traffic>,
    /// Packets to be sent now, in order, by receiver.
    ready: BTreeMap<u8, VecDeque<Vec<u8>>>,
    /// Packets to be sent later, the next one first.
    later: BinaryHeap<Reverse<Delayed>>,
    number: u64,
}

impl Switch {
    /// Opens the socket to which all carriers send.
    pub(crate) fn open(
        folder: &Path,
        seed: u64,
        rules: Arc<Mutex<Rules>>,
        traffic: Arc<Traffic>,
    ) -> Result<Self> {
        let path = Self::socket(folder);
        let socket =
            UnixDatagram::bind(&path).with_context(|| format!("cannot open {}", path.display()))?;
        Ok(Self {
            socket,
            folder: folder.to_owned(),
            random: Random::new(seed),
            rules,
            traffic,
            ready: BTreeMap::new(),
            later: BinaryHeap::new(),
            number: 0,
        })
    }

    /// The socket of the switch.
    pub(crate) fn socket(folder: &Path) -> PathBuf {
        folder.join("switch")
    }

    /// The socket of the process with a number.
    pub(crate) fn member(folder: &Path, number: u8) -> PathBuf {
        folder.join(format!("member-{number}"))
    }

    /// Forwards packets until `stop`.
    ///
    /// Never waits for a receiver: a carrier that waits for the switch would then wait forever.
    pub(crate) fn run(mut self, stop: &AtomicBool) {
        let mut packet = vec![0; LONGEST];
        let Ok(sender) = UnixDatagram::unbound() else { return };
        if sender.set_nonblocking(true).is_err() {
            return;
        }
        let mut wait = Duration::ZERO;
        while !stop.load(Ordering::Relaxed) {
            let is_waiting = self.ready.values().any(|queue| !queue.is_empty());
            let next = if is_waiting || !self.later.is_empty() { BUSY } else { IDLE };
            if next != wait && self.socket.set_read_timeout(Some(next)).is_ok() {
                wait = next;
            }
            if let Ok(length) = self.socket.recv(&mut packet) {
                self.take(&packet[..length]);
            }
            self.send(&sender);
        }
    }

    /// Decides about a packet.
    fn take(&mut self, packet: &[u8]) {
        // IPv4 has its version in the first half byte, and the addresses at bytes 12 and 16.
        let (Some(0x40..=0x4f), Some(&from), Some(&to)) =
            (packet.first(), packet.get(15), packet.get(19))
        else {
            return;
        };
        let rule = self.rules.lock().unwrap_or_else(PoisonError::into_inner).of(from, to);
        if self.random.within(0, 99) < rule.loss {
            self.traffic.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        if rule.delay_ms == 0 {
            self.queue(to, packet.to_vec());
            return;
        }
        let milliseconds = rule.delay_ms + self.random.within(0, rule.delay_ms / 2);
        let due = Instant::now() + Duration::from_millis(milliseconds);
        self.number += 1;
        self.later.push(Reverse((due, self.number, to, packet.to_vec())));
    }

    fn queue(&mut self, to: u8, packet: Vec<u8>) {
        let queue = self.ready.entry(to).or_default();
        if queue.len() < QUEUE {
            queue.push_back(packet);
        } else {
            self.traffic.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn send(&mut self, sender: &UnixDatagram) {
        let now = Instant::now();
        while self.later.peek().is_some_and(|Reverse((due, ..))| *due <= now) {
            if let Some(Reverse((_, _, to, packet))) = self.later.pop() {
                self.queue(to, packet);
            }
        }
        for (&to, queue) in &mut self.ready {
            let path = Self::member(&self.folder, to);
            while let Some(packet) = queue.front() {
                match sender.send_to(packet, &path) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    Ok(_) => self.traffic.forwarded.fetch_add(1, Ordering::Relaxed),
                    // The receiver has no carrier, as at the end.
                    Err(_) => self.traffic.dropped.fetch_add(1, Ordering::Relaxed),
                };
                queue.pop_front();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet without content.
    fn packet(from: u8, to: u8) -> Vec<u8> {
        let mut packet = vec![0; 20];
        packet[0] = 0x45;
        (packet[15], packet[19]) = (from, to);
        packet
    }

    fn switch(folder: &Path, rules: Rules) -> Switch {
        Switch::open(folder, 1, Arc::new(Mutex::new(rules)), Arc::default()).unwrap()
    }

    #[test]
    fn a_cut_of_one_direction_leaves_the_other_and_a_delay_keeps_the_packet() {
        let folder = tempfile::tempdir().unwrap();
        let mut rules = Rules::default();
        rules.set(Role::Arena, Role::Redis, Rule { loss: 100, delay_ms: 0 });
        rules.set(Role::Learner, Role::Arena, Rule { loss: 0, delay_ms: 60_000 });
        let mut switch = switch(folder.path(), rules);
        let (redis, arena, learner) =
            (Role::Redis.number(), Role::Arena.number(), Role::Learner.number());
        switch.take(&packet(arena, redis));
        switch.take(&packet(redis, arena));
        switch.take(&packet(learner, arena));
        switch.take(b"no packet");
        assert_eq!(switch.traffic.counts(), (0, 1));
        assert_eq!(switch.ready[&arena].len(), 1);
        assert_eq!(switch.later.len(), 1);
        let receiver = UnixDatagram::bind(Switch::member(folder.path(), arena)).unwrap();
        let sender = UnixDatagram::unbound().unwrap();
        sender.set_nonblocking(true).unwrap();
        switch.send(&sender);
        let mut bytes = [0; 64];
        assert_eq!(receiver.recv(&mut bytes).unwrap(), 20);
        assert_eq!(bytes[..20], packet(redis, arena));
        assert_eq!(switch.traffic.counts(), (1, 1));
    }

    #[test]
    fn loss_is_about_the_percentage() {
        let folder = tempfile::tempdir().unwrap();
        let mut rules = Rules::default();
        rules.set_both(Role::Arena, Role::Learner, Rule { loss: 30, delay_ms: 0 });
        let mut switch = switch(folder.path(), rules);
        for _ in 0..1_000 {
            switch.take(&packet(Role::Learner.number(), Role::Arena.number()));
        }
        let (_, dropped) = switch.traffic.counts();
        assert!((250..350).contains(&dropped), "{dropped}");
    }
}
