//! `ouro match`, run as a process.

use std::fs;
use std::path::Path;
use std::process::Command;

use ouro_testkit::process::{Ended, run};
use serde_json::Value;

fn ouro(arguments: &[&str]) -> Ended {
    run(Command::new(env!("CARGO_BIN_EXE_ouro")).args(arguments))
}

const RANDOM_DUEL: [&str; 8] =
    ["match", "random", "random", "--game", "tic_tac_toe", "--games", "200", "--json"];

#[test]
fn the_same_seed_plays_the_same_match_and_equals_score_about_half() {
    let (first, again) = (ouro(&RANDOM_DUEL), ouro(&RANDOM_DUEL));
    assert_eq!(first.code, Some(0), "{}", first.stderr);
    let [report, again] = [first, again].map(|output| {
        let mut report: Value = serde_json::from_str(&output.stdout).expect("JSON");
        let times = report.as_object_mut().expect("an object").remove("times").expect("times");
        assert!(times[0]["moves"].as_u64() > Some(0) && times[0]["p99_ms"].as_f64() > Some(0.0));
        report
    });
    assert_eq!(report, again);
    let pairing = &report["pairings"][0];
    assert_eq!((&pairing["first"], &pairing["second"]), (&"random".into(), &"random#2".into()));
    let count = |field: &str| pairing[field].as_u64().expect("a count");
    assert_eq!((count("games"), report["games"].as_u64()), (200, Some(200)));
    assert_eq!(count("wins") + count("draws") + count("losses"), 200);
    // The tolerance is four standard errors over 200 games. The standard deviation of the points
    // of a game is at most 0.5.
    let score = pairing["score"]["value"].as_f64().expect("a share");
    assert!((score - 0.5).abs() < 4.0 * 0.5 / 200_f64.sqrt(), "{report}");
    let elo = &pairing["elo"];
    assert!(elo["low"].as_f64() < elo["value"].as_f64(), "{report}");
}

#[test]
fn the_recorded_game_can_be_shown() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let path = folder.path().join("longest.json.gz");
    let path = path.to_str().expect("a temporary path is text");
    let played = ouro(&[&RANDOM_DUEL[..], &["--record", path]].concat());
    assert_eq!(played.code, Some(0), "{}", played.stderr);
    let shown = ouro(&["show", path, "--all"]);
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    assert!(shown.stdout.contains("ply 1 of"));
}

#[test]
fn a_record_without_a_place_is_refused_before_the_first_game() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("text").to_owned();
    let save = path("match.jsonl");
    fs::write(path("file"), "").expect("it is written");
    for (record, part) in [
        (path("none/game.json"), "there is no folder"),
        (path("file/game.json"), "there is no folder"),
        (path(""), "it is a folder"),
    ] {
        let refused = ouro(&[&RANDOM_DUEL[..], &["--save", &save, "--record", &record]].concat());
        refused.assert_refused(74, &["cannot write", &record, part, "--record"]);
        assert_eq!(refused.stdout, "");
    }
    assert!(!Path::new(&save).exists(), "no game was played");
}

#[cfg(target_os = "linux")]
#[test]
fn the_report_is_printed_even_if_the_record_cannot_be_written() {
    let played = ouro(&[&RANDOM_DUEL[..], &["--record", "/dev/full"]].concat());
    played.assert_refused(74, &["cannot write /dev/full", "--record"]);
    let report: Value = serde_json::from_str(&played.stdout).expect("JSON");
    assert_eq!(report["games"], 200);
}

