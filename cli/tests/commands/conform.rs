//! `ouro conform`: counts, the first difference, and an exit code per kind of failure.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

use flate2::read::GzDecoder;
use ouro_testkit::process::{Ended, run};

fn recordings() -> PathBuf {
    PathBuf::from("../crates/game/tests/data/battlesnake")
}

fn conform(folder: &Path, flags: &[&str]) -> Ended {
    run(Command::new(env!("CARGO_BIN_EXE_ouro")).arg("conform").arg(folder).args(flags))
}

/// Creates a folder with the recorded solo games, changed by `edit`.
fn edited(edit: impl FnOnce(String) -> String) -> tempfile::TempDir {
    let file = fs::File::open(recordings().join("solo.jsonl.gz")).expect("it is in the crate");
    let mut games = String::new();
    GzDecoder::new(file).read_to_string(&mut games).expect("it is whole");
    let folder = tempfile::tempdir().expect("a scratch folder");
    fs::write(folder.path().join("solo.jsonl"), edit(games)).expect("it can be written");
    folder
}

#[test]
fn recordings_that_agree_are_counted() {
    let output = conform(&recordings(), &[]);
    assert_eq!(output.stdout, "7462 turns, 102 placements, 0 differences\n");
    assert_eq!(output.code, Some(0));
    let output = conform(&recordings(), &["--json"]);
    let json = "{\"games\":306,\"turns\":7462,\"placements\":102,\"differences\":0}\n";
    assert_eq!(output.stdout, json);
}

#[test]
fn the_first_difference_is_drawn_and_gives_exit_code_1() {
    let folder = edited(|games| games.replacen("\"over\":false", "\"over\":true", 1));
    let output = conform(folder.path(), &[]);
    assert_eq!(output.code, Some(1));
    let shown = output.stdout;
    assert!(shown.contains("solo.jsonl:2: "), "{shown}");
    assert!(shown.contains("over: expected true, got false"), "{shown}");
    assert!(shown.contains("before") && shown.contains("expected"), "{shown}");
}

#[test]
fn a_cut_recording_is_damaged_and_named_in_one_line() {
    let folder = edited(|games| games[..games.len() / 2].to_owned());
    let output = conform(folder.path(), &[]);
    assert_eq!((output.code, &output.stdout[..]), (Some(65), ""));
    let told = output.stderr;
    assert!(told.starts_with("error: ") && told.contains("solo.jsonl:"), "{told}");
    assert_eq!(told.lines().count(), 1, "{told}");
}

#[test]
fn folders_named_like_recordings_are_passed_over() {
    let folder = edited(|games| games);
    let alone = conform(folder.path(), &[]);
    for name in ["a.jsonl", "z.jsonl.gz"] {
        fs::create_dir(folder.path().join(name)).expect("it can be made");
    }
    let output = conform(folder.path(), &[]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert_eq!(output.stdout, alone.stdout);
    fs::remove_file(folder.path().join("solo.jsonl")).expect("it is there");
    assert_eq!(conform(folder.path(), &[]).code, Some(66));
}

#[test]
fn a_folder_that_is_missing_or_empty_is_no_input() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    for path in [folder.path().to_path_buf(), folder.path().join("missing")] {
        let output = conform(&path, &[]);
        assert_eq!(output.code, Some(66), "{}", path.display());
        assert_eq!(output.stderr.lines().count(), 1);
    }
}
