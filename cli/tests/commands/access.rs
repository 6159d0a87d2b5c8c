//! Tokens between the real processes, and the command that makes them.
#![cfg(unix)]

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use ouro_proto::{ArenaClient, Credential, StatusClient};
use ouro_testkit::process::{Process, run};

/// Time limit of every wait in these tests.
const PATIENCE: Duration = Duration::from_secs(240);

/// A settings file that trains a new generation within seconds.
const SMALL: &str = "preset = \"tictactoe\"\ngeneration_steps = 20\n[net]\nkind = \"conv\"\nchannels = 4\n\
                     layers = 1\nhidden = 8\n[actor.search]\nsimulations = 4\n[replay]\n\
                     min_positions = 256\n[train]\nbatch_moves = 64\n[arena.gate]\ngames = 20\n";

/// The file of a token.
fn file_of(name: &str) -> String {
    format!("{name}.token")
}

/// The folder of the programs.
fn programs() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_ouro")).parent().expect("a program lies in a folder")
}

fn ouro(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ouro"));
    command.current_dir(folder);
    command
}

/// A run whose three services ask for tokens, each with a token of its own role.
struct Cluster {
    folder: tempfile::TempDir,
    arena: String,
    learner: String,
}

impl Cluster {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a scratch folder");
        fs::write(folder.path().join("run.toml"), SMALL).expect("it is written");
        let ports = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").expect("a free port"));
        let [arena, learner] = ports
            .map(|port| format!("127.0.0.1:{}", port.local_addr().expect("it has one").port()));
        let cluster = Self { folder, arena, learner };
        for (name, role) in
            [("learner", "learner"), ("fleet", "actor"), ("me", "reader"), ("other", "actor")]
        {
            cluster.create(name, role);
        }
        cluster
    }

    fn create(&self, name: &str, role: &str) {
        let arguments = ["token", "create", name, "--role", role, "--out", &file_of(name)];
        assert_eq!(run(ouro(self.folder.path()).args(arguments)).success(), "");
    }

    fn token(&self, name: &str) -> PathBuf {
        self.folder.path().join(file_of(name))
    }

    fn command(&self, program: &str, token: &str) -> Command {
        let mut command = Command::new(programs().join(program));
        command
            .current_dir(self.folder.path())
            .env("OURO_ARENA", &self.arena)
            .env("OURO_LEARNER", &self.learner)
            .env("OURO_TOKENS", "tokens.toml")
            .env("OURO_TOKEN_FILE", file_of(token))
            .env("OURO_WEB", "off")
            .env("OURO_DEVICE", "cpu")
            .env("OURO_THREADS", "1")
            .env("RUST_LOG", "warn");
        command
    }

    fn start(&self, program: &str, token: &str) -> Process {
        Process::start(&mut self.command(program, token))
    }

    /// Waits until the learner refuses a token.
    async fn refuses(&self, token: String) {
        let (start, url) = (Instant::now(), format!("http://{}", self.learner));
        let mut client = StatusClient::new(&url, Credential::Text(token), None).expect("a URL");
        while !client.get().await.is_err_and(|error| error.is_refusal()) {
            assert!(start.elapsed() < PATIENCE, "the token stays valid");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Waits until the arena has this generation, and returns its newest one.
    async fn generation(&self, wanted: u32) -> u32 {
        let start = Instant::now();
        loop {
            assert!(start.elapsed() < PATIENCE, "generation {wanted} does not come");
            let client = ArenaClient::new(&format!("http://{}", self.arena)).expect("a URL");
            let mut client = client.credential(Credential::File(self.token("me")));
            let newest = client.get_pool().await.ok().and_then(|pool| pool.newest);
            let newest = newest.map(|newest| newest.generation.0);
            if let Some(newest) = newest.filter(|newest| *newest >= wanted) {
                return newest;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guarded_run_trains_and_lets_nobody_else_in() {
    let cluster = Cluster::new();
    let (_arena, _learner) =
        (cluster.start("ouro-arena", "learner"), cluster.start("ouro-learner", "learner"));
    cluster.generation(0).await;
    let refused = |name: &str, token: &str, parts: &[&str]| {
        let mut command = cluster.command("ouro-actor", token);
        let actor = Process::start_piped(command.env("OURO_NAME", name).env("RUST_LOG", "error"));
        actor.end_within(PATIENCE).assert_refused(69, parts);
    };
    // Under the name of another, with a role that may not push, with a secret that is not known.
    refused("other", "fleet", &["the token of fleet is not one of actor other", "deploy.name"]);
    refused("me", "me", &["a token of role reader may not call", "Push"]);
    fs::write(cluster.token("forged"), format!("fleet.{}\n", "0".repeat(64))).expect("written");
    refused("fleet", "forged", &["this token is not valid here"]);
    refused("fleet", "missing", &["token file missing.token cannot be read", "ouro token create"]);

    let mut actors = ["fleet.1", "fleet.2"]
        .map(|name| Process::start(cluster.command("ouro-actor", "fleet").env("OURO_NAME", name)));
    cluster.generation(2).await;
    // Another token takes its place in the file. The two change over when the first is revoked.
    let old = fs::read_to_string(cluster.token("fleet")).expect("a token").trim().to_owned();
    let new = ["token", "create", "fleet", "--role", "actor", "--out", "fleet.new"];
    assert_eq!(run(ouro(cluster.folder.path()).args(new)).success(), "");
    fs::rename(cluster.folder.path().join("fleet.new"), cluster.token("fleet")).expect("renamed");
    let keep = ["token", "revoke", "fleet", "--keep-newest"];
    let revoked = run(ouro(cluster.folder.path()).args(keep)).success();
    assert_eq!(revoked, "1 of fleet revoked\n");
    cluster.refuses(old).await;
    let newest = cluster.generation(2).await;
    cluster.generation(newest + 3).await;
    assert!(actors.iter_mut().all(Process::is_running));
    // They end by themselves once their token is gone.
    let revoked = run(ouro(cluster.folder.path()).args(["token", "revoke", "fleet"])).success();
    assert_eq!(revoked, "1 of fleet revoked\n");
    for actor in &mut actors {
        assert_eq!(actor.wait().code(), Some(69));
    }
    // The others go on.
    let mut command = cluster.command("ouro-actor", "other");
    let mut other = Process::start(command.env("OURO_NAME", "other"));
    let newest = cluster.generation(2).await;
    cluster.generation(newest + 3).await;
    other.signal("-TERM");
    assert!(other.wait().success());
}

#[test]
fn a_port_that_others_reach_needs_tokens_or_a_clear_word() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    fs::write(folder.path().join("run.toml"), SMALL).expect("it is written");
    for (program, key) in [("ouro-arena", "deploy.arena"), ("ouro-learner", "deploy.learner")] {
        let mut command = Command::new(programs().join(program));
        command.current_dir(folder.path()).args(["--listen", "0.0.0.0:0"]);
        run(&mut command).assert_refused(64, &[key, "0.0.0.0:0", "ouro token", "--insecure"]);
        command.args(["--tokens", "none.toml"]);
        run(&mut command).assert_refused(64, &["deploy.tokens", "none.toml", "ouro token create"]);
    }
    let mut arena = Command::new(programs().join("ouro-arena"));
    arena.current_dir(folder.path()).args(["--web", "0.0.0.0:0"]);
    run(&mut arena).assert_refused(64, &["deploy.web", "--insecure"]);
    let mut train = ouro(folder.path());
    train.args(["train", "tictactoe", "--web", "0.0.0.0:0", "--for", "1s", "--run", "here"]);
    run(&mut train).assert_refused(64, &["deploy.web", "--insecure"]);
    assert!(!folder.path().join("here/arena").exists(), "nothing is left");
}

#[test]
fn tokens_are_listed_without_secrets_and_errors_are_one_line() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let token = |arguments: &[&str]| {
        let mut command = ouro(folder.path());
        run(command.arg("token").args(arguments))
    };
    let secret = token(&["create", "me", "--role", "reader", "--days", "30"]).success();
    let secret = secret.trim().strip_prefix("me.").expect("the token of me").to_owned();
    assert_eq!(secret.len(), 64);
    let list = token(&["list"]).success();
    assert!(list.starts_with("me  reader  created ") && !list.contains(&secret), "{list}");
    token(&["create", "me", "--role", "admin"]).assert_refused(64, &["me is reader already"]);
    token(&["create", "a b", "--role", "admin"]).assert_refused(64, &["\"a b\" is not a name"]);
    token(&["create", "x", "--role", "king"]).assert_refused(64, &["no role", "reader"]);
    token(&["revoke", "you"]).assert_refused(64, &["you has no token"]);
    token(&["list", "--tokens", "none"]).assert_refused(66, &["none"]);
    fs::write(folder.path().join("run.toml"), SMALL).expect("it is written");
    let file = folder.path().join("run.toml");
    token(&["list", "--tokens", &file.display().to_string()]).assert_refused(65, &["tokens file"]);
    // A secret never replaces a file.
    let kept = ["create", "you", "--role", "reader", "--out", "run.toml"];
    token(&kept).assert_refused(74, &["run.toml exists", "name another file with --out"]);
    assert_eq!(fs::read_to_string(&file).expect("it is there"), SMALL);
    assert!(!token(&["list"]).success().contains("you"), "no token without its secret");
}

#[test]
fn the_file_of_a_token_is_never_the_tokens_file_and_is_removed_if_that_cannot_be_written() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let create = |arguments: &[&str]| {
        let command = ["token", "create", "me", "--role", "reader"];
        run(ouro(folder.path()).args(command).args(arguments))
    };
    for out in ["tokens.toml", "./tokens.toml", "tokens.toml.new"] {
        create(&["--out", out]).assert_refused(64, &[out, "tokens file", "--out"]);
    }
    create(&["--out", "me.token", "--tokens", "none/tokens.toml"])
        .assert_refused(66, &["none/tokens.toml", "in a folder that exists"]);
    let left = fs::read_dir(folder.path()).expect("the folder is there");
    assert_eq!(left.count(), 0, "neither a token nor a tokens file is left");
    assert_eq!(create(&["--out", "me.token"]).success(), "");
}

#[test]
fn tokens_that_are_created_at_once_are_all_kept() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let names: Vec<String> = (0..8).map(|number| format!("actor-{number}")).collect();
    let start = |name: &String| {
        let mut command = ouro(folder.path());
        Process::start_piped(command.args(["token", "create", name, "--role", "actor"]))
    };
    let processes: Vec<_> = names.iter().map(start).collect();
    for process in processes {
        process.end().success();
    }
    let list = run(ouro(folder.path()).args(["token", "list"])).success();
    assert!(names.iter().all(|name| list.contains(name)), "{list}");
}
