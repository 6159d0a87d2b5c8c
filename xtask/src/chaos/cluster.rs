//! The cluster: its processes, network and disks, and what the harness observes of them.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::disk::Disk;
use super::fault::{Means, Role};
use super::log::Audit;
use super::meter::Meter;
use super::network::{Network, is_permitted};
use super::node::{Exit, Node, Program, has_clocks};
use super::resp::{PORT, Redis, read_list};

/// Time between two looks at the processes.
const TICK: Duration = Duration::from_millis(50);
/// Time between two looks at the log of the arena.
const LOOK: Duration = Duration::from_millis(500);
/// Name of the run in the keys of the store.
const NAME: &str = "chaos";
/// The log of the arena.
const LOG: &str = "ouro:{chaos}:log";
/// Ports of the arena, of its page, and of the learner.
const PORTS: [u16; 3] = [50_061, 8_080, 50_062];

/// Port of a second arena.
const RIVAL_PORT: u16 = 50_071;

/// Settings of Redis that lose nothing.
const DURABLE: [&str; 12] = [
    "--appendonly",
    "yes",
    "--appendfsync",
    "always",
    "--aof-load-truncated",
    "no",
    "--maxmemory-policy",
    "noeviction",
    "--save",
    "",
    "--protected-mode",
    "no",
];

/// A small run with tree search. Weights are few, so that generations follow each other quickly.
const SETTINGS: &str = r#"preset = "tictactoe"
generation_steps = 200

[net]
kind = "conv"
channels = 8
layers = 1
hidden = 32

[actor]
games_per_thread = 32

[actor.search]
simulations = 8

[train]
batch_moves = 128
learning_rate = 0.01

[replay]
min_positions = 512
window_positions = 4096
samples_per_insert = 32.0

[arena]
player = "mcts{sims=4,weights=self}"
spare_share = 0.0

[arena.gate]
games = 60
"#;

/// The cluster. Dropping it kills all processes and removes networks and disks.
#[derive(Debug)]
pub(crate) struct Cluster {
    /// Holds everything of the harness.
    pub(crate) folder: PathBuf,
    pub(crate) binaries: PathBuf,
    pub(crate) nodes: BTreeMap<Role, Node>,
    pub(crate) disks: BTreeMap<Role, Disk>,
    pub(crate) network: Network,
    pub(crate) meter: Meter,
    pub(crate) audit: Audit,
    /// Processes that ended by themselves and were not looked at yet.
    pub(crate) exits: Vec<Exit>,
    /// What the audit of the log found and was not looked at yet.
    pub(crate) findings: Vec<String>,
    /// Whether a process that ends is started again.
    pub(crate) supervises: bool,
    /// Whether the log is read again and again.
    pub(crate) audits: bool,
    /// A second process with the role of another one.
    pub(crate) rival: Option<Node>,
    redis: Option<Redis>,
    looked: Instant,
}

impl Cluster {
    /// A cluster in `folder`, which must not exist, with the programs in `binaries`. Nothing runs yet.
    pub(crate) fn new(folder: &Path, binaries: &Path, seed: u64) -> Result<Self> {
        let run = folder.join("run");
        fs::create_dir_all(&run).with_context(|| format!("cannot make {}", run.display()))?;
        let (network, disks) = match is_permitted()? {
            true => {
                let disks = [
                    (Role::Redis, folder.join("redis")),
                    (Role::Arena, run.join("arena")),
                    (Role::Learner, run.join("learner")),
                ];
                let mount = |(role, path): (Role, PathBuf)| Ok((role, Disk::mount(&path)?));
                let disks = disks.into_iter().map(mount).collect::<Result<_>>()?;
                (Network::with_namespaces(folder, seed)?, disks)
            }
            false => (Network::loopback(), BTreeMap::new()),
        };
        fs::create_dir_all(folder.join("redis"))?;
        let actors = Role::all().into_iter().filter(|role| matches!(role, Role::Actor(_)));
        let logs = actors.map(|role| run.join(format!("actor-{role}/records.log"))).collect();
        let mut cluster = Self {
            folder: folder.to_owned(),
            binaries: binaries.to_owned(),
            nodes: BTreeMap::new(),
            disks,
            network,
            meter: Meter::new(logs),
            audit: Audit::default(),
            exits: Vec::new(),
            findings: Vec::new(),
            supervises: true,
            audits: true,
            rival: None,
            redis: None,
            looked: Instant::now(),
        };
        fs::write(run.join("run.toml"), cluster.settings(seed))?;
        for role in Role::all() {
            let (place, program) = (cluster.network.place(role), cluster.program(role));
            cluster.nodes.insert(role, Node::new(role, &role.to_string(), place, program, folder)?);
        }
        Ok(cluster)
    }

    /// Folder of the run.
    pub(crate) fn run(&self) -> PathBuf {
        self.folder.join("run")
    }

    /// The faults that this machine permits.
    pub(crate) fn means(&self) -> Means {
        let (network, disks) = (self.network.has_faults(), !self.disks.is_empty());
        Means { network, clocks: has_clocks(), disks }
    }

    fn address(&self, role: Role, port: u16) -> String {
        format!("{}:{port}", self.network.place(role).address)
    }

