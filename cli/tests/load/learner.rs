//! The processes under load: an arena and a learner, and what the learner uses.

use std::fs::{self, File};
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::Command;

use ouro_testkit::process::Process;

use crate::support::http::{get, value, wait};
use crate::support::programs::programs;

/// A network that is made within milliseconds.
pub(crate) const SMALL_NET: &str = "
[net]
kind = \"mlp\"
layers = 1
hidden = 8
";

/// Settings that follow those of the game. The window never has enough positions, so nothing is
/// trained and all processor time is that of accepting games.
const NO_TRAINING: &str = "
[replay]
min_positions = 1000000000000
window_positions = 1000000000000
max_mib = 64
[intake]
max_streams = 1024
";

/// Ticks per second of the times in `/proc` (`USER_HZ`).
const TICKS: f64 = 100.0;

/// A learner under load.
pub(crate) struct LoadedLearner {
    process: Process,
    pub(crate) arena: Process,
    arena_address: SocketAddr,
    address: SocketAddr,
    metrics: SocketAddr,
    _folder: tempfile::TempDir,
}

/// Cumulative counts of the learner at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    /// Accepted games, by the learner's own count.
    pub(crate) accepted: f64,
    pub(crate) cpu_seconds: f64,
    /// Commits of the journal, each with a sync.
    pub(crate) syncs: f64,
    pub(crate) journal_bytes: f64,
    /// Bytes that the process has caused to be written to the disk.
    pub(crate) disk_bytes: f64,
}

impl LoadedLearner {
    /// Starts both processes with these settings of the game and of the network.
    pub(crate) fn start(settings: &str, net: &str) -> Self {
        let folder = tempfile::tempdir().expect("a scratch folder");
        fs::write(folder.path().join("run.toml"), format!("{settings}\n{net}{NO_TRAINING}"))
            .expect("settings are written");
        // The ports are free once the listeners close.
        let ports = [0; 4].map(|_| TcpListener::bind("127.0.0.1:0").expect("a free port"));
        let [arena_address, address, metrics, unused] =
            ports.map(|port| port.local_addr().expect("it has an address"));
        let start = |service: &str| {
            let log = File::create(folder.path().join(format!("{service}.log")));
            let mut command = Command::new(programs().join(format!("ouro-{service}")));
            let metrics = if service == "learner" { metrics } else { unused };
            command
                .current_dir(folder.path())
                .env("OURO_ARENA", arena_address.to_string())
                .env("OURO_LEARNER", address.to_string())
                .env("OURO_METRICS", metrics.to_string())
                .env_remove("OURO_RUN")
                .stderr(log.expect("a file"));
            match service {
                "arena" => command.env("OURO_WEB", "off"),
                _ => command.env("OURO_DEVICE", "cpu"),
            };
            Process::start(&mut command)
        };
        let (arena, process) = (start("arena"), start("learner"));
        let published = "ouro_learner_published_generation";
        wait(metrics, "/metrics", "the first publication", |page| value(page, published).is_some());
        Self { process, arena, arena_address, address, metrics, _folder: folder }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn arena_url(&self) -> String {
        format!("http://{}", self.arena_address)
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Starts a new peak of resident memory.
    pub(crate) fn reset_peak(&mut self) {
        // 5 resets the peak of resident memory (proc(5), clear_refs).
        fs::write(format!("/proc/{}/clear_refs", self.process.id()), "5").expect("an own process");
    }

    /// The peak of resident memory in bytes, and the open files now.
    pub(crate) fn usage(&mut self) -> (u64, usize) {
        assert!(self.process.is_running(), "the learner has ended");
        let usage = self.process.usage().expect("a running process");
        (usage.peak_memory, usage.files)
    }

    pub(crate) fn counts(&mut self) -> Counts {
        let page = get(self.metrics, "/metrics").expect("the learner answers");
        let metric = |name: &str| value(&page, name).unwrap_or_else(|| panic!("no {name}"));
        let id = self.process.id();
        let io = fs::read_to_string(format!("/proc/{id}/io")).expect("a running process");
        let written = io.lines().find_map(|line| line.strip_prefix("write_bytes: "));
        Counts {
            accepted: metric("ouro_learner_games_accepted_total"),
            cpu_seconds: cpu_of_process(id),
            syncs: metric("ouro_learner_journal_sync_seconds_count"),
            journal_bytes: metric("ouro_learner_journal_bytes"),
            disk_bytes: written.and_then(|bytes| bytes.parse().ok()).expect("a count of bytes"),
        }
    }

    /// Waits until the learner has counted this many games since `before`. It acknowledges a game
    /// shortly before it counts it.
    pub(crate) fn wait_for_games(&self, before: &Counts, games: u64) -> f64 {
        let name = "ouro_learner_games_accepted_total";
        let counted = |page: &str| value(page, name).map_or(0.0, |games| games - before.accepted);
        let page = wait(self.metrics, "/metrics", "the count of all games", |page| {
            counted(page) >= games as f64
        });
        counted(&page)
    }

    /// Drains the learner.
    pub(crate) fn end(mut self) {
        self.process.signal("-TERM");
        assert_eq!(self.process.wait().code(), Some(0), "a clean end");
    }
}

/// CPU-seconds of a process so far.
pub(crate) fn cpu_of_process(id: u32) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).expect("a running process");
    let (_, fields) = stat.rsplit_once(')').expect("the name is in parentheses");
    let fields: Vec<&str> = fields.split_whitespace().collect();
    // Fields 14 and 15 of proc(5) are user and system time; the first two are cut off.
    let ticks = [11, 12].map(|index| fields[index].parse::<f64>().expect("a time"));
    ticks.iter().sum::<f64>() / TICKS
}

/// CPU-seconds of the threads of this process with this name.
pub(crate) fn cpu_of_threads(name: &str) -> f64 {
    let tasks = fs::read_dir("/proc/self/task").expect("Linux");
    let of = |task: PathBuf| {
        // A thread may end between the listing and the reads.
        let comm = fs::read_to_string(task.join("comm")).ok()?;
        let times = fs::read_to_string(task.join("schedstat")).ok()?;
        let nanoseconds: f64 = times.split_whitespace().next()?.parse().ok()?;
        (comm.trim_end() == name).then_some(nanoseconds * 1e-9)
    };
    tasks.filter_map(|task| of(task.ok()?.path())).sum()
}
