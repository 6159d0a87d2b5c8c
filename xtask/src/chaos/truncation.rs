//! A store that loses acknowledged entries: the file of Redis is cut while Redis is down.
//!
//! Redis refuses to load the file. Once an operator has cut the damaged end off, Redis starts with a log
//! that lacks entries. The arena must notice, whether it ran all the time or not, and refuse until the
//! operator accepts the loss. The run then continues without a contradiction.

use std::fs::{self, OpenOptions};
use std::path::PathBuf;
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
/// The file with which the arena remembers its last entry, in the folder of the run.
const KNOWN: &str = "arena/store.known";

/// Cuts the store twice: beside a running arena, and while the arena is down.
pub(crate) fn run(campaign: &mut Campaign, seed: u64) -> Result<()> {
    let mut random = Random::new(seed);
    campaign.cluster.start()?;
    for is_down in [false, true] {
        let kind = if is_down { "store cut, arena down" } else { "store cut, arena running" };
        // Odd, and larger than an entry, so that the cut is in the middle of one.
        let bytes = random.within(2_000, 20_000) | 1;
        cut(campaign, kind, bytes, is_down)?;
    }
    Ok(())
}

fn cut(campaign: &mut Campaign, kind: &str, bytes: u64, is_down: bool) -> Result<()> {
    campaign.warm_up()?;
    campaign.begin(kind, &format!("{kind}: {bytes} bytes"), if is_down { 2 } else { 1 });
    let normal = campaign.cluster.meter.normal().unwrap_or_default();
    let cluster = &mut campaign.cluster;
    // Entries may be added until the kill, but each was acknowledged before the audit read it.
    let before = cluster.audit.entries();
    cluster.node(Role::Redis).kill();
    if is_down {
        cluster.node(Role::Arena).kill();
    }
    let file = newest_file(cluster)?;
    let length = fs::metadata(&file)?.len().saturating_sub(bytes);
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
    let lost = before.saturating_sub(left);
    campaign.report.count("entries of the log that Redis lost and the arena missed", lost);
    if lost > 0 && !has_noticed {
        campaign.violation(format!("{lost} of {before} entries are lost, and the arena continues"));
    }
    let (cluster, start) = (&mut campaign.cluster, Instant::now());
    while start.elapsed() < REFUSED {
        cluster.tick(false)?;
    }
    cluster.read_whole_log()?;
    let added = cluster.audit.entries() - left;
    if lost > 0 && added > 0 {
        campaign.violation(format!("the arena adds {added} entries to a log that lacks {lost}"));
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
