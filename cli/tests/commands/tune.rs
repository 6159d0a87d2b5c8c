//! `ouro tune`, run as a process.

use std::fs;
use std::path::Path;
use std::process::Command;

use ouro_testkit::process::{Ended, run};
use serde_json::Value;

const DUEL: &str = r#"{"game":"battlesnake","snakes":2,"width":7,"height":7}"#;
const THREE: &str = r#"{"game":"battlesnake","snakes":3,"width":7,"height":7}"#;

/// A short run whose path is in `file`.
fn tune(file: &Path, more: &[&str]) -> Ended {
    let short = ["length in 0.0..50.0", "hungry in 1..100", "--iterations", "6", "--games", "4"];
    start(file, &[&short[..], more].concat())
}

fn start(file: &Path, arguments: &[&str]) -> Ended {
    start_in(DUEL, file, arguments)
}

fn start_in(game: &str, file: &Path, arguments: &[&str]) -> Ended {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ouro"));
    command.args(["tune", "minimax{depth=1}", "--game", game, "--path"]).arg(file);
    run(command.args(arguments))
}

#[test]
fn an_interrupted_run_continues_on_the_same_path_and_ends_with_a_match() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let (whole, part) = (folder.path().join("whole.jsonl"), folder.path().join("part.jsonl"));
    let ended = tune(&whole, &["--check-games", "20"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    for text in ["6 of 6", "option", "length", "hungry", "20 games of battlesnake"] {
        assert!(ended.stdout.contains(text), "{}", ended.stdout);
    }
    let path = fs::read_to_string(&whole).expect("it was written");
    assert_eq!(path.lines().count(), 7, "{path}");

    // As after a crash in the middle of an iteration's line.
    let end = path.match_indices('\n').nth(3).expect("it has more lines").0;
    fs::write(&part, &path[..end + 9]).expect("there is space");
    let ended = tune(&part, &["--check-games", "0", "--json"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(fs::read_to_string(&part).expect("it was written"), path);
    let lines: Vec<Value> =
        ended.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines.len(), 4, "three iterations and the end: {}", ended.stdout);
    assert_eq!(lines[0]["iteration"], 4);
    assert_eq!(lines[3]["changes"][0]["option"], "length");
    assert!(lines[3]["check"].is_null());

    // A complete run plays nothing but the match.
    let ended = tune(&whole, &["--check-games", "0", "--json"]);
    assert_eq!(ended.stdout.lines().count(), 1, "{}", ended.stdout);
}

#[test]
fn the_match_at_the_end_is_kept_and_continues_when_it_was_interrupted() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let path = folder.path().join("tune.jsonl");
    let check = folder.path().join("tune.jsonl.check");
    let games = ["--check-games", "20", "--json"];
    // The summary, and the times of the moves of this run, in which alone it may differ.
    let summary = || {
        let text = tune(&path, &games).success();
        let end = text.lines().next_back().expect("a summary");
        let mut end: Value = serde_json::from_str(end).expect("JSON");
        let report = end["check"].as_object_mut().expect("a match");
        let times = report.remove("times").expect("a list");
        (end, times.as_array().expect("a list").len())
    };
    let content = || fs::read_to_string(&check).expect("it was written");
    // Threads end their games in any order.
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort_unstable();
        lines
    };
    let (whole, times) = summary();
    assert_eq!((&whole["check"]["games"], times), (&20.into(), 2));
    let kept = content();
    assert_eq!(kept.lines().count(), 21, "{kept}");
    assert_eq!(summary(), (whole.clone(), 0), "no game is played again");
    assert_eq!(content(), kept);

    let part: String = kept.split_inclusive('\n').take(6).collect();
    fs::write(&check, &part).expect("there is space");
    assert_eq!(summary(), (whole.clone(), 2));
    assert!(content().starts_with(&part));
    assert_eq!(sorted(&content()), sorted(&kept));

    // A match of another end is kept; a new path sets it aside.
    let other = kept.replacen("depth=1", "depth=2", 1);
    fs::write(&check, &other).expect("there is space");
    let refused = tune(&path, &games);
    refused.assert_refused(
        64,
        &["tune.jsonl.check is not the match", "players = ", "remove it to play"],
    );
    assert_eq!(content(), other);
    fs::remove_file(&path).expect("it is there");
    assert_eq!(summary(), (whole, 2));
    assert_eq!(sorted(&content()), sorted(&kept));
    let aside = folder.path().join("tune.jsonl.check.old");
    assert_eq!(fs::read_to_string(aside).expect("it was set aside"), other);
}

#[test]
fn iterations_of_another_build_are_named() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let path = folder.path().join("tune.jsonl");
    tune(&path, &["--check-games", "0"]).success();
    let whole = fs::read_to_string(&path).expect("it was written");
    let header: Value =
        serde_json::from_str(whole.lines().next().expect("a header")).expect("JSON");
    let own = header["build"].as_str().expect("it names the build");
    // As if another build had been interrupted after half of the iterations.
    let half: String = whole.split_inclusive('\n').take(4).collect();
    let other = half.replacen(own, &"0".repeat(64), 1);
    fs::write(&path, &other).expect("there is space");
    let continued = tune(&path, &["--check-games", "0"]);
    assert_eq!(continued.code, Some(0), "{}", continued.stderr);
    assert_eq!(continued.stderr.lines().count(), 1, "{}", continued.stderr);
    for part in ["tune.jsonl", "another build", "3 of its 3 iterations", "--path"] {
        assert!(continued.stderr.contains(part), "{}", continued.stderr);
    }
    let text = fs::read_to_string(&path).expect("it was written");
    assert!(text.starts_with(&other) && text.matches(own).count() == 3, "{text}");
}

