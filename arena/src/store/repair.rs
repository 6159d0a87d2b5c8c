//! Repair of a damaged log of results.
//!
//! Every intact entry is kept. An entry that is damaged or missing is replaced by
//! [`LogEntry::Lost`], and entries that refer to it are skipped when the log is read. The damaged
//! file is kept beside the repaired one.

use std::collections::BTreeMap;
use std::path::Path;

use ouro_replay::disk::{Disk, SegmentFile};

use super::embedded::{LOG_FILE, on_folder};
use super::error::{SCHEMA_VERSION, StoreError, io_error};
use super::line_file::{Line, format_line, lines, write_file};
use super::rows::{LogEntry, RunStarted};

/// The repaired file before it replaces the damaged one.
const REPAIRED: &str = "results.log.repaired";

/// The result of a repair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Repair {
    /// The log is intact and was not changed.
    Sound {
        /// Number of entries.
        entries: u64,
    },
    /// Damaged entries were replaced.
    Repaired {
        /// Entries that were kept.
        kept: u64,
        /// Entries that were replaced.
        lost: u64,
        /// Where the damaged file is now.
        damaged: String,
    },
}

/// Repairs the log in `folder`, the data folder of an arena. `run` replaces a damaged entry 0, which
/// names the run; without it, such a log is refused. The arena must not run.
pub fn repair(folder: &Path, run: Option<&RunStarted>) -> Result<Repair, StoreError> {
    repair_on(&on_folder(folder)?, run)
}

pub(super) fn repair_on<D: Disk>(disk: &D, run: Option<&RunStarted>) -> Result<Repair, StoreError> {
    let path = disk.describe(LOG_FILE);
    let at = |action| io_error(action, &path);
    let content = disk.open(LOG_FILE).and_then(|mut file| file.read()).map_err(at("read"))?;
    let (entries, count, is_sound) = salvage(&content);
    if is_sound {
        return Ok(Repair::Sound { entries: count });
    }
    if run.is_none() && !entries.contains_key(&0) {
        return Err(StoreError::Nameless { path });
    }
    let mut repaired = String::new();
    for number in 0..count {
        let text = match (entries.get(&number), run) {
            (Some(text), _) => (*text).to_owned(),
            (None, Some(run)) if number == 0 => as_json(&LogEntry::RunStarted(run.clone())),
            (None, _) => {
                let reason = "the entry was damaged".to_owned();
                as_json(&LogEntry::Lost { reason })
            }
        };
        repaired.push_str(&format_line(number, &text));
    }
    let names = disk.names().map_err(at("list"))?;
    let mut free = (0_u32..).map(|n| format!("{LOG_FILE}.damaged-{n}"));
    let damaged = free.find(|name| !names.contains(name)).unwrap_or_default();
    write_file(disk, REPAIRED, repaired.as_bytes()).map_err(at("repair"))?;
    // A copy, so that the log exists at every moment.
    write_file(disk, &damaged, &content).map_err(at("keep a copy of"))?;
    disk.rename(REPAIRED, LOG_FILE).and_then(|()| disk.sync()).map_err(at("replace"))?;
    let kept = entries.len() as u64;
    Ok(Repair::Repaired { kept, lost: count - kept, damaged: disk.describe(&damaged) })
}

/// The intact entries by number, the number of entries, and whether the file is sound as it is.
fn salvage(content: &[u8]) -> (BTreeMap<u64, &str>, u64, bool) {
    let all: Vec<Line<'_>> = lines(content).collect();
    let mut entries = BTreeMap::new();
    // A number far beyond the number of lines cannot be right: nothing so large was ever lost.
    let most = 2 * all.len() as u64 + 1_000;
    for (number, text) in all.iter().filter_map(|line| line.content).filter(|line| line.0 < most) {
        entries.entry(number).or_insert(text);
    }
    let is_sound = content.ends_with(b"\n")
        && (0..)
            .zip(&all)
            .all(|(number, line)| line.content.is_some_and(|found| found.0 == number));
    let last = entries.last_key_value().map_or(0, |(last, _)| last + 1);
    // Damaged lines at the end may have held entries, too.
    let trailing = all.iter().rev().take_while(|line| line.content.is_none()).count() as u64;
    (entries, (last + trailing).max(1), is_sound && !content.is_empty())
}

fn as_json(entry: &LogEntry) -> String {
    debug_assert!(!matches!(entry, LogEntry::RunStarted(run) if run.version != SCHEMA_VERSION));
    serde_json::to_string(entry).expect("an entry is plain data")
}

