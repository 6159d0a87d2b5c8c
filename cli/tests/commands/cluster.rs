//! A run of four processes: what the arena's page shows of the others, their metrics, their logs.
#![cfg(unix)]

use std::fs::{self, File};
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::Command;

use crate::support::http::{value, wait};
use crate::support::programs::programs;
use ouro_testkit::process::Process;
use serde_json::Value;

/// Tic-tac-toe with a network that evaluates within microseconds, and short generations.
const SETTINGS: &str = r#"
preset = "tictactoe"
generation_steps = 20

[net]
kind = "mlp"
layers = 1
hidden = 8
"#;

/// The services and two actors, with a port for each and one for the metrics of each.
const PROCESSES: [&str; 4] = ["arena", "learner", "first", "second"];

/// The service that a process runs.
fn service_of(name: &str) -> &str {
    if matches!(name, "arena" | "learner") { name } else { "actor" }
}

/// The folder and the addresses of a run.
struct Cluster {
    folder: tempfile::TempDir,
    programs: PathBuf,
    addresses: Vec<SocketAddr>,
}

impl Cluster {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a scratch folder");
        fs::write(folder.path().join("run.toml"), SETTINGS).expect("settings are written");
        // The ports are free once the listeners close. Another process could take one first, but
        // the system assigns ports in turn.
        let listeners: Vec<_> = (0..PROCESSES.len() + 3)
            .map(|_| TcpListener::bind("127.0.0.1:0").expect("a free port"))
            .collect();
        let address = |listener: &TcpListener| listener.local_addr().expect("it has one");
        let addresses = listeners.iter().map(address).collect();
        Self { folder, programs: programs(), addresses }
    }

    fn page(&self) -> SocketAddr {
        self.addresses[PROCESSES.len() + 2]
    }

    /// The address of the metrics of a process.
    fn metrics(&self, name: &str) -> SocketAddr {
        let index = PROCESSES.iter().position(|process| *process == name);
        self.addresses[index.expect("a process of the run")]
    }

    /// Starts a process. Its log is in a file.
    fn start(&self, name: &str) -> Process {
        let service = service_of(name);
        let mut command = Command::new(self.programs.join(format!("ouro-{service}")));
        let log = File::options().append(true).create(true).open(self.log(name));
        command
            .current_dir(self.folder.path())
            .env("OURO_ARENA", self.addresses[PROCESSES.len()].to_string())
            .env("OURO_LEARNER", self.addresses[PROCESSES.len() + 1].to_string())
            .env("OURO_METRICS", self.metrics(name).to_string())
            .env_remove("OURO_RUN")
            .env_remove("RUST_LOG")
            .stderr(log.expect("a file"));
        match service {
            "arena" => command.env("OURO_WEB", self.page().to_string()),
            "learner" => command.env("OURO_DEVICE", "cpu"),
            _ => command.args(["--threads", "1", "--name", name]),
        };
        Process::start(&mut command)
    }

    fn log(&self, name: &str) -> PathBuf {
        self.folder.path().join(format!("{name}.log"))
    }

    /// The lines of the log of a process.
    fn lines(&self, name: &str) -> Vec<Value> {
        let text = fs::read_to_string(self.log(name)).expect("a log");
        let line = |line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{name}: {line}"));
        text.lines().map(line).collect()
    }
}

/// Whether the page lists the actors and has a chart of what they send.
fn shows_the_run(page: &str) -> bool {
    let row = |name: &str| page.contains(&format!("<th scope=\"row\">{name}</th>"));
    let program = format!("ouro-actor/{}", env!("CARGO_PKG_VERSION"));
    let charts = ["positions accepted: ", "loss: ", "replay window: "];
    let has_figures = charts.iter().all(|chart| page.contains(chart));
    row("first") && row("second") && page.contains(&program) && has_figures
}

#[test]
fn the_page_the_metrics_and_the_logs_of_a_cluster_show_every_process() {
    let cluster = Cluster::new();
    let mut arena = cluster.start("arena");
    let mut learner = cluster.start("learner");
    let mut actors = ["first", "second"].map(|name| cluster.start(name));

    let page = wait(cluster.page(), "/", "a page with all actors", shows_the_run);
    assert!(!page.contains("does not answer"), "{page}");
    let scrape = |name: &str| {
        let is_known = |text: &str| text.contains("run=\"") && !text.contains("run=\"\"");
        wait(cluster.metrics(name), "/metrics", "metrics of a known run", is_known)
    };
    let run_of = |text: &str| {
        let (_, rest) = text.split_once("run=\"").expect("a run");
        rest.split_once('"').expect("a quote").0.to_owned()
    };
    let texts = PROCESSES.map(scrape);
    let run = run_of(&texts[0]);
    for (name, text) in PROCESSES.iter().zip(&texts) {
        assert_eq!(run_of(text), run, "{name}");
        let service = service_of(name);
        assert!(text.contains(&format!("service=\"{service}\"")), "{name}: {text}");
        let own = |line: &str| line.starts_with(&format!("ouro_{service}_"));
        let any = |line: &str| line.starts_with("ouro_learner_") || line.starts_with("ouro_arena_");
        assert!(text.lines().any(own), "{name}");
        assert!(text.lines().filter(|line| any(line)).all(own), "{name} reports others' series");
    }
    assert_eq!(value(&texts[1], "ouro_learner_connected_actors"), Some(2.0));
    assert_eq!(value(&texts[0], "ouro_arena_learner_reachable"), Some(1.0));

    // Without the learner the page says so, and keeps the last figures.
    learner.kill();
    let away = |page: &str| page.contains("does not answer");
    let page = wait(cluster.page(), "/", "a page without the learner", away);
    assert!(page.contains("<th scope=\"row\">first</th>"), "{page}");
    let is_away = |text: &str| value(text, "ouro_arena_learner_reachable") == Some(0.0);
    wait(cluster.metrics("arena"), "/metrics", "an unreachable learner", is_away);
    let is_alone = |text: &str| {
        value(text, "ouro_actor_connected{service=\"learner\"}") == Some(0.0)
            && value(text, "ouro_actor_connected{service=\"arena\"}") == Some(1.0)
    };
    wait(cluster.metrics("first"), "/metrics", "an actor without the learner", is_alone);
    let mut learner = cluster.start("learner");
    let is_back = |page: &str| shows_the_run(page) && !away(page);
    wait(cluster.page(), "/", "the learner and its actors again", is_back);

    for process in actors.iter_mut().chain([&mut learner, &mut arena]) {
        process.signal("-TERM");
        assert_eq!(process.wait().code(), Some(0), "a clean end");
    }
    // Each line names its service, and the run and the generation once they are known.
    for name in PROCESSES {
        let lines = cluster.lines(name);
        let service = service_of(name);
        assert!(lines.iter().all(|line| line["service"] == service), "{name}: {lines:?}");
        let last = lines.last().expect("a line");
        assert_eq!(last["run"], *run, "{name}");
        assert!(last["generation"].is_number(), "{name}: {last}");
        assert_eq!(last["actor"].as_str(), (service == "actor").then_some(name), "{last}");
    }
    // The arena logs each time that the learner left or came back once, whatever the number of
    // requests.
    let lines = cluster.lines("arena");
    let count = |text: &str| {
        let has = |line: &&Value| line["message"].as_str().is_some_and(|it| it.starts_with(text));
        lines.iter().filter(has).count()
    };
    // It may also have been away at the start, and at the end.
    let (away, back) = (count("the learner does not answer"), count("the learner answers"));
    assert!((1..=2).contains(&back) && (back..=back + 1).contains(&away), "{away} {back}");
}
