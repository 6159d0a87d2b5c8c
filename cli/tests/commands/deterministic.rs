//! `ouro train --deterministic`, run as a process: all results of a run, except dates and times,
//! depend only on its settings.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use ouro_arena::store::{Decision, EmbeddedStore, MatchInfo, Promotion, Store};
use ouro_game::Rng;
use ouro_net::ContentHash;
use ouro_proto::Checkpoint;
use ouro_replay::check::inspect;
use ouro_replay::journal::Kind;
use ouro_testkit::process::{Ended, Process, run};
use serde_json::Value;

/// Tic-tac-toe with tree search. Games are short, so the ratio of samples to inserts requires new
/// games in every generation.
const ALPHAZERO: &str = r#"
preset = "tictactoe"
seed = 5
generation_steps = 8

[net]
kind = "conv"
channels = 4
layers = 1
hidden = 16

[actor]
games_per_thread = 16
max_plies = 9

[actor.search]
simulations = 8

[actor.opponents]
self_play = 0.4
prioritised = 0.3
uniform = 0.3

[train]
batch_moves = 64
learning_rate = 0.01

[train.average]
every_steps = 4

[replay]
min_positions = 256
window_positions = 512

[intake]
max_plies = 9

[arena]
player = "mcts{sims=4,weights=self}"
anchor_games = 4

[arena.gate]
games = 40
"#;

/// Tic-tac-toe with the policy alone, without search.
const REINFORCE: &str = r#"
preset = "reinforce-duel"
seed = 5
generation_steps = 4

[game]
game = "tic_tac_toe"

[net]
kind = "conv"
channels = 4
layers = 1
hidden = 16

[actor]
games_per_thread = 16

[train]
batch_moves = 128
learning_rate = 0.01

[train.average]
every_steps = 2

[arena]
anchor_games = 4

[arena.gate]
games = 40
"#;

/// Number of times that a run is killed.
const KILLS: u32 = 4;

/// The results of a run, without dates and times.
struct Traces {
    /// The encoded games of the journal, in its order.
    games: Vec<Vec<u8>>,
    /// Every generation, with the hash of its weights.
    checkpoints: Vec<Checkpoint>,
    /// Path and hash of each file in the learner's kept training states.
    learned: Vec<(String, ContentHash)>,
    decisions: Vec<Decision>,
    promotions: Vec<Promotion>,
    /// Each match, with its results and kept games as JSON.
    matches: Vec<(MatchInfo, Value)>,
    ratings: Value,
}

impl Traces {
    /// Panics at the first difference. Causes are compared before effects: games, checkpoints,
    /// matches, decisions, ratings.
    fn assert_same(&self, other: &Self) {
        let same = self.games.iter().zip(&other.games).take_while(|(a, b)| a == b).count();
        let (some, others) = (self.games.len(), other.games.len());
        assert!(same == some && same == others, "game {same} differs, of {some} and {others}");
        assert_eq!(self.checkpoints, other.checkpoints);
        assert_eq!(self.learned, other.learned);
        for (one, another) in self.matches.iter().zip(&other.matches) {
            assert_eq!(one.0, another.0);
            assert_eq!(one.1.to_string(), another.1.to_string(), "match {:?}", one.0);
        }
        assert_eq!(self.matches.len(), other.matches.len());
        assert_eq!(self.decisions, other.decisions);
        assert_eq!(self.promotions, other.promotions);
        assert_eq!(self.ratings, other.ratings);
    }
}

fn command(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ouro"));
    command
        .args(["train", "--arena", "127.0.0.1:0", "--learner", "127.0.0.1:0", "--web", "off"])
        .current_dir(home)
        .env_remove("OURO_RUN");
    command
}

fn ouro(home: &Path, arguments: &[&str]) -> Ended {
    run(command(home).args(arguments))
}

/// Trains in the folder `run` up to the generation `last` and returns the last event.
fn train(home: &Path, run: &str, last: u32, more: &[&str]) -> Value {
    let last = last.to_string();
    let rounds = ["--deterministic", "--generations", &last, "--run", run];
    let output = ouro(home, &[&rounds, more].concat());
    let text = output.success();
    let end = text.lines().next_back().expect("it prints events");
    serde_json::from_str(end).expect("each line is JSON")
}

fn traces(run: &Path, end: &Value) -> Traces {
    let mut games = Vec::new();
    let inspection = inspect(&run.join("learner/journal"), |_, entry| match entry.kind {
        Kind::Record => games.push(entry.payload.to_vec()),
        Kind::Refused => panic!("no game is refused"),
        Kind::Epoch | Kind::Snapshot | Kind::Purge => {}
    });
    assert!(inspection.expect("the journal can be read").damage.is_none());
    let mut learned = Vec::new();
    for folder in std::fs::read_dir(run.join("learner/training-states")).expect("a folder") {
        let folder = folder.expect("a training state").path();
        for file in ["weights.safetensors", "training.safetensors", "state.json"] {
            let bytes = std::fs::read(folder.join(file)).expect("a training state is whole");
            let name = folder.join(file).strip_prefix(run).expect("it is inside").to_owned();
            learned.push((name.display().to_string(), ContentHash::of(&bytes)));
        }
    }
    learned.sort();
    let store = EmbeddedStore::open(&run.join("arena")).expect("nobody else has it");
    let undated = |row| Checkpoint { published_at: 0.0, ..row };
    let checkpoints = store.checkpoints().expect("a table").into_iter().map(undated).collect();
    let undated = |one| Decision { decided_at: 0.0, ..one };
    let decisions = store.decisions().expect("a table").into_iter().map(undated).collect();
    let undated = |one| Promotion { promoted_at: 0.0, ..one };
    let promotions = store.promotions().expect("a table").into_iter().map(undated).collect();
    let matches = store.matches().expect("a table").into_iter().map(|(info, sums)| {
        let results = store.results(info.number).expect("a table");
        let keys = store.game_keys(info.number).expect("a table");
        let kept: Vec<_> = keys.iter().map(|&key| store.game(key).expect("a table")).collect();
        let played = serde_json::json!({
            "games": sums.clusters, "results": results, "kept": kept,
        });
        (MatchInfo { opened_at: 0.0, ..info }, played)
    });
    let (matches, ratings) = (matches.collect(), end["ratings"].clone());
    Traces { games, checkpoints, learned, decisions, promotions, matches, ratings }
}

