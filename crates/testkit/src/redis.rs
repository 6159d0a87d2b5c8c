//! Redis servers on free ports, with the settings and users of the containers.
//!
//! The files of `deploy/redis` are compiled in, so a test on such a server also shows that these
//! settings suffice. Without `redis-server` on this machine a test is skipped, unless all checks are
//! required.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::process::Process;

/// Longest time until a server answers.
const PATIENCE: Duration = Duration::from_secs(30);
/// Interval between two attempts to connect.
const LOOK: Duration = Duration::from_millis(10);

/// Settings of the server in `compose.yaml`.
const SETTINGS: &str = include_str!("../../../deploy/redis/redis.conf");
/// Its users, with placeholders for the hashes of the passwords.
pub const USERS: &str = include_str!("../../../deploy/redis/users.acl");
/// The password of `arena` and of `worker`.
pub const PASSWORD: &str = "right";
/// A user of the tests that may run every command.
const ADMIN: &str = "user admin on nopass ~* &* +@all";

/// A Redis server that loses nothing, with its files in a given folder.
#[derive(Debug)]
pub struct RedisServer {
    process: Process,
    address: SocketAddr,
    folder: PathBuf,
}

impl RedisServer {
    /// Starts a server; `None` if none is installed.
    pub fn start(folder: &Path) -> Option<Self> {
        Self::start_with(folder, &[])
    }

    /// Like [`start`](Self::start), with more settings until the server is started again.
    pub fn start_with(folder: &Path, more: &[&str]) -> Option<Self> {
        let version = Command::new("redis-server").arg("--version").stdout(Stdio::null()).status();
        if !version.is_ok_and(|status| status.success()) {
            assert!(!crate::requires_all_checks(), "redis-server is missing; install it");
            crate::not_run("redis-server is not installed");
            return None;
        }
        let users = USERS.lines().filter(|line| !line.starts_with('#')).chain([ADMIN]);
        let users = users.collect::<Vec<_>>().join("\n");
        // A rule that starts with `>` gives the password, one with `#` its hash.
        let users = ["#{arena_sha256}", "#{worker_sha256}", "#{keda_sha256}"]
            .iter()
            .fold(users, |users, hash| users.replace(hash, &format!(">{PASSWORD}")));
        fs::write(folder.join("users.acl"), users).expect("the folder takes files");
        fs::write(folder.join("redis.conf"), SETTINGS).expect("the folder takes files");
        let free = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = free.local_addr().expect("it has an address");
        drop(free);
        let (process, folder) = (launch(address, folder, more), folder.to_owned());
        let server = Self { process, address, folder };
        server.wait();
        Some(server)
    }

    /// Address of the port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL of the server, with a user and its password. `arena` and `worker` are those of the
    /// containers, `admin` may run every command.
    pub fn url(&self, user: &str) -> String {
        format!("redis://{user}:{PASSWORD}@{}", self.address)
    }

    /// Sends a signal to the server, such as `-STOP`.
    pub fn signal(&mut self, signal: &str) {
        self.process.signal(signal);
    }

    /// Kills the server, as a power failure would.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Starts the server again after a kill, with its files.
    pub fn start_again(&mut self) {
        self.process = launch(self.address, &self.folder, &[]);
        self.wait();
    }

    /// Kills the server and starts it again.
    pub fn restart(&mut self) {
        self.kill();
        self.start_again();
    }

    /// Waits until the server has loaded its files.
    fn wait(&self) {
        let start = Instant::now();
        while !self.is_ready().unwrap_or(false) {
            assert!(start.elapsed() < PATIENCE, "redis-server does not start");
            std::thread::sleep(LOOK);
        }
    }

    fn is_ready(&self) -> io::Result<bool> {
        let mut stream = TcpStream::connect(self.address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(b"AUTH admin any\r\nPING\r\n")?;
        let mut answer = [0; 12];
        stream.read_exact(&mut answer)?;
        Ok(&answer == b"+OK\r\n+PONG\r\n")
    }
}

fn launch(address: SocketAddr, folder: &Path, more: &[&str]) -> Process {
    let mut command = Command::new("redis-server");
    command.arg(folder.join("redis.conf"));
    command.args(["--bind", "127.0.0.1", "--port", &address.port().to_string(), "--dir"]);
    command.arg(folder).arg("--aclfile").arg(folder.join("users.acl"));
    Process::start(command.args(more).stdout(Stdio::null()))
}
