//! The faults of a simulation, drawn from its seed.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use ouro_game::Rng;

/// The hosts: the arena, the learner and the actors.
pub(crate) const HOSTS: [&str; 5] = ["arena", "learner", "actor-0", "actor-1", "actor-2"];
/// Number of hosts with a simulated disk, which come first.
pub(crate) const WITH_DISK: usize = 2;
/// Longest time until an armed disk fails.
pub(crate) const ARMED: Duration = Duration::from_secs(1);

/// The first fault.
const FIRST: Duration = Duration::from_secs(3);
/// Attempts to find a target that has no fault.
const ATTEMPTS: u32 = 50;

/// What fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The process of a host ends. Its connections are closed, and its disk keeps all.
    Kill { host: usize },
    /// A machine loses its power: connections break without a word, and the disk keeps what was synced
    /// and a random part of the rest.
    PowerLoss { host: usize },
    /// Like a loss of power, during the disk's operation of this number from now.
    PowerLossOnDisk { host: usize, operation: u64 },
    /// Messages between two hosts are dropped.
    Partition { link: Link },
    /// Messages from the first to the second host are dropped.
    OneWay { link: Link },
    /// Messages between two hosts wait until the end of the fault.
    Hold { link: Link },
    /// Messages between two hosts take up to this many milliseconds.
    Latency { link: Link, most: u64 },
    /// This many messages in a thousand are lost, and those under way with them.
    Loss { link: Link, per_mille: u64 },
}

/// Two hosts that talk to each other.
pub(crate) type Link = (usize, usize);

/// A fault with its time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fault {
    pub(crate) at: Duration,
    pub(crate) lasts: Duration,
    pub(crate) kind: Kind,
}

impl Kind {
    /// The name of the kind, for counts.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Kill { .. } => "kill",
            Self::PowerLoss { .. } => "power loss",
            Self::PowerLossOnDisk { .. } => "power loss in a disk operation",
            Self::Partition { .. } => "partition",
            Self::OneWay { .. } => "one-way partition",
            Self::Hold { .. } => "hold",
            Self::Latency { .. } => "latency",
            Self::Loss { .. } => "loss",
        }
    }

    /// Draws a kind: 25 % crashes, 15 % losses of power in a disk operation, 25 % partitions, 15 %
    /// holds, 20 % latency and loss.
    fn draw(rng: &mut Rng) -> Self {
        let host = [0, 1, 1, 2, 3, 4][rng.below(6) as usize];
        let link = LINKS[rng.below(LINKS.len() as u32) as usize];
        let link = if rng.below(2) == 0 { link } else { (link.1, link.0) };
        match rng.below(100) {
            0..12 => Self::Kill { host },
            12..25 => Self::PowerLoss { host },
            25..40 => {
                let host = rng.below(WITH_DISK as u32) as usize;
                Self::PowerLossOnDisk { host, operation: rng.below(60).into() }
            }
            40..53 => Self::Partition { link },
            53..65 => Self::OneWay { link },
            65..80 => Self::Hold { link },
            80..90 => Self::Latency { link, most: (50 + rng.below(1_000)).into() },
            _ => Self::Loss { link, per_mille: (5 + rng.below(60)).into() },
        }
    }

    /// The host that ends, if one does.
    fn host(self) -> Option<usize> {
        match self {
            Self::Kill { host } | Self::PowerLoss { host } | Self::PowerLossOnDisk { host, .. } => {
                Some(host)
            }
            _ => None,
        }
    }

    /// What the fault needs for itself: a host as a link with itself, and links.
    fn claims(self) -> Vec<Link> {
        match self {
            Self::Kill { host } => vec![(host, host)],
            Self::PowerLoss { host } | Self::PowerLossOnDisk { host, .. } => {
                let links = LINKS.into_iter().filter(|link| link.0 == host || link.1 == host);
                links.chain([(host, host)]).collect()
            }
            Self::Partition { link }
            | Self::OneWay { link }
            | Self::Hold { link }
            | Self::Latency { link, .. }
            | Self::Loss { link, .. } => vec![(link.0.min(link.1), link.0.max(link.1))],
        }
    }
}

/// The pairs of hosts that talk to each other, the lower number first.
pub(crate) const LINKS: [Link; 7] = [(0, 1), (0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (1, 4)];

impl Fault {
    /// When the fault has ended.
    pub(crate) fn end(&self) -> Duration {
        let armed = matches!(self.kind, Kind::PowerLossOnDisk { .. });
        self.at + self.lasts + if armed { ARMED } else { Duration::ZERO }
    }
}

/// The schedule of a seed: this many faults, by time.
pub(crate) fn schedule(seed: u64, count: usize) -> Vec<Fault> {
    let mut rng = Rng::new(seed, "faults");
    let mut busy: BTreeMap<Link, Duration> = BTreeMap::new();
    let mut faults = Vec::with_capacity(count);
    let mut at = FIRST;
    while faults.len() < count {
        let ms = |rng: &mut Rng, least, most| {
            Duration::from_millis(u64::from(least + rng.below(most - least)))
        };
        let drawn = (0..ATTEMPTS).map(|_| Kind::draw(&mut rng)).find(|kind| {
            kind.claims().iter().all(|claim| busy.get(claim).is_none_or(|until| *until < at))
        });
        if let Some(kind) = drawn {
            let lasts = match (kind.host(), rng.below(10)) {
                (Some(_), _) => ms(&mut rng, 50, 4_000),
                (None, 0) => ms(&mut rng, 10_000, 30_000),
                (None, _) => ms(&mut rng, 50, 6_000),
            };
            let fault = Fault { at, lasts, kind };
            // A host needs a moment to start again before the next fault meets it.
            let until = fault.end() + Duration::from_millis(500);
            busy.extend(kind.claims().into_iter().map(|claim| (claim, until)));
            faults.push(fault);
        }
        at += ms(&mut rng, 100, 2_500);
    }
    faults
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name();
        match *self {
            Self::Kill { host } | Self::PowerLoss { host } => {
                write!(f, "{name} of {}", HOSTS[host])
            }
            Self::PowerLossOnDisk { host, operation } => {
                write!(f, "{name} of {}, operation {operation}", HOSTS[host])
            }
            Self::OneWay { link } => {
                write!(f, "{name} from {} to {}", HOSTS[link.0], HOSTS[link.1])
            }
            Self::Partition { link } | Self::Hold { link } => {
                write!(f, "{name} between {} and {}", HOSTS[link.0], HOSTS[link.1])
            }
            Self::Latency { link, most } => {
                write!(
                    f,
                    "{name} of up to {most} ms between {} and {}",
                    HOSTS[link.0], HOSTS[link.1]
                )
            }
            Self::Loss { link, per_mille } => {
                write!(f, "{name} of {per_mille} ‰ between {} and {}", HOSTS[link.0], HOSTS[link.1])
            }
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, lasts, kind } = self;
        write!(f, "{:.2} s: {kind}, for {:.2} s", at.as_secs_f64(), lasts.as_secs_f64())
    }
}
