//! TLS between the real processes, with the certificates of `deploy/certificates.sh`.
#![cfg(unix)]

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ouro_proto::ArenaClient;
use ouro_testkit::certificates::get_page;
use ouro_testkit::process::{Process, run};
use ouro_tls::{ClientFiles, ClientTls, KeyPairFiles};

/// Time limit of every wait in these tests.
const PATIENCE: Duration = Duration::from_secs(240);

/// A settings file that trains a new generation within seconds.
const SMALL: &str = "preset = \"tictactoe\"\ngeneration_steps = 20\n[net]\nkind = \"conv\"\nchannels = 4\n\
                     layers = 1\nhidden = 8\n[actor.search]\nsimulations = 4\n[replay]\n\
                     min_positions = 256\n[train]\nbatch_moves = 64\n[arena.gate]\ngames = 20\n";

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../deploy/certificates.sh");

/// The folder of the programs.
fn programs() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_ouro")).parent().expect("a program lies in a folder")
}

/// Certificates in a new folder, those of the containers; `None` without openssl.
struct Certificates(tempfile::TempDir);

impl Certificates {
    fn new() -> Option<Self> {
        let version = Command::new("openssl").arg("version").stdout(Stdio::null()).status();
        if !version.is_ok_and(|status| status.success()) {
            assert!(!ouro_testkit::requires_all_checks(), "openssl is missing; install it");
            ouro_testkit::not_run("openssl is not installed");
            return None;
        }
        let made = Self(tempfile::tempdir().expect("a scratch folder"));
        fs::write(made.0.path().join("run.toml"), SMALL).expect("it is written");
        made.script(&[], "90");
        Some(made)
    }

    fn script(&self, arguments: &[&str], days: &str) {
        let mut script = Command::new(SCRIPT);
        script.args(arguments).env("OURO_CERTIFICATE_DAYS", days);
        run(script.env("OURO_CERTIFICATES", self.0.path())).success();
    }

    fn file(&self, holder: &str, file: &str) -> PathBuf {
        self.0.path().join(holder).join(file)
    }

    fn pair(&self, holder: &str) -> KeyPairFiles {
        let file = |name| self.file(holder, name);
        KeyPairFiles { certificate: file("tls.crt"), key: file("tls.key") }
    }

    /// A program with the certificate of a holder.
    fn command(&self, program: &str, holder: &str) -> Command {
        let mut command = Command::new(programs().join(program));
        command
            .current_dir(self.0.path())
            .env("OURO_TLS_CERTIFICATE", self.file(holder, "tls.crt"))
            .env("OURO_TLS_KEY", self.file(holder, "tls.key"))
            .env("OURO_TLS_CA", self.file(holder, "ca.crt"))
            .env("OURO_DEVICE", "cpu")
            .env("OURO_THREADS", "1")
            .env("RUST_LOG", "warn");
        command
    }
}

/// A run of three processes.
struct Cluster {
    certificates: Certificates,
    arena: String,
    learner: String,
}

impl Cluster {
    fn command(&self, program: &str, holder: &str) -> Command {
        let mut command = self.certificates.command(program, holder);
        command.env("OURO_ARENA", &self.arena).env("OURO_LEARNER", &self.learner);
        command
    }

    fn service(&self, program: &str, holder: &str) -> Command {
        let mut command = self.command(program, holder);
        command.env("OURO_TLS_CLIENT_CA", self.certificates.file(holder, "ca.crt"));
        command.env("OURO_WEB", "off");
        command
    }

