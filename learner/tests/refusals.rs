//! Error messages of `ouro-learner` for unusable input, with the exit codes that `--help` lists.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use ouro_testkit::process::run;

/// Runs the learner on input that it must refuse. Returns the exit code and standard error.
fn refused(home: &Path, settings: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let path = home.join("run.toml");
    fs::write(&path, settings).expect("it is written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_ouro-learner"));
    command.arg("--config").arg(path).args(["--device", "cpu"]).args(arguments).current_dir(home);
    let ended = run(&mut command);
    (ended.code, ended.stderr)
}

#[test]
fn a_wrong_flag_is_bad_configuration_and_help_is_not() {
    let code = |argument| run(Command::new(env!("CARGO_BIN_EXE_ouro-learner")).arg(argument)).code;
    assert_eq!((code("--no-such-flag"), code("--help")), (Some(64), Some(0)));
}

#[test]
fn each_refusal_has_its_code_and_names_the_thing() {
    let home = tempfile::tempdir().expect("a scratch folder");
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("it has one").to_string();
    fs::write(home.path().join("file"), "").expect("it is written");
    let preset = "preset = \"tictactoe\"\n";
    let free = ["--listen", "127.0.0.1:0"];
    type Case<'a> = (String, &'a [&'a str], i32, &'a str);
    let cases: [Case; 10] = [
        ("[deploy]\nlernr = \"127.0.0.1:0\"".to_owned(), &[], 64, "did you mean `deploy.learner`?"),
        ("[deploy]\nlearner = \"here\"".to_owned(), &[], 64, "`deploy.learner`"),
        (preset.to_owned(), &["--learner", "host:1"], 64, "deploy.learner is host:1; "),
        (preset.to_owned() + "discount = 2.0", &[], 64, "discount is 2; it must be"),
        (
            preset.to_owned() + "[net]\nkind = \"conv\"\nchannels = 0\nlayers = 1\nhidden = 1",
            &[],
            64,
            "net.channels is 0; it must be 1 to 1024",
        ),
        // Keys that a learner does not use are checked as well.
        (preset.to_owned() + "[arena]\nparallel = 0", &[], 64, "arena.parallel is 0; it must be"),
        (preset.to_owned(), &["--arena", "localhost"], 64, "\"localhost\" is not an address"),
        (preset.to_owned(), &["--listen", &address], 69, "choose another address"),
        (preset.to_owned(), &[free[0], free[1], "--run", "/proc/nope"], 69, "/proc/nope"),
        (preset.to_owned(), &[free[0], free[1], "--run", "file"], 69, "file"),
    ];
    for (settings, arguments, code, expected) in cases {
        let (ended, error) = refused(home.path(), &settings, arguments);
        assert_eq!(ended, Some(code), "{settings}: {error}");
        assert!(error.contains(expected), "{settings}: {error}");
    }
}

#[test]
fn a_comparison_of_devices_takes_sensible_numbers_only() {
    let home = tempfile::tempdir().expect("a scratch folder");
    for (option, value, range) in [
        ("--rows", "0", "1..=4096"),
        ("--rows", "1000000000000", "1..=4096"),
        ("--rounds", "0", "1..=1000"),
        ("--steps", "10001", "0..=10000"),
    ] {
        let arguments = ["parity", option, value];
        let (ended, error) = refused(home.path(), "preset = \"tictactoe\"\n", &arguments);
        assert_eq!(ended, Some(64), "{error}");
        assert!(error.contains(option) && error.contains(range), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

#[test]
fn a_log_filter_that_cannot_be_used_is_named_though_there_is_no_log() {
    let mut filters = vec![std::ffi::OsString::from("ouro=loud")];
    #[cfg(unix)]
    filters.push(std::os::unix::ffi::OsStringExt::from_vec(vec![0xff]));
    for filter in filters {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ouro-learner"));
        run(command.arg("healthcheck").env("RUST_LOG", &filter)).assert_refused(64, &["RUST_LOG"]);
    }
}
