//! What `ouro-arena` says to what it cannot use, and the exit code that `--help` gives for it.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use ouro_testkit::process::run;

const TIC_TAC_TOE: &str = r#"{"game":"tic_tac_toe"}"#;

/// The exit code, and the last line on standard error.
fn refused(home: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let mut all = vec!["--listen", "127.0.0.1:0", "--web", "off", "--game", TIC_TAC_TOE];
    // A flag that is given twice is a mistake of its own.
    for flag in arguments.iter().filter(|argument| argument.starts_with("--")) {
        if let Some(at) = all.iter().position(|known| known == flag) {
            all.drain(at..at + 2);
        }
    }
    all.extend(arguments);
    let ended = run(Command::new(env!("CARGO_BIN_EXE_ouro-arena")).args(&all).current_dir(home));
    (ended.code, ended.stderr.trim_end().to_owned())
}

#[test]
fn each_refusal_has_its_code_and_names_the_thing() {
    let home = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for (name, text) in [
        ("key.toml", "paralel = 3\n"),
        ("value.toml", "parallel = 0\n"),
        ("syntax.toml", "parallel = \n"),
        ("file", ""),
    ] {
        fs::write(home.path().join(name), text).unwrap();
    }
    type Case<'a> = (&'a [&'a str], i32, &'a [&'a str]);
    let cases: [Case; 10] = [
        (&["--data", "/proc/nope"], 69, &["/proc/nope", "No such file"]),
        (&["--data", "file"], 69, &["data folder file", "exists"]),
        (&["--data", "d", "--listen", &address], 69, &[&address, "in use", "another address"]),
        (&["--data", "d", "--web", &address], 69, &[&address, "in use", "`off`"]),
        (&["--data", "d", "--web", "here"], 64, &["--web", "here", "or off"]),
        (&["--data", "d", "--game", "{}"], 64, &["--game", "missing field `game`"]),
        (&["--data", "d", "--matches", "none.toml"], 64, &["none.toml", "No such file"]),
        (&["--data", "d", "--matches", "key.toml"], 64, &["paralel", "did you mean `parallel`?"]),
        (&["--data", "d", "--matches", "value.toml"], 64, &["arena.parallel is 0; write"]),
        (&["--data", "d", "--matches", "syntax.toml"], 64, &["syntax.toml", "line 1"]),
    ];
    for (arguments, code, expected) in cases {
        let (ended, error) = refused(home.path(), arguments);
        assert_eq!(ended, Some(code), "{arguments:?}: {error}");
        for part in expected {
            assert!(error.contains(part), "{arguments:?}: {part:?} is not in {error}");
        }
    }
}
