//! Requests to a run with the real grpcurl, without any proto file.

use std::io::BufReader;
use std::process::{Command, Stdio};

use ouro_testkit::{not_run, requires_all_checks};
use serde_json::{Deserializer, Value};

use super::process::Trainer;
use super::{home_with_settings, start};

/// Returns the grpcurl program from `OURO_GRPCURL` or the PATH.
fn grpcurl() -> Option<String> {
    let program = std::env::var("OURO_GRPCURL").unwrap_or_else(|_| "grpcurl".to_owned());
    let is_there = Command::new(&program).arg("--version").output().is_ok();
    assert!(
        is_there || !requires_all_checks(),
        "grpcurl is missing; set OURO_GRPCURL to the program"
    );
    if !is_there {
        not_run("grpcurl is not on the PATH; set OURO_GRPCURL");
    }
    is_there.then_some(program)
}

/// Starts a run and waits for its first promotion.
fn promoted() -> (tempfile::TempDir, Trainer) {
    let home = home_with_settings();
    let mut trainer = start(home.path());
    trainer.wait_for("promotion");
    (home, trainer)
}

/// Returns host and port of a URL.
fn port(url: &str) -> String {
    url.trim_start_matches("http://").to_owned()
}

fn ask(grpcurl: &str, arguments: &[&str]) -> String {
    let output =
        Command::new(grpcurl).arg("-plaintext").args(arguments).output().expect("grpcurl runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("grpcurl prints text")
}

#[test]
fn grpcurl_lists_and_describes_what_each_port_serves() {
    let Some(grpcurl) = grpcurl() else { return };
    let (_home, mut trainer) = promoted();
    let (arena, learner) = (port(&trainer.arena()), port(&trainer.learner()));
    for (port, own, other, method, message, field) in [
        (
            &arena,
            "ouro.arena.v1.ArenaService",
            "ouro.learner.v1.LearnerService",
            "rpc WatchEvents",
            "ouro.arena.v1.Rating",
            "double elo_low = 3",
        ),
        (
            &learner,
            "ouro.learner.v1.LearnerService",
            "ouro.arena.v1.ArenaService",
            "rpc Push",
            "ouro.learner.v1.Refusal",
            "RefusalReason reason",
        ),
    ] {
        let services = ask(&grpcurl, &[port, "list"]);
        let listed = |service| services.lines().any(|line| line == service);
        assert!(listed(own) && listed("grpc.health.v1.Health") && !listed(other), "{services}");
        let service = ask(&grpcurl, &[port, "describe", own]);
        assert!(service.contains(&format!("{own} is a service")), "{service}");
        assert!(service.contains(method), "{service}");
        let message = ask(&grpcurl, &[port, "describe", message]);
        assert!(message.contains("is a message") && message.contains(field), "{message}");
        let asked = format!(r#"{{"service":"{own}"}}"#);
        let health = ask(&grpcurl, &["-d", &asked, port, "grpc.health.v1.Health/Check"]);
        assert!(health.contains("\"SERVING\""), "{health}");
    }
    trainer.kill();
}

#[test]
fn grpcurl_prints_the_elo_table_and_how_training_goes() {
    let Some(grpcurl) = grpcurl() else { return };
    let (_home, mut trainer) = promoted();
    let (arena, learner) = (port(&trainer.arena()), port(&trainer.learner()));
    let ratings =
        ask(&grpcurl, &["-emit-defaults", &arena, "ouro.arena.v1.ArenaService/GetRatings"]);
    let ratings: Value = serde_json::from_str(&ratings).expect("grpcurl prints JSON");
    let rows = ratings["ratings"].as_array().expect("a table");
    assert_eq!(ratings["anchor"], "random");
    let elo = |row: &Value| row["elo"].as_f64().expect("a number");
    let anchor = rows.iter().find(|row| row["player"] == "random").expect("the anchor plays");
    assert_eq!(elo(anchor), 0.0);
    assert!(elo(&rows[0]) > 0.0, "whoever was promoted is above random: {ratings}");

    let checkpoints = ask(&grpcurl, &[&arena, "ouro.arena.v1.ArenaService/ListCheckpoints"]);
    assert!(checkpoints.contains("CHECKPOINT_STATUS_CHAMPION"), "{checkpoints}");
    let progress = ask(&grpcurl, &[&learner, "ouro.learner.v1.LearnerService/GetStatus"]);
    assert!(progress.contains("\"step\""), "{progress}");
    trainer.kill();
}

#[test]
fn grpcurl_watches_events_as_they_happen() {
    let Some(grpcurl) = grpcurl() else { return };
    let (_home, mut trainer) = promoted();
    let mut watching = Command::new(grpcurl)
        .args(["-plaintext", &port(&trainer.arena()), "ouro.arena.v1.ArenaService/WatchEvents"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("grpcurl runs");
    let output = BufReader::new(watching.stdout.take().expect("its output is piped"));
    let mut kinds = std::collections::BTreeSet::new();
    // The learner publishes weights, and the arena rates them and decides about them.
    for event in Deserializer::from_reader(output).into_iter::<Value>() {
        let event = event.expect("grpcurl prints JSON");
        assert!(event["event"]["text"].is_string(), "{event}");
        kinds.extend(event["event"].as_object().expect("an event").keys().cloned());
        if ["published", "decided", "ratingsChanged"].iter().all(|&kind| kinds.contains(kind)) {
            break;
        }
    }
    watching.kill().expect("it watches on");
    watching.wait().expect("it ends");
    assert!(kinds.contains("decided"), "{kinds:?}");
    trainer.kill();
}
