//! A run of the harness: faults one after the other, each with its recovery and its checks.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::checks::Checked;
use super::cluster::Cluster;
use super::fault::{DISK_FULL, Fault, Plan, RIVAL, Role, STORE_CUT, What};
use super::node::Exit;
use super::options::{Length, Options};
use super::report::Report;
use super::switch::Rule;
use super::truncation;
use crate::shell::say;

/// Longest time until throughput is normal again.
const RECOVERY: Duration = Duration::from_secs(30);
/// Time after which a run that does not recover is given up.
const GIVEN_UP: Duration = Duration::from_secs(180);
/// Longest time until a new run has normal throughput.
const WARM_UP: Duration = Duration::from_secs(180);
/// Undisturbed rates before the first fault.
const SAMPLES: usize = 5;
/// Undisturbed time between two faults.
const CALM: Duration = Duration::from_millis(2_500);
/// Longest drain of a process.
const DRAIN: Duration = Duration::from_secs(60);
/// Time for which two processes with one role run at once.
const TOGETHER: Duration = Duration::from_secs(4);
/// Most restarts of the arena until one adds no results.
const RESTARTS: u32 = 8;
/// Faults between two checks of the whole run.
const FAULTS_PER_CHECK: u32 = 5;
/// Fewest faults of a run of this time or more. A few long ones could fill a minute.
const LEAST_FAULTS: (Duration, u32) = (Duration::from_secs(60), 5);

/// The ratings of an arena that has written nothing for a while.
struct RatingsAtRest {
    /// Entries of its log.
    entries: u64,
    /// The table on its page.
    page: String,
}

/// Largest memory of each kind of process.
fn memory_limit(role: Role) -> u64 {
    let mebibytes = match role {
        Role::Redis | Role::Actor(_) | Role::Worker => 64,
        Role::Arena => 128,
        Role::Learner => 256,
    };
    mebibytes << 20
}

/// The state of a run.
pub(crate) struct Campaign {
    pub(crate) cluster: Cluster,
    pub(crate) checked: Checked,
    pub(crate) report: Report,
    /// The last fault, for the report: its kind, and itself.
    last: (String, String),
    start: Instant,
}

impl Campaign {
    /// A run of this cluster.
    pub(crate) fn new(cluster: Cluster, seed: u64) -> Self {
        let means = cluster.means();
        let left_out = [
            (means.network, "network faults (they need root, /dev/net/tun and socat)"),
            (means.clocks, "clock jumps (they need libfaketime)"),
            (means.disks, "full disks (they need the right to mount)"),
        ];
        let left_out = left_out.into_iter().filter(|(is_there, _)| !is_there);
        let report = Report::new(seed, left_out.map(|(_, what)| what).collect());
        let last = ("start".to_owned(), "the start".to_owned());
        Self { cluster, checked: Checked::default(), report, last, start: Instant::now() }
    }

    /// Injects all faults and checks the run. Violations are in the report; an error means that the
    /// harness cannot continue. Only [`recovery`](Self::recovery) returns an error for a violation.
    pub(crate) fn run(&mut self, options: &Options) -> Result<()> {
        self.cluster.start()?;
        self.warm_up()?;
        let means = self.cluster.means();
        // A long run has more kills, as the rarest faults need no hundred repetitions.
        let kills = if matches!(options.length, Length::Kills(_)) { 3 } else { 1 };
        let start = Instant::now();
        for fault in Plan::new(options.seed, means, kills) {
            let is_over = match options.length {
                Length::Kills(kills) => self.report.kills >= kills,
                Length::Faults(faults) => self.report.faults() >= faults,
                Length::Time(time) => {
                    let (long, least) = LEAST_FAULTS;
                    let has_enough = time < long || self.report.faults() >= least;
                    start.elapsed() >= time && has_enough
                }
            };
            if is_over {
                break;
            }
            self.fault(&fault)?;
            if self.report.faults().is_multiple_of(FAULTS_PER_CHECK) {
                self.check()?;
            }
        }
        if !options.stall.is_zero() {
            self.fault(&Fault { what: What::Pause(Role::Learner), time: options.stall })?;
        }
        self.check()?;
        self.stop()?;
        if options.truncates && means.disks {
            truncation::run(self, options.seed)?;
        }
        self.report.seconds = self.start.elapsed().as_secs_f64();
        let has_compared = self.checked.compared > 0 && self.checked.state.is_some();
        ensure!(
            has_compared || !self.report.violations.is_empty(),
            "no games or training states were compared; correct how checks.rs reads `ouro check`"
        );
        Ok(())
    }

