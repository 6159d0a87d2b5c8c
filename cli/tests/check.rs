//! `ouro check` on a whole run, and on runs with one damaged part.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ouro_testkit::process::{Ended, run};

/// Settings of a run that starts within a second.
const SETTINGS: &str = r#"
preset = "tictactoe"

[net]
kind = "mlp"
layers = 1
hidden = 8
"#;

fn ouro(home: &Path, arguments: &[&str]) -> Ended {
    run(Command::new(env!("CARGO_BIN_EXE_ouro"))
        .args(arguments)
        .current_dir(home)
        .env_remove("OURO_RUN"))
}

/// A folder with a run of a second in `run`.
fn home_with_run() -> tempfile::TempDir {
    let home = tempfile::tempdir().expect("a scratch folder");
    fs::write(home.path().join("small.toml"), SETTINGS).expect("it is written");
    let ports = ["--arena", "127.0.0.1:0", "--learner", "127.0.0.1:0", "--web", "off"];
    let mut arguments = vec!["train", "--device", "cpu", "--threads", "1", "--run", "run"];
    arguments.extend(["--config", "small.toml", "--for", "2s"]);
    arguments.extend(ports);
    let trained = ouro(home.path(), &arguments);
    assert_eq!(trained.code, Some(0), "{}", trained.stderr);
    home
}

/// The first file below `folder` whose name ends so.
fn file_in(folder: &Path, ending: &str) -> PathBuf {
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                open.push(path);
            } else if path.to_string_lossy().ends_with(ending) {
                return path;
            }
        }
    }
    panic!("no file {ending} in {}", folder.display());
}

/// Flips one bit in the middle of a file.
fn flip(path: &Path) {
    let mut bytes = fs::read(path).expect("it can be read");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(path, bytes).expect("it can be written");
}

#[test]
fn a_whole_run_is_sound_and_each_damaged_part_is_named() {
    let home = home_with_run();
    let run = home.path().join("run");
    let check = || ouro(home.path(), &["check", "run"]);
    let whole = check();
    assert_eq!(whole.code, Some(0), "{}{}", whole.stdout, whole.stderr);
    assert_eq!(whole.stdout.lines().count(), 4, "{}", whole.stdout);
    assert!(whole.stdout.lines().all(|line| line.contains(" sound ")), "{}", whole.stdout);

    for (part, folder, ending) in [
        ("journal", "learner/journal", ".journal"),
        ("states", "learner/checkpoints", "weights.safetensors"),
        ("states", "learner/checkpoints", "training.safetensors"),
        ("states", "learner/checkpoints", "state.json"),
        ("results", "arena/weights", ".safetensors"),
    ] {
        let path = file_in(&run.join(folder), ending);
        flip(&path);
        let checked = check();
        assert_eq!(checked.code, Some(1), "{part}: {}{}", checked.stdout, checked.stderr);
        let line = checked.stdout.lines().find(|line| line.starts_with(part)).expect("a line");
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        assert!(line.contains("NOT SOUND") && line.contains(&name), "{line}");
        flip(&path);
    }
    let settings = run.join("run.toml");
    fs::rename(&settings, run.join("aside.toml")).expect("it is there");
    let checked = check();
    assert_eq!(checked.code, Some(1), "{}", checked.stdout);
    assert!(checked.stdout.contains("NOT SOUND"), "{}", checked.stdout);
    fs::rename(run.join("aside.toml"), &settings).expect("it is there");
    assert_eq!(check().code, Some(0));

    let missing = ouro(home.path(), &["check", "nothing"]);
    assert_eq!(missing.code, Some(66), "{}", missing.stderr);
    assert!(missing.stderr.contains("nothing: no folder of a run is here"), "{}", missing.stderr);
}
