//! `ouro train` as a user runs it: a real process, real ports, killed and started again.

mod train {
    #[cfg(target_os = "linux")]
    mod full_disk;
    mod grpcurl;
    mod kills;
    mod page;
    pub(super) mod process;
    mod webdriver;
}

use std::io::Write;
use std::path::Path;

use train::process::Trainer;

/// A run small enough to promote within seconds: tic-tac-toe and a tiny network.
const SETTINGS: &str = r#"
preset = "reinforce-duel"
seed = 5
generation_steps = 20

[game]
game = "tic_tac_toe"

[net]
kind = "conv"
channels = 8
layers = 1
hidden = 32

[actor]
games_per_thread = 32

[train]
batch_moves = 256
learning_rate = 0.01

[arena.gate]
games = 60
"#;

fn home_with_settings() -> tempfile::TempDir {
    let home = tempfile::tempdir().expect("a scratch folder");
    std::fs::write(home.path().join("settings.toml"), SETTINGS).expect("settings are written");
    home
}

/// Says that a test was left out, past the capture of passing tests.
fn not_run(why: &str) {
    let _ = writeln!(std::io::stderr(), "NOT RUN: {why}");
}

fn start(home: &Path) -> Trainer {
    let settings = (!home.join("run").exists()).then(|| home.join("settings.toml"));
    Trainer::start(&home.join("run"), settings.as_deref())
}

#[test]
fn ctrl_c_drains_and_says_how_to_go_on() {
    let home = home_with_settings();
    let mut trainer = start(home.path());
    let progress = trainer.wait_for("progress");
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