#[test]
fn one_file_for_results_and_record_is_refused_and_a_match_without_a_game_has_no_record() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("text").to_owned();
    let (save, record) = (path("match.jsonl"), path("game.json"));
    let play = |save: &str, record: &str| {
        ouro(&[&RANDOM_DUEL[..], &["--save", save, "--record", record]].concat())
    };
    fs::create_dir(path("below")).expect("a folder");
    let other_spelling = path("below/../match.jsonl");
    let expected = ["match.jsonl", "--record", "--save", "two files"];
    play(&save, &other_spelling).assert_refused(64, &expected);
    assert!(!Path::new(&save).exists(), "no game was played");
    report(&ouro(&[&RANDOM_DUEL[..], &["--save", &save]].concat()));
    let before = fs::read(&save).expect("it is saved");
    for spelling in [&save, &other_spelling] {
        play(&save, spelling).assert_refused(64, &expected);
        assert_eq!(fs::read(&save).expect("it is still there"), before, "{spelling}");
    }
    let again = play(&save, &record);
    assert_eq!(report(&again)["games"], 200);
    assert_eq!(again.stderr.lines().count(), 1, "{}", again.stderr);
    assert!(again.stderr.contains("no game was played"), "{}", again.stderr);
    assert!(!Path::new(&record).exists());
}

/// The report of a match without the times, which cover the moves of one process.
fn report(output: &Ended) -> Value {
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let mut report: Value = serde_json::from_str(&output.stdout).expect("JSON");
    report.as_object_mut().expect("an object").remove("times");
    report
}

#[test]
fn an_interrupted_match_continues_from_its_file_and_can_be_extended() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let path = folder.path().join("match.jsonl");
    let save = ["--save", path.to_str().expect("a temporary path is text")];
    let games = |count: &'static str| {
        let mut arguments = RANDOM_DUEL;
        arguments[6] = count;
        arguments
    };
    let expected = report(&ouro(&RANDOM_DUEL));
    report(&ouro(&[&games("60")[..], &save].concat()));
    let text = std::fs::read_to_string(&path).expect("it is saved");
    assert_eq!(text.lines().count(), 61);
    // As after a crash: some games are missing, and the last line is incomplete.
    let whole: Vec<&str> = text.split_inclusive('\n').take(40).collect();
    std::fs::write(&path, whole.concat() + "{\"seed\":12").expect("it is written");
    assert_eq!(report(&ouro(&[&RANDOM_DUEL[..], &save].concat())), expected);
    let text = std::fs::read_to_string(&path).expect("it is saved");
    assert_eq!(text.lines().count(), 201);
    assert!(text.starts_with(&whole.concat()), "games are played once");
    // Complete: nothing is played, and nothing changes.
    assert_eq!(report(&ouro(&[&RANDOM_DUEL[..], &save].concat())), expected);
    assert_eq!(std::fs::read_to_string(&path).expect("it is saved"), text);

    for (arguments, expected) in [
        (&["--seed", "2"][..], "seed = 1, not 2"),
        (&["--max-plies", "7"], "max_plies = 10000, not 7"),
    ] {
        let refused = ouro(&[&RANDOM_DUEL[..], &save, arguments].concat());
        assert_eq!(refused.code, Some(64), "{}", refused.stderr);
        let error = refused.stderr;
        assert!(
            error.contains("is not a file of this match") && error.contains(expected),
            "{error}"
        );
        assert!(error.contains("--save") && error.lines().count() == 1, "{error}");
    }
    for (line, expected) in [
        ("{}\n", "line 202 is damaged at column 2: missing field"),
        (
            "{\"seed\":1,\"seats\":[0,2],\"outcomes\":[0,0],\"scores\":[0,0],\"plies\":1,\
             \"truncated\":false,\"fingerprint\":1}\n",
            "line 202 is not a game of this match",
        ),
    ] {
        std::fs::write(&path, text.clone() + line).expect("it is written");
        let refused = ouro(&[&RANDOM_DUEL[..], &save].concat());
        assert_eq!(refused.code, Some(65), "{}", refused.stderr);
        assert!(refused.stderr.contains(expected), "{}", refused.stderr);
    }
    let folder = folder.path().to_str().expect("text");
    let refused = ouro(&[&RANDOM_DUEL[..], &["--save", folder]].concat());
    assert!(refused.code > Some(0) && refused.stderr.lines().count() == 1, "{}", refused.stderr);
}

