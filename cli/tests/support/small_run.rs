//! A run of tic-tac-toe that starts within a second, and damage to its files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ouro_testkit::process::{Ended, run};

/// Settings of the run.
pub(crate) const SETTINGS: &str = r#"
preset = "tictactoe"

[net]
kind = "mlp"
layers = 1
hidden = 8
"#;

/// Runs `ouro` in the folder `home`.
pub(crate) fn ouro(home: &Path, arguments: &[&str]) -> Ended {
    run(&mut command(home, arguments))
}

/// `ouro` in the folder `home`.
pub(crate) fn command(home: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ouro"));
    command.args(arguments).current_dir(home).env_remove("OURO_RUN");
    command
}

/// Runs `ouro train` on free ports, so that it does not collide with the runs of other tests.
pub(crate) fn train(home: &Path, arguments: &[&str]) -> Ended {
    let mut all = vec!["train", "--device", "cpu", "--threads", "1"];
    for (flag, value) in
        [("--arena", "127.0.0.1:0"), ("--learner", "127.0.0.1:0"), ("--web", "off")]
    {
        if !arguments.contains(&flag) {
            all.extend([flag, value]);
        }
    }
    all.extend(arguments);
    ouro(home, &all)
}

/// A folder with the settings in `small.toml`.
pub(crate) fn home() -> tempfile::TempDir {
    let home = tempfile::tempdir().expect("a scratch folder");
    fs::write(home.path().join("small.toml"), SETTINGS).expect("it is written");
    home
}

/// A folder with a run of this length in `run`.
pub(crate) fn home_with_run(length: &str) -> tempfile::TempDir {
    let home = home();
    let arguments = ["--run", "run", "--config", "small.toml", "--for", length];
    let trained = train(home.path(), &arguments);
    assert_eq!(trained.code, Some(0), "{}", trained.stderr);
    home
}

/// The first file below `folder` whose name ends so.
pub(crate) fn file_in(folder: &Path, ending: &str) -> PathBuf {
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

/// Flips one bit in the middle of a file, or flips it back.
pub(crate) fn flip(path: &Path) {
    let mut bytes = fs::read(path).expect("it can be read");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(path, bytes).expect("it can be written");
}
