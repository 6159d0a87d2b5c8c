//! `ouro check` on a whole run, and on runs with one damaged part.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::support::small_run::{command, file_in, flip, home, home_with_run, ouro};

/// Every file below a folder with its content.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut contents = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            contents.extend(self::contents(&path));
        } else {
            let bytes = fs::read(&path).expect("it can be read");
            contents.insert(path, bytes);
        }
    }
    contents
}

#[test]
fn a_whole_run_is_sound_and_each_damaged_part_is_named() {
    let home = home_with_run("2s");
    let run = home.path().join("run");
    let check = || ouro(home.path(), &["check", "run"]);
    let whole = check();
    assert_eq!(whole.code, Some(0), "{}{}", whole.stdout, whole.stderr);
    assert_eq!(whole.stdout.lines().count(), 6, "{}", whole.stdout);
    assert!(whole.stdout.lines().all(|line| line.contains(" sound ")), "{}", whole.stdout);

    for (part, folder, ending) in [
        ("journal", "learner/journal", ".journal"),
        ("states", "learner/training-states", "weights.safetensors"),
        ("states", "learner/training-states", "training.safetensors"),
        ("states", "learner/training-states", "state.json"),
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

    // A first start that was killed left no results and no weights.
    let fresh = home.path().join("fresh");
    fs::create_dir_all(fresh.join("arena/weights")).expect("it is created");
    fs::copy(&settings, fresh.join("run.toml")).expect("it is copied");
    fs::write(fresh.join("arena/results.log"), "").expect("it is written");
    for command in ["check", "repair"] {
        ouro(home.path(), &[command, "fresh"]).success();
    }

    for folder in ["nothing", "run/learner/journal", "small.toml"] {
        let missing = ouro(home.path(), &["check", folder]);
        missing.assert_refused(66, &[&format!("{folder}: no run is here; name the folder ")]);
        assert_eq!(missing.stdout, "");
    }
}

#[test]
fn a_check_reports_an_incomplete_last_entry_and_changes_no_file() {
    const INCOMPLETE: &[u8] = b"0badc0de 9 {\"half";
    let home = home_with_run("1s");
    for log in ["results.log", "games.log"] {
        let path = home.path().join("run/arena").join(log);
        let whole = fs::read(&path).expect("it is there");
        fs::write(path, [&whole[..], INCOMPLETE].concat()).expect("it is written");
    }
    let before = contents(home.path());
    let checked = ouro(home.path(), &["check", "run"]).success();
    let bytes = INCOMPLETE.len();
    let said = format!("; an incomplete last entry of {bytes} bytes, which a start cuts off; 1 ");
    assert!(checked.contains(&said), "{checked}");
    assert!(contents(home.path()) == before, "a file has changed");
}

#[test]
fn a_verdict_is_the_exit_code_also_if_nobody_reads_it() {
    let home = home();
    fs::create_dir(home.path().join("arena")).expect("it is created");
    for output in [&[][..], &["--json"]] {
        let arguments = [&["check", "."], output].concat();
        let mut check = command(home.path(), &arguments);
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let status = check.stdout(Stdio::from(writer)).status().expect("it starts");
        assert_eq!(status.code(), Some(1), "a folder without settings is not sound");
    }
}
