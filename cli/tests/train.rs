//! `ouro train` as a user runs it: a real process, real ports, killed and started again.

mod train {
    #[cfg(target_os = "linux")]
    mod full_disk;
    mod page;
    pub(super) mod process;
    mod webdriver;
}

use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use ouro_arena::store::{EmbeddedStore, Store, replay};
use ouro_game::Stream;
use ouro_proto::learner::v1::GetStatusRequest;
use ouro_proto::learner::v1::learner_service_client::LearnerServiceClient;
use ouro_replay::check::{ClientLine, join};
use serde_json::Value;

use train::process::{PATIENCE, Trainer};

/// A run small enough to promote within seconds: tic-tac-toe and a tiny network.
const SETTINGS: &str = r#"
preset = "reinforce-duel"
seed = 5
generation_steps = 20

[game]
game = "tic_tac_toe"

[net]
kind = "conv"
channels = 8
layers = 1
hidden = 32

[actor]
games_per_thread = 32

[train]
batch_moves = 256
learning_rate = 0.01

[arena.gate]
games = 60
"#;

fn home_with_settings() -> tempfile::TempDir {
    let home = tempfile::tempdir().expect("a scratch folder");
    std::fs::write(home.path().join("settings.toml"), SETTINGS).expect("settings are written");
    home
}

/// grpcurl from `OURO_GRPCURL` or the PATH.
fn grpcurl() -> Option<String> {
    let program = std::env::var("OURO_GRPCURL").unwrap_or_else(|_| "grpcurl".to_owned());
    let is_there = Command::new(&program).arg("--version").output().is_ok();
    let must_be = std::env::var_os("OURO_REQUIRE_ALL_CHECKS").is_some();
    assert!(is_there || !must_be, "grpcurl is missing; set OURO_GRPCURL to the program");
    is_there.then_some(program)
}

/// Says that a test was left out, past the capture of passing tests.
fn not_run(why: &str) {
    let _ = writeln!(std::io::stderr(), "NOT RUN: {why}");
}

fn ask(grpcurl: &str, arguments: &[&str]) -> String {
    let output =
        Command::new(grpcurl).arg("-plaintext").args(arguments).output().expect("grpcurl runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("grpcurl prints text")
}

fn pool_of(arena: &str) -> Vec<(u32, String)> {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let mut arena = ouro_proto::ArenaClient::new(arena).expect("an address");
        let pool = arena.get_pool().await.expect("the arena answers").pool;
        pool.iter().map(|entry| (entry.generation.0, entry.hash.to_string())).collect()
    })
}

fn games_rated(arena: &str) -> u32 {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let mut arena = ouro_proto::ArenaClient::new(arena).expect("an address");
        arena.get_ratings().await.expect("the arena answers").games
    })
}

