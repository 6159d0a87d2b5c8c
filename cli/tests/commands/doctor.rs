//! `ouro doctor` on real processes: a healthy cluster, and one fault after another.
#![cfg(unix)]

use std::net::TcpListener;
use std::time::Instant;

use crate::support::cluster::{Cluster, PATIENCE};
use ouro_proto::learner::v1 as wire;
use ouro_proto::learner::v1::learner_service_client::LearnerServiceClient;
use ouro_testkit::process::Process;
use ouro_testkit::redis::RedisServer;
use serde_json::Value;
use tonic::Request;
use tonic::transport::Endpoint;

/// Checks that a healthy cluster passes, with a part of what they say.
const HEALTHY: [(&str, &str, &str); 18] = [
    ("reach", "arena", "answers at "),
    ("reach", "learner", "answers at "),
    ("version", "cluster", "all "),
    ("run", "cluster", ""),
    ("game", "cluster", "tic_tac_toe"),
    ("clock", "arena", " s "),
    ("clock", "learner", " s "),
    ("store", "arena", "files"),
    ("device", "learner", "cpu"),
    ("blocked", "learner", "no operator"),
    ("throughput", "learner", " positions/s accepted"),
    ("published", "learner", "the arena has generation-"),
    ("actors", "actors", "1 connected"),
    ("stale", "actors", "of fleet.a, "),
    ("names", "actors", "one address"),
    ("weights", "arena", "can be read"),
    ("tokens", "learner", "accepted: 1 actor, 1 learner, 1 reader"),
    ("callers", "arena", "refused since the start"),
];

/// The exit code and the findings of the doctor.
struct Diagnosis {
    code: Option<i32>,
    findings: Vec<Value>,
}

impl Diagnosis {
    fn of(cluster: &Cluster, arguments: &[&str]) -> Self {
        let fixed = ["doctor", "--json", "--seconds", "0.5", "--config", "run/run.toml"];
        let ended = cluster.ouro(&[&fixed, arguments].concat());
        let report: Value = serde_json::from_str(&ended.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}{}", ended.stdout, ended.stderr));
        let findings = report["findings"].as_array().expect("findings").clone();
        let has_failed = findings.iter().any(|finding| finding["level"] == "fail");
        assert_eq!(ended.code, Some(i32::from(has_failed)), "{findings:#?}");
        assert_eq!(report["healthy"], !has_failed);
        Self { code: ended.code, findings }
    }

    /// The finding of a check of this subject.
    fn find(&self, check: &str, subject: &str) -> Option<&Value> {
        self.findings.iter().find(|one| one["check"] == check && one["subject"] == subject)
    }

    /// Asserts the level of a finding, and that its value and remedy contain all `parts`.
    fn assert(&self, level: &str, check: &str, subject: &str, parts: &[&str]) {
        let found = self.find(check, subject);
        let found =
            found.unwrap_or_else(|| panic!("no {check} of {subject}: {:#?}", self.findings));
        assert_eq!(found["level"], level, "{found}");
        let text = format!("{}; {}", found["value"], found["remedy"]);
        for part in parts {
            assert!(text.contains(part), "{part:?} is not in {text}");
        }
    }
}

/// A cluster that asks for tokens, and its processes.
fn guarded() -> (Cluster, [Process; 3]) {
    let mut cluster = Cluster::new();
    for (name, role) in [("learner", "learner"), ("fleet", "actor"), ("me", "reader")] {
        let out = format!("{name}.token");
        let arguments = ["token", "create", name, "--role", role, "--out", &out];
        assert_eq!(cluster.ouro(&arguments).success(), "");
    }
    let mut start = |service: &str, token: &str, arguments: &[&str]| {
        cluster.token = Some(format!("{token}.token"));
        cluster.start(service, "run", arguments)
    };
    let processes = [
        start("arena", "me", &[]),
        start("learner", "learner", &[]),
        start("actor", "fleet", &["--name", "fleet.a"]),
    ];
    cluster.token = Some("me.token".to_owned());
    (cluster, processes)
}

/// Connects an actor of another version, which sends nothing more.
async fn other_version(cluster: &Cluster) -> tokio::sync::mpsc::Sender<wire::PushRequest> {
    let endpoint = Endpoint::from_shared(format!("http://{}", cluster.learner)).expect("a URL");
    let endpoint = endpoint.user_agent("ouro-actor/9.9.9").expect("a name");
    let channel = endpoint.connect().await.expect("the learner is there");
    let (sender, requests) = tokio::sync::mpsc::channel(1);
    let hello = wire::Hello {
        actor: "fleet.old".to_owned(),
        config_json: r#"{"game":"tic_tac_toe"}"#.to_owned(),
        version: 1,
        ..wire::Hello::default()
    };
    let message = Some(wire::push_request::Message::Hello(hello));
    sender.send(wire::PushRequest { message }).await.expect("there is room");
    let requests = tokio_stream::wrappers::ReceiverStream::new(requests);
    let mut request = Request::new(requests);
    let token = std::fs::read_to_string(cluster.path("fleet.token")).expect("a token");
    let bearer = format!("Bearer {}", token.trim()).parse().expect("a header");
    request.metadata_mut().insert("authorization", bearer);
    let answers = LearnerServiceClient::new(channel).push(request).await.expect("it is accepted");
    let mut answers = answers.into_inner();
    answers.message().await.expect("a welcome").expect("a welcome");
    // The stream lasts as long as its sender.
    tokio::spawn(async move { while let Ok(Some(_)) = answers.message().await {} });
    sender
}

