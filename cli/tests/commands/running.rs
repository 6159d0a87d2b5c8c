//! Runs the commands of `docs/running.md`: three processes on one machine, from one `run.toml`.
//!
//! The test reads the commands from the page. It changes only ports, device and threads, by the
//! variables that the page names. The run is small enough to promote within seconds.
#![cfg(unix)]

use std::fs;
use std::net::TcpListener;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use crate::support::programs::programs;
use ouro_proto::arena_client::ArenaClient;
use ouro_proto::pool::Pool;

/// Time limit of every wait in this test.
const PATIENCE: Duration = Duration::from_secs(240);
/// Interval between two requests for the pool.
const LOOK: Duration = Duration::from_millis(200);

/// Returns the commands of a section of the page, without their prompts.
fn commands(section: &str) -> Vec<String> {
    let page = fs::read_to_string("../docs/running.md").expect("the page is there");
    let (_, rest) = page.split_once(&format!("## {section}\n")).expect("the section is there");
    let section = rest.split("\n## ").next().unwrap_or(rest);
    section.lines().filter_map(|line| line.strip_prefix("$ ")).map(str::to_owned).collect()
}

/// A scratch folder in which the commands run, with ports of its own.
struct Home {
    folder: tempfile::TempDir,
    path: String,
    ports: [u16; 3],
}

impl Home {
    fn new() -> Self {
        // The ports are free once the listeners close. Another process could take one first, but
        // the system assigns ports in turn.
        let listeners = [(); 3].map(|()| TcpListener::bind("127.0.0.1:0").expect("a free port"));
        let ports = listeners.map(|listener| listener.local_addr().expect("it has one").port());
        let usual = std::env::var("PATH").unwrap_or_default();
        Self {
            folder: tempfile::tempdir().expect("a scratch folder"),
            path: format!("{}:{usual}", programs().display()),
            ports,
        }
    }

    /// Prepares a command of the page. With `exec`, signals reach the program, not the shell.
    fn command(&self, line: &str) -> Command {
        let [arena, learner, web] = self.ports.map(|port| format!("127.0.0.1:{port}"));
        let mut command = Command::new("sh");
        command
            .args(["-c", &format!("exec {line}")])
            .current_dir(self.folder.path())
            .env("PATH", &self.path)
            .env("OURO_ARENA", arena)
            .env("OURO_LEARNER", learner)
            .env("OURO_WEB", web)
            .env("OURO_DEVICE", "cpu")
            .env("OURO_THREADS", "1")
            .env("RUST_LOG", "warn");
        command
    }

    /// Runs a command to its end.
    fn run(&self, line: &str) {
        let mut shell = Command::new("sh");
        shell.args(["-c", line]).current_dir(self.folder.path()).env("PATH", &self.path);
        assert!(shell.status().expect("a shell runs").success(), "{line}");
    }

    /// Starts the three services with the commands of the page, in its order.
    fn start(&self, commands: &[String]) -> Services {
        let spawn = |line: &String| self.command(line).spawn().expect("the program starts");
        Services(commands.iter().map(spawn).collect())
    }

    /// Waits until the pool satisfies `wanted`, and returns it.
    async fn pool(&self, wanted: impl Fn(&Pool) -> bool) -> Pool {
        let start = Instant::now();
        loop {
            assert!(start.elapsed() < PATIENCE, "the pool does not become what it should");
            let url = format!("http://127.0.0.1:{}", self.ports[0]);
            let mut client = ArenaClient::new(&url).expect("a URL");
            match client.get_pool().await {
                Ok(pool) if wanted(&pool) => return pool,
                // The arena may not listen yet.
                _ => tokio::time::sleep(LOOK).await,
            }
        }
    }
}

/// Running services, in the order of their start.
struct Services(Vec<Child>);

impl Services {
    /// Stops the services in the order of the page: actors first, the arena last.
    fn stop(mut self) -> Vec<ExitStatus> {
        let children = self.0.iter_mut().rev();
        let stop = |child: &mut Child| {
            let sent = Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
            assert!(sent.expect("kill runs").success(), "the service is there");
            child.wait().expect("it ends")
        };
        children.map(stop).collect()
    }
}

impl Drop for Services {
    fn drop(&mut self) {
        // A failed test must not leave services behind. Killing an ended process is not an error.
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn newest(pool: &Pool) -> u32 {
    pool.newest.as_ref().map_or(0, |newest| newest.generation.0)
}

fn champion(pool: &Pool) -> u32 {
    pool.champion.as_ref().map_or(0, |champion| champion.generation.0)
}

#[tokio::test(flavor = "multi_thread")]
async fn three_processes_from_one_file_train_promote_and_resume() {
    let home = Home::new();
    let commands = commands("Three processes on one machine");
    let (services, setup): (Vec<String>, Vec<String>) =
        commands.into_iter().partition(|line| line.starts_with("ouro-"));
    for line in &setup {
        home.run(line);
    }
    // The page then starts the arena, the learner and an actor, and mentions a second actor.
    let [arena, learner, actor, second] = &services[..] else { panic!("{services:?}") };
    assert!(second.starts_with(actor.as_str()), "{second}");
    let services = [arena, learner, actor].map(Clone::clone);

    let file = home.folder.path().join("runs/mine/run.toml");
    let settings = fs::read_to_string(&file).expect("the page writes it");
    let mut small: toml::Table = settings.parse().expect("TOML");
    let changes = "generation_steps = 20\n[net]\nchannels = 8\n[actor.search]\nsimulations = 8\n\
                   [replay]\nmin_positions = 512\n[train]\nbatch_moves = 128\nlearning_rate = 0.01\n\
                   [arena]\nplayer = \"net{weights=self,temperature=0.5}\"\nmatch_share = 1.0\n\
                   champion_games = 2\nanchor_games = 2\n[arena.gate]\ngames = 40\n";
    ouro_settings::file::merge(&mut small, changes.parse().expect("TOML"));
    fs::write(&file, small.to_string()).expect("it is written");

    let running = home.start(&services);
    // An untrained network takes about half of the points against `random`, so a promotion
    // requires training.
    let pool = home.pool(|pool| pool.champion.is_some()).await;
    let promoted = champion(&pool);
    let ended = running.stop();
    assert!(ended.iter().all(ExitStatus::success), "a stop is a clean end: {ended:?}");
    for folder in ["arena", "learner", "actor"] {
        assert!(file.with_file_name(folder).is_dir(), "{folder}");
    }

    let running = home.start(&services);
    // The first answer of the arena comes before the others have started, so it counts from there.
    let resumed = newest(&home.pool(|_| true).await);
    let pool = home.pool(|pool| newest(pool) > resumed + 1).await;
    assert!(pool.champion.is_some() && champion(&pool) >= promoted, "promotions are kept");
    let ended = running.stop();
    assert!(ended.iter().all(ExitStatus::success), "a stop is a clean end: {ended:?}");
}
