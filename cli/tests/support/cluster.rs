//! A run of an arena, a learner and actors, each a process of its own.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use ouro_proto::{ArenaClient, Credential};
use ouro_testkit::process::{Ended, Process, run};

use super::programs::programs;

/// Longest time until the cluster does what a test waits for.
pub(crate) const PATIENCE: Duration = Duration::from_secs(240);

/// Settings that make a generation within seconds.
pub(crate) const SETTINGS: &str = "preset = \"tictactoe\"\ngeneration_steps = 20\n[net]\n\
                                   kind = \"conv\"\nchannels = 4\nlayers = 1\nhidden = 8\n\
                                   [actor.search]\nsimulations = 4\n[replay]\nmin_positions = 256\n\
                                   [train]\nbatch_moves = 64\n[arena.gate]\ngames = 20\n";

/// The addresses of a run and the folder that holds it.
pub(crate) struct Cluster {
    folder: tempfile::TempDir,
    pub(crate) arena: String,
    pub(crate) learner: String,
    /// File with the token that every process presents, if they ask for tokens.
    pub(crate) token: Option<String>,
}

impl Cluster {
    /// A run in the folder `run`, of which nothing runs yet.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let ports = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").expect("a free port"));
        // The ports are free once the listeners close. Another process could take one first, but
        // the system assigns ports in turn.
        let [arena, learner] = ports
            .map(|port| format!("127.0.0.1:{}", port.local_addr().expect("it has one").port()));
        let cluster = Self { folder, arena, learner, token: None };
        fs::create_dir(cluster.path("run")).expect("a folder");
        fs::write(cluster.path("run/run.toml"), SETTINGS).expect("it is written");
        cluster
    }

    /// A path in the scratch folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn prepared(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.folder.path())
            .env("OURO_ARENA", &self.arena)
            .env("OURO_LEARNER", &self.learner)
            .env_remove("OURO_RUN")
            .env_remove("OURO_CONFIG")
            .env("RUST_LOG", "warn");
        if let Some(token) = &self.token {
            command.env("OURO_TOKEN_FILE", self.path(token));
        }
        command
    }

    /// Starts a service, such as `arena`, of the run in the folder `run`.
    pub(crate) fn start(&self, service: &str, run: &str, arguments: &[&str]) -> Process {
        let mut command = self.prepared(&programs().join(format!("ouro-{service}")));
        command.args(["--config", &format!("{run}/run.toml")]).args(arguments);
        match service {
            "arena" => command.env("OURO_WEB", "off"),
            "learner" => command.env("OURO_DEVICE", "cpu"),
            _ => command.env("OURO_THREADS", "1"),
        };
        if self.token.is_some() && service != "actor" {
            command.env("OURO_TOKENS", self.path("tokens.toml"));
        }
        Process::start(&mut command)
    }

    /// Runs the command `ouro`.
    pub(crate) fn ouro(&self, arguments: &[&str]) -> Ended {
        run(self.prepared(Path::new(env!("CARGO_BIN_EXE_ouro"))).args(arguments))
    }

    /// Waits until the arena has this generation, and returns its newest.
    pub(crate) async fn generation(&self, wanted: u32) -> u32 {
        let start = Instant::now();
        loop {
            assert!(start.elapsed() < PATIENCE, "generation {wanted} does not come");
            let client = ArenaClient::new(&format!("http://{}", self.arena)).expect("a URL");
            let token = self.token.as_ref().map(|token| Credential::File(self.path(token)));
            let mut client = client.credential(token.unwrap_or_default());
            let newest = client.get_pool().await.ok().and_then(|pool| pool.newest);
            match newest.map(|newest| newest.generation.0) {
                Some(newest) if newest >= wanted => return newest,
                // The arena may not listen yet.
                _ => tokio::time::sleep(Duration::from_millis(100)).await,
            }
        }
    }
}