    /// Waits until the throughput is normal.
    pub(crate) fn warm_up(&mut self) -> Result<()> {
        let start = Instant::now();
        let is_warm = |cluster: &Cluster| {
            cluster.audit.newest() > Some(1) && cluster.meter.games().iter().all(|games| *games > 0)
        };
        while !is_warm(&self.cluster) || self.cluster.meter.calm_samples() < SAMPLES {
            let is_calm = is_warm(&self.cluster);
            self.cluster.tick(is_calm)?;
            if start.elapsed() > WARM_UP {
                bail!("the run does not start: {}", self.states());
            }
        }
        let normal = self.cluster.meter.normal().unwrap_or_default();
        say(&format!(
            "{:6.1} s  warm: {normal:.0} games/s, generation {}",
            self.start.elapsed().as_secs_f64(),
            self.cluster.audit.newest().unwrap_or_default()
        ));
        self.judge();
        Ok(())
    }

    /// What each process last said, for an error.
    fn states(&self) -> String {
        let line =
            |(role, node): (&Role, &super::node::Node)| format!("\n{role}: {}", node.last_line());
        self.cluster.nodes.iter().map(line).collect()
    }

    /// Injects a fault, ends it, and waits for the recovery.
    pub(crate) fn fault(&mut self, fault: &Fault) -> Result<()> {
        let kind = fault.kind();
        let normal = self.cluster.meter.normal().unwrap_or_default();
        self.begin(&kind, &fault.to_string(), fault.kills());
        self.inject(fault)?;
        self.pass(fault.time, false)?;
        self.heal(fault)?;
        self.await_recovery(&kind, normal)?;
        self.pass(CALM, true)?;
        self.judge();
        Ok(())
    }

    /// Notes that a fault starts.
    pub(crate) fn begin(&mut self, kind: &str, fault: &str, kills: u32) {
        self.last = (kind.to_owned(), fault.to_owned());
        self.report.fault(kind, kills);
    }

    /// Waits for the recovery from the last fault and notes how long it took.
    pub(crate) fn await_recovery(&mut self, kind: &str, normal: f64) -> Result<()> {
        let recovery = self.recovery(normal)?;
        let (number, fault) = (self.report.faults(), &self.last.1);
        let (time, seconds) = (self.start.elapsed().as_secs_f64(), recovery.as_secs_f64());
        say(&format!(
            "{time:6.1} s  {number}: {fault}; {normal:.0} games/s again after {seconds:.1} s"
        ));
        self.report.recovered(kind, seconds);
        if recovery > RECOVERY {
            self.violation(format!("normal throughput is back only after {seconds:.1} s"));
        }
        Ok(())
    }

    /// Lets time pass.
    fn pass(&mut self, time: Duration, is_calm: bool) -> Result<()> {
        let start = Instant::now();
        while start.elapsed() < time {
            self.cluster.tick(is_calm)?;
        }
        Ok(())
    }

    /// Starts a fault.
    fn inject(&mut self, fault: &Fault) -> Result<()> {
        let cluster = &mut self.cluster;
        match &fault.what {
            What::Kill(roles) => roles.iter().for_each(|role| cluster.node(*role).kill()),
            What::Pause(role) => cluster.node(*role).signal("-STOP")?,
            What::Rival(role) => {
                cluster.node(*role).signal("-STOP")?;
                cluster.start_rival(*role)?;
            }
            What::Cut(a, b) => {
                let rule = Rule { loss: 100, delay_ms: 0 };
                cluster.network.rules(|rules| rules.set_both(*a, *b, rule));
            }
            What::OneWay(from, to) => {
                let rule = Rule { loss: 100, delay_ms: 0 };
                cluster.network.rules(|rules| rules.set(*from, *to, rule));
            }
            What::Delay(a, b, delay_ms) => {
                let rule = Rule { loss: 0, delay_ms: *delay_ms };
                cluster.network.rules(|rules| rules.set_both(*a, *b, rule));
            }
            What::Loss(a, b, loss) => {
                let rule = Rule { loss: *loss, delay_ms: 0 };
                cluster.network.rules(|rules| rules.set_both(*a, *b, rule));
            }
            What::Clock(role, seconds) => cluster.node(*role).set_clock(*seconds)?,
            What::Disk(role) => {
                if let Some(disk) = cluster.disks.get(role) {
                    disk.fill()?;
                }
            }
        }
        Ok(())
    }

