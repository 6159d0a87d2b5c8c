//! What `ouro-learner` says to what it cannot use, and the exit code that `--help` gives for it.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use ouro_testkit::process::run;

/// The exit code, and what standard error says.
fn refused(home: &Path, settings: &str) -> (Option<i32>, String) {
    let path = home.join("learner.toml");
    fs::write(&path, settings).expect("it is written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_ouro-learner"));
    command.arg("run").arg("--config").arg(path).current_dir(home);
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
    let listen = "device = \"cpu\"\nlisten = \"127.0.0.1:0\"\n";
    let cases = [
        ("listn = \"127.0.0.1:0\"".to_owned(), 64, "did you mean `listen`?"),
        ("listen = \"here\"".to_owned(), 64, "`listen`"),
        ("[train]\ngamma = 2.0".to_owned(), 64, "train.gamma is 2; it must be"),
        (
            "[net]\nkind = \"conv\"\nchannels = 0\nlayers = 1\nhidden = 1".to_owned(),
            64,
            "net.channels is 0; it must be 1 to 1024",
        ),
        ("arena = \"localhost\"".to_owned(), 64, "arena is localhost; write a URL"),
        (format!("device = \"cpu\"\nlisten = \"{address}\""), 69, "choose another address"),
        (format!("{listen}[checkpoint]\ndirectory = \"/proc/nope\""), 69, "/proc/nope"),
        (format!("{listen}[checkpoint]\ndirectory = \"file\""), 69, "file"),
    ];
    for (settings, code, expected) in cases {
        let (ended, error) = refused(home.path(), &settings);
        assert_eq!(ended, Some(code), "{settings}: {error}");
        assert!(error.contains(expected), "{settings}: {error}");
    }
}
