//! The errors of `ouro` for unusable input.
//!
//! Each is one line that names the thing, its value and the remedy. The exit code is the one that
//! `--help` lists.

use std::fs;
use std::net::TcpListener;
use std::path::Path;

#[cfg(unix)]
use ouro_testkit::process::run;

use crate::support::small_run::{self, ouro, train};

/// A folder with settings and a finished run, whose files the tests then damage.
fn home_with_run() -> tempfile::TempDir {
    small_run::home_with_run("1ms")
}

/// A run with training states. A run that stops before the arena has its first weights has none, and
/// then its network may still change.
fn home_with_states() -> tempfile::TempDir {
    let home = home_with_run();
    let states = home.path().join("run/learner/training-states");
    let has_none = || fs::read_dir(&states).map_or(true, |mut states| states.next().is_none());
    for _ in 0..60 {
        if has_none() {
            train(home.path(), &["--run", "run", "--for", "1s"]).success();
        }
    }
    assert!(!has_none(), "a run has training states");
    home
}

/// Replaces the first `from` in the run's settings by `to`.
fn edit(home: &Path, from: &str, to: &str) {
    let path = home.join("run/run.toml");
    let text = fs::read_to_string(&path).expect("a run has settings");
    assert!(text.contains(from), "{text}");
    fs::write(&path, text.replacen(from, to, 1)).expect("it is written");
}

#[test]
fn a_run_folder_that_cannot_be_written_is_named_with_its_cause() {
    let home = tempfile::tempdir().expect("a scratch folder");
    fs::write(home.path().join("file"), "").expect("it is written");
    let cases = [
        ("/proc/nope", "No such file"),
        ("/dev/null/run", "Not a directory"),
        ("file", "cannot be written"),
        ("file/below", "Not a directory"),
    ];
    for (folder, cause) in cases {
        let output = train(home.path(), &["tictactoe", "--run", folder]);
        let named = format!("run folder {folder} cannot be written");
        output.assert_refused(74, &[&named, cause, "--run"]);
    }
}

#[cfg(unix)]
#[test]
fn a_run_in_a_folder_that_became_read_only_is_refused_before_anything_starts() {
    use std::os::unix::fs::PermissionsExt;

    let home = home_with_run();
    let folder = home.path().join("run");
    let allow = |mode| fs::set_permissions(&folder, fs::Permissions::from_mode(mode));
    allow(0o555).expect("it is ours");
    // Permissions do not bind root, who can write anyway.
    let binds = fs::write(folder.join("probe"), "").is_err();
    let output = train(home.path(), &["--run", "run", "--for", "1ms"]);
    allow(0o755).expect("it is ours");
    if binds {
        let named = "run folder run cannot be written: Permission denied";
        output.assert_refused(74, &[named, "--run"]);
    } else {
        assert_eq!(output.code, Some(0), "{}", output.stderr);
    }
}

#[test]
fn a_port_in_use_names_the_flag_that_changes_it() {
    let home = home_with_run();
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("it has one").to_string();
    for flag in ["--arena", "--learner", "--web"] {
        let output = train(home.path(), &["--run", "run", flag, &address, "--for", "1ms"]);
        output.assert_refused(69, &[&address, "in use", flag]);
    }
}

