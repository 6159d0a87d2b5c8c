//! Checks what a simulation leaves: the disks, as a loss of power at the end would leave them, against
//! what the hosts have announced.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use anyhow::Context;
use ouro_arena::store::{EmbeddedStore, LogEntry, Store, WeightsFolder, verify::verify};
use ouro_replay::check::{ClientLine, inspect, join};
use ouro_replay::disk::Disk;
use ouro_replay::journal::Kind;
use ouro_replay::testing::Survival;

use crate::cluster::{Announcements, Cluster};
use crate::fault::{HOSTS, WITH_DISK};

/// Entries of the log of results read at once.
const BATCH: usize = 1_024;

/// What was checked.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Checked {
    pub(crate) sent: usize,
    pub(crate) acknowledged: usize,
    pub(crate) journalled: u64,
    pub(crate) published: usize,
    pub(crate) decided: usize,
    pub(crate) promoted: usize,
}

/// Adds each violation to `violations`.
pub(crate) fn check(
    cluster: &Cluster,
    announcements: &Announcements,
    checked: &mut Checked,
    violations: &mut Vec<String>,
) -> anyhow::Result<()> {
    journal(cluster, checked, violations)?;
    results(cluster, announcements, checked, violations)
}

/// Every acknowledged game is in the journal once and unchanged, and no game under an epoch that was
/// replaced before.
fn journal(
    cluster: &Cluster,
    checked: &mut Checked,
    violations: &mut Vec<String>,
) -> anyhow::Result<()> {
    let folder = cluster.checked();
    fs::create_dir_all(&folder)?;
    let disk = cluster.disk(1).after_crash(Survival::Synced);
    for name in disk.names()? {
        fs::write(folder.join(&name), disk.content(&name).unwrap_or_default())?;
    }
    let mut lines = Vec::new();
    for host in WITH_DISK..HOSTS.len() {
        // An actor that never started has no log.
        let text = fs::read_to_string(cluster.records(host)).unwrap_or_default();
        for line in text.lines() {
            lines.push(serde_json::from_str::<ClientLine>(line).context("a line of an actor")?);
        }
    }
    let joined = join(&folder, lines)?;
    violations.extend(joined.findings.iter().map(ToString::to_string));
    violations.extend(joined.inspection.damage.iter().map(|damage| format!("journal: {damage}")));
    checked.sent = joined.sent;
    checked.acknowledged = joined.acked;
    checked.journalled = joined.inspection.records.end;
    let mut epochs: BTreeMap<String, u64> = BTreeMap::new();
    inspect(&folder, |_, entry| match entry.kind {
        Kind::Epoch => {
            let known = epochs.entry(entry.actor.to_owned()).or_default();
            if entry.epoch <= *known {
                violations
                    .push(format!("epoch {} of {} was issued twice", entry.epoch, entry.actor));
            }
            *known = entry.epoch.max(*known);
        }
        Kind::Record | Kind::Refused => {
            if epochs.get(entry.actor).is_some_and(|known| entry.epoch < *known) {
                let (actor, epoch, sequence) = (entry.actor, entry.epoch, entry.sequence);
                violations
                    .push(format!("game {sequence} of {actor} is under the old epoch {epoch}"));
            }
        }
        Kind::Snapshot | Kind::Purge => {}
    })?;
    Ok(())
}

/// The log of results is whole, its decisions follow from its games, and everything that the arena has
/// announced is in it once.
fn results(
    cluster: &Cluster,
    announcements: &Announcements,
    checked: &mut Checked,
    violations: &mut Vec<String>,
) -> anyhow::Result<()> {
    let disk = cluster.disk(0).after_crash(Survival::Synced);
    let opened = EmbeddedStore::on(disk);
    let store = match opened {
        Ok(store) => store,
        Err(error) => {
            violations.push(format!("the store does not open: {error}"));
            return Ok(());
        }
    };
    if let Err(error) = verify(&store, &WeightsFolder::open(&cluster.weights())?) {
        violations.push(format!("the store is not sound: {error}"));
    }
    let (mut published, mut decided) = (BTreeMap::new(), BTreeMap::new());
    let mut first = 0;
    loop {
        let entries = store.log(first, BATCH)?;
        if entries.is_empty() {
            break;
        }
        first += entries.len() as u64;
        for entry in entries {
            let again = match entry {
                LogEntry::CheckpointPublished(row) => {
                    let generation = row.generation;
                    published.insert(generation, row.hash).map(|_| (generation, "published"))
                }
                LogEntry::CandidateDecided(decision) => {
                    let (generation, promotes) =
                        (decision.generation, decision.promotion().is_some());
                    decided.insert(generation, promotes).map(|_| (generation, "decided"))
                }
                _ => None,
            };
            if let Some((generation, what)) = again {
                violations.push(format!("{generation} was {what} twice"));
            }
        }
    }
    for (generation, hash) in &announcements.published {
        if published.get(generation) != Some(hash) {
            violations
                .push(format!("{generation} was acknowledged by the arena and is not in its log"));
        }
    }
    let mut announced = BTreeSet::new();
    for (generation, promotes) in &announcements.decided {
        if decided.get(generation) != Some(promotes) {
            violations.push(format!(
                "the decision about {generation} was announced and is not in the log"
            ));
        }
        if !announced.insert(generation) {
            violations.push(format!("the decision about {generation} was announced twice"));
        }
    }
    checked.published = announcements.published.len();
    checked.decided = decided.len();
    checked.promoted = decided.values().filter(|promotes| **promotes).count();
    Ok(())
}