#[test]
fn a_file_in_use_is_refused() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let path = folder.path().join("match.jsonl");
    let file = std::fs::File::create(&path).expect("it is created");
    file.lock().expect("it is locked");
    let save = ["--save", path.to_str().expect("a temporary path is text")];
    let refused = ouro(&[&RANDOM_DUEL[..], &save].concat());
    assert_eq!(refused.code, Some(69), "{}", refused.stderr);
    assert!(refused.stderr.contains("in use by another process"), "{}", refused.stderr);
}

#[test]
fn what_cannot_be_played_is_refused_in_one_line() {
    for (arguments, code, expected) in [
        (&["match", "random", "random"][..], 64, "--game"),
        (&["match", "random", "queen", "--game", "tic_tac_toe"], 64, "known are random"),
        (&["match", "random", "random", "--game", "tic_tac_toe", "--games", "3"], 64, "even"),
        (&["match", "random", "random", "--game", "battlesnake", "--games", "2"], 64, "4 seats"),
        (&["match", "random", "--game", "tic_tac_toe"], 64, "at least two"),
        (
            &["match", "random", "random", "--max-plies", "0"],
            64,
            "it is a whole number 1 to 1048576",
        ),
        (&["match", "random", "random", "--games", "-2"], 64, "it is a whole number 1 to 10000000"),
        (&["match", "random", "random", "--seed", "-1"], 64, "it is a whole number 0 to 18446744"),
        (&["match", "net{weights=none.safetensors}", "random"], 66, "none.safetensors"),
        (&["match", "net{weights=Cargo.toml}", "random"], 65, "Cargo.toml"),
        (&["match", "net{weights=gone}", "random"], 66, "gone: no weights are there; name a file"),
    ] {
        let output = ouro(arguments);
        let error = &output.stderr;
        assert_eq!(output.code, Some(code), "{arguments:?}: {error}");
        assert!(error.contains(expected), "{arguments:?}: {error}");
        assert_eq!(error.lines().count(), 1, "{arguments:?}: {error}");
    }
}

#[test]
fn an_unknown_player_gets_the_nearest_name_and_where_the_options_are() {
    // With and without a game, since the name is wrong anyway.
    for game in [&[][..], &["--game", "tic_tac_toe"]] {
        let refused = ouro(&[&["match", "randm", "greedy"], game].concat());
        let parts = ["player \"randm\" is unknown; did you mean random? known are random, "];
        refused.assert_refused(64, &parts);
        assert!(refused.stderr.contains(", http; docs/players.md"), "{}", refused.stderr);
        assert!(refused.stderr.len() < 220, "{}", refused.stderr);
    }
}

#[test]
fn more_players_than_seats_are_rated_and_more_seats_than_players_are_filled() {
    let play = |arguments: &[&str]| -> Value {
        let played = ouro(&[&["match", "--json"], arguments].concat());
        assert_eq!(played.code, Some(0), "{}", played.stderr);
        serde_json::from_str(&played.stdout).expect("JSON")
    };
    let three = ["random", "random", "random", "--game", "tic_tac_toe", "--games", "20"];
    let report = play(&three);
    assert_eq!(report["games"], 60);
    assert_eq!(report["pairings"].as_array().map(Vec::len), Some(3));
    assert_eq!(report["ratings"].as_array().map(Vec::len), Some(3));

    let report = play(&["random", "random", "--game", "battlesnake", "--games", "40"]);
    let entrant = &report["entrants"][0];
    assert_eq!((&entrant["seats"], &entrant["expected"]), (&40.into(), &0.25.into()));
    // Each game compares the first player with three others, except those that share the last place
    // with it.
    let pairing = &report["pairings"][0];
    assert_eq!(pairing["games"], 40);
    let counts = ["wins", "draws", "losses"].map(|count| pairing[count].as_u64().expect("a count"));
    assert!((40..=120).contains(&counts.iter().sum::<u64>()), "{report}");

    let text = ouro(&["match", "random", "random", "--game", "battlesnake", "--games", "40"]);
    let text = text.success();
    let [ahead, level, behind] = counts;
    let expected = format!(
        "random against random#2\n  ahead in {ahead} comparisons, level in {level}, behind in \
         {behind}, of 40 games; "
    );
    assert!(text.contains(&expected), "{text}");
}

