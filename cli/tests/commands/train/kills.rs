//! Runs that are killed at random moments, as a power failure would, and resumed.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ouro_arena::store::{EmbeddedStore, Store, replay};
use ouro_game::{GameConfig, Rng};
use ouro_net::ContentHash;
use ouro_proto::learner::v1::GetStatusRequest;
use ouro_proto::learner::v1::learner_service_client::LearnerServiceClient;
use ouro_replay::check::{ClientLine, inspect, join};
use ouro_replay::journal::Kind;
use ouro_replay::{ReplayState, Trajectory};
use serde_json::Value;

use super::process::PATIENCE;
use super::{home_with_settings, start};

/// Tic-tac-toe with tree search and a sliding replay window.
pub(crate) const ALPHAZERO: &str = r#"
preset = "tictactoe"
seed = 5
generation_steps = 20

[net]
kind = "conv"
channels = 8
layers = 1
hidden = 32

[actor]
games_per_thread = 32

[actor.search]
simulations = 8

[train]
batch_moves = 128
learning_rate = 0.01

[replay]
min_positions = 512
window_positions = 1024

[arena]
player = "mcts{sims=4,weights=self}"

[arena.gate]
games = 60
"#;

fn pool_of(arena: &str) -> Vec<(u32, String)> {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let mut arena = ouro_proto::ArenaClient::new(arena).expect("an address");
        let pool = arena.get_pool().await.expect("the arena answers").pool;
        pool.iter().map(|entry| (entry.generation.0, entry.hash.to_string())).collect()
    })
}

pub(crate) fn games_rated(arena: &str) -> u32 {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let mut arena = ouro_proto::ArenaClient::new(arena).expect("an address");
        arena.get_ratings().await.expect("the arena answers").games
    })
}