#[cfg(test)]
mod tests {
    use ouro_game::tic_tac_toe;
    use ouro_game::{GameConfig, Rng};
    use ouro_net::{ContentHash, Generation, RunId};
    use ouro_proto::{Checkpoint, CheckpointStatus};
    use ouro_replay::testing::MemoryDisk;

    use super::*;
    use crate::store::{EmbeddedStore, Run, Store, replay};

    fn run() -> RunStarted {
        let game = GameConfig::TicTacToe(tic_tac_toe::Config {});
        let (version, id) = (SCHEMA_VERSION, RunId::of(b"run"));
        RunStarted { version, id, run: Run { game, seed: 1 } }
    }

    /// A store with a run and `count` checkpoints.
    fn filled(count: u32) -> MemoryDisk {
        let disk = MemoryDisk::new();
        let store = EmbeddedStore::on(disk.clone()).unwrap();
        store.bind_run(&run().run, run().id).unwrap();
        for generation in 0..count {
            let checkpoint = Checkpoint {
                hash: ContentHash::of(&generation.to_le_bytes()),
                generation: Generation(generation),
                step: 1,
                size_bytes: 4,
                status: CheckpointStatus::Candidate,
                published_at: 1.5,
                parent: None,
            };
            store.add_checkpoint(&checkpoint).unwrap();
        }
        disk
    }

    #[test]
    fn a_sound_log_is_not_touched() {
        let disk = filled(3);
        let before = disk.content(LOG_FILE);
        assert_eq!(repair_on(&disk, Some(&run())).unwrap(), Repair::Sound { entries: 4 });
        assert_eq!(disk.content(LOG_FILE), before);
    }

    #[test]
    fn all_intact_entries_survive_any_damage() {
        for seed in 0..200 {
            let mut rng = Rng::new(seed, "test");
            let disk = filled(6);
            let content = disk.content(LOG_FILE).unwrap();
            let mut damaged = content.clone();
            for _ in 0..1 + rng.below(3) {
                let at = rng.below(damaged.len() as u32) as usize;
                match rng.below(3) {
                    0 => damaged[at] ^= 1 << rng.below(8),
                    1 => drop(damaged.drain(at..(at + 9).min(content.len()).min(damaged.len()))),
                    _ => drop(damaged.splice(at..at, [7, b'\n', 9])),
                }
            }
            disk.put(LOG_FILE, &damaged);
            let repair = repair_on(&disk, Some(&run())).unwrap();
            let store = EmbeddedStore::on(disk.clone()).unwrap();
            assert_eq!(store.bind_run(&run().run, RunId::of(b"other")).unwrap(), run().id);
            let whole = |line: &[u8]| content.windows(line.len()).any(|window| window == line);
            let intact = lines(&damaged).filter(|line| line.content.is_some());
            let intact = intact.filter(|line| whole(&damaged[line.bytes.clone()])).count();
            if let Repair::Repaired { kept, damaged: path, .. } = repair {
                assert!(kept >= intact as u64, "seed {seed}: {kept} of {intact}");
                assert_eq!(disk.content(&path).unwrap(), damaged);
                let replayed = replay(&store).unwrap();
                assert_eq!(replayed.checkpoints, store.checkpoints().unwrap());
            }
            let Repair::Sound { .. } = repair_on(&disk, Some(&run())).unwrap() else {
                panic!("seed {seed}: a repaired log is sound");
            };
        }
    }

    #[test]
    fn a_lost_entry_0_is_replaced_by_the_given_run() {
        let disk = filled(2);
        let mut content = disk.content(LOG_FILE).unwrap();
        content[20] ^= 1;
        disk.put(LOG_FILE, &content);
        let other = RunStarted { id: RunId::of(b"known elsewhere"), ..run() };
        let refused = repair_on(&disk, None).unwrap_err();
        assert!(matches!(refused, StoreError::Nameless { .. }), "{refused}");
        let repair = repair_on(&disk, Some(&other)).unwrap();
        assert!(matches!(repair, Repair::Repaired { kept: 2, lost: 1, .. }), "{repair:?}");
        let store = EmbeddedStore::on(disk).unwrap();
        assert_eq!(store.bind_run(&run().run, run().id).unwrap(), other.id);
        assert_eq!(store.checkpoints().unwrap().len(), 2);
    }
}
