//! Faults, and the plan of a run: which faults a seed gives in which order.

use std::fmt;
use std::time::Duration;

use crate::random::Random;

/// A process of the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Role {
    Redis,
    Arena,
    Learner,
    /// An actor, by its number from 1.
    Actor(u8),
    /// The worker that helps the arena.
    Worker,
}

/// Number of actors.
pub(crate) const ACTORS: u8 = 3;

impl Role {
    /// Every process, in the order of a start.
    pub(crate) fn all() -> Vec<Self> {
        let actors = (1..=ACTORS).map(Self::Actor);
        let services = [Self::Redis, Self::Arena, Self::Learner];
        services.into_iter().chain(actors).chain([Self::Worker]).collect()
    }

    /// Number of the process, from 1, which is also the last part of its address.
    pub(crate) fn number(self) -> u8 {
        match self {
            Self::Redis => 1,
            Self::Arena => 2,
            Self::Learner => 3,
            Self::Actor(number) => 3 + number,
            Self::Worker => 4 + ACTORS,
        }
    }

    /// The role without the number of an actor.
    pub(crate) fn kind(self) -> &'static str {
        match self {
            Self::Redis => "redis",
            Self::Arena => "arena",
            Self::Learner => "learner",
            Self::Actor(_) => "actor",
            Self::Worker => "worker",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Actor(number) => write!(f, "actor-{number}"),
            role => f.write_str(role.kind()),
        }
    }
}

/// Processes with a connection between them: the only pairs between which a network fault matters.
fn connected() -> Vec<(Role, Role)> {
    let mut pairs = vec![(Role::Arena, Role::Redis), (Role::Learner, Role::Arena)];
    pairs.extend([(Role::Worker, Role::Redis), (Role::Worker, Role::Arena)]);
    for actor in (1..=ACTORS).map(Role::Actor) {
        pairs.push((actor, Role::Learner));
        pairs.push((actor, Role::Arena));
    }
    pairs
}

/// One fault. It lasts for `time`; a killed process stays away for that time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) what: What,
    pub(crate) time: Duration,
}

/// What goes wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// `kill -9`.
    Kill(Vec<Role>),
    /// SIGSTOP, then SIGCONT.
    Pause(Role),
    /// A second process with the same role starts while the first is stopped, and the first continues.
    Rival(Role),
    /// No packet passes between two processes.
    Cut(Role, Role),
    /// No packet passes from the first process to the second; the other direction works.
    OneWay(Role, Role),
    /// Packets between two processes take longer by this many milliseconds, and half as much again at
    /// random.
    Delay(Role, Role, u64),
    /// This percentage of packets between two processes is lost.
    Loss(Role, Role, u64),
    /// The clock of a process is this many seconds off, and right again later.
    Clock(Role, i64),
    /// The disk of a process is full.
    Disk(Role),
}

impl Fault {
    /// The row of the report.
    pub(crate) fn kind(&self) -> String {
        match &self.what {
            What::Kill(roles) if roles.len() > 1 => "kill two at once".to_owned(),
            What::Kill(roles) => format!("kill {}", roles[0].kind()),
            What::Pause(Role::Learner) if self.time >= LONG => "learner stalled".to_owned(),
            What::Pause(_) => "pause".to_owned(),
            What::Rival(_) => RIVAL.to_owned(),
            What::Cut(Role::Arena, Role::Redis) => "store away".to_owned(),
            What::Cut(..) => "network cut".to_owned(),
            What::OneWay(..) => "one-way cut".to_owned(),
            What::Delay(..) => "delay".to_owned(),
            What::Loss(..) => "loss".to_owned(),
            What::Clock(..) => "clock jump".to_owned(),
            What::Disk(_) => DISK_FULL.to_owned(),
        }
    }

    /// How many processes the fault kills.
    pub(crate) fn kills(&self) -> u32 {
        match &self.what {
            What::Kill(roles) => roles.len() as u32,
            _ => 0,
        }
    }
}

/// The kind of [`What::Disk`].
pub(crate) const DISK_FULL: &str = "disk full";
/// The kind of [`What::Rival`].
pub(crate) const RIVAL: &str = "two processes";
/// The start of the kinds of faults that cut the file of Redis.
pub(crate) const STORE_CUT: &str = "store cut";

/// A pause of this length is a stall, with a row of its own in the report.
const LONG: Duration = Duration::from_secs(60);

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.what {
            What::Kill(roles) => {
                let names: Vec<String> = roles.iter().map(Role::to_string).collect();
                write!(f, "kill -9 {}, back", names.join(" and "))?;
            }
            What::Pause(role) => write!(f, "stop {role}")?,
            What::Rival(role) => write!(f, "a second {role}")?,
            What::Cut(a, b) => write!(f, "cut {a} and {b}")?,
            What::OneWay(from, to) => write!(f, "cut {from} to {to}")?,
            What::Delay(a, b, ms) => write!(f, "delay {a} and {b} by {ms} ms")?,
            What::Loss(a, b, percent) => write!(f, "lose {percent} % between {a} and {b}")?,
            What::Clock(role, seconds) => write!(f, "clock of {role} by {seconds:+} s")?,
            What::Disk(role) => write!(f, "disk of {role} full")?,
        }
        write!(f, " after {:.1} s", self.time.as_secs_f32())
    }
}

/// Which kinds of faults this machine permits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Means {
    /// A network of its own for each process.
    pub(crate) network: bool,
    /// Clocks that can be changed.
    pub(crate) clocks: bool,
    /// Small disks.
    pub(crate) disks: bool,
}