    /// Ends a fault.
    fn heal(&mut self, fault: &Fault) -> Result<()> {
        let cluster = &mut self.cluster;
        match &fault.what {
            What::Kill(roles) => roles.iter().for_each(|role| cluster.node(*role).start_again()),
            What::Pause(role) => cluster.node(*role).signal("-CONT")?,
            What::Rival(role) => {
                cluster.node(*role).signal("-CONT")?;
                self.pass(TOGETHER, false)?;
                self.cluster.rival = None;
            }
            What::Cut(..) | What::OneWay(..) | What::Delay(..) | What::Loss(..) => {
                cluster.network.rules(super::switch::Rules::clear);
            }
            What::Clock(role, _) => cluster.node(*role).set_clock(0)?,
            What::Disk(role) => {
                if let Some(disk) = cluster.disks.get(role) {
                    disk.empty()?;
                }
            }
        }
        Ok(())
    }

    /// Waits until the run is normal again: half of the normal games per second, a game of every
    /// actor, and a new entry in the log of the arena. Returns the time that this took. A run that
    /// does not recover is a violation, and cannot continue.
    pub(crate) fn recovery(&mut self, normal: f64) -> Result<Duration> {
        let start = Instant::now();
        let (games, entries) = (self.cluster.meter.games(), self.cluster.audit.entries());
        loop {
            self.cluster.tick(false)?;
            let meter = &self.cluster.meter;
            let plays = |(now, before): (u64, &u64)| now > *before;
            let all_play = meter.games().into_iter().zip(&games).all(plays);
            let is_decided = self.cluster.audit.entries() > entries;
            if all_play && is_decided && meter.rate() >= normal / 2.0 {
                return Ok(start.elapsed());
            }
            if start.elapsed() > GIVEN_UP {
                let (rate, limit) = (meter.rate(), GIVEN_UP.as_secs());
                self.violation(format!(
                    "the run does not recover within {limit} s ({rate:.0} of {normal:.0} games/s; \
                     every actor has games: {all_play}; the arena's log grows: {is_decided})"
                ));
                bail!("the run does not recover after {}:{}", self.last.1, self.states());
            }
        }
    }

    /// Checks the run as a whole while it is stopped.
    pub(crate) fn check(&mut self) -> Result<()> {
        let found = self.checked.frozen(&mut self.cluster)?;
        found.into_iter().for_each(|problem| self.violation(problem));
        self.pass(CALM, false)?;
        self.judge();
        Ok(())
    }

    pub(crate) fn violation(&mut self, problem: String) {
        say(&format!("VIOLATION after {}: {problem}", self.last.1));
        self.report.violation(&self.last.0, &self.last.1, problem);
    }

    /// Looks at what has happened by itself: processes that ended, and findings in the log.
    pub(crate) fn judge(&mut self) {
        for exit in std::mem::take(&mut self.cluster.exits) {
            match expected(&exit, &self.last.0) {
                Some(how) => {
                    *self.report.ended.entry(format!("{}: {how}", exit.role.kind())).or_default() +=
                        1
                }
                None => {
                    self.violation(format!("{} ended: {}: {}", exit.role, exit.status, exit.said))
                }
            }
        }
        for finding in std::mem::take(&mut self.cluster.findings) {
            self.violation(finding);
        }
        let exceeded: Vec<String> = self
            .cluster
            .nodes
            .values()
            .filter(|node| node.peak > memory_limit(node.role))
            .map(|node| format!("{} has {} MiB", node.role, node.peak >> 20))
            .collect();
        exceeded.into_iter().for_each(|problem| self.violation(problem));
    }

    /// Stops the run cleanly and checks it a last time. Restarting the arena must not change ratings.
    ///
    /// An arena that has used up its share of the CPU looks at rest, and plays on after a restart.
    /// Ratings are therefore compared once a restart has added no results.
    fn stop(&mut self) -> Result<()> {
        self.last = ("stop".to_owned(), "the last fault, at the stop".to_owned());
        self.cluster.supervises = false;
        let players = self.cluster.nodes.keys().copied();
        let players = players.filter(|role| matches!(role, Role::Actor(_) | Role::Worker));
        let players: Vec<Role> = players.collect();
        self.drain(&players)?;
        self.drain(&[Role::Learner])?;
        let mut before = self.ratings_at_rest()?;
        let mut restarts = 1..=RESTARTS;
        let after = loop {
            self.cluster.node(Role::Arena).kill();
            self.cluster.node(Role::Arena).start_again();
            let after = self.ratings_at_rest()?;
            if after.entries == before.entries {
                break after.page;
            }
            ensure!(restarts.next().is_some(), "the arena plays on after every restart");
            before = after;
        };
        let before = before.page;
        if before != after {
            let changed = before.split("<tr").zip(after.split("<tr")).find(|(a, b)| a != b);
            self.violation(format!("ratings change with a restart: {changed:?}"));
        }
        let rated = after.matches("<tr").count().saturating_sub(1);
        self.drain(&[Role::Arena])?;
        let found = self.checked.run(&mut self.cluster)?;
        found.into_iter().for_each(|problem| self.violation(problem));
        self.cluster.supervises = true;
        self.summarise(rated as u64);
        Ok(())
    }

