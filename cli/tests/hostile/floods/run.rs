//! The run under attack: its ports, its games, and its peaks of memory and open files.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::thread;

use ouro_proto::learner::v1::GetStatusRequest;
use ouro_proto::learner::v1::learner_service_client::LearnerServiceClient;
use ouro_testkit::process::Process;
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::support::flood::table::Port;

/// Tic-tac-toe with a network that evaluates within microseconds.
const SETTINGS: &str = "preset = \"tictactoe\"\n[net]\nkind = \"mlp\"\nlayers = 1\nhidden = 8\n";

/// A running `ouro train` with few open files.
pub(crate) struct FloodedRun {
    process: Process,
    runtime: Runtime,
    arena: SocketAddr,
    learner: SocketAddr,
    metrics: SocketAddr,
    /// Address of the page.
    pub(crate) web: SocketAddr,
    /// Largest resident memory since [`reset_peaks`](Self::reset_peaks), in bytes.
    pub(crate) peak_memory: u64,
    /// Most open files since then, as far as sampled.
    pub(crate) peak_files: usize,
    _home: tempfile::TempDir,
}

impl FloodedRun {
    pub(crate) fn start() -> Self {
        let home = tempfile::tempdir().expect("a scratch folder");
        fs::write(home.path().join("small.toml"), SETTINGS).expect("it is written");
        let mut command = Command::new("sh");
        command
            .args(["-c", "ulimit -n 1024; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_ouro")])
            .args(["train", "--config", "small.toml", "--run", "run", "--device", "cpu"])
            .args(["--threads", "1", "--arena", "127.0.0.1:0", "--learner", "127.0.0.1:0"])
            .args(["--web", "127.0.0.1:0", "--metrics", "127.0.0.1:0"])
            .current_dir(home.path())
            .env_remove("OURO_RUN")
            // The log lines about refused games and connections are throttled; they are not read.
            .stderr(Stdio::null())
            .stdout(Stdio::piped());
        let mut process = Process::start(&mut command);
        let mut lines = BufReader::new(process.stdout()).lines().map_while(Result::ok);
        let start: Value = loop {
            let line = lines.next().expect("the run starts");
            let event: Value = serde_json::from_str(&line).expect("JSON");
            if event["event"] == "start" {
                break event;
            }
        };
        // The other events are read, so that the pipe never fills.
        thread::spawn(move || lines.for_each(drop));
        let address = |name: &str| {
            let text = start[name].as_str().expect("an address");
            let text = text.trim_start_matches("http://").trim_end_matches("/metrics");
            text.parse().expect("an address")
        };
        Self {
            process,
            runtime: Runtime::new().expect("a runtime"),
            arena: address("arena"),
            learner: address("learner"),
            metrics: address("metrics"),
            web: address("page"),
            peak_memory: 0,
            peak_files: 0,
            _home: home,
        }
    }

    pub(crate) fn address(&self, port: Port) -> SocketAddr {
        match port {
            Port::Page => self.web,
            Port::Arena => self.arena,
            Port::Learner => self.learner,
            Port::Metrics => self.metrics,
        }
    }

    /// Games that the learner has accepted; `None` if it does not answer.
    pub(crate) fn games(&self) -> Option<u64> {
        let url = format!("http://{}", self.learner);
        self.runtime.block_on(async {
            let mut client = LearnerServiceClient::connect(url).await.ok()?;
            Some(client.get_status(GetStatusRequest {}).await.ok()?.into_inner().games as u64)
        })
    }

    /// Starts new peaks.
    pub(crate) fn reset_peaks(&mut self) {
        (self.peak_memory, self.peak_files) = (0, 0);
        // 5 resets the peak of resident memory (proc(5), clear_refs).
        fs::write(format!("/proc/{}/clear_refs", self.process.id()), "5").expect("an own process");
    }

    /// Raises the peaks to the present use.
    pub(crate) fn sample(&mut self) {
        assert!(self.process.is_running(), "the flood ended the run");
        let usage = self.process.usage().expect("a running process");
        self.peak_memory = self.peak_memory.max(usage.peak_memory);
        self.peak_files = self.peak_files.max(usage.files);
    }

    /// Drains the run.
    pub(crate) fn end(mut self) {
        self.process.signal("-INT");
        assert_eq!(self.process.wait().code(), Some(0), "a clean end");
    }
}
