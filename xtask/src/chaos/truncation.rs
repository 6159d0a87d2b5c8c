//! A store that loses acknowledged entries: the file of Redis is cut while Redis is down.
//!
//! Redis refuses to load the file. Once an operator has cut the damaged end off, Redis starts with a log
//! that lacks entries. The arena must notice, whether it ran, started or was down meanwhile, and refuse
//! until the operator accepts the loss. The run then continues without a contradiction.
//!
//! An arena notes each entry in a file after it has appended it. An arena that is killed in between does not
//! know that entry, and has acknowledged nothing that depends on it. The cut takes it in addition.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::campaign::Campaign;
use super::cluster::Cluster;
use super::fault::Role;
use super::log::Audit;
use crate::random::Random;

/// Longest time until a process has noticed.
const NOTICE: Duration = Duration::from_secs(20);
/// Time in which the arena must not continue by itself.
const REFUSED: Duration = Duration::from_secs(4);
/// What the arena says of a server that lost entries.
const LOST: &str = "which this arena has stored: the server has lost results";
/// What an entry has that publishes a generation.
const PUBLISHED: &[u8] = b"checkpoint_published";
/// The file with which the arena remembers its last entry, in the folder of the run.
const KNOWN: &str = "arena/store.known";

/// Entries that an arena may have stored and not yet noted: it appends one at a time.
const IN_FLIGHT: u64 = 1;
/// Stops of a running arena until it has noted all entries.
const STOPS: u32 = 50;

/// Longest time from the start of an arena until it is stopped within its start.
const START: u64 = 300;

/// What the arena does while the store is cut.
#[derive(Clone, Copy, Debug)]
enum Arena {
    /// It has read the log, and adds to it.
    Running,
    /// It started this many milliseconds ago, and reads the log.
    Starting(u64),
    Down,
}

impl Arena {
    fn kind(self) -> &'static str {
        match self {
            Self::Running => "store cut, arena running",
            Self::Starting(_) => "store cut, arena starting",
            Self::Down => "store cut, arena down",
        }
    }

    /// How many processes a cut kills.
    fn kills(self) -> u32 {
        if matches!(self, Self::Running) { 1 } else { 2 }
    }
}

/// Cuts the store beside a running arena, while an arena starts, and while none runs.
pub(crate) fn run(campaign: &mut Campaign, seed: u64) -> Result<()> {
    let mut random = Random::new(seed);
    campaign.cluster.start()?;
    campaign.recovery(campaign.cluster.meter.normal().unwrap_or_default())?;
    for arena in [Arena::Running, Arena::Starting(random.within(0, START)), Arena::Down] {
        cut(campaign, arena, random.within(1, 5))?;
    }
    Ok(())
}

/// Cuts the file within the append of an entry, so that at most this many noted entries are lost.
fn cut(campaign: &mut Campaign, arena: Arena, most: u64) -> Result<()> {
    campaign.warm_up()?;
    let kind = arena.kind();
    campaign.begin(kind, &format!("{kind}: at most {most} entries"), arena.kills());
    let normal = campaign.cluster.meter.normal().unwrap_or_default();
    let cluster = &mut campaign.cluster;
    let Stopped { before, unknown } = stop(cluster, arena)?;
    if unknown > IN_FLIGHT {
        cluster.node(Role::Arena).signal("-CONT")?;
        cluster.node(Role::Arena).start_again();
        campaign.violation(format!("the arena has not noted {unknown} of {before} entries"));
        return campaign.await_recovery(kind, normal);
    }
    cluster.node(Role::Redis).kill();
    // Nothing happens to an arena that is down.
    cluster.node(Role::Arena).signal("-CONT")?;
    let file = newest_file(cluster)?;
    let Cut { length, entries } = end_before(&fs::read(&file)?, most, unknown)?;
    OpenOptions::new().write(true).open(&file)?.set_len(length)?;
    cluster.audits = false;
    cluster.node(Role::Redis).start_again();
    if !has_said(cluster, Role::Redis, "Unexpected end of file")? {
        campaign.violation("redis starts with a file whose end is missing".to_owned());
    }
    let cluster = &mut campaign.cluster;
    cluster.repair_store()?;
    cluster.node(Role::Redis).start_again();
    cluster.node(Role::Arena).start_again();
    let has_noticed = has_said(cluster, Role::Arena, LOST)?;
    cluster.audit = Audit::default();
    cluster.read_whole_log()?;
    let left = cluster.audit.entries();
    campaign.report.count("entries of the log that Redis lost", entries);
    if !has_noticed {
        campaign
            .violation(format!("{entries} of {before} entries are lost, and the arena continues"));
    } else if left + entries != before {
        campaign.violation(format!("{left} of {before} entries are left, {entries} were cut off"));
    }
    let (cluster, start) = (&mut campaign.cluster, Instant::now());
    while start.elapsed() < REFUSED {
        cluster.tick(false)?;
    }
    cluster.read_whole_log()?;
    let added = cluster.audit.entries() - left;
    if added > 0 {
        campaign.violation(format!("the arena adds {added} entries to a log that lacks {entries}"));
    }
    // The operator accepts the loss.
    let known = campaign.cluster.run().join(KNOWN);
    if known.exists() {
        fs::remove_file(&known).with_context(|| known.display().to_string())?;
    }
    campaign.cluster.audits = true;
    campaign.await_recovery(kind, normal)?;
    campaign.check()
}