/// The endless sequence of faults of a seed: shuffled rounds, each with every kind of fault.
#[derive(Debug)]
pub(crate) struct Plan {
    random: Random,
    means: Means,
    /// Kills of each role in a round.
    kills: u32,
    round: Vec<Fault>,
}

impl Plan {
    /// A plan with `kills` kills of each role in every round.
    pub(crate) fn new(seed: u64, means: Means, kills: u32) -> Self {
        Self { random: Random::new(seed), means, kills, round: Vec::new() }
    }

    fn milliseconds(&mut self, low: u64, high: u64) -> Duration {
        Duration::from_millis(self.random.within(low, high))
    }

    fn actor(&mut self) -> Role {
        Role::Actor(self.random.within(1, ACTORS.into()) as u8)
    }

    fn kill(&mut self, roles: Vec<Role>) -> Fault {
        // Half of the processes are started again at once, as by a supervisor without a delay.
        let most = *self.random.pick(&[0, 3_000]);
        Fault { what: What::Kill(roles), time: self.milliseconds(0, most) }
    }

    fn deal(&mut self) -> Vec<Fault> {
        let mut round = Vec::new();
        for _ in 0..self.kills {
            for role in [Role::Redis, Role::Arena, Role::Learner, self.actor(), Role::Worker] {
                round.push(self.kill(vec![role]));
            }
        }
        let pair = *self.random.pick(&[
            (Role::Redis, Role::Arena),
            (Role::Arena, Role::Learner),
            (Role::Redis, Role::Learner),
        ]);
        round.push(self.kill(vec![pair.0, pair.1]));
        let role = *self.random.pick(&Role::all());
        let time = self.milliseconds(1_000, 8_000);
        round.push(Fault { what: What::Pause(role), time });
        for role in [Role::Arena, self.actor()] {
            let time = self.milliseconds(2_000, 4_000);
            round.push(Fault { what: What::Rival(role), time });
        }
        if self.means.network {
            self.deal_network(&mut round);
        }
        if self.means.clocks {
            let roles = [Role::Arena, Role::Learner, self.actor()];
            let role = *self.random.pick(&roles);
            let by = *self.random.pick(&[1, 60, 3_600, 86_400 * 30]);
            let by = if self.random.within(0, 1) == 0 { by } else { -by };
            let time = self.milliseconds(2_000, 6_000);
            round.push(Fault { what: What::Clock(role, by), time });
        }
        if self.means.disks {
            let role = *self.random.pick(&[Role::Redis, Role::Arena, Role::Learner]);
            let time = self.milliseconds(2_000, 6_000);
            round.push(Fault { what: What::Disk(role), time });
        }
        self.random.shuffle(&mut round);
        round
    }

    fn deal_network(&mut self, round: &mut Vec<Fault>) {
        // Some cuts outlast the 10 s for which the store repeats a command.
        let time = self.milliseconds(6_000, 18_000);
        round.push(Fault { what: What::Cut(Role::Arena, Role::Redis), time });
        let pairs = connected();
        let (a, b) = *self.random.pick(&pairs[1..]);
        round.push(Fault { what: What::Cut(a, b), time: self.milliseconds(2_000, 14_000) });
        let (a, b) = *self.random.pick(&pairs);
        let (from, to) = if self.random.within(0, 1) == 0 { (a, b) } else { (b, a) };
        round.push(Fault { what: What::OneWay(from, to), time: self.milliseconds(2_000, 14_000) });
        let (a, b) = *self.random.pick(&pairs);
        let delay = self.random.within(20, 400);
        let time = self.milliseconds(3_000, 8_000);
        round.push(Fault { what: What::Delay(a, b, delay), time });
        let (a, b) = *self.random.pick(&pairs);
        let percent = self.random.within(5, 40);
        let time = self.milliseconds(3_000, 8_000);
        round.push(Fault { what: What::Loss(a, b, percent), time });
    }
}

impl Iterator for Plan {
    type Item = Fault;

    fn next(&mut self) -> Option<Fault> {
        if self.round.is_empty() {
            self.round = self.deal();
        }
        self.round.pop()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const ALL: Means = Means { network: true, clocks: true, disks: true };

    #[test]
    fn a_seed_gives_one_plan_and_a_round_has_every_kind() {
        let plan = |seed| Plan::new(seed, ALL, 1).take(40).collect::<Vec<_>>();
        assert_eq!(plan(1), plan(1));
        assert_ne!(plan(1), plan(2));
        let kinds: BTreeSet<String> = plan(3)[..16].iter().map(Fault::kind).collect();
        assert_eq!(kinds.len(), 15, "{kinds:?}");
    }

    /// The planted faults of arenas are caught by the first faults of this seed.
    #[test]
    fn seed_50_begins_with_a_rival_of_the_arena_and_a_store_that_is_away_for_long() {
        let plan: Vec<Fault> = Plan::new(50, ALL, 1).take(3).collect();
        let is_away =
            |fault: &Fault| fault.kind() == "store away" && fault.time > Duration::from_secs(15);
        assert!(plan.iter().any(|fault| fault.what == What::Rival(Role::Arena)), "{plan:?}");
        assert!(plan.iter().any(is_away), "{plan:?}");
    }

    #[test]
    fn a_machine_without_the_means_gets_kills_and_pauses() {
        let means = Means { network: false, clocks: false, disks: false };
        let faults: Vec<Fault> = Plan::new(1, means, 2).take(100).collect();
        let is_plain =
            |fault: &Fault| matches!(fault.what, What::Kill(_) | What::Pause(_) | What::Rival(_));
        assert!(faults.iter().all(is_plain));
    }
}