#[tokio::test(flavor = "multi_thread")]
async fn a_healthy_cluster_passes_and_each_fault_is_named_with_its_remedy() {
    let (cluster, [mut arena, _learner, _actor]) = guarded();
    cluster.generation(2).await;
    // The first seconds of a run are no healthy state: the actor has sent nothing yet.
    let start = Instant::now();
    let is_healthy = |diagnosis: &Diagnosis| {
        HEALTHY.iter().all(|(check, subject, _)| {
            diagnosis.find(check, subject).is_some_and(|found| found["level"] == "ok")
        })
    };
    let healthy = loop {
        let diagnosis = Diagnosis::of(&cluster, &[]);
        if diagnosis.code == Some(0) && is_healthy(&diagnosis) {
            break diagnosis;
        }
        assert!(start.elapsed() < PATIENCE, "{:#?}", diagnosis.findings);
    };
    for (check, subject, part) in HEALTHY {
        healthy.assert("ok", check, subject, &[part]);
    }
    let text = cluster.ouro(&["doctor", "--seconds", "0.5", "--config", "run/run.toml"]).success();
    assert!(text.starts_with("OK    reach       arena    answers at "), "{text}");
    assert!(text.ends_with(" with a warning\n"), "{text}");

    // A token of another role, and a file that is not there.
    let path = |token: &str| cluster.path(token).display().to_string();
    let refused = Diagnosis::of(&cluster, &["--token-file", &path("learner.token")]);
    assert_eq!(refused.code, Some(1));
    for service in ["arena", "learner"] {
        refused.assert("fail", "reach", service, &["refuses at", "--role reader"]);
    }
    let missing = cluster.ouro(&["doctor", "--token-file", &path("none.token")]);
    missing.assert_refused(66, &["none.token cannot be read"]);

    // An actor of another version.
    let old = other_version(&cluster).await;
    let found = Diagnosis::of(&cluster, &[]);
    found.assert("warn", "version", "cluster", &["fleet.old 9.9.9", "upgrade"]);
    drop(old);

    // A learner of another run, whose cluster asks for no tokens.
    let other = Cluster::new();
    let _others = ["arena", "learner"].map(|service| other.start(service, "run", &[]));
    other.generation(0).await;
    let found = Diagnosis::of(&cluster, &["--learner", &other.learner]);
    found.assert("fail", "run", "cluster", &["of run", "addresses of one run"]);
    found.assert("ok", "tokens", "learner", &["none needed on this machine"]);

    // A server that loses what it acknowledges.
    let folder = tempfile::tempdir().expect("a scratch folder");
    if let Some(server) = RedisServer::start_with(folder.path(), &["--appendonly", "no"]) {
        let found = Diagnosis::of(&cluster, &["--store", &server.url("arena")]);
        found.assert("fail", "redis", "store", &["appendonly", "CONFIG SET appendonly yes"]);
        found.assert("fail", "aof", "store", &["no append-only file"]);
        found.assert("warn", "store", "arena", &["in files", "say redis"]);
    }
    let closed = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = closed.local_addr().expect("it has one");
    drop(closed);
    let found = Diagnosis::of(&cluster, &["--store", &format!("redis://{address}")]);
    found.assert("fail", "redis", "store", &["deploy.store"]);

    // No arena. The learner is still judged.
    arena.kill();
    let found = Diagnosis::of(&cluster, &[]);
    found.assert("fail", "reach", "arena", &["does not answer", "start ouro-arena"]);
    found.assert("ok", "reach", "learner", &[]);
    assert!(found.find("throughput", "learner").is_some());
    assert!(found.find("matches", "arena").is_none());
}

#[test]
fn without_a_cluster_the_addresses_are_named_and_settings_are_not_needed() {
    let cluster = Cluster::new();
    let ended = cluster.ouro(&["doctor", "--seconds", "0.1"]);
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    for (service, address) in [("arena", &cluster.arena), ("learner", &cluster.learner)] {
        let line = format!("FAIL  reach       {service:<7}  does not answer at {address}: ");
        assert!(ended.stdout.contains(&line), "{}", ended.stdout);
    }
    assert!(ended.stdout.ends_with("2 checks: 2 failed, 0 with a warning\n"), "{}", ended.stdout);
    cluster.ouro(&["doctor", "--seconds", "0"]).assert_refused(64, &["0.1 to 600 seconds"]);
    cluster.ouro(&["doctor", "--config", "none.toml"]).assert_refused(66, &["none.toml"]);
}
