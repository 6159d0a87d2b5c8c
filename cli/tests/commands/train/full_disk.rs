//! `ouro train` on a full disk: a small file system in memory.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::home_with_settings;
use super::kills::{assert_nothing_lost_or_doubled, assert_results_replay, games_rated};
use super::process::Trainer;

/// Mount option for the size: enough for a run of some minutes, and quickly filled.
const SIZE: &str = "size=64m";

/// A small disk. Dropping it unmounts the disk.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    /// Mounts a small disk. Reports a skipped test and returns `None` without the right to mount.
    fn mount() -> Option<Self> {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let mut mount = Command::new("mount");
        let mounted = mount.args(["-t", "tmpfs", "-o", SIZE, "tmpfs"]).arg(folder.path()).output();
        if mounted.is_ok_and(|mounted| mounted.status.success()) {
            return Some(Self(folder));
        }
        let must = ouro_testkit::requires_all_checks() && may_mount();
        assert!(!must, "this process may mount, and cannot");
        ouro_testkit::not_run("mounting a small disk needs the right to mount");
        None
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily, because a failed test may leave files open.
        let _ = Command::new("umount").arg("--lazy").arg(self.path()).status();
    }
}

/// Whether Linux gives this process `CAP_SYS_ADMIN`.
fn may_mount() -> bool {
    const SYS_ADMIN: u32 = 21;
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let held = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let held = held.and_then(|held| u64::from_str_radix(held.trim(), 16).ok());
    held.is_some_and(|held| held >> SYS_ADMIN & 1 == 1)
}

/// A file that fills the disk.
struct Filler {
    path: PathBuf,
    file: File,
}

impl Filler {
    fn new(disk: &Path) -> Self {
        let path = disk.join("filler");
        let file = File::create(&path).expect("a name takes no room");
        Self { path, file }
    }

    /// Fills the disk to the last byte.
    fn fill(&mut self) {
        for size in [1 << 20, 4_096, 1] {
            loop {
                match self.file.write(&vec![0; size]) {
                    Ok(_) => {}
                    Err(error) if error.kind() == io::ErrorKind::StorageFull => break,
                    Err(error) => panic!("{error}"),
                }
            }
        }
    }

    fn remove(self) {
        fs::remove_file(self.path).expect("the filler is there");
    }
}

/// The counts that stop while the disk is full: steps and games.
fn progress(line: &Value) -> (u64, u64) {
    let number = |key: &str| line[key].as_u64().expect("a number");
    (number("step"), number("games"))
}

/// Waits until a condition holds; checks it once per progress event.
fn until(trainer: &mut Trainer, mut holds: impl FnMut(&Trainer) -> bool) {
    // The run prints one every five seconds, so this is five minutes.
    const MOST_LINES: usize = 60;
    for _ in 0..MOST_LINES {
        if holds(trainer) {
            return;
        }
        trainer.wait_for("progress");
    }
    panic!("it does not hold after {MOST_LINES} lines of progress");
}

#[test]
fn a_full_disk_pauses_a_run_which_goes_on_when_there_is_space() {
    let Some(disk) = SmallDisk::mount() else { return };
    let home = home_with_settings();
    let run = disk.path().join("run");
    // The log with which the journal is compared is on another disk.
    fs::create_dir(&run).expect("there is room");
    let log = home.path().join("actor");
    fs::create_dir(&log).expect("there is room");
    std::os::unix::fs::symlink(&log, run.join("actor")).expect("there is room");
    let said = home.path().join("stderr");
    let counted = |line: &str| {
        let text = fs::read_to_string(&said).expect("it is there");
        text.lines().filter(|text| text.contains(line)).count()
    };
    let settings = home.path().join("settings.toml");
    let mut trainer =
        Trainer::start_with_stderr(&run, Some(&settings), File::create(&said).unwrap());
    trainer.wait_for("promotion");

    // Learner and arena must both pause, with an event that names each. Space that one of them
    // frees in the meantime is filled again.
    let mut filler = Filler::new(disk.path());
    let arena = run.join("arena").display().to_string();
    let learner = run.join("learner").display().to_string();
    let names = |wait: &Value, folder: &str| {
        wait["reason"].as_str().is_some_and(|reason| reason.contains(folder))
    };
    until(&mut trainer, |trainer| {
        filler.fill();
        let paused = counted("no game is accepted") > 0 && counted("matches pause") > 0;
        paused
            && [&arena, &learner]
                .iter()
                .all(|folder| trainer.waits.iter().any(|wait| names(wait, folder)))
    });
    let mut stood = progress(&trainer.wait_for("progress"));
    loop {
        filler.fill();
        // The process still runs: it prints progress, and the arena answers.
        let now = progress(&trainer.wait_for("progress"));
        games_rated(&trainer.arena());
        if now == stood {
            break;
        }
        stood = now;
    }
    for line in ["no game is accepted", "matches pause"] {
        let text = fs::read_to_string(&said).expect("it is there");
        let text = text.lines().find(|text| text.contains(line)).expect("it was logged");
        assert!(text.contains(disk.path().to_str().expect("a path")), "{text}");
    }

    let rated = games_rated(&trainer.arena());
    filler.remove();
    while progress(&trainer.wait_for("progress")) <= stood {}
    until(&mut trainer, |trainer| games_rated(&trainer.arena()) > rated);
    // The log has one line per pause and one per end of a pause, not one per failed attempt.
    let pauses = || [counted("no game is accepted"), counted("matches pause")];
    let ends = || {
        [
            counted("space again: games are accepted"),
            counted("takes writes again: matches continue"),
        ]
    };
    until(&mut trainer, |trainer| {
        let last = trainer.waits.last().expect("there were pauses");
        pauses() == ends() && last["event"] == "resumed"
    });
    let (code, end) = trainer.interrupt();
    assert_eq!(code, Some(0), "a drain is a clean end");
    assert_nothing_lost_or_doubled(&run);
    assert_results_replay(&run, &end);
}
