//! `ouro train`, run as a process: real ports, kills and restarts.

#[cfg(target_os = "linux")]
mod full_disk;
mod grpcurl;
mod kills;
mod page;
mod process;

use std::path::Path;
use std::process::Command;

use ouro_testkit::process::{Process, run};
use serde_json::Value;

use self::process::Trainer;
use crate::support::promoting_run::SETTINGS;
use crate::support::small_run;

fn home_with_settings() -> tempfile::TempDir {
    let home = tempfile::tempdir().expect("a scratch folder");
    std::fs::write(home.path().join("settings.toml"), SETTINGS).expect("settings are written");
    home
}

fn start(home: &Path) -> Trainer {
    let settings = (!home.join("run").exists()).then(|| home.join("settings.toml"));
    Trainer::start(&home.join("run"), settings.as_deref())
}

#[test]
fn ctrl_c_drains_and_says_how_to_go_on() {
    let home = home_with_settings();
    let mut trainer = start(home.path());
    let mut progress = trainer.wait_for("progress");
    while progress["step"] == 0 || progress["loss"].is_null() {
        progress = trainer.wait_for("progress");
    }
    for key in ["generation", "step", "games_per_second", "moves_per_second", "loss", "pool"] {
        assert!(progress[key].is_number(), "{key}: {progress}");
    }
    let (code, end) = trainer.interrupt();
    assert_eq!(code, Some(0), "a drain is a clean end");
    let run = home.path().join("run");
    let resume = end["resume"].as_str().expect("a command");
    let resume: Vec<_> = resume.split_whitespace().collect();
    assert_eq!(resume[..3], [env!("CARGO_BIN_EXE_ouro"), "train", "--run"]);
    assert_eq!(resume[3], run.to_str().expect("a path"));
    assert!(resume.windows(2).any(|words| words == ["--device", "cpu"]), "{resume:?}");
    let again = start(home.path());
    assert_eq!(again.opening["new"], false);
    assert!(again.opening["step"].as_u64() >= progress["step"].as_u64());
    let (code, _) = again.interrupt();
    assert_eq!(code, Some(0));
    let events = std::fs::read_to_string(run.join("events.jsonl")).expect("a history");
    let name =
        |line| -> Value { serde_json::from_str::<Value>(line).expect("JSON")["event"].take() };
    let names: Vec<_> = events.lines().map(name).collect();
    for event in ["start", "draining", "end"] {
        assert_eq!(names.iter().filter(|&name| name == event).count(), 2, "{event}");
    }
}

#[test]
fn the_end_of_a_run_and_a_check_name_the_weights_of_the_champion() {
    let home = small_run::home();
    let mut arguments = vec!["--run", "run", "--for", "2s", "--config", "small.toml"];
    let mut end = Value::Null;
    // On a loaded machine, two seconds may not be enough for a promotion.
    for _ in 0..10 {
        let events = small_run::train(home.path(), &arguments).success();
        end = serde_json::from_str(events.lines().last().expect("events")).expect("JSON");
        if !end["champion"].is_null() {
            break;
        }
        // A resumed run has its settings.
        arguments.truncate(4);
    }
    let champion = &end["champion"];
    let weights = champion["weights"].as_str().expect("a run promotes");
    assert!(weights.starts_with("run/arena/weights/"), "{weights}");
    let generation = champion["generation"].as_u64().expect("a number");
    let bytes = std::fs::read(home.path().join(weights)).expect("the file is there");
    let read = ouro_net::Weights::from_safetensors(&bytes).expect("weights");
    assert_eq!(u64::from(read.meta().generation.0), generation);
    let checked = small_run::ouro(home.path(), &["check", "run"]).success();
    let line = format!("champion  sound      generation-{generation}: {weights}\n");
    assert!(checked.ends_with(&line), "{checked}");
    let player = "net{weights=run}";
    let refused = small_run::ouro(home.path(), &["match", player, "random"]);
    refused.assert_refused(74, &["run: it is the folder of a run", "`ouro check run` shows"]);
}