/// Waits until a game is rated. The games that decide a promotion are not: those that are come later.
fn wait_until_games_are_rated(arena: &str) {
    let start = Instant::now();
    while games_rated(arena) == 0 {
        assert!(start.elapsed() < PATIENCE, "no game is rated");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Waits until the learner has taken a step beyond `step`. Progress events are too rare for this:
/// every kill would come shortly after one of them.
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

/// Number of times that each run is killed: 5, or the value of `OURO_KILLS`.
fn kills() -> u32 {
    std::env::var("OURO_KILLS").map_or(5, |kills| kills.parse().expect("OURO_KILLS is a number"))
}

/// Asserts that all visible training states of the learner and weights of the arena are complete.
fn assert_all_is_whole(run: &Path) {
    let visible = |folder: &Path| {
        let entries = fs::read_dir(folder).expect("a folder");
        let paths = entries.map(|entry| entry.expect("an entry").path());
        // Temporary names are files during a write or a removal; the next start removes them.
        let name = |path: &Path| path.file_name().expect("a name").to_string_lossy().into_owned();
        paths.map(move |path| (name(&path), path)).filter(|(name, _)| !is_temporary(name))
    };
    for (name, folder) in visible(&run.join("learner/training-states")) {
        let read = |file: &str| fs::read(folder.join(file)).expect("a training state is whole");
        let manifest: Value = serde_json::from_slice(&read("manifest.json")).expect("JSON");
        let files = manifest["files"].as_object().expect("its files");
        assert_eq!(files.len(), 3, "{name}");
        for (file, entry) in files {
            let hash = ContentHash::of(&read(file)).to_string();
            assert_eq!(entry["sha256"], hash, "{name}/{file}");
        }
    }
    for (name, file) in visible(&run.join("arena/weights")) {
        let hash = ContentHash::of(&fs::read(file).expect("weights can be read"));
        assert_eq!(name, format!("{hash}.safetensors"));
    }
}

fn is_temporary(name: &str) -> bool {
    name.starts_with("tmp-") || name.ends_with(".partial")
}

/// Asserts that every acknowledged game is in the journal once, as the actor sent it.
pub(crate) fn assert_nothing_lost_or_doubled(run: &Path) {
    let log = fs::read_to_string(run.join("actor/records.log")).expect("a log of records");
    // A kill during a write leaves an incomplete line, which is not JSON.
    let lines = log.lines().filter_map(|line| serde_json::from_str::<ClientLine>(line).ok());
    let joined = join(&run.join("learner/journal"), lines).expect("the journal can be read");
    assert!(joined.is_sound(), "{joined}");
    assert!(joined.acked > 100 && joined.unknown == 0, "{joined}");
}

/// Asserts that the journal has the training data of each kept training state: every game of its
/// window once, and as many positions as it counted.
fn assert_the_window_is_in_the_journal(run: &Path) {
    let mut positions = BTreeMap::new();
    let config = Arc::new(GameConfig::by_name("tic_tac_toe").expect("it is in the box"));
    let inspection = inspect(&run.join("learner/journal"), |number, entry| {
        if entry.kind == Kind::Record {
            let game = Trajectory::decode(entry.payload, &config).expect("a game can be read");
            assert_eq!(positions.insert(number, learned(&game)), None, "record {number}");
        }
    });
    assert!(inspection.expect("the journal can be read").damage.is_none());
    let mut checked = 0;
    for folder in fs::read_dir(run.join("learner/training-states")).expect("a folder") {
        let file = folder.expect("a training state").path().join("state.json");
        let text = fs::read_to_string(file).expect("a training state is whole");
        let state: Value = serde_json::from_str(&text).expect("JSON");
        let ReplayState { cursor, counters, .. } =
            serde_json::from_value(state["replay"].clone()).expect("where the replay stood");
        let held: Vec<u64> = positions.range(cursor.first..cursor.next).map(|(_, &n)| n).collect();
        assert_eq!(held.len() as u64, cursor.next - cursor.first, "{text}");
        assert_eq!(cursor.before + held.iter().sum::<u64>(), counters.inserts, "{text}");
        checked += 1;
    }
    assert!(checked > 1);
}

/// Counts the moves of a tic-tac-toe game that the learner trains on. X moves in the even plies.
fn learned(game: &Trajectory) -> u64 {
    (0..game.plies.len()).filter(|ply| game.seats[ply % 2].learns).count() as u64
}

/// Asserts that `ouro check` finds every part of the run sound.
pub(crate) fn assert_check_finds_it_sound(run: &Path) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ouro"));
    let checked = ouro_testkit::process::run(command.arg("check").arg(run));
    assert_eq!(checked.code, Some(0), "{}{}", checked.stdout, checked.stderr);
}

/// Asserts that replaying the log of results gives the stored promotions, decisions, checkpoints
/// and ratings.
pub(crate) fn assert_results_replay(run: &Path, end: &Value) {
    let store = EmbeddedStore::open(&run.join("arena")).expect("nobody else has it");
    let replayed = replay(&store).expect("the log is sound");
    assert_eq!(replayed.promotions, store.promotions().expect("a table"));
    assert_eq!(replayed.decisions, store.decisions().expect("a table"));
    assert_eq!(replayed.checkpoints, store.checkpoints().expect("a table"));
    assert_eq!(replayed.matches, store.matches().expect("a table"));
    assert!(!replayed.promotions.is_empty());
    let reported = end["ratings"].as_array().expect("a table");
    let rated = replayed.table();
    assert_eq!(rated.ratings.len(), reported.len());
    for row in &rated.ratings {
        let reported = reported
            .iter()
            .find(|reported| reported["player"] == *row.player)
            .expect("it is rated");
        assert_eq!(reported["games"], row.games, "{reported}");
        // The comparison is exact: both numbers were written as JSON and read again.
        let text = serde_json::to_string(&row.elo).expect("a number is written");
        let elo: Value = serde_json::from_str(&text).expect("a number is read");
        assert_eq!(reported["elo"], elo, "{reported}");
    }
}

fn survives(home: &Path, stream: &str) {
    let mut trainer = start(home);
    assert_eq!(trainer.opening["new"], true);
    trainer.wait_for("promotion");
    wait_until_games_are_rated(&trainer.arena());

    let run = home.join("run");
    let mut moments = Rng::new(5, stream);
    let mut generation = 0;
    for round in 0..kills() {
        let pool = pool_of(&trainer.arena());
        let games = games_rated(&trainer.arena());
        assert!(!pool.is_empty(), "round {round}: promoted, so in the pool");
        trainer.kill();
        assert_all_is_whole(&run);

        trainer = start(home);
        assert_eq!(trainer.opening["new"], false, "round {round}");
        let resumed = trainer.opening["generation"].as_u64().expect("a number");
        assert!(resumed >= generation, "round {round}: {resumed} after {generation}");
        generation = resumed;
        let pool_again = pool_of(&trainer.arena());
        assert_eq!(pool_again[..pool.len()], pool[..], "round {round}");
        assert!(games_rated(&trainer.arena()) >= games, "round {round}");
        // Every other round lets the run take a step. The others may kill it during its start.
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
    assert_all_is_whole(&run);
    assert_nothing_lost_or_doubled(&run);
    assert_the_window_is_in_the_journal(&run);
    assert_results_replay(&run, &end);
    assert_check_finds_it_sound(&run);
}

#[test]
fn a_run_that_is_killed_at_random_moments_loses_nothing_that_was_acknowledged() {
    survives(home_with_settings().path(), "kills");
}

#[test]
fn a_run_with_tree_search_and_a_window_survives_kills_as_well() {
    let home = tempfile::tempdir().expect("a scratch folder");
    fs::write(home.path().join("settings.toml"), ALPHAZERO).expect("settings are written");
    survives(home.path(), "kills of a window");
}