    /// Waits until the arena has this generation.
    async fn generation(&self, wanted: u32) {
        let own = Some(self.certificates.pair("reader"));
        let authorities = self.certificates.file("reader", "ca.crt");
        let tls = ClientTls::new(ClientFiles { authorities, own }).expect("valid files");
        let url = format!("https://{}", self.arena);
        let mut client = ArenaClient::with_tls(&url, Some(&tls)).expect("a URL");
        let start = Instant::now();
        loop {
            assert!(start.elapsed() < PATIENCE, "generation {wanted} does not come");
            let newest = client.get_pool().await.ok().and_then(|pool| pool.newest);
            if newest.is_some_and(|newest| newest.generation.0 >= wanted) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_trains_with_certificates_alone() {
    let Some(certificates) = Certificates::new() else { return };
    // It ends in the second in which it is made.
    certificates.script(&["old", "actor"], "0");
    tokio::time::sleep(Duration::from_secs(2)).await;
    let ports = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").expect("a free port"));
    let [arena, learner] = ports.map(|port| port.local_addr().expect("it has one").to_string());
    let cluster = Cluster { certificates, arena, learner };
    let _arena = Process::start(&mut cluster.service("ouro-arena", "arena"));
    let _learner = Process::start(&mut cluster.service("ouro-learner", "learner"));
    cluster.generation(0).await;
    for (program, holder) in [("ouro-arena", "arena"), ("ouro-learner", "learner")] {
        run(cluster.service(program, holder).arg("healthcheck")).success();
    }
    let refused = |command: &mut Command, code: i32, parts: &[&str]| {
        let actor = Process::start_piped(command.env("RUST_LOG", "error"));
        actor.end_within(PATIENCE).assert_refused(code, parts);
    };
    let actor = |name: &str, holder: &str| {
        let mut command = cluster.command("ouro-actor", holder);
        command.env("OURO_NAME", name);
        command
    };
    refused(
        &mut actor("old", "old"),
        64,
        &["deploy.tls_certificate is ", "expired at ", "renew it"],
    );
    let mut bare = actor("actors", "actors");
    bare.env_remove("OURO_TLS_CERTIFICATE").env_remove("OURO_TLS_KEY");
    refused(&mut bare, 69, &["this call needs a client certificate", "deploy.tls_certificate"]);
    refused(
        &mut actor("other", "actors"),
        69,
        &["the certificate of actors is not one of actor other"],
    );
    refused(&mut actor("reader", "reader"), 69, &["a certificate of role reader may not call"]);
    let mut unfit = actor("actors", "actors");
    unfit.env("OURO_TLS_KEY", cluster.certificates.file("reader", "tls.key"));
    refused(&mut unfit, 64, &["deploy.tls_key is ", "is not that of the certificate in "]);

    let mut actor = Process::start(&mut actor("actors.1", "actors"));
    cluster.generation(2).await;
    let doctor = run(cluster.command("ouro", "reader").args(["doctor", "--seconds", "0.5"]));
    for service in ["arena", "learner"] {
        let line = format!("OK    tokens      {service:<7}  callers present certificates\n");
        assert!(doctor.stdout.contains(&line), "{}{}", doctor.stdout, doctor.stderr);
    }
    actor.signal("-TERM");
    assert!(actor.wait().success());
}

#[test]
fn one_process_trains_with_tls_on_its_ports() {
    let Some(certificates) = Certificates::new() else { return };
    let mut command = certificates.command("ouro", "arena");
    command
        .args([
            "train",
            "--config",
            "run.toml",
            "--run",
            "run",
            "--deterministic",
            "--generations",
            "1",
        ])
        .args(["--arena", "0.0.0.0:0", "--learner", "0.0.0.0:0", "--web", "127.0.0.1:0"])
        .env("OURO_TLS_CLIENT_CA", certificates.file("arena", "ca.crt"));
    let mut process = Process::start_piped(&mut command);
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(process.stdout()));
    let mut event = || -> Option<serde_json::Value> {
        let line = lines.next()?.expect("text");
        Some(serde_json::from_str(&line).expect("an event"))
    };
    let start = event().expect("a start");
    let page = start["page"].as_str().and_then(|page| page.strip_prefix("https://"));
    let page = page.expect("the page speaks TLS").parse().expect("an address");
    let answer = get_page(page, &certificates.file("arena", "ca.crt"), None).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    let mut games = 0;
    while let Some(event) = event() {
        games = games.max(event["games"].as_u64().unwrap_or(0));
    }
    assert!(process.wait().success());
    assert!(games > 0, "the parts talk to each other over TLS");
}