#[test]
fn settings_that_do_not_belong_to_a_run_are_refused() {
    type Case<'a> = (&'a str, &'a str, i32, &'a [&'a str]);
    let cases: [Case; 7] = [
        ("seed = 1", "seed = 2", 64, &["run run is one of", "put that back", "--run"]),
        (
            "hidden = 8",
            "hidden = 9",
            64,
            &["another network, net.hidden = 8, than run/run.toml says, net.hidden = 9;", "--run"],
        ),
        (
            "game = \"tic_tac_toe\"",
            "game = \"connect_four\"",
            64,
            &["tic_tac_toe", "connect_four", "--run"],
        ),
        ("seed = 1", "sead = 1", 64, &["run.toml", "`sead` is unknown", "did you mean `seed`?"]),
        ("seed = 1", "seed = -1", 64, &["run.toml: seed is -1; it must be at least 0"]),
        ("generation_steps = ", "generation_steps = 0 # ", 64, &["generation_steps is 0"]),
        ("seed = 1", "seed 1", 64, &["run.toml", "is not TOML", "line "]),
    ];
    for (from, to, code, expected) in cases {
        let home = home_with_states();
        edit(home.path(), from, to);
        train(home.path(), &["--run", "run", "--for", "1s"]).assert_refused(code, expected);
    }
}

#[test]
fn a_run_with_an_emptied_settings_file_does_not_continue_with_other_settings() {
    let home = home_with_states();
    fs::write(home.path().join("run/run.toml"), "").expect("it is written");
    let output = train(home.path(), &["--run", "run", "--for", "1s"]);
    output.assert_refused(64, &["run/run.toml: it has no keys; put its content back"]);
}

#[test]
fn files_of_a_run_that_are_none_are_named() {
    type Case<'a> = (&'a str, i32, &'a [&'a str]);
    let cases: [Case; 2] = [
        ("run/arena/results.log", 69, &["results.log", "damaged at entry 0", "ouro repair"]),
        ("run/learner/journal", 69, &["journal"]),
    ];
    for (path, code, expected) in cases {
        let home = home_with_run();
        let path = home.path().join(path);
        if path.is_dir() {
            fs::remove_dir_all(&path).expect("it is ours");
        }
        fs::write(&path, "nothing of ours, but long enough to be looked at").expect("written");
        train(home.path(), &["--run", "run", "--for", "1s"]).assert_refused(code, expected);
    }
}

#[test]
fn training_states_of_another_version_name_it_and_what_can_read_them() {
    let home = home_with_states();
    let states = home.path().join("run/learner/training-states");
    for state in fs::read_dir(&states).expect("a run has training states") {
        let path = state.expect("it is listed").path().join("manifest.json");
        let text = fs::read_to_string(&path).expect("a training state has a manifest");
        let mut manifest: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        manifest["version"] = 1.into();
        fs::write(&path, manifest.to_string()).expect("it is written");
    }
    let expected = ["manifest.json: version is 1; this program reads ", "another run folder"];
    train(home.path(), &["--run", "run", "--for", "1s"]).assert_refused(69, &expected);
}

#[test]
fn flags_of_new_runs_are_refused_where_there_is_one() {
    let home = home_with_run();
    for (arguments, flag) in [
        (&["--seed", "3"][..], "--seed"),
        (&["--config", "small.toml"], "--config"),
        (&["connect4"], "PRESET"),
    ] {
        let output = train(home.path(), &[&["--run", "run"], arguments].concat());
        output.assert_refused(64, &[flag, "is for new runs", "--run"]);
    }
}

#[test]
fn wrong_settings_leave_no_run_behind() {
    let home = tempfile::tempdir().expect("a scratch folder");
    let cases = [
        ("[train]\nlerning_rate = 1.0", "did you mean `train.learning_rate`?"),
        ("discount = 2.0", "discount is 2; "),
        ("[actor]\nbatch = 0", "actor.batch is 0; it must be 1 to 2^20"),
        ("[arena]\nplayer = \"nobody\"", "arena.player"),
        ("[game]\ngame = \"battlesnake\"\nwidth = 200", "game.width is 200; "),
        ("preset = \"chess\"", "known are duel-7x7"),
    ];
    for (text, expected) in cases {
        fs::write(home.path().join("bad.toml"), text).expect("it is written");
        let output = train(home.path(), &["--run", "run", "--config", "bad.toml"]);
        output.assert_refused(64, &[expected]);
        assert!(!home.path().join("run").exists(), "{text}");
    }
    let output = train(home.path(), &["--run", "run", "--config", "none.toml"]);
    output.assert_refused(66, &["none.toml"]);
}

