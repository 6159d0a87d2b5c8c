//! `ouro check` on a whole run, and on runs with one damaged part.

use std::fs;

use std::process::Stdio;

use crate::support::small_run::{command, file_in, flip, home, home_with_run, ouro};

#[test]
fn a_whole_run_is_sound_and_each_damaged_part_is_named() {
    let home = home_with_run("2s");
    let run = home.path().join("run");
    let check = || ouro(home.path(), &["check", "run"]);
    let whole = check();
    assert_eq!(whole.code, Some(0), "{}{}", whole.stdout, whole.stderr);
    assert_eq!(whole.stdout.lines().count(), 5, "{}", whole.stdout);
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

    let missing = ouro(home.path(), &["check", "nothing"]);
    assert_eq!(missing.code, Some(66), "{}", missing.stderr);
    assert!(missing.stderr.contains("nothing: no folder of a run is here"), "{}", missing.stderr);
}

#[test]
fn a_verdict_is_the_exit_code_also_if_nobody_reads_it() {
    let home = home();
    for output in [&[][..], &["--json"]] {
        let arguments = [&["check", "."], output].concat();
        let mut check = command(home.path(), &arguments);
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let status = check.stdout(Stdio::from(writer)).status().expect("it starts");
        assert_eq!(status.code(), Some(1), "a folder without settings is not sound");
    }
}
