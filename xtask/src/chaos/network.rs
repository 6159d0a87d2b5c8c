//! A network of its own for each process, whose packets pass through the harness.
//!
//! Each process has a network namespace with a TUN device. `socat` carries the packets of the device as
//! datagrams of a Unix socket to the [`Switch`], which drops, delays or forwards each of them. Unlike a
//! proxy of TCP connections, this shows the processes real packet loss: their kernels retransmit, back
//! off and time out. `tc netem` would do the same, but not every kernel has it.

use std::fs;
use std::io;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::fault::Role;
use super::switch::{Rules, Switch, Traffic};

/// Last part of the harness's own address.
const HARNESS: u8 = 254;
/// Larger than the usual 1,500 bytes, because each packet costs several switches between processes.
const PACKET_BYTES: &str = "9000";
/// Longest time until a device exists.
const PATIENCE: Duration = Duration::from_secs(10);
/// The folder in which `ip netns` keeps namespaces.
const NAMESPACES: &str = "/var/run/netns";
/// The start of the names of our namespaces; the id of the harness follows.
const PREFIX: &str = "ouro-chaos-";

/// Where a process is.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) address: Ipv4Addr,
    /// `None`: the namespace of the harness.
    pub(crate) namespace: Option<PathBuf>,
}

/// The network of all processes.
#[derive(Debug)]
pub(crate) struct Network {
    /// The first three parts of all addresses.
    net: [u8; 3],
    /// `None` without the right to make namespaces: all processes are on loopback then.
    own: Option<Own>,
}

/// Namespaces and their switch.
#[derive(Debug)]
struct Own {
    rules: Arc<Mutex<Rules>>,
    traffic: Arc<Traffic>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    carriers: Vec<Child>,
    namespaces: Vec<String>,
}

impl Network {
    /// Processes on loopback addresses, without network faults.
    pub(crate) fn loopback() -> Self {
        Self { net: [127, 77, (std::process::id() % 250) as u8], own: None }
    }

    /// A namespace for each process. `folder` holds the sockets.
    pub(crate) fn with_namespaces(folder: &Path, seed: u64) -> Result<Self> {
        sweep();
        let net = [10, 77, (std::process::id() % 250) as u8];
        let rules = Arc::new(Mutex::new(Rules::default()));
        let (traffic, stop) = (Arc::<Traffic>::default(), Arc::<AtomicBool>::default());
        // The socket exists before a carrier starts: a carrier ends if its first packet is refused.
        let switch = Switch::open(folder, seed, Arc::clone(&rules), Arc::clone(&traffic))?;
        let own = Own {
            rules,
            traffic,
            stop: Arc::clone(&stop),
            thread: Some(thread::spawn(move || switch.run(&stop))),
            carriers: Vec::new(),
            namespaces: Vec::new(),
        };
        let mut network = Self { net, own: Some(own) };
        let members = Role::all().into_iter().map(Some).chain([None]);
        members.into_iter().try_for_each(|member| network.join(folder, member))?;
        Ok(network)
    }

    /// Adds a process, or the harness, to the network.
    fn join(&mut self, folder: &Path, member: Option<Role>) -> Result<()> {
        let address = self.address(member.map_or(HARNESS, Role::number));
        let Some(own) = &mut self.own else { return Ok(()) };
        let (device, inside) = match member {
            None => (format!("ouro{}", std::process::id()), None),
            Some(role) => {
                let name = format!("{PREFIX}{}-{role}", std::process::id());
                run(Command::new("ip").args(["netns", "add", &name]))?;
                own.namespaces.push(name.clone());
                let path = namespace(&name);
                run(within(Some(&path), "ip").args(["link", "set", "lo", "up"]))?;
                ("ouro".to_owned(), Some(path))
            }
        };
        let (hub, socket) = (Switch::socket(folder), Switch::member(folder, address.octets()[3]));
        let mut carrier = within(inside.as_deref(), "socat");
        carrier
            .args(["-b", "65536"])
            .arg(format!("TUN:{address}/24,tun-name={device},iff-no-pi,up"))
            .arg(format!("UNIX-SENDTO:{},bind={}", hub.display(), socket.display()))
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        own.carriers.push(carrier.spawn().context("cannot start socat; install it")?);
        let start = Instant::now();
        let widen = || {
            let mut command = within(inside.as_deref(), "ip");
            run(command.args(["link", "set", &device, "mtu", PACKET_BYTES]))
        };
        while let Err(error) = widen() {
            ensure!(start.elapsed() < PATIENCE, "{device} does not appear: {error:#}");
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    fn address(&self, number: u8) -> Ipv4Addr {
        let [a, b, c] = self.net;
        Ipv4Addr::new(a, b, c, number)
    }

    /// Where a process is.
    pub(crate) fn place(&self, role: Role) -> Place {
        let name = |_| namespace(&format!("{PREFIX}{}-{role}", std::process::id()));
        Place { address: self.address(role.number()), namespace: self.own.as_ref().map(name) }
    }

    /// Whether network faults are possible.
    pub(crate) fn has_faults(&self) -> bool {
        self.own.is_some()
    }

    /// Changes how packets are treated.
    pub(crate) fn rules(&self, change: impl FnOnce(&mut Rules)) {
        if let Some(own) = &self.own {
            change(&mut own.rules.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// Packets that were forwarded and dropped.
    pub(crate) fn packets(&self) -> (u64, u64) {
        self.own.as_ref().map_or((0, 0), |own| own.traffic.counts())
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        for carrier in &mut self.carriers {
            // A carrier that has already ended cannot be killed.
            let _ = carrier.kill();
            let _ = carrier.wait();
        }
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        for name in &self.namespaces {
            let _ = run(Command::new("ip").args(["netns", "del", name]));
        }
    }
}

fn namespace(name: &str) -> PathBuf {
    Path::new(NAMESPACES).join(name)
}

/// A command in a namespace that ends when the harness ends, however it ends.
pub(crate) fn within(namespace: Option<&Path>, program: impl AsRef<Path>) -> Command {
    let mut command = match namespace {
        Some(path) => {
            let mut command = Command::new("nsenter");
            command.arg(format!("--net={}", path.display())).arg("setpriv");
            command
        }
        None => Command::new("setpriv"),
    };
    // Both programs replace themselves with the next one, so the id of the child is that of `program`.
    command.args(["--pdeathsig", "KILL"]).arg(program.as_ref()).stdin(Stdio::null());
    command
}

/// Runs a command whose failure is an error with its own words.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let output = command.output().with_context(|| format!("cannot start {command:?}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{command:?}: {}", said.trim());
    }
    Ok(())
}

/// Removes the namespaces of a harness that was killed.
fn sweep() {
    let Ok(entries) = fs::read_dir(NAMESPACES) else { return };
    for name in
        entries.filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
    {
        let harness = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next());
        if harness.is_some_and(|id| !Path::new("/proc").join(id).exists()) {
            let _ = run(Command::new("ip").args(["netns", "del", &name]));
        }
    }
}

/// Whether this process may make namespaces and mount disks. An error names what is missing.
pub(crate) fn is_permitted() -> io::Result<bool> {
    const SYS_ADMIN: u32 = 21;
    let status = fs::read_to_string("/proc/self/status")?;
    let held = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let held = held.and_then(|held| u64::from_str_radix(held.trim(), 16).ok());
    let device = Path::new("/dev/net/tun").exists();
    Ok(device && held.is_some_and(|held| held >> SYS_ADMIN & 1 == 1))
}