#[cfg(unix)]
#[test]
fn a_program_whose_own_path_is_not_text_trains_and_shows_it_lossily() {
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::process::CommandExt;

    let home = small_run::home();
    let ports = ["--arena", "127.0.0.1:0", "--learner", "127.0.0.1:0", "--web", "off"];
    let start = ["train", "--device", "cpu", "--run", "run", "--config", "small.toml"];
    let mut command =
        small_run::command(home.path(), &[&start[..], &ports, &["--for", "1ms"]].concat());
    let events = run(command.arg0(std::ffi::OsStr::from_bytes(b"ouro-\xff"))).success();
    assert!(events.contains("\"'ouro-\u{fffd}' train --run run "), "{events}");
}

#[test]
fn games_that_wait_for_training_are_taken_in_when_the_run_ends() {
    let home = tempfile::tempdir().expect("a scratch folder");
    // At this ratio, training on the games of one second takes minutes.
    let window = "window_positions = 1024";
    let slow = format!("{window}\nsamples_per_insert = 512\n[intake]\nmax_staleness = 100000");
    let (settings, stderr) = (home.path().join("settings.toml"), home.path().join("stderr"));
    std::fs::write(&settings, kills::ALPHAZERO.replace(window, &slow)).expect("they are written");
    let file = std::fs::File::create(&stderr).expect("a file");
    let mut trainer = Trainer::start_with_stderr(&home.path().join("run"), Some(&settings), file);
    trainer.wait_for("progress");
    let (code, _) = trainer.interrupt();
    assert_eq!(code, Some(0));
    let stderr = std::fs::read_to_string(stderr).expect("text");
    assert!(!stderr.contains("without the learner's answer"), "{stderr}");
}

#[test]
fn a_run_on_a_larger_board_starts_with_the_layers_of_a_smaller_one() {
    let home = tempfile::tempdir().expect("a scratch folder");
    let path = |name: &str| home.path().join(name);
    std::fs::write(path("duel.toml"), "preset = \"duel\"\n").expect("settings are written");
    let weights =
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../checkpoints/duel-7x7.safetensors"));
    let file = std::fs::File::create(path("stderr")).expect("a file");
    let trainer = Trainer::start_from(&path("run"), &path("duel.toml"), weights, file);
    assert_eq!(trainer.interrupt().0, Some(0));
    let stderr = std::fs::read_to_string(path("stderr")).expect("text");
    assert!(stderr.contains("layers start with the given weights; new: "), "{stderr}");
    assert!(stderr.contains("policy.linear") && stderr.contains("value.hidden"), "{stderr}");
    let again = |weights: &Path| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ouro"));
        run(command.args(["train", "--run"]).arg(path("run")).arg("--from").arg(weights))
    };
    again(weights).assert_refused(64, &["--from is for new runs"]);
    again(&path("none")).assert_refused(64, &["--from is for new runs"]);
    let missing = ["train", "duel", "--from", "none", "--run"];
    run(Command::new(env!("CARGO_BIN_EXE_ouro")).args(missing).arg(path("other")))
        .assert_refused(66, &["none: no weights are there"]);
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

#[test]
fn starts_at_once_in_a_new_folder_leave_one_run_that_is_sound() {
    let home = small_run::home();
    let ports = ["--arena", "127.0.0.1:0", "--learner", "127.0.0.1:0", "--web", "off"];
    let start = ["train", "--device", "cpu", "--threads", "1", "--run", "run"];
    let settings = ["--config", "small.toml", "--for", "2s"];
    let arguments = [&start[..], &ports, &settings].concat();
    let starts =
        [(); 3].map(|()| Process::start_piped(&mut small_run::command(home.path(), &arguments)));
    let ended = starts.map(|process| process.end_within(process::PATIENCE));
    for one in ended.iter().filter(|one| one.code != Some(0)) {
        // A start that finds the settings of the first one is refused for its --config.
        let code = if one.stderr.contains("--config is for new runs") { 64 } else { 69 };
        one.assert_refused(code, &["run"]);
        assert!(code == 64 || one.stderr.contains("in use by another process"), "{}", one.stderr);
    }
    assert!(ended.iter().any(|one| one.code == Some(0)), "{ended:?}");
    small_run::ouro(home.path(), &["check", "run"]).success();
}