#[test]
fn games_of_another_build_are_named_and_those_of_earlier_versions_are_not() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let path = folder.path().join("match.jsonl");
    let save = ["--save", path.to_str().expect("a temporary path is text")];
    let expected = report(&ouro(&RANDOM_DUEL));
    let run = |text: &str| {
        fs::write(&path, text).expect("it is written");
        let played = ouro(&[&RANDOM_DUEL[..], &save].concat());
        assert_eq!(report(&played), expected);
        (played.stderr, fs::read_to_string(&path).expect("it is saved"))
    };
    let warned = |stderr: &str, part: &str| {
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
        for part in ["match.jsonl", "another build", part, "name another file with --save"] {
            assert!(stderr.contains(part), "{part:?} is not in {stderr:?}");
        }
    };
    let mut short = RANDOM_DUEL;
    short[6] = "60";
    report(&ouro(&[&short[..], &save].concat()));
    let text = fs::read_to_string(&path).expect("it is saved");
    let (header, games) = text.split_once('\n').expect("it has games");
    let mut header: Value = serde_json::from_str(header).expect("JSON");
    let own = header["build"].as_str().expect("it names the build").to_owned();
    assert_eq!(own.len(), 64);

    // As if another build had played the games: this one names itself in the lines that it adds.
    let other = "0".repeat(64);
    let (stderr, mixed) = run(&text.replacen(&own, &other, 1));
    warned(&stderr, "60 of its 60 games");
    assert_eq!(mixed.matches(&own).count(), 140);
    // As if the other build had continued a match of this one.
    let swapped = mixed.replace(&own, "@").replace(&other, &own).replace('@', &other);
    let (stderr, same) = run(&swapped);
    warned(&stderr, "140 of its 200 games");
    assert_eq!(same, swapped);
    // A file of an earlier version names no build.
    header.as_object_mut().expect("an object").remove("build");
    let (stderr, continued) = run(&format!("{header}\n{games}"));
    assert_eq!(stderr, "");
    assert_eq!(continued.matches(&own).count(), 140);
}

