//! A server of the S3 protocol on a free port: moto, which keeps objects in memory.
//!
//! `OURO_MOTO` names its program `moto_server`. Without it a test is skipped, unless all checks are
//! required.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::process::Process;

/// Longest time until the server answers.
const PATIENCE: Duration = Duration::from_secs(60);
/// Interval between two attempts to connect.
const LOOK: Duration = Duration::from_millis(50);

/// The start of an answer to a request that succeeded.
const OK: &[u8] = b"HTTP/1.1 200";

/// A signature of a known form, which the server does not check. Without one, it refuses to write.
const ANYBODY: &str = "AWS4-HMAC-SHA256 Credential=tests/20260101/us-east-1/s3/aws4_request, \
                       SignedHeaders=host, Signature=0";

/// The bucket that every server has.
pub const BUCKET: &str = "ouro-tests";

/// A server with an empty bucket.
#[derive(Debug)]
pub struct S3Server {
    process: Process,
    program: String,
    address: SocketAddr,
    is_strict: bool,
}

impl S3Server {
    /// Starts a server that checks no signatures; `None` if moto is not installed.
    pub fn start() -> Option<Self> {
        Self::launched(false)
    }

    /// Starts a server without users, which refuses every request; `None` if moto is not installed.
    pub fn start_strict() -> Option<Self> {
        Self::launched(true)
    }

    fn launched(is_strict: bool) -> Option<Self> {
        let program = std::env::var("OURO_MOTO").unwrap_or_else(|_| "moto_server".to_owned());
        let found = Command::new(&program).arg("--help").stdout(Stdio::null()).status();
        if !found.is_ok_and(|status| status.success()) {
            assert!(!crate::requires_all_checks(), "moto_server is missing; set OURO_MOTO");
            crate::not_run("moto_server is not installed; set OURO_MOTO to the program");
            return None;
        }
        let free = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = free.local_addr().expect("it has an address");
        drop(free);
        let process = launch(&program, address, is_strict);
        let server = Self { process, program, address, is_strict };
        server.wait();
        Some(server)
    }

    /// URL of the server.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The variables with which a process reaches the server.
    pub fn variables(&self) -> [(&'static str, String); 4] {
        [
            ("AWS_ENDPOINT_URL", self.url()),
            ("AWS_ACCESS_KEY_ID", "tests".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "secret".to_owned()),
            ("AWS_REGION", "us-east-1".to_owned()),
        ]
    }

    /// Kills the server. Its objects are lost.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Starts the server again after a kill, with an empty bucket.
    pub fn start_again(&mut self) {
        self.process = launch(&self.program, self.address, self.is_strict);
        self.wait();
    }

    /// Stops the server where it is. Connections are accepted, and nothing answers.
    pub fn pause(&mut self) {
        self.process.signal("-STOP");
    }

    /// Lets a paused server go on, with its objects.
    pub fn resume(&mut self) {
        self.process.signal("-CONT");
    }

    /// The keys of all objects of the bucket that start so.
    pub fn keys(&self, prefix: &str) -> Vec<String> {
        let listed = self.ask("GET", &format!("?list-type=2&prefix={prefix}"), b"");
        let listed = String::from_utf8_lossy(&listed.expect("an answer")).into_owned();
        let keys = listed.split("<Key>").skip(1).filter_map(|rest| rest.split_once("</Key>"));
        keys.map(|(key, _)| key.to_owned()).collect()
    }

    /// Replaces the content of an object.
    pub fn put(&self, key: &str, bytes: &[u8]) {
        let answer = self.ask("PUT", &format!("/{key}"), bytes).expect("an answer");
        assert!(answer.starts_with(OK), "{}", String::from_utf8_lossy(&answer));
    }

    /// Waits until the bucket exists.
    fn wait(&self) {
        let start = Instant::now();
        while !self.create_bucket().unwrap_or(false) {
            assert!(start.elapsed() < PATIENCE, "moto_server does not start");
            std::thread::sleep(LOOK);
        }
    }

    fn create_bucket(&self) -> std::io::Result<bool> {
        Ok(self.ask("PUT", "", b"")?.starts_with(OK))
    }

    /// The answer to a request for what follows the bucket in the path.
    fn ask(&self, method: &str, path: &str, body: &[u8]) -> std::io::Result<Vec<u8>> {
        let mut stream = TcpStream::connect(self.address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let (host, length) = (self.address, body.len());
        let head = format!(
            "{method} /{BUCKET}{path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\n\
             Authorization: {ANYBODY}\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(&[head.as_bytes(), body].concat())?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        Ok(answer)
    }
}

fn launch(program: &str, address: SocketAddr, is_strict: bool) -> Process {
    let mut command = Command::new(program);
    if is_strict {
        // The first request creates the bucket.
        command.env("INITIAL_NO_AUTH_ACTION_COUNT", "1");
    }
    command.args(["-H", "127.0.0.1", "-p", &address.port().to_string()]);
    Process::start(command.stdout(Stdio::null()).stderr(Stdio::null()))
}
