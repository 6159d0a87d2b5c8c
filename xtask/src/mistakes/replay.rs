//! Plants faults in a copy of `crates/replay` and checks that its tests catch each of them.
//!
//! A journal shows its guarantees only when something fails, so its tests are worth as much as they
//! catch. The faults here are typical of write-ahead logs: an acknowledgement before the sync,
//! deduplication that forgets, a torn write taken for damage, damage taken for a torn write. Each
//! fault needs a build and a test run, which takes too long for `ci`.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::table::{Edit, Mistake};
use super::{copy_crate, manifest_of, plant, write};
use crate::limited::output_within;
use crate::shell::{self, cargo, root, say};

const CRATES: [&str; 3] = ["crates/game", "crates/net", "crates/replay"];

/// Longest time of the tests. They take some seconds.
const LONGEST: Duration = Duration::from_secs(180);

/// Plants every fault in turn; fails unless all are caught.
pub(crate) fn run() -> Result<()> {
    let bench = Bench::new()?;
    let sound = bench.test()?;
    ensure!(sound.status.success(), "the tests fail without a fault:\n{}", said(&sound));
    let mut missed = 0;
    for fault in FAULTS {
        plant(&bench.folder, fault.edits).with_context(|| fault.name.to_owned())?;
        let caught = bench.build().and_then(|()| bench.test());
        bench.restore(fault)?;
        let output = caught.with_context(|| fault.name.to_owned())?;
        if output.status.success() {
            missed += 1;
            say(&format!("NOT CAUGHT: {}", fault.name));
        } else {
            let said = said(&output);
            let how = first_failure(&said).unwrap_or("the tests ended early");
            say(&format!("caught: {} ({how})", fault.name));
        }
    }
    let all = FAULTS.len();
    say(&format!("{} of {all} faults caught", all - missed));
    ensure!(missed == 0, "{missed} of {all} planted faults were not caught");
    Ok(())
}

pub(super) fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The first failed test in the output of a test run.
pub(super) fn first_failure(said: &str) -> Option<&str> {
    said.lines().find_map(|line| line.strip_prefix("test ")?.strip_suffix(" ... FAILED"))
}

/// A small workspace of its own.
struct Bench {
    folder: PathBuf,
}

impl Bench {
    fn new() -> Result<Self> {
        let target = shell::target();
        let folder = target.join("replay-mistakes");
        write(&folder, "Cargo.toml", &manifest_of(&CRATES)?)?;
        write(&folder, "Cargo.lock", &fs::read_to_string(root().join("Cargo.lock"))?)?;
        CRATES.into_iter().try_for_each(|path| copy_crate(&folder, path))?;
        Ok(Self { folder })
    }

    fn command(&self, tests: &[&str]) -> Command {
        let mut command = cargo(&["test", "--offline", "--package", "ouro-replay", "--lib"]);
        command.args(["--config", "profile.dev.package.ouro-replay.opt-level=1"]).args(tests);
        command.current_dir(&self.folder).env("CARGO_TARGET_DIR", self.folder.join("target"));
        command
    }