#[test]
fn a_start_whose_settings_cannot_be_saved_leaves_no_part_behind() {
    let home = tempfile::tempdir().expect("a scratch folder");
    // The draft of the settings cannot be written.
    fs::create_dir_all(home.path().join("r/run.toml.new")).expect("nothing is there");
    let output = train(home.path(), &["tictactoe", "--run", "r"]);
    assert_eq!(output.code, Some(74), "{}", output.stderr);
    assert!(output.stderr.contains("run folder r cannot be written"), "{}", output.stderr);
    for part in ["arena", "learner", "actor", "run.toml"] {
        assert!(!home.path().join("r").join(part).exists(), "{part}");
    }
}

/// Writes weights for boards of 4x4 that say that they were trained for `game`.
fn write_weights(path: &Path, game: &str) {
    let planes = ouro_game::PlaneShape { channels: 2, height: 4, width: 4 };
    let architecture = ouro_net::Architecture::Conv { channels: 2, layers: 1, hidden: 4 };
    let spec = ouro_net::NetSpec { planes, actions: 9, architecture };
    let (game, generation) = (game.to_owned(), ouro_net::Generation(1));
    let meta = ouro_net::WeightsMeta { game, generation, step: 1 };
    let weights = ouro_net::Weights::initialize(spec, meta, 1).expect("a valid spec");
    fs::write(path, weights.to_safetensors()).expect("it is written");
}