/// Where Redis' file is cut off.
#[derive(Debug, PartialEq)]
struct Cut {
    /// Bytes that are left.
    length: u64,
    /// Entries of the log that are lost.
    entries: u64,
}

/// The log when the arena adds nothing more.
struct Stopped {
    /// Entries of the log, all of which the audit knows.
    before: u64,
    /// Entries at its end that the arena has not noted.
    unknown: u64,
}

/// Stops the arena, or kills it. An arena that lives notes its last entry when it continues, so it is
/// stopped again until it has.
fn stop(cluster: &mut Cluster, arena: Arena) -> Result<Stopped> {
    match arena {
        Arena::Running => {}
        Arena::Starting(milliseconds) => {
            cluster.node(Role::Arena).kill();
            cluster.node(Role::Arena).start()?;
            thread::sleep(Duration::from_millis(milliseconds));
        }
        Arena::Down => cluster.node(Role::Arena).kill(),
    }
    let mut stops = 0;
    loop {
        // Nothing happens to an arena that is down.
        cluster.node(Role::Arena).signal("-STOP")?;
        cluster.read_whole_log()?;
        let before = cluster.audit.entries();
        let unknown = before.saturating_sub(known_entries(&cluster.run().join(KNOWN)));
        stops += 1;
        if unknown == 0 || stops == STOPS || matches!(arena, Arena::Down) {
            return Ok(Stopped { before, unknown });
        }
        cluster.node(Role::Arena).signal("-CONT")?;
        thread::sleep(Duration::from_millis(20));
    }
}

/// The entries that the arena has noted: one more than the number in its file, none without a number.
fn known_entries(file: &Path) -> u64 {
    let text = fs::read_to_string(file).unwrap_or_default();
    let number = text.split(' ').next().and_then(|number| number.parse::<u64>().ok());
    number.map_or(0, |number| number + 1)
}

/// The cut within the append of an entry: the last `unknown` entries are lost, and at most `most` before
/// them. Most of the file is the traffic of workers, so a cut by bytes could spare the log.
///
/// Of the entries that the arena knows, at most one publication is cut off. The learner may have another
/// generation that is not published, and refuses an arena that lacks three.
fn end_before(file: &[u8], most: u64, unknown: u64) -> Result<Cut> {
    let key = b":log\r\n";
    let mut appends: Vec<usize> =
        (0..file.len()).filter(|at| file[*at..].starts_with(key)).collect();
    appends.reverse();
    let (mut end, mut publications, mut cut) = (file.len(), 0, None);
    for (entries, at) in (1..=most + unknown).zip(appends) {
        let append = &file[at..end];
        let is_published = append.windows(PUBLISHED.len()).any(|part| part == PUBLISHED);
        publications += usize::from(is_published && entries > unknown);
        if publications > 1 {
            break;
        }
        (end, cut) = (at, Some(Cut { length: at as u64, entries }));
    }
    cut.context("Redis' file has no entry of the log")
}

/// Waits until a process that ends has said something.
fn has_said(cluster: &mut Cluster, role: Role, words: &str) -> Result<bool> {
    let start = Instant::now();
    while start.elapsed() < NOTICE {
        cluster.tick(false)?;
        if cluster.exits.iter().any(|exit| exit.role == role && exit.said.contains(words)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The file to which Redis appends.
fn newest_file(cluster: &Cluster) -> Result<PathBuf> {
    let folder = cluster.folder.join("redis/appendonlydir");
    let entries = fs::read_dir(&folder).with_context(|| folder.display().to_string())?;
    let files = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let files = files.filter(|path| path.to_string_lossy().ends_with(".incr.aof"));
    files.max().context("Redis has no append-only file")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_ends_within_the_append_of_an_entry() {
        let append = |entry: &str| format!("*3\r\n$5\r\nRPUSH\r\n$8\r\n{{r}}:log\r\n{entry}\r\n");
        let mut file = append("one");
        let second = file.len();
        file += &append("two");
        file += &"*1\r\n$4\r\nPING\r\n".repeat(500);
        let cut = |entries| end_before(file.as_bytes(), entries, 0).unwrap();
        assert!((second..second + append("two").len()).contains(&(cut(1).length as usize)));
        assert!((cut(2).length as usize) < second);
        assert_eq!((cut(1).entries, cut(2).entries), (1, 2));
        assert_eq!(cut(3), cut(2), "there are no more");
        assert!(end_before(b"PING", 3, 0).is_err());
    }

    #[test]
    fn an_arena_has_noted_the_entries_up_to_the_number_in_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("store.known");
        assert_eq!(known_entries(&file), 0);
        fs::write(&file, "00000000000000005709 00c0ffee\n").unwrap();
        assert_eq!(known_entries(&file), 5_710);
        fs::write(&file, "").unwrap();
        assert_eq!(known_entries(&file), 0);
    }

    #[test]
    fn at_most_one_publication_is_cut_off() {
        let append = |entry: &str| format!("{{r}}:log\r\n{entry}\r\n");
        let entries = ["checkpoint_published 1", "x", "checkpoint_published 2", "y"];
        let file: String = entries.map(append).concat();
        for (most, lost) in [(1, 1), (2, 2), (3, 3), (4, 3), (9, 3)] {
            assert_eq!(end_before(file.as_bytes(), most, 0).unwrap().entries, lost);
        }
        // What the arena does not know is cut off in addition.
        for (unknown, lost) in [(1, 2), (2, 3), (3, 4)] {
            assert_eq!(end_before(file.as_bytes(), 1, unknown).unwrap().entries, lost);
        }
    }
}