#[test]
fn what_cannot_be_tuned_is_refused_in_one_line_and_changes_no_file() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let path = folder.path().join("tune.jsonl");
    assert_eq!(tune(&path, &["--check-games", "0"]).code, Some(0));
    let before = fs::read(&path).expect("it was written");
    let other = tune(&path, &["--seed", "2"]);
    other.assert_refused(64, &["is not the path of this run", "seed = 1, not 2", "--path"]);
    assert_eq!(fs::read(&path).expect("it is still there"), before);

    let fresh = folder.path().join("fresh.jsonl");
    tune(&fresh, &["--rate", "0"]).assert_refused(64, &["--rate is 0", "above 0"]);
    for (arguments, parts) in [
        (&["lead in 0..20", "--games", "3"][..], ["--games is 3", "even"]),
        (&["lead in 0..20", "--games", "0"], ["--games", "it is a whole number 1 to 10000000"]),
        (
            &["lead in 0..20", "--max-plies", "0"],
            ["--max-plies", "it is a whole number 1 to 1048576"],
        ),
        (
            &["lead in 0..20", "--iterations", "1", "--check-games", "3"],
            ["--check-games is 3", "even"],
        ),
        (&["width in 0..9"], ["no number width", "known are food"]),
        (&["food in 0..2000"], ["food=2000", "0 to 1000"]),
        (&["food"], ["food", "NAME in LOW..HIGH"]),
        // A bound with a point makes a number with a fraction, which this option does not take.
        (&["hungry in 1.0..100.0"], ["hungry=", "whole number"]),
    ] {
        start(&fresh, arguments).assert_refused(64, &parts);
    }
    assert!(!fresh.exists());
    let nowhere = folder.path().join("none/tune.jsonl");
    tune(&nowhere, &[]).assert_refused(74, &["there is no folder", "none", "--path"]);
    let foreign = folder.path().join("foreign.toml");
    fs::write(&foreign, "seed = 1\n").expect("there is space");
    tune(&foreign, &[]).assert_refused(64, &["is not the path of this run"]);
    assert_eq!(fs::read_to_string(&foreign).expect("it is still there"), "seed = 1\n");
}

#[test]
fn the_default_number_of_games_of_the_match_is_a_multiple_of_three_seats() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let path = folder.path().join("tune.jsonl");
    let tune = |more: &[&str]| {
        let short = ["food in 0..1000", "--iterations", "1", "--games", "3", "--max-plies", "1"];
        start_in(THREE, &path, &[&short[..], more].concat())
    };
    let refused = tune(&["--check-games", "1000"]);
    refused.assert_refused(64, &["--check-games is 1000", "multiple of 3"]);
    tune(&["--check-games", "0"]).success();
    // Games that are cut short at once move no value, and equal players play no match.
    let text = fs::read_to_string(&path).expect("it was written");
    let header = text.lines().next().expect("it has a header");
    let line = r#"{"iteration":1,"result":1.0,"values":[500.0]}"#;
    fs::write(&path, format!("{header}\n{line}\n")).expect("there is space");
    let end: Value = serde_json::from_str(&tune(&["--json"]).success()).expect("JSON");
    assert_eq!((&end["changes"][0]["end"], &end["check"]["games"]), (&500.0.into(), &1_002.into()));
}

#[test]
fn a_run_whose_weights_were_replaced_is_refused() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let (path, weights) = (folder.path().join("tune.jsonl"), folder.path().join("weights"));
    let write_weights = |seed| {
        let planes = ouro_game::PlaneShape { channels: 2, height: 3, width: 3 };
        let architecture = ouro_net::Architecture::Conv { channels: 2, layers: 1, hidden: 4 };
        let spec = ouro_net::NetSpec { planes, actions: 9, architecture };
        let game = r#"{"game":"tic_tac_toe"}"#.to_owned();
        let meta = ouro_net::WeightsMeta { game, generation: ouro_net::Generation(1), step: 1 };
        let made = ouro_net::Weights::initialize(spec, meta, seed).expect("a valid spec");
        fs::write(&weights, made.to_safetensors()).expect("there is space");
    };
    let player = format!("mcts{{sims=4,c=1.5,weights={}}}", weights.display());
    let tune = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ouro"));
        command.args(["tune", &player, "c in 0.5..3.0", "--iterations", "6", "--games", "2"]);
        run(command.args(["--check-games", "0", "--path"]).arg(&path))
    };
    let content = || fs::read_to_string(&path).expect("it was written");
    write_weights(1);
    tune().success();
    let whole = content();
    // As if the run had been interrupted after half of its iterations.
    let half: String = whole.split_inclusive('\n').take(4).collect();
    fs::write(&path, &half).expect("there is space");
    write_weights(2);
    tune().assert_refused(64, &["is not the path of this run", "weights = ", "--path"]);
    assert_eq!(content(), half);
    write_weights(1);
    tune().success();
    assert_eq!(content(), whole);

    // A file of an earlier version has no hashes, so its weights are unknown.
    let (header, lines) = half.split_once('\n').expect("it has lines");
    let mut header: Value = serde_json::from_str(header).expect("JSON");
    header.as_object_mut().expect("an object").remove("weights").expect("it has hashes");
    fs::write(&path, format!("{header}\n{lines}")).expect("there is space");
    tune().success();
    assert_eq!(content().lines().count(), 7);
}