#[test]
fn weights_for_a_game_that_cannot_be_built_are_refused_with_its_short_text() {
    let home = tempfile::tempdir().expect("a scratch folder");
    let long = format!(r#"{{"game":"{}"}}"#, "g".repeat(10_000));
    for (game, expected) in [
        (r#"{"game":"connect_four","width":99}"#, "width is 99"),
        (r#"{"game":"go"}"#, "unknown variant `go`"),
        ("", "EOF"),
        (&*long, "ggg … ggg"),
    ] {
        write_weights(&home.path().join("w"), game);
        for arguments in [&["match", "net{weights=w}", "random"][..], &["exam", "net{weights=w}"]] {
            let output = ouro(home.path(), arguments);
            let parts = ["w was trained for ", expected, "; name other weights"];
            output.assert_refused(65, &parts);
            assert!(output.stderr.len() < 1_000, "{}", output.stderr);
        }
    }
}

#[test]
fn weights_of_another_shape_cannot_play_and_say_why() {
    let home = tempfile::tempdir().expect("a scratch folder");
    write_weights(&home.path().join("w"), r#"{"game":"tic_tac_toe"}"#);
    for player in ["net{weights=w}", "mcts{sims=4,weights=w}"] {
        let output = ouro(home.path(), &["match", player, "random", "--games", "2"]);
        output.assert_refused(64, &["weights=w", "4"]);
    }
}

#[cfg(unix)]
#[test]
fn a_value_that_is_not_text_is_named_by_the_option_of_its_subcommand() {
    use std::os::unix::ffi::OsStrExt;

    let home = tempfile::tempdir().expect("a scratch folder");
    let broken = std::ffi::OsStr::from_bytes(b"a\xff");
    let mut command = small_run::command(home.path(), &["tune"]);
    // `--path` is a path here, but text in `ouro serve`.
    let ended = run(command.arg("--path").arg(broken).arg("--game").arg(broken));
    ended.assert_refused(64, &["not UTF-8 text: --game; "]);
}

#[test]
fn a_copy_is_refused_in_terms_of_its_flags() {
    let home = home_with_states();
    let copy =
        |arguments: &[&str]| ouro(home.path(), &[&["store", "copy", "run"], arguments].concat());
    let redis = "give redis://HOST:PORT, rediss://HOST:PORT or files";
    copy(&["--to", "foo"]).assert_refused(64, &[&format!("--to is \"foo\"; {redis}")]);
    let secret = copy(&["--to", "http://user:secret@host"]);
    secret.assert_refused(64, &[&format!("--to is \"…@host\"; {redis}")]);
    let objects = "--to-weights is \"s3:/b\"; give s3://BUCKET/PREFIX, file:///FOLDER or files";
    copy(&["--to-weights", "s3:/b"]).assert_refused(64, &[objects]);
    if cfg!(not(feature = "object-store")) {
        let remedy = "or name another place with --to-weights";
        copy(&["--to-weights", "file:///srv/weights"]).assert_refused(64, &[remedy]);
    }
}

#[test]
#[cfg(not(feature = "otlp"))]
fn a_program_without_traces_names_the_flag_and_the_key() {
    let home = small_run::home();
    let start = ["--run", "run", "--config", "small.toml", "--otlp", "http://127.0.0.1:1"];
    let refused = train(home.path(), &start);
    refused.assert_refused(64, &["`--features otlp`, or leave out --otlp and deploy.otlp"]);
}

#[test]
fn a_game_on_the_command_line_is_refused_by_key() {
    let home = tempfile::tempdir().expect("a scratch folder");
    for (game, expected) in [
        (r#"{"game":"battlesnake","width":-1}"#, "width is -1; it must be 3 to 25"),
        (
            r#"{"game":"battlesnake","snakes":"two"}"#,
            "snakes is \"two\"; it must be a whole number, 1 to 16",
        ),
        (r#"{"game":"battlesnake","snaks":2}"#, "did you mean `snakes`?"),
        (r#"{"game":"battlesnake","#, "EOF"),
    ] {
        let output = ouro(home.path(), &["match", "random", "random", "--game", game]);
        output.assert_refused(64, &["--game", expected]);
    }
}

#[test]
fn the_variable_of_a_flag_is_true_or_false() {
    let home = small_run::home();
    let start = |value: &str| {
        let run = ["train", "--run", "run", "--config", "small.toml", "--for", "1ms"];
        let ports = ["--arena", "127.0.0.1:0", "--learner", "127.0.0.1:0", "--web", "off"];
        let mut command = small_run::command(home.path(), &[&run[..], &ports].concat());
        command.args(["--device", "cpu"]).env("OURO_INSECURE", value).output().expect("it starts")
    };
    assert_eq!(start("yes").status.code(), Some(0));
    let refused = start("maybe");
    assert_eq!(refused.status.code(), Some(64));
    let error = String::from_utf8_lossy(&refused.stderr);
    assert!(error.contains("--insecure") && error.contains("write true or false"), "{error}");
}

#[cfg(unix)]
#[test]
fn variables_without_a_value_count_as_not_set() {
    let home = small_run::home();
    let start = ["train", "--run", "run", "--config", "small.toml", "--for", "1ms"];
    let ports = ["--arena", "127.0.0.1:0", "--learner", "127.0.0.1:0", "--web", "off"];
    let mut command = small_run::command(home.path(), &[&start[..], &ports].concat());
    for variable in ["OURO_STORE", "OURO_INSECURE", "OURO_THREADS", "OURO_CACHE", "OURO_METRICS"] {
        command.env(variable, "");
    }
    run(command.args(["--device", "cpu"])).success();
}

#[cfg(unix)]
#[test]
fn variables_that_are_not_text_are_named() {
    use std::os::unix::ffi::OsStrExt;

    let home = small_run::home();
    for variable in ["OURO_STORE_NAME", "RUST_LOG"] {
        let start = ["train", "--run", "run", "--config", "small.toml", "--for", "1ms"];
        let mut command = small_run::command(home.path(), &start);
        let ended = run(command.env(variable, std::ffi::OsStr::from_bytes(b"info\xff")));
        ended.assert_refused(64, &[variable, "not UTF-8 text"]);
        assert!(!home.path().join("run").exists(), "{variable}");
    }
}