#[test]
fn weights_of_another_game_are_refused_with_both_sides_named() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("text").to_owned();
    let file = |name: &str, game: &str| {
        let planes = ouro_game::PlaneShape { channels: 2, height: 3, width: 3 };
        let architecture = ouro_net::Architecture::Conv { channels: 2, layers: 1, hidden: 4 };
        let spec = ouro_net::NetSpec { planes, actions: 9, architecture };
        let meta = ouro_net::WeightsMeta {
            game: game.to_owned(),
            generation: ouro_net::Generation(1),
            step: 1,
        };
        let weights = ouro_net::Weights::initialize(spec, meta, 1).expect("a valid spec");
        std::fs::write(path(name), weights.to_safetensors()).expect("it is written");
        format!("net{{weights={}}}", path(name))
    };
    let tic = file("tic", r#"{"game":"tic_tac_toe"}"#);
    let four = file("four", r#"{"game":"connect_four"}"#);
    let (tic, four) = (tic.as_str(), four.as_str());
    for arguments in [[tic, four, "--games", "2"], [four, "random", "--game", "tic_tac_toe"]] {
        let output = ouro(&[&["match"], &arguments[..]].concat());
        let error = &output.stderr;
        assert_eq!(output.code, Some(64), "{error}");
        assert!(error.contains("tic_tac_toe") && error.contains("connect_four"), "{error}");
    }
    ouro(&["match", tic, four, "--games", "2"]).assert_refused(
        64,
        &["was trained for another game than ", "game connect_four instead of tic_tac_toe; name"],
    );
}

#[test]
fn weights_for_another_board_are_refused_with_the_settings_that_differ() {
    let weights = concat!(env!("CARGO_MANIFEST_DIR"), "/../checkpoints/duel-7x7.safetensors");
    let player = format!("net{{weights={weights}}}");
    let game = r#"{"game":"battlesnake","snakes":2}"#;
    let refused = ouro(&["match", &player, "greedy", "--game", game, "--games", "2"]);
    let differences = "draw -1.0 instead of 0.0, height 7 instead of 11, width 7 instead of 11; ";
    refused.assert_refused(
        64,
        &[
            "duel-7x7.safetensors was trained for another game than --game: ",
            differences,
            "; leave --game out or give the game of the weights",
        ],
    );
    let length = refused.stderr.len() - weights.len();
    assert!(length < 250, "{}", refused.stderr);
}

#[test]
fn a_record_replaces_no_other_file_and_results_need_a_folder() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("text").to_owned();
    let play = |option: &str, path: &str| ouro(&[&RANDOM_DUEL[..], &[option, path]].concat());
    let mine = path("notes.md");
    fs::write(&mine, "# Notes\n").expect("it is written");
    play("--record", &mine).assert_refused(64, &["notes.md is not a record", "--record"]);
    assert_eq!(fs::read_to_string(&mine).expect("it is still there"), "# Notes\n");
    let record = path("game.json");
    for _ in 0..2 {
        play("--record", &record).success();
    }
    play("--save", &path("none/x")).assert_refused(74, &["there is no folder", "none", "--save"]);
    play("--save", &path("")).assert_refused(74, &["it is a folder", "--save"]);
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_a_match_with_its_number_of_games_and_the_file_that_keeps_them() {
    use std::time::{Duration, Instant};

    use ouro_testkit::process::Process;

    let folder = tempfile::tempdir().expect("a scratch folder");
    let save = folder.path().join("match.jsonl");
    let player = "minimax{ms=5}";
    let game = r#"{"game":"battlesnake","width":7,"height":7,"snakes":2}"#;
    let mut command = Command::new(env!("CARGO_BIN_EXE_ouro"));
    command.args(["match", player, player, "--game", game, "--games", "1000", "--threads", "1"]);
    let mut process = Process::start_piped(command.arg("--save").arg(&save));
    // The settings of the match, and at least one game.
    let has_game = || fs::read_to_string(&save).is_ok_and(|text| text.lines().count() > 1);
    let start = Instant::now();
    while !has_game() {
        assert!(start.elapsed() < Duration::from_secs(60), "the match does not start");
        std::thread::sleep(Duration::from_millis(10));
    }
    process.signal("-INT");
    let ended = process.end_within(Duration::from_secs(60));
    ended.assert_refused(
        130,
        &["interrupted after ", " of 1000 games; they are in ", "match.jsonl", "continues"],
    );
    assert_eq!(ended.stdout, "");
}

#[test]
fn a_report_of_one_game_uses_the_singular() {
    let text = ouro(&["match", "random", "--game", "snake", "--games", "1", "--max-plies", "9"]);
    let text = text.success();
    assert!(text.starts_with("1 game of snake (1 distinct, "), "{text}");
}

#[test]
fn a_player_has_other_weights_for_duels_if_they_were_trained_for_the_duel_of_the_game() {
    let of = |name: &str| format!("{}/../checkpoints/{name}", env!("CARGO_MANIFEST_DIR"));
    let [four, two, small] = ["standard-minimax", "duel-minimax", "duel-7x7"]
        .map(|name| of(&format!("{name}.safetensors")));
    let player = |duel: &str| format!("minimax{{depth=1,weights={four},duel={duel}}}");
    let games = ["greedy", "--games", "4", "--json"];
    let played = ouro(&[&["match", &player(&two)], &games[..]].concat());
    let report = report(&played);
    assert_eq!((&report["game"], &report["games"]), (&"battlesnake".into(), &4.into()));
    for duel in [&small, &four] {
        let refused = ouro(&[&["match", &player(duel)], &games[..]].concat());
        assert_eq!(refused.code, Some(64), "{}", refused.stderr);
        assert!(refused.stderr.contains(duel.as_str()), "{}", refused.stderr);
        let line = refused.stderr.trim_end();
        assert!(line.ends_with("name weights of that duel") && line.lines().count() == 1, "{line}");
    }
}
