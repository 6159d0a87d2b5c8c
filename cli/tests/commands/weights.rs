//! A run whose weights are in an object store, from its first start to its copies.
#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::support::small_run::{self, command};
use ouro_testkit::process::{Ended, Process, run};
use ouro_testkit::s3::{BUCKET, S3Server};

/// Longest time until a run does what a test waits for.
const PATIENCE: Duration = Duration::from_secs(120);

/// Variables of the environment.
type Variables = [(&'static str, String)];

/// The start of every training run here.
const TRAIN: [&str; 11] = [
    "train",
    "--device",
    "cpu",
    "--threads",
    "1",
    "--arena",
    "127.0.0.1:0",
    "--learner",
    "127.0.0.1:0",
    "--web",
    "off",
];

/// The weights files in the folder of the run.
fn files(home: &Path) -> usize {
    let folder = home.join("run/arena/weights");
    fs::read_dir(folder).map_or(0, |files| files.count())
}

/// The part of a line of `ouro check` about results that says how many weights are there.
fn results(checked: &str) -> &str {
    checked.lines().find(|line| line.starts_with("results")).expect("a line about results")
}

/// A folder with settings whose weights are at `url`.
fn home_with_weights_at(url: &str) -> tempfile::TempDir {
    let home = small_run::home();
    let settings = format!("{}\n[deploy]\nweights = \"{url}\"\n", small_run::SETTINGS);
    fs::write(home.path().join("small.toml"), settings).expect("it is written");
    home
}

/// Runs `ouro` in the folder `home` with these variables.
fn ouro(home: &Path, arguments: &[&str], variables: &Variables) -> Ended {
    let variables = variables.iter().map(|(name, value)| (name, value));
    run(command(home, arguments).envs(variables))
}

/// Trains, checks, moves the weights to files and back, and refuses another run in the same place.
fn is_kept_at(url: &str, variables: &Variables) {
    let home = home_with_weights_at(url);
    let ouro = |home: &Path, arguments: &[&str]| ouro(home, arguments, variables);
    let start = [&TRAIN[..], &["--run", "run", "--config", "small.toml", "--for", "2s"]].concat();
    ouro(home.path(), &start).success();
    assert_eq!(files(home.path()), 0);
    let before = ouro(home.path(), &["check", "run"]).success();
    assert!(results(&before).contains(" weights files"), "{before}");
    assert!(!results(&before).contains(" 0 weights files"), "{before}");
    let resume = [&TRAIN[..], &["--run", "run", "--for", "1s"]].concat();
    ouro(home.path(), &resume).success();

    let here = ouro(home.path(), &["store", "copy", "run", "--to-weights", url]);
    here.assert_refused(64, &["already keeps its weights there"]);
    let copy = ["store", "copy", "run", "--to-weights", "files"];
    let copied = ouro(home.path(), &copy).success();
    assert!(copied.contains(&format!(" weights copied from {url} to ")), "{copied}");
    assert!(copied.contains("remove deploy.weights from run.toml"), "{copied}");
    assert!(files(home.path()) > 0);
    let remote = ouro(home.path(), &["check", "run"]).success();
    let local = ouro(home.path(), &["check", "run", "--weights", "files"]).success();
    assert_eq!(results(&local), results(&remote));
    let resume = [&resume[..], &["--weights", "files"]].concat();
    ouro(home.path(), &resume).success();
    let back = ["store", "copy", "run", "--weights", "files", "--to-weights", url];
    ouro(home.path(), &back).success();
    ouro(home.path(), &["check", "run"]).success();

    let other = tempfile::tempdir().expect("a scratch folder");
    fs::copy(home.path().join("small.toml"), other.path().join("small.toml")).expect("a copy");
    let refused = ouro(other.path(), &start);
    assert_ne!(refused.code, Some(0), "{}", refused.stderr);
    assert!(refused.stderr.contains("weights"), "{}", refused.stderr);
    ouro(home.path(), &["check", "run"]).success();
}

#[test]
fn a_run_keeps_its_weights_in_s3() {
    let Some(server) = S3Server::start() else { return };
    is_kept_at(&format!("s3://{BUCKET}/runs/mine"), &server.variables());
}

#[test]
fn what_cannot_be_used_is_named_with_the_remedy() {
    let Some(mut server) = S3Server::start() else { return };
    let variables = server.variables();
    let home = small_run::home_with_run("1s");
    let refuse = |name: &str, url: &str, variables: &Variables, parts: &[&str]| {
        let parts = [parts, &[url, "check deploy.weights, the server and the variables AWS_*"]];
        let check = ["check", "run", "--weights", url];
        // Without the object store, nothing is known about the run.
        ouro(home.path(), &check, variables).assert_refused(69, &parts.concat());
        let start = ["--run", name, "--config", "small.toml", "--weights", url];
        let started = ouro(home.path(), &[&TRAIN[..], &start].concat(), variables);
        assert_eq!(started.code, Some(69), "{}", started.stderr);
        let lines: Vec<_> = started.stderr.lines().filter(|line| line.contains(url)).collect();
        let [line] = lines[..] else { panic!("one line, not {}", started.stderr) };
        parts.concat().iter().for_each(|part| assert!(line.contains(part), "{part}: {line}"));
        let arguments = ["doctor", "--seconds", "0.1", "--weights", url];
        let examined = ouro(home.path(), &arguments, variables).stdout;
        let found = examined.lines().find(|line| line.contains("objects")).expect("a line");
        assert!(found.starts_with("FAIL") && found.contains(url), "{found}");
    };
    refuse(
        "missing",
        &format!("s3://{BUCKET}-missing/run"),
        &variables,
        &["404 Not Found: NoSuchBucket"],
    );
    let url = format!("s3://{BUCKET}/run");
    if let Some(strict) = S3Server::start_strict() {
        refuse("strict", &url, &strict.variables(), &["403 Forbidden: InvalidAccessKeyId"]);
    }
    server.kill();
    refuse("killed", &url, &variables, &["refused"]);
}

#[test]
fn damaged_weights_are_named_and_written_again_from_a_copy() {
    let Some(server) = S3Server::start() else { return };
    let url = format!("s3://{BUCKET}/run");
    let home = home_with_weights_at(&url);
    let ouro = |arguments: &[&str]| ouro(home.path(), arguments, &server.variables());
    ouro(&[&TRAIN[..], &["--run", "run", "--config", "small.toml", "--for", "2s"]].concat())
        .success();
    ouro(&["store", "copy", "run", "--to-weights", "files"]).success();
    let keys = server.keys("run/");
    let key = keys.iter().find(|key| key.ends_with(".safetensors")).expect("weights");
    server.put(key, b"damaged");
    let checked = ouro(&["check", "run"]);
    assert_eq!(checked.code, Some(1), "{}", checked.stderr);
    let line = results(&checked.stdout);
    assert!(line.contains("NOT SOUND") && line.contains(key) && line.contains("is damaged"));
    let back = ["store", "copy", "run", "--weights", "files", "--to-weights", &url];
    ouro(&back).success();
    ouro(&["check", "run"]).success();
}

#[test]
fn a_backup_has_the_weights_and_is_restored_to_another_prefix() {
    let Some(server) = S3Server::start() else { return };
    let url = format!("s3://{BUCKET}/run");
    let home = home_with_weights_at(&url);
    let ouro = |arguments: &[&str]| ouro(home.path(), arguments, &server.variables());
    ouro(&[&TRAIN[..], &["--run", "run", "--config", "small.toml", "--for", "2s"]].concat())
        .success();
    let checked = ouro(&["check", "run"]).success();
    let copied = ouro(&["backup", "run", "copy"]).success();
    assert_eq!(results(&copied), results(&checked));
    // The arena of the copy would remove weights of the run that it does not know.
    let refused = ouro(&["restore", "copy", "again"]);
    refused.assert_refused(64, &[&url, "weights; give another prefix"]);
    assert!(!home.path().join("again").exists(), "nothing is left");
    let other = format!("s3://{BUCKET}/other");
    let restored = ouro(&["restore", "copy", "again", "--weights", &other]).success();
    assert_eq!(results(&restored), results(&checked));
    let keys = server.keys("run/").len();
    assert!(keys > 1, "the run and weights");
    assert_eq!(server.keys("other/").len(), keys);
    assert!(!home.path().join("again/arena/weights").exists(), "one place has the weights");
    ouro(&[&TRAIN[..], &["--run", "again", "--weights", &other, "--for", "1s"]].concat()).success();
    ouro(&["check", "again", "--weights", &other]).success();
    ouro(&["restore", "copy", "files", "--weights", "files"]).success();
    ouro(&["check", "files", "--weights", "files"]).success();
}

/// The published generations in the results of the run.
fn published(home: &Path) -> usize {
    let log = fs::read_to_string(home.join("run/arena/results.log")).unwrap_or_default();
    log.matches("checkpoint_published").count()
}

/// Waits until the run has published this many further generations.
fn wait_for_generations(home: &Path, more: usize) {
    let (start, before) = (Instant::now(), published(home));
    while published(home) < before + more {
        assert!(start.elapsed() < PATIENCE, "the run does not continue after {before}");
        sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_run_continues_after_its_object_store_was_out_of_reach() {
    let Some(mut server) = S3Server::start() else { return };
    let url = format!("s3://{BUCKET}/run");
    let home = home_with_weights_at(&url);
    let mut start = command(home.path(), &TRAIN);
    start.args(["--run", "run", "--config", "small.toml"]).envs(server.variables());
    let mut training = Process::start_piped(&mut start);
    // A pause that requests outlast, and a longer one.
    for seconds in [5, 30] {
        wait_for_generations(home.path(), 2);
        server.pause();
        sleep(Duration::from_secs(seconds));
        server.resume();
    }
    wait_for_generations(home.path(), 2);
    training.signal("-INT");
    let ended = training.end_within(PATIENCE);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let paused: Vec<_> = ended.stderr.lines().filter(|line| line.contains(&url)).collect();
    assert!(!paused.is_empty(), "{}", ended.stderr);
    for line in paused {
        assert!(line.contains("the arena resumes by itself once "), "{line}");
    }
    assert!(!ended.stderr.contains("set aside"), "{}", ended.stderr);
    ouro(home.path(), &["check", "run"], &server.variables()).success();
}

#[test]
fn a_run_keeps_its_weights_in_another_folder() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    is_kept_at(&format!("file://{}", folder.path().join("weights").display()), &[]);
}