    /// Stops processes with SIGTERM. Each must end with code 0.
    fn drain(&mut self, roles: &[Role]) -> Result<()> {
        for role in roles {
            self.cluster.node(*role).signal("-TERM")?;
        }
        let start = Instant::now();
        while self.cluster.exits.len() < roles.len() {
            self.cluster.tick(false)?;
            ensure!(start.elapsed() < DRAIN, "{roles:?} do not end:{}", self.states());
        }
        for exit in std::mem::take(&mut self.cluster.exits) {
            if exit.status.code() != Some(0) {
                self.violation(format!("{} drains with {}: {}", exit.role, exit.status, exit.said));
            }
        }
        Ok(())
    }

    /// The ratings once the arena has nothing to play.
    fn ratings_at_rest(&mut self) -> Result<RatingsAtRest> {
        let (start, mut since, mut entries) = (Instant::now(), Instant::now(), 0);
        let mut ratings = String::new();
        while since.elapsed() < Duration::from_secs(4) || ratings.is_empty() {
            self.cluster.tick(false)?;
            let page = ratings_of(&self.cluster.page()).unwrap_or_default();
            if self.cluster.audit.entries() != entries || page != ratings {
                (since, entries, ratings) = (Instant::now(), self.cluster.audit.entries(), page);
            }
            ensure!(start.elapsed() < WARM_UP, "the arena does not come to rest:{}", self.states());
        }
        Ok(RatingsAtRest { entries, page: ratings })
    }

    fn summarise(&mut self, rated: u64) {
        let (cluster, checked) = (&self.cluster, &self.checked);
        let (forwarded, dropped) = cluster.network.packets();
        self.report.checked = vec![
            ("acknowledged games", cluster.meter.total()),
            ("look-ups of acknowledged games in the journal", checked.compared),
            ("entries of the arena's log", cluster.audit.entries()),
            ("promotions", cluster.audit.promotions() as u64),
            ("rated players, equal after a restart", rated),
            ("checks of the whole run", checked.checks.into()),
            (
                "starts of processes",
                cluster.nodes.values().map(|node| u64::from(node.starts)).sum(),
            ),
            ("packets forwarded", forwarded),
            ("packets dropped", dropped),
        ];
        let memory =
            |node: &super::node::Node| (node.role.to_string(), node.peak, memory_limit(node.role));
        self.report.memory = cluster.nodes.values().map(memory).collect();
    }
}

/// The ways in which processes end by themselves as documented: part of the last line, the role, and the
/// kind of fault that leads to it.
const EXPECTED: [(&str, &str, &str); 9] = [
    ("Can't recover from AOF write error", "redis", DISK_FULL),
    ("Unexpected end of file reading the append only file", "redis", STORE_CUT),
    ("start the server, or correct deploy.store", "arena", ""),
    ("no space for", "arena", DISK_FULL),
    ("No space left on device", "learner", DISK_FULL),
    ("which this arena has stored: the server has lost results", "arena", STORE_CUT),
    ("another arena has taken over", "arena", RIVAL),
    ("another process", "actor", RIVAL),
    // The older of two, if it reconnects before it hears of the younger.
    ("is not its last one here; give every actor its own name", "actor", RIVAL),
];

/// How a process ended, if that is documented for the kind of the last fault.
fn expected(exit: &Exit, kind: &str) -> Option<&'static str> {
    let is_it = |(words, role, after): &&(&'static str, &str, &str)| {
        exit.role.kind() == *role && kind.starts_with(after) && exit.said.contains(words)
    };
    EXPECTED.iter().find(is_it).map(|(words, ..)| *words)
}

/// The table of ratings on the arena's page.
fn ratings_of(address: &str) -> Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    let request = format!("GET / HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut page = String::new();
    stream.read_to_string(&mut page)?;
    let (_, ratings) = page.split_once("id=\"ratings\"").context("the page has no ratings")?;
    Ok(ratings.split("</section>").next().unwrap_or_default().to_owned())
}
