//! A simulation of one seed: starts the hosts, applies the faults, and waits until all hosts have made
//! progress again.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ouro_game::Rng;
use ouro_replay::testing::{Faults, MemoryDisk, Survival};
use turmoil::{Builder, Sim};

use crate::check::{Checked, check};
use crate::cluster::Cluster;
use crate::determinism::set_now;
use crate::fault::{ARMED, Fault, HOSTS, Kind, WITH_DISK, schedule};
use crate::log::fold;
use crate::network::traffic;

/// Time of a step.
const TICK: Duration = Duration::from_millis(10);
/// Latency of a link without a fault.
const LATENCY: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(20)];
/// Segments that a connection holds.
const CAPACITY: usize = 4_096;
/// Time from the end of the last fault in which every part must make progress.
const RECOVERY: Duration = Duration::from_secs(30);
/// Time after that, in which more may go wrong.
const REST: Duration = Duration::from_secs(2);

/// The result of a seed.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// The hash of all events and of all bytes on the network.
    pub(crate) hash: u64,
    pub(crate) faults: Vec<Fault>,
    /// Virtual time from start to end.
    pub(crate) time: Duration,
    /// Virtual time from the end of the last fault until everything made progress.
    pub(crate) recovery: Option<Duration>,
    pub(crate) checked: Checked,
    pub(crate) violations: Vec<String>,
    pub(crate) log: Vec<String>,
}

/// Simulates a seed with this many faults. Real files are written into `folder`.
pub(crate) fn run(seed: u64, count: usize, folder: &Path) -> anyhow::Result<Outcome> {
    let cluster = Cluster::new(seed, folder);
    let mut builder = Builder::new();
    builder
        .rng_seed(seed)
        .epoch(std::time::SystemTime::now())
        .tick_duration(TICK)
        .simulation_duration(Duration::from_secs(3_600))
        .min_message_latency(LATENCY[0])
        .max_message_latency(LATENCY[1])
        .tcp_capacity(CAPACITY);
    let mut sim = builder.build();
    for (host, name) in HOSTS.into_iter().enumerate() {
        let cluster = Arc::clone(&cluster);
        sim.host(name, move || Arc::clone(&cluster).run(host));
    }
    let faults = schedule(seed, count);
    let mut world = World { sim, cluster, rng: Rng::new(seed, "disks"), armed: BTreeMap::new() };
    let mut outcome = Outcome { faults, ..Outcome::default() };
    if let Err(violation) = world.live(&mut outcome) {
        outcome.violations.push(violation);
    }
    let World { sim, cluster, .. } = world;
    outcome.time = sim.elapsed();
    let announcements = cluster.announcements();
    outcome.log = cluster.log.lines();
    check(&cluster, &announcements, &mut outcome.checked, &mut outcome.violations)?;
    let lines = outcome.log.iter().fold(0, |hash, line| fold(hash, line.as_bytes()));
    outcome.hash = fold(lines, &traffic().to_le_bytes());
    Ok(outcome)
}

/// The simulation with the faults that are in effect.
struct World {
    sim: Sim<'static>,
    cluster: Arc<Cluster>,
    /// Draws what survives a loss of power.
    rng: Rng,
    /// Hosts whose disks fail in an operation, with the latest moment.
    armed: BTreeMap<usize, Duration>,
}

impl World {
    /// Runs until all faults have ended and all hosts have made progress. The error is a violation.
    fn live(&mut self, outcome: &mut Outcome) -> Result<(), String> {
        let faults = outcome.faults.clone();
        let (mut next, mut open) = (0, Vec::<Fault>::new());
        while next < faults.len() || !open.is_empty() {
            let now = self.sim.elapsed();
            while faults.get(next).is_some_and(|fault| fault.at <= now) {
                self.cluster.log.note(&format!("fault: {}", faults[next].kind));
                self.start(faults[next].kind);
                open.push(faults[next]);
                next += 1;
            }
            for fault in open.extract_if(.., |fault| fault.end() <= now) {
                self.cluster.log.note(&format!("end of fault: {}", fault.kind));
                self.end(fault.kind);
            }
            self.step()?;
        }
        // Hosts that start now have new counters.
        self.step()?;
        self.step()?;
        let healed = self.sim.elapsed();
        let before = self.progress();
        self.cluster.log.note("all faults have ended");
        while !self.has_advanced(&before) {
            if self.sim.elapsed() > healed + RECOVERY {
                return Err(format!(
                    "no progress within {RECOVERY:?} after the last fault: {}",
                    self.lag(&before)
                ));
            }
            self.step()?;
        }
        outcome.recovery = Some(self.sim.elapsed() - healed);
        let end = self.sim.elapsed() + REST;
        while self.sim.elapsed() < end {
            self.step()?;
        }
        Ok(())
    }

