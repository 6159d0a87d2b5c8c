//! Redis servers on free ports.

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

/// A Redis server that loses nothing, with its files in a given folder.
#[derive(Debug)]
pub struct RedisServer {
    process: Process,
    address: SocketAddr,
    folder: PathBuf,
}

impl RedisServer {
    /// Starts a server; `None` if none is installed, unless all checks are required.
    pub fn start(folder: &Path) -> Option<Self> {
        let version = Command::new("redis-server").arg("--version").stdout(Stdio::null()).status();
        if !version.is_ok_and(|status| status.success()) {
            assert!(!crate::requires_all_checks(), "redis-server is missing; install it");
            crate::not_run("redis-server is not installed");
            return None;
        }
        let free = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = free.local_addr().expect("it has an address");
        drop(free);
        let (process, folder) = (launch(address, folder), folder.to_owned());
        let server = Self { process, address, folder };
        server.wait();
        Some(server)
    }

    /// The URL of the server.
    pub fn url(&self) -> String {
        format!("redis://{}", self.address)
    }

    /// Kills the server, as a power failure would.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Starts the server again after a kill, with its files.
    pub fn start_again(&mut self) {
        self.process = launch(self.address, &self.folder);
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
        stream.write_all(b"PING\r\n")?;
        let mut answer = [0; 5];
        stream.read_exact(&mut answer)?;
        Ok(&answer == b"+PONG")
    }
}

fn launch(address: SocketAddr, folder: &Path) -> Process {
    let mut command = Command::new("redis-server");
    command.args(["--bind", "127.0.0.1", "--port", &address.port().to_string(), "--dir"]);
    command.arg(folder).args(["--appendonly", "yes", "--appendfsync", "always", "--save", ""]);
    command.args(["--aof-load-truncated", "no", "--maxmemory-policy", "noeviction"]);
    Process::start(command.stdout(Stdio::null()))
}