#[test]
fn the_same_settings_leave_the_same_games_weights_and_verdicts_however_a_run_is_cut() {
    let home = tempfile::tempdir().expect("a scratch folder");
    std::fs::write(home.path().join("settings.toml"), ALPHAZERO).expect("settings are written");
    let new = ["--config", "settings.toml"];
    let end = train(home.path(), "whole", 3, &new);
    let resume = end["resume"].as_str().expect("a command");
    assert!(resume.contains(" train --run whole "), "{resume}");
    assert!(resume.ends_with(" --generations 6 --deterministic"), "{resume}");
    let whole = traces(&home.path().join("whole"), &end);
    assert_eq!(whole.checkpoints.len(), 4);
    assert_eq!(whole.decisions.len(), 4);
    // With a promotion, later games meet the pool and depend on ratings and verdicts.
    assert!(!whole.promotions.is_empty());

    let end = train(home.path(), "again", 3, &new);
    traces(&home.path().join("again"), &end).assert_same(&whole);

    let first = train(home.path(), "cut", 1, &new);
    let cut = traces(&home.path().join("cut"), &first);
    assert_eq!(cut.games[..], whole.games[..cut.games.len()]);
    assert!(cut.games.len() < whole.games.len());
    assert_eq!(cut.checkpoints.len(), 2);
    // A run that ends by its time limit, at any point of a round, resumes like any other.
    let output = ouro(
        home.path(),
        &["--run", "cut", "--deterministic", "--generations", "3", "--for", "200ms"],
    );
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let end = train(home.path(), "cut", 3, &[]);
    traces(&home.path().join("cut"), &end).assert_same(&whole);

    let end = train(home.path(), "other", 1, &[&new[..], &["--seed", "6"]].concat());
    let other = traces(&home.path().join("other"), &end);
    assert_ne!(other.games[0], whole.games[0]);
    assert!(other.checkpoints.iter().zip(&whole.checkpoints).all(|(a, b)| a.hash != b.hash));
}

/// Starts a run and kills it `after` its first event, as a power failure would.
fn kill(home: &Path, after: Duration, more: &[&str]) {
    let mut command = command(home);
    command.args(["--deterministic", "--generations", "3", "--run", "killed"]).args(more);
    let mut process = Process::start(command.stdout(Stdio::piped()));
    let mut first = String::new();
    BufReader::new(process.stdout()).read_line(&mut first).expect("it prints text");
    assert!(first.contains("\"start\""), "{first}");
    std::thread::sleep(after);
    process.kill();
}

#[test]
fn a_run_that_is_killed_at_random_moments_comes_to_the_same() {
    let home = tempfile::tempdir().expect("a scratch folder");
    std::fs::write(home.path().join("settings.toml"), ALPHAZERO).expect("settings are written");
    let new = ["--config", "settings.toml"];
    let end = train(home.path(), "whole", 3, &new);
    let whole = traces(&home.path().join("whole"), &end);
    let mut moments = Rng::new(5, "moments");
    for round in 0..KILLS {
        let after = Duration::from_millis(moments.below(400).into());
        kill(home.path(), after, if round == 0 { &new } else { &[] });
    }
    let end = train(home.path(), "killed", 3, &[]);
    traces(&home.path().join("killed"), &end).assert_same(&whole);
}

#[test]
fn policies_that_learn_without_search_repeat_as_well() {
    let home = tempfile::tempdir().expect("a scratch folder");
    std::fs::write(home.path().join("settings.toml"), REINFORCE).expect("settings are written");
    let new = ["--config", "settings.toml"];
    let end = train(home.path(), "first", 3, &new);
    let first = traces(&home.path().join("first"), &end);
    assert_eq!((first.checkpoints.len(), first.decisions.len()), (4, 4));
    assert!(first.games.len() > 64);
    train(home.path(), "second", 2, &new);
    let end = train(home.path(), "second", 3, &[]);
    traces(&home.path().join("second"), &end).assert_same(&first);
}

#[test]
fn what_does_not_repeat_is_refused_in_one_line() {
    let home = tempfile::tempdir().expect("a scratch folder");
    let clock = "preset = \"tictactoe\"\n[arena]\nanchors = [\"minimax{ms=5}\"]\n";
    std::fs::write(home.path().join("clock.toml"), clock).expect("settings are written");
    let cases: [(&[&str], &str); 4] = [
        (&["--generations", "3"], "add --deterministic"),
        (&["--deterministic", "--device", "auto"], "--device cpu"),
        (&["--deterministic", "--generations", "3", "--threads", "2"], "--threads is 2; "),
        (&["--deterministic", "--config", "clock.toml"], "minimax{ms=5} thinks by the clock"),
    ];
    for (arguments, expected) in cases {
        let output = ouro(home.path(), &[&["--run", "run"], arguments].concat());
        let error = output.stderr;
        assert_eq!(output.code, Some(64), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
        assert!(error.contains(expected), "{expected:?} is not in {error:?}");
        assert!(!home.path().join("run").exists(), "{arguments:?}");
    }
}