    fn step(&mut self) -> Result<(), String> {
        self.sim.step().map_err(|error| error.to_string())?;
        set_now(self.sim.elapsed());
        let now = self.sim.elapsed();
        for host in 0..WITH_DISK {
            let is_due = self.armed.get(&host).is_some_and(|latest| *latest <= now);
            if self.armed.contains_key(&host) && (is_due || self.cluster.disk(host).has_crashed()) {
                self.armed.remove(&host);
                self.lose_power(host);
            }
        }
        Ok(())
    }

    fn start(&mut self, kind: Kind) {
        let sim = &mut self.sim;
        match kind {
            Kind::Kill { host } => {
                sim.crash(HOSTS[host]);
                self.cluster.replace_disk(host, MemoryDisk::after_kill);
            }
            Kind::PowerLoss { host } => self.lose_power(host),
            Kind::PowerLossOnDisk { host, operation } => {
                let disk = self.cluster.disk(host);
                let crash_at = Some(disk.operations() + operation);
                disk.set_faults(Faults { crash_at, ..Faults::default() });
                self.armed.insert(host, sim.elapsed() + ARMED);
            }
            Kind::Partition { link: (a, b) } => sim.partition(HOSTS[a], HOSTS[b]),
            Kind::OneWay { link: (a, b) } => sim.partition_oneway(HOSTS[a], HOSTS[b]),
            Kind::Hold { link: (a, b) } => sim.hold(HOSTS[a], HOSTS[b]),
            Kind::Latency { link: (a, b), most } => {
                let most = Duration::from_millis(most);
                sim.set_link_max_message_latency(HOSTS[a], HOSTS[b], most);
            }
            Kind::Loss { link: (a, b), per_mille } => {
                sim.set_link_fail_rate(HOSTS[a], HOSTS[b], per_mille as f64 / 1e3);
            }
        }
    }

    fn end(&mut self, kind: Kind) {
        let sim = &mut self.sim;
        match kind {
            Kind::Kill { host } => sim.bounce(HOSTS[host]),
            Kind::PowerLoss { host } | Kind::PowerLossOnDisk { host, .. } => {
                for other in others(host) {
                    sim.repair(HOSTS[host], HOSTS[other]);
                }
                sim.bounce(HOSTS[host]);
            }
            Kind::Partition { link: (a, b) } => sim.repair(HOSTS[a], HOSTS[b]),
            Kind::OneWay { link: (a, b) } => sim.repair_oneway(HOSTS[a], HOSTS[b]),
            Kind::Hold { link: (a, b) } => sim.release(HOSTS[a], HOSTS[b]),
            Kind::Latency { link: (a, b), .. } => {
                sim.set_link_max_message_latency(HOSTS[a], HOSTS[b], LATENCY[1]);
            }
            Kind::Loss { link: (a, b), .. } => {
                sim.set_link_fail_rate(HOSTS[a], HOSTS[b], 0.0);
                sim.repair(HOSTS[a], HOSTS[b]);
            }
        }
    }

    /// Ends a host without a word to the others. Its disk keeps what was synced and a part of the rest.
    fn lose_power(&mut self, host: usize) {
        self.cluster.log.note(&format!("{} is off", HOSTS[host]));
        for other in others(host) {
            self.sim.partition(HOSTS[host], HOSTS[other]);
        }
        self.sim.crash(HOSTS[host]);
        let survival = match self.rng.below(3) {
            0 => Survival::Synced,
            _ => Survival::Some(self.rng.fork()),
        };
        self.cluster.replace_disk(host, |disk| disk.after_crash(survival));
    }

    /// Accepted games of each actor, and the newest generation that was decided.
    fn progress(&self) -> (BTreeMap<usize, u64>, Option<u32>) {
        let announcements = self.cluster.announcements();
        let accepted = announcements
            .actors
            .iter()
            .map(|(host, counters)| (*host, counters.snapshot().accepted));
        let decided = announcements.decided.iter().map(|(generation, _)| generation.0).max();
        (
            accepted.collect(),
            decided.max(announcements.published.iter().map(|(row, _)| row.0).max()),
        )
    }

    /// Whether every actor had games acknowledged, and newer weights were published and decided.
    fn has_advanced(&self, before: &(BTreeMap<usize, u64>, Option<u32>)) -> bool {
        self.lag(before).is_empty()
    }

    /// The parts that have not advanced.
    fn lag(&self, before: &(BTreeMap<usize, u64>, Option<u32>)) -> String {
        let announcements = self.cluster.announcements();
        let mut parts = Vec::new();
        for (host, accepted) in &self.progress().0 {
            if before.0.get(host).is_some_and(|before| accepted <= before) {
                parts.push(format!("{} has no game accepted", HOSTS[*host]));
            }
        }
        if announcements.published.iter().all(|(generation, _)| Some(generation.0) <= before.1) {
            parts.push("no weights are published".to_owned());
        }
        if announcements.decided.iter().all(|(generation, _)| Some(generation.0) <= before.1) {
            parts.push("no candidate is decided".to_owned());
        }
        parts.join(", ")
    }
}

/// All hosts but one.
fn others(host: usize) -> impl Iterator<Item = usize> {
    (0..HOSTS.len()).filter(move |other| *other != host)
}
