//! `ouro config`, run as a process.

use std::path::Path;
use std::process::Command;

use ouro_testkit::process::{Ended, run};
use serde_json::Value;

fn ouro(home: &Path, arguments: &[&str]) -> Ended {
    run(Command::new(env!("CARGO_BIN_EXE_ouro")).args(arguments).current_dir(home))
}

#[test]
fn what_is_printed_can_be_changed_checked_and_printed_again() {
    let home = tempfile::tempdir().expect("a scratch folder");
    let presets = [
        "duel-7x7",
        "duel",
        "standard",
        "reinforce-duel",
        "duel-minimax",
        "standard-minimax",
        "connect4",
        "maze-dash",
        "snakgame",
        "tictactoe",
    ];
    for preset in presets {
        let printed = ouro(home.path(), &["config", "print", preset]);
        assert_eq!(printed.code, Some(0), "{}", printed.stderr);
        std::fs::write(home.path().join("my.toml"), &printed.stdout).expect("it is written");
        let again = ouro(home.path(), &["config", "print", "my.toml"]);
        assert_eq!(again.stdout, printed.stdout);
        let checked = ouro(home.path(), &["config", "check", "my.toml"]);
        assert_eq!(checked.code, Some(0), "{preset}: {}", checked.stdout);
        assert_eq!(checked.stdout, "config my.toml: nothing is wrong\n");
        // The settings file of a run names no preset, so missing keys are not filled in.
        let whole = &printed.stdout;
        let (_, whole) = whole.split_once('\n').expect("the first line is the preset");
        std::fs::write(home.path().join("run.toml"), whole).expect("it is written");
        let checked = ouro(home.path(), &["config", "check", "run.toml"]);
        assert_eq!(checked.code, Some(0), "{preset}: {}", checked.stdout);
        // Under another name, its gaps would be filled in.
        let printed = ouro(home.path(), &["config", "print", "run.toml"]).success();
        let advice = "# Save as run.toml: under another name, gaps of a file without a preset are \
                      filled from duel-7x7.\n";
        assert_eq!(printed, format!("{advice}{whole}"), "{preset}");
        std::fs::write(home.path().join("run.toml"), &printed).expect("it is written");
        let again = ouro(home.path(), &["config", "print", "run.toml"]).success();
        assert_eq!(again, printed, "{preset}");
        let json = ouro(home.path(), &["config", "print", "run.toml", "--json"]).success();
        assert!(!json.contains("Save as"), "{json}");
    }

    let usual = ouro(home.path(), &["config", "print", "--json"]);
    let usual: Value = serde_json::from_str(&usual.stdout).expect("JSON");
    assert_eq!(usual["game"]["width"], 7);
}

#[test]
fn optional_keys_of_a_preset_that_a_file_switches_off_stay_off_when_it_is_printed() {
    let home = tempfile::tempdir().expect("a scratch folder");
    let file = "preset = \"connect4\"\n[actor.search]\nnoise = \"off\"\nforced_playouts = \"off\"\n\
                [actor.search.gumbel]\nconsidered = 7\n";
    std::fs::write(home.path().join("gumbel.toml"), file).expect("it is written");
    let printed = ouro(home.path(), &["config", "print", "gumbel.toml"]).success();
    assert!(printed.contains("\n[actor.search]\nnoise = \"off\"\nforced_playouts = \"off\"\n"));
    assert!(printed.contains("\n[actor.search.gumbel]\nconsidered = 7\n"));
    std::fs::write(home.path().join("again.toml"), &printed).expect("it is written");
    let checked = ouro(home.path(), &["config", "check", "again.toml"]);
    assert_eq!(checked.code, Some(0), "{}", checked.stdout);
    let again = ouro(home.path(), &["config", "print", "again.toml"]).success();
    assert_eq!(again, printed);
    let required = "preset = \"connect4\"\ndiscount = \"off\"\n";
    std::fs::write(home.path().join("bad.toml"), required).expect("it is written");
    let checked = ouro(home.path(), &["config", "check", "bad.toml"]);
    assert_eq!(checked.code, Some(64));
    assert!(checked.stdout.contains("discount is \"off\""), "{}", checked.stdout);
}

/// A key that a file leaves out would follow the preset, which may change after the training.
#[test]
fn the_settings_that_results_were_made_with_are_complete_but_for_the_deployment() {
    let folder = std::fs::canonicalize("../docs/results").expect("a folder");
    let files = std::fs::read_dir(&folder).expect("a folder");
    let mut checked = 0;
    for path in files.map(|file| file.expect("a file").path()) {
        let name = path.to_str().expect("a path");
        let output = ouro(&folder, &["config", "check", name]);
        assert_eq!(output.code, Some(0), "{}", output.stdout);
        let printed = ouro(&folder, &["config", "print", name]).stdout;
        let (complete, _) =
            printed.split_once("\n[deploy]").expect("the deployment is the last table");
        let written = std::fs::read_to_string(&path).expect("a file");
        assert_eq!(written, complete, "{name}: write the value that the training had");
        checked += 1;
    }
    assert!(checked >= 4);
}