    fn build(&self) -> Result<()> {
        let output = self.command(&["--no-run"]).output().context("cannot start cargo")?;
        ensure!(
            output.status.success(),
            "does not build:\n{}",
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(())
    }

    /// Runs the tests. A fault may keep a test from ending, so it is killed after [`LONGEST`].
    fn test(&self) -> Result<Output> {
        Ok(output_within(&mut self.command(&[]), LONGEST)?.output)
    }

    /// Removes a fault again.
    fn restore(&self, fault: &Mistake) -> Result<()> {
        for edit in fault.edits {
            write(&self.folder, edit.file, &fs::read_to_string(root().join(edit.file))?)?;
        }
        Ok(())
    }
}

pub(super) const fn edit(file: &'static str, old: &'static str, new: &'static str) -> Edit {
    Edit { file, old, new }
}

/// Every fault that the tests are known to catch.
const FAULTS: &[Mistake] = &[
    Mistake {
        name: "an epoch and its records are acknowledged before their sync",
        edits: &[edit(
            "crates/replay/src/journal.rs",
            "self.tail.sync().map_err(|error| self.fatal(self.tail_segment().name(), \"sync\", &error))?;",
            "",
        )],
    },
    Mistake {
        name: "what waits for a commit is acknowledged",
        edits: &[edit(
            "crates/replay/src/journal.rs",
            "self.durable.watermark(actor)",
            "self.staged.watermark(actor)",
        )],
    },
    Mistake {
        name: "a sync that failed is tried again",
        edits: &[edit(
            "crates/replay/src/journal.rs",
            "self.fatal = Some((path.clone(), reason.clone()));",
            "",
        )],
    },
    Mistake {
        name: "a write that found no space is not cut off",
        edits: &[edit(
            "crates/replay/src/journal.rs",
            "self.tail.truncate(length).and_then(|()| self.tail.sync())",
            "self.tail.sync()",
        )],
    },
    Mistake {
        name: "the cut is not synced",
        edits: &[edit(
            "crates/replay/src/journal.rs",
            "self.tail.truncate(length).and_then(|()| self.tail.sync())",
            "self.tail.truncate(length)",
        )],
    },
    Mistake {
        name: "what waits is dropped when there is no space",
        edits: &[edit(
            "crates/replay/src/journal.rs",
            "return Err(self.take_back(length, source));",
            "self.entries = 0;\n            return Err(self.take_back(length, source));",
        )],
    },
    Mistake {
        name: "a new segment starts with an empty state",
        edits: &[edit(
            "crates/replay/src/journal/segments.rs",
            "create(&self.disk, header, &self.identity, &self.durable)",
            "create(&self.disk, header, &self.identity, &Dedup::default())",
        )],
    },
    Mistake {
        name: "a new segment starts with what is not committed",
        edits: &[edit(
            "crates/replay/src/journal/segments.rs",
            "create(&self.disk, header, &self.identity, &self.durable)",
            "create(&self.disk, header, &self.identity, &self.staged)",
        )],
    },
    Mistake {
        name: "a new segment gets its name before its sync",
        edits: &[edit(
            "crates/replay/src/journal/segments.rs",
            "file.sync().map_err(|error| (\"sync\", error))?;",
            "",
        )],
    },
    Mistake {
        name: "the name of a new segment is not synced",
        edits: &[edit(
            "crates/replay/src/journal/segments.rs",
            "disk.sync().map_err(|error| (\"sync the folder of\", error))?;",
            "",
        )],
    },
    Mistake {
        name: "removals are not synced one by one",
        edits: &[edit(
            "crates/replay/src/journal/segments.rs",
            "self.disk.sync().map_err(|error| self.fatal(name.clone(), \"remove\", &error))?;",
            "",
        )],
    },
    Mistake {
        name: "a segment goes while one of its records is needed",
        edits: &[edit(
            "crates/replay/src/journal/segments.rs",
            "segment.end_record <= record",
            "segment.first_record <= record",
        )],
    },
    Mistake {
        name: "the last commit is trusted at a start",
        edits: &[edit(
            "crates/replay/src/journal/open.rs",
            "write_all(file, walked.last_frame as u64, &bytes[walked.last_frame..length])?;",
            "",
        )],
    },
    Mistake {
        name: "a start does not sync what it found",
        edits: &[edit(
            "crates/replay/src/journal/open.rs",
            "&bytes[walked.last_frame..length])?;\n    file.sync()",
            "&bytes[walked.last_frame..length])",
        )],
    },
    Mistake {
        name: "a start does not sync the names it found",
        edits: &[edit(
            "crates/replay/src/journal/open.rs",
            "disk.sync().map_err(at(&disk, \"sync the folder of\", &segment_name(1)))?;",
            "",
        )],
    },
    Mistake {
        name: "a torn write is left in place",
        edits: &[edit("crates/replay/src/journal/open.rs", "file.truncate(length as u64)?;", "")],
    },
    Mistake {
        name: "what a start cuts off is not copied",
        edits: &[edit(
            "crates/replay/src/journal/open.rs",
            "let kept = cut::keep(&disk, &names, &name, torn)?;",
            "let kept = cut::keep(&disk, &names, &name, &[])?;",
        )],
    },
    Mistake {
        name: "the copy of what is cut off is not synced",
        edits: &[edit("crates/replay/src/journal/cut.rs", "copy.sync()?;", "")],
    },
    Mistake {
        name: "the name of the copy is not synced before the cut",
        edits: &[edit(
            "crates/replay/src/journal/cut.rs",
            "disk.sync().map_err(failed(disk, \"sync the folder of\", &file))?;",
            "",
        )],
    },
    Mistake {
        name: "a copy takes the name of an earlier one",
        edits: &[edit(
            "crates/replay/src/journal/cut.rs",
            "newest.map_or(1, |(number, _)| number + 1)",
            "newest.map_or(1, |(number, _)| number)",
        )],
    },
    Mistake {
        name: "old copies are never removed",
        edits: &[edit(
            "crates/replay/src/journal/cut.rs",
            "(files.len() + 1).saturating_sub(KEPT)",
            "0",
        )],
    },
    Mistake {
        name: "a whole commit of another number is taken for torn",
        edits: &[edit(
            "crates/replay/src/journal/scan.rs",
            "Extent::Whole => false,",
            "Extent::Whole => true,",
        )],
    },
    Mistake {
        name: "any bad commit at the end is taken for torn",
        edits: &[edit(
            "crates/replay/src/journal/scan.rs",
            " && has_lost_sector(bytes, at.offset, end)",
            "",
        )],
    },
    Mistake {
        name: "a lost sector is torn whatever follows",
        edits: &[edit("crates/replay/src/journal/scan.rs", "is_last(bytes, at, end) && ", "")],
    },
    Mistake {
        name: "a lost sector is damage",
        edits: &[edit(
            "crates/replay/src/journal/scan.rs",
            " && has_lost_sector(bytes, at.offset, end)",
            " && false",
        )],
    },
    Mistake {
        name: "checksums of entries are not compared",
        edits: &[edit(
            "crates/replay/src/journal/format.rs",
            "if stored != computed {\n            let what = \"the checksum of an entry\";",
            "if false {\n            let what = \"the checksum of an entry\";",
        )],
    },
    Mistake {
        name: "a record that comes again is news",
        edits: &[edit(
            "crates/replay/src/journal/dedup.rs",
            "next if sequence < next => Verdict::Duplicate",
            "next if sequence < next => Verdict::New",
        )],
    },
    Mistake {
        name: "a record may be skipped",
        edits: &[edit(
            "crates/replay/src/journal/dedup.rs",
            "next if sequence == next => Verdict::New",
            "next if sequence >= next => Verdict::New",
        )],
    },
    Mistake {
        name: "an epoch that is over goes on",
        edits: &[edit(
            "crates/replay/src/journal/dedup.rs",
            "Some(entry) if entry.epoch == epoch",
            "Some(entry) if entry.epoch >= epoch",
        )],
    },
    Mistake {
        name: "an epoch is issued twice",
        edits: &[edit(
            "crates/replay/src/journal/dedup.rs",
            "if epoch <= self.issued {",
            "if false {",
        )],
    },
    Mistake {
        name: "all batches draw from one generator",
        edits: &[edit(
            "crates/replay/src/window.rs",
            "self.batches += 1;\n        let start",
            "let start",
        )],
    },
    Mistake {
        name: "all games round their copies alike",
        edits: &[edit(
            "crates/replay/src/window/weights.rs",
            "Rng::indexed(seed, \"copies\", number)",
            "Rng::indexed(seed, \"copies\", 0)",
        )],
    },
    Mistake {
        name: "games that are too old are trained on",
        edits: &[edit(
            "crates/replay/src/window/fifo.rs",
            "> self.settings.max_lag",
            "> u32::MAX - 1",
        )],
    },
    Mistake {
        name: "purged games are sampled",
        edits: &[edit(
            "crates/replay/src/window.rs",
            "true => Some(Box::default()),",
            "true => weights::copies(&item, self.settings.seed, number),",
        )],
    },
    Mistake {
        name: "purged games are dealt",
        edits: &[edit(
            "crates/replay/src/window/fifo.rs",
            "(!item.is_void()).then(|| Arc::new(item))",
            "Some(Arc::new(item))",
        )],
    },
    Mistake {
        name: "a purge voids later games too",
        edits: &[edit(
            "crates/replay/src/journal/purge.rs",
            "self.actor == actor && number < self.before",
            "self.actor == actor && number < u64::MAX",
        )],
    },
    Mistake {
        name: "a purge is forgotten at a restart",
        edits: &[edit(
            "crates/replay/src/journal/open.rs",
            "Some(purge) if purge.before == self.records => self.purges.push(purge),",
            "Some(purge) if purge.before == self.records => {}",
        )],
    },
    Mistake {
        name: "a replay whose games were purged waits for itself",
        edits: &[edit("crates/replay/src/replay.rs", "window.lacks(on_their_way) || ", "")],
    },
    Mistake {
        name: "games of the training state are counted again",
        edits: &[edit(
            "crates/replay/src/replay.rs",
            "let is_new = number >= self.counted_until;",
            "let is_new = true;",
        )],
    },
    Mistake {
        name: "inserting never waits",
        edits: &[edit(
            "crates/replay/src/ratio.rs",
            "self.error() + positions * samples_per_insert <= self.bounds().1",
            "true",
        )],
    },
    Mistake {
        name: "sampling does not wait for the warm-up",
        edits: &[edit("crates/replay/src/ratio.rs", "is_warm && self.error()", "self.error()")],
    },
    Mistake {
        name: "a trajectory's counts are believed",
        edits: &[edit(
            "crates/replay/src/trajectory/decode.rs",
            "if count > self.reader.left() / least",
            "if count == usize::MAX",
        )],
    },
    Mistake {
        name: "a number has several forms",
        edits: &[edit(
            "crates/replay/src/bytes.rs",
            "let is_padded = byte == 0 && shift > 0;",
            "let is_padded = false;",
        )],
    },
    Mistake {
        name: "a lost record is released",
        edits: &[edit(
            "crates/replay/src/check/join.rs",
            "id.sequence <= watermark",
            "id.sequence > 0",
        )],
    },
    Mistake {
        name: "a game under two names is fine",
        edits: &[edit(
            "crates/replay/src/check/join.rs",
            "if !is_refused && let Some(other)",
            "if is_refused && let Some(other)",
        )],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_to_replace_occurs_once_in_the_crate() {
        for fault in FAULTS {
            for edit in fault.edits {
                let text = fs::read_to_string(root().join(edit.file)).expect("a file of the crate");
                let times = text.matches(edit.old).count();
                assert_eq!(times, 1, "{}: {:?} in {}", fault.name, edit.old, edit.file);
            }
        }
        assert_eq!(FAULTS.len(), 45);
    }

    #[test]
    fn the_first_failure_is_named() {
        let said = "test a ... ok\ntest b::c ... FAILED\ntest d ... FAILED\n";
        assert_eq!(first_failure(said), Some("b::c"));
        assert_eq!(first_failure("test a ... ok\n"), None);
    }
}
