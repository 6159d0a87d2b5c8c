//! Messages and exit codes of `ouro-arena` for invalid input.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use ouro_testkit::process::run;

/// The exit code, and the last line on standard error.
fn refused(home: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let mut all =
        vec!["--listen", "127.0.0.1:0", "--web", "off", "--config", "my.toml", "--run", "d"];
    // A repeated flag is an error of its own.
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
        ("my.toml", "preset = \"tictactoe\"\n"),
        ("key.toml", "[arena]\nparalel = 3\n"),
        ("value.toml", "[arena]\nparallel = 0\n"),
        ("other.toml", "[train]\nbatch_moves = 0\n"),
        ("player.toml", "[arena]\nplayer = \"nobody\"\n"),
        ("game.toml", "[game]\nwidth = 2\n"),
        ("syntax.toml", "parallel = \n"),
        ("file", ""),
    ] {
        fs::write(home.path().join(name), text).unwrap();
    }
    type Case<'a> = (&'a [&'a str], i32, &'a [&'a str]);
    let cases: [Case; 12] = [
        (&["--run", "/proc/nope"], 69, &["/proc/nope/arena", "No such file"]),
        (&["--run", "file"], 69, &["data folder file/arena", "Not a directory"]),
        (&["--listen", &address], 69, &[&address, "in use", "another address"]),
        (&["--web", &address], 69, &[&address, "in use", "`off`"]),
        (&["--web", "here"], 64, &["--web", "here", "or off"]),
        (&["--config", "game.toml"], 64, &["game.width is 2; it must be 3 to 25"]),
        (&["--config", "none.toml"], 64, &["none.toml", "No such file"]),
        (&["--config", "key.toml"], 64, &["paralel", "did you mean `arena.parallel`?"]),
        (&["--config", "value.toml"], 64, &["arena.parallel is 0; it must be 1 to 16384"]),
        // Keys that an arena does not use are checked too.
        (&["--config", "other.toml"], 64, &["train.batch_moves is 0; it must be"]),
        (&["--config", "player.toml"], 64, &["arena.player", "nobody"]),
        (&["--config", "syntax.toml"], 64, &["syntax.toml", "line 1"]),
    ];
    for (arguments, code, expected) in cases {
        let (ended, error) = refused(home.path(), arguments);
        assert_eq!(ended, Some(code), "{arguments:?}: {error}");
        for part in expected {
            assert!(error.contains(part), "{arguments:?}: {part:?} is not in {error}");
        }
    }
}