#[test]
fn every_problem_of_a_file_is_a_line() {
    let home = tempfile::tempdir().expect("a scratch folder");
    let file = "seeed = 1\ndiscount = 3.0\n[actor.search]\nsimulation = 8\n[game]\nwidth = -1\n\
                [actor]\nopening_plies = -3\nswap = \"gamez\"\n";
    std::fs::write(home.path().join("bad.toml"), file).expect("it is written");
    let checked = ouro(home.path(), &["config", "check", "bad.toml"]);
    assert_eq!(checked.code, Some(64));
    let problems = checked.stdout;
    for expected in [
        "config bad.toml: `seeed` is unknown; did you mean `seed`?",
        "config bad.toml: `actor.search.simulation` is unknown; \
         did you mean `actor.search.simulations`?",
        "config bad.toml: discount is 3; ",
        "config bad.toml: game.width is -1; it must be 3 to 25",
        "config bad.toml: actor.opening_plies is -3; it must be 0 to 2^32 - 1",
        "config bad.toml: actor.swap is \"gamez\"; did you mean \"games\"?",
    ] {
        assert!(problems.lines().any(|line| line.starts_with(expected)), "{problems}");
    }
    assert_eq!(problems.lines().count(), 6, "{problems}");
    assert!(checked.stderr.starts_with("error: config bad.toml has 6 problems"));
}

#[test]
fn a_run_file_that_lost_its_content_or_a_table_is_refused() {
    let home = tempfile::tempdir().expect("a scratch folder");
    let path = home.path().join("run.toml");
    let printed = ouro(home.path(), &["config", "print", "tictactoe"]).success();
    let (_, complete) = printed.split_once('\n').expect("the first line is the preset");
    let (cut, _) = complete.split_once("[replay]").expect("it has the table");
    for (text, expected) in [
        ("", "run.toml: it has no keys; put its content back, or name a preset"),
        (cut, "run.toml: replay is missing; put it back, or name a preset"),
        ("[train]\nlearning_rate = 0.001\n", "run.toml: game is missing; put it back"),
    ] {
        std::fs::write(&path, text).expect("it is written");
        let print = ouro(home.path(), &["config", "print", "run.toml"]);
        print.assert_refused(64, &[expected, "preset = \"duel-7x7\""]);
        let checked = ouro(home.path(), &["config", "check", "run.toml"]);
        assert_eq!(checked.code, Some(64), "{text}");
        let said = checked.stdout + &checked.stderr;
        assert!(said.contains(expected) && !said.contains("REINFORCE"), "{said}");
    }
}

#[test]
fn files_that_are_none_have_codes_of_their_own() {
    let home = tempfile::tempdir().expect("a scratch folder");
    std::fs::write(home.path().join("odd.toml"), "[train\n").expect("it is written");
    for (arguments, code, expected) in [
        (["config", "check", "none.toml"], 66, "none.toml"),
        (["config", "check", "odd.toml"], 64, "line 1"),
        (["config", "print", "chess"], 66, "presets are duel-7x7, duel"),
        (["config", "explain", "train.lerning_rate"], 64, "did you mean train.learning_rate?"),
        (["config", "explain", "momentum"], 64, "did you mean train.optimizer.momentum?"),
        (["config", "explain", "foo"], 64, "no key of a run; `ouro config explain` lists all"),
    ] {
        let output = ouro(home.path(), &arguments);
        let error = output.stderr;
        assert_eq!(output.code, Some(code), "{arguments:?}: {error}");
        assert!(error.contains(expected), "{arguments:?}: {error}");
        assert_eq!(error.lines().count(), 1, "{arguments:?}: {error}");
    }
}

#[test]
fn a_key_is_explained_with_its_type_range_default_and_presets() {
    let home = tempfile::tempdir().expect("a scratch folder");
    let explain = |key: &str| -> Value {
        let output = ouro(home.path(), &["config", "explain", key, "--json"]);
        assert_eq!(output.code, Some(0), "{key}: {}", output.stderr);
        serde_json::from_str(&output.stdout).expect("JSON")
    };
    let meanings = explain("discount");
    assert_eq!(meanings.as_array().map(Vec::len), Some(1), "{meanings}");
    let discount = &meanings[0];
    assert!(
        discount["about"].as_str().is_some_and(|about| about.starts_with("Discount γ per time"))
    );
    assert_eq!(discount["type"], "number");
    assert_eq!(discount["range"], "it must be above 0 and at most 1");
    let presets = discount["presets"].as_array().expect("a list");
    assert_eq!(presets.len(), 10, "{discount}");

    // A table that is in no preset: its keys have a range, too.
    let momentum = explain("train.optimizer.momentum");
    assert_eq!(momentum[0]["within"], "kind = \"sgd\"", "{momentum}");
    assert_eq!(momentum[0]["range"], "it must be at least 0 and below 1", "{momentum}");
    let channels = explain("net.channels");
    let kinds = channels.as_array().expect("a list");
    for kind in ["conv", "residual", "two_conv"] {
        let within = format!("kind = {kind:?}");
        let found = kinds.iter().find(|one| one["within"] == *within);
        // Kinds of tables with the same explanation of the key are merged into one entry.
        if let Some(found) = found {
            assert_eq!(found["range"], "it must be 1 to 1024", "{kind}");
        }
    }
    assert!(kinds.iter().all(|kind| kind["range"] == "it must be 1 to 1024"), "{channels}");
    let swap = explain("actor.swap");
    assert_eq!(swap[0]["choices"].as_array().map(Vec::len), Some(2), "{swap}");
    assert!(explain("arena.gate")[0]["keys"].to_string().contains("threshold"));
    let constant = explain("actor.search.temperature.constant");
    assert_eq!(constant[0]["choices"].as_array().map(Vec::len), Some(0), "{constant}");

    let shown = ouro(home.path(), &["config", "explain", "actor.search.simulations"]);
    let shown = shown.stdout;
    assert!(shown.starts_with("actor.search.simulations\n  Simulations per decision"), "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() <= 88), "{shown}");
    assert!(shown.contains("range    it must be 1 to 2^28"), "{shown}");
}