    /// Address of the arena's page.
    pub(crate) fn page(&self) -> String {
        self.address(Role::Arena, PORTS[1])
    }

    fn settings(&self, seed: u64) -> String {
        let [arena, web] = [PORTS[0], PORTS[1]].map(|port| self.address(Role::Arena, port));
        let learner = self.address(Role::Learner, PORTS[2]);
        let redis = self.address(Role::Redis, PORT);
        format!(
            "seed = {}\n{SETTINGS}\n[deploy]\narena = {arena:?}\nlearner = {learner:?}\n\
             web = {web:?}\ndevice = \"cpu\"\nlog = \"json\"\nlog_records = true\n\
             insecure = true\n\
             store = \"redis://{redis}\"\nstore_name = {NAME:?}\n",
            seed >> 1,
        )
    }

    fn program(&self, role: Role) -> Program {
        let config = self.run().join("run.toml").display().to_string();
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let (name, arguments): (_, Vec<String>) = match role {
            Role::Redis => {
                let address = self.network.place(role).address.to_string();
                let (port, folder) = (PORT.to_string(), self.folder.join("redis"));
                let folder = folder.display().to_string();
                let mut arguments = vec!["--bind", &address, "--port", &port, "--dir", &folder];
                arguments.extend(DURABLE);
                return Program { path: "redis-server".into(), arguments: words(&arguments) };
            }
            Role::Arena => ("ouro-arena", words(&["--config", &config])),
            Role::Learner => ("ouro-learner", words(&["--config", &config])),
            Role::Actor(_) => {
                let name = role.to_string();
                let flags = ["--config", &config, "--name", &name, "--threads", "1"];
                ("ouro-actor", words(&flags))
            }
            Role::Worker => ("ouro-arena", words(&["worker", "--config", &config])),
        };
        Program { path: self.binaries.join(name), arguments }
    }

    /// The process of a role.
    pub(crate) fn node(&mut self, role: Role) -> &mut Node {
        self.nodes.get_mut(&role).expect("every role has a process")
    }

    /// Starts every process that does not run.
    pub(crate) fn start(&mut self) -> Result<()> {
        let down = self.nodes.values_mut().filter(|node| node.id().is_none());
        down.into_iter().try_for_each(Node::start)
    }

    /// Starts a second process with a role, beside the first.
    pub(crate) fn start_rival(&mut self, role: Role) -> Result<()> {
        let (place, mut program) = (self.network.place(role), self.program(role));
        if role == Role::Arena {
            let listen = self.address(role, RIVAL_PORT);
            program.arguments.extend(["--listen", &listen, "--web", "off"].map(str::to_owned));
        }
        let mut rival = Node::new(role, &format!("second-{role}"), place, program, &self.folder)?;
        rival.start()?;
        self.rival = Some(rival);
        Ok(())
    }

    /// Waits a moment and looks at everything. `is_calm`: throughput counts as normal.
    pub(crate) fn tick(&mut self, is_calm: bool) -> Result<()> {
        thread::sleep(TICK);
        for node in self.nodes.values_mut() {
            self.exits.extend(node.watch(self.supervises)?);
        }
        if let Some(rival) = &mut self.rival {
            self.exits.extend(rival.watch(false)?);
        }
        self.meter.sample(is_calm)?;
        if self.audits && self.looked.elapsed() >= LOOK {
            self.looked = Instant::now();
            // One entry is read again, to see that the log continues and does not start anew.
            let first = self.audit.entries().saturating_sub(1);
            // While Redis is away there is nothing to read.
            let _ = self.read_log(first);
        }
        Ok(())
    }

    /// Reads the log of the arena from entry `first` on into the audit.
    fn read_log(&mut self, first: u64) -> Result<()> {
        let mut redis = match self.redis.take() {
            Some(redis) => redis,
            None => Redis::connect(self.network.place(Role::Redis).address)?,
        };
        let (length, lines) = read_list(&mut redis, LOG, first)?;
        self.findings.extend(self.audit.read(length, first, &lines));
        self.redis = Some(redis);
        Ok(())
    }

    /// Reads the whole log of the arena again.
    pub(crate) fn read_whole_log(&mut self) -> Result<()> {
        // A connection may be to a server that was killed since.
        self.redis = None;
        self.read_log(0).context("the log of the arena cannot be read")
    }

    /// Cuts the damaged end off the file of Redis, as its error asks for.
    pub(crate) fn repair_store(&self) -> Result<()> {
        let manifest = self.folder.join("redis/appendonlydir/appendonly.aof.manifest");
        let mut command = Command::new("redis-check-aof");
        let command = command.arg("--fix").arg(&manifest).stdin(Stdio::piped());
        let mut child = command.stdout(Stdio::null()).spawn().context("redis-check-aof")?;
        if let Some(mut stdin) = child.stdin.take() {
            // It asks once, unless nothing is damaged.
            let _ = stdin.write_all(b"y\n");
        }
        let status = child.wait()?;
        ensure!(status.success(), "redis-check-aof ends with {status}");
        Ok(())
    }

    /// Stops or continues every process but Redis.
    pub(crate) fn signal_all(&self, signal: &str) -> Result<()> {
        let ours = self.nodes.values().filter(|node| node.role != Role::Redis);
        ours.into_iter().try_for_each(|node| node.signal(signal))
    }
}