/// Returns once the learner has taken a step beyond `step`. Progress lines come too seldom for
/// this: whoever waited for them would always kill in the moments after one.
fn wait_until_step_passes(learner: &str, step: u64) {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let client = LearnerServiceClient::connect(learner.to_owned()).await;
        let mut client = client.expect("the learner is there");
        let passed = async {
            loop {
                let status = client.get_status(GetStatusRequest {}).await;
                if u64::from(status.expect("the learner answers").into_inner().step) > step {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(PATIENCE, passed).await.expect("the learner takes a step");
    });
}

fn start(home: &Path) -> Trainer {
    let settings = (!home.join("run").exists()).then(|| home.join("settings.toml"));
    Trainer::start(&home.join("run"), settings.as_deref())
}

/// How often a run is killed; OURO_KILLS asks for another number.
fn kills() -> u32 {
    std::env::var("OURO_KILLS").map_or(5, |kills| kills.parse().expect("OURO_KILLS is a number"))
}

/// Everything that an actor was told is in the journal once, as it was sent.
fn assert_nothing_lost_or_doubled(run: &Path) {
    let log = std::fs::read_to_string(run.join("actor/records.log")).expect("a log of records");
    // A line that was being written when the process was killed is no JSON.
    let lines = log.lines().filter_map(|line| serde_json::from_str::<ClientLine>(line).ok());
    let joined = join(&run.join("learner/journal"), lines).expect("the journal can be read");
    assert!(joined.is_sound(), "{joined}");
    assert!(joined.acked > 100 && joined.unknown == 0, "{joined}");
}

/// Promotions, decisions and checkpoints follow from the log of results.
fn assert_results_replay(run: &Path) {
    let store = EmbeddedStore::open(&run.join("arena/arena.redb")).expect("nobody else has it");
    let replayed = replay(&store).expect("the log is sound");
    assert_eq!(replayed.promotions, store.promotions().expect("a table"));
    assert_eq!(replayed.decisions, store.decisions().expect("a table"));
    assert_eq!(replayed.checkpoints, store.checkpoints().expect("a table"));
    assert!(!replayed.promotions.is_empty());
}

#[test]
fn a_run_that_is_killed_at_random_moments_loses_nothing_that_was_acknowledged() {
    let home = home_with_settings();
    let mut trainer = start(home.path());
    assert_eq!(trainer.opening["new"], true);
    trainer.wait_for("promotion");

    let mut moments = Stream::new(5, "kills");
    let mut generation = 0;
    for round in 0..kills() {
        let pool = pool_of(&trainer.arena());
        let games = games_rated(&trainer.arena());
        assert!(!pool.is_empty(), "round {round}: promoted, so in the pool");
        assert!(games > 0, "round {round}: promoted, so rated");
        trainer.kill();

        trainer = start(home.path());
        assert_eq!(trainer.opening["new"], false, "round {round}");
        let resumed = trainer.opening["generation"].as_u64().expect("a number");
        assert!(resumed >= generation, "round {round}: {resumed} after {generation}");
        generation = resumed;
        let pool_again = pool_of(&trainer.arena());
        assert_eq!(pool_again[..pool.len()], pool[..], "round {round}");
        assert!(games_rated(&trainer.arena()) >= games, "round {round}");
        // Every other time the run gets somewhere; between, it may be killed while it starts.
        if round % 2 == 0 {
            let step = trainer.opening["step"].as_u64().expect("a number");
            wait_until_step_passes(&trainer.learner(), step);
        }
        std::thread::sleep(Duration::from_millis(moments.below(3_000).into()));
    }
    let (code, end) = trainer.interrupt();
    assert_eq!(code, Some(0), "a drain is a clean end");
    let rated = end["ratings"].as_array().expect("a table");
    assert!(rated.iter().any(|row| row["player"] == "random" && row["elo"] == 0.0), "{end}");
    assert_nothing_lost_or_doubled(&home.path().join("run"));
    assert_results_replay(&home.path().join("run"));
}

#[test]
fn grpcurl_lists_the_services_and_prints_the_elo_table() {
    let Some(grpcurl) = grpcurl() else {
        not_run("grpcurl is not on the PATH; set OURO_GRPCURL");
        return;
    };
    let home = home_with_settings();
    let mut trainer = start(home.path());
    trainer.wait_for("promotion");
    let arena = trainer.arena().trim_start_matches("http://").to_owned();

    let learner = trainer.learner().trim_start_matches("http://").to_owned();
    for (port, own, other) in [
        (&arena, "ouro.arena.v1.ArenaService", "ouro.learner.v1.LearnerService"),
        (&learner, "ouro.learner.v1.LearnerService", "ouro.arena.v1.ArenaService"),
    ] {
        let services = ask(&grpcurl, &[port, "list"]);
        let listed = |service| services.lines().any(|line| line == service);
        assert!(listed(own) && listed("grpc.health.v1.Health") && !listed(other), "{services}");
    }
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
    let health = ask(
        &grpcurl,
        &[
            "-d",
            r#"{"service":"ouro.arena.v1.ArenaService"}"#,
            &arena,
            "grpc.health.v1.Health/Check",
        ],
    );
    assert!(health.contains("SERVING"), "{health}");
    let progress = ask(&grpcurl, &[&learner, "ouro.learner.v1.LearnerService/GetStatus"]);
    assert!(progress.contains("\"step\""), "{progress}");
    trainer.kill();
}

#[test]
fn ctrl_c_drains_and_says_how_to_go_on() {
    let home = home_with_settings();
    let mut trainer = start(home.path());
    let progress = trainer.wait_for("progress");
    for key in ["generation", "step", "games_per_second", "moves_per_second", "loss", "pool"] {
        assert!(progress[key].is_number(), "{key}: {progress}");
    }
    let (code, end) = trainer.interrupt();
    assert_eq!(code, Some(0), "a drain is a clean end");
    let run = home.path().join("run");
    assert_eq!(end["resume"], format!("ouro train --run {}", run.display()));
    let again = start(home.path());
    assert_eq!(again.opening["new"], false);
    assert!(again.opening["step"].as_u64() >= progress["step"].as_u64());
    let (code, _) = again.interrupt();
    assert_eq!(code, Some(0));
}

#[test]
fn two_processes_cannot_share_a_run_and_the_second_says_why() {
    let home = home_with_settings();
    let mut trainer = start(home.path());
    let (code, message) = Trainer::start_refused(&home.path().join("run"));
    assert_eq!(code, Some(69), "{message}");
    assert!(message.contains("in use by another process"), "{message}");
    assert_eq!(message.lines().count(), 1, "{message}");
    trainer.kill();
}
