//! A disk in memory with injected faults, for tests of the journal and of code that uses one.
//!
//! A [`MemoryDisk`] distinguishes synced from unsynced data. It can run out of space, shorten
//! writes, fail syncs, and crash at any operation. After a crash it holds the synced data and a
//! chosen part of the rest. Clones share the disk.
//!
//! The faults are harsher than those of most real disks. Any unsynced sector may hold any of its
//! versions since the last sync, and unsynced names may have changed in any order. After a failed
//! sync the unwritten bytes count as clean and are never written, as on Linux.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ouro_game::Rng;

use crate::disk::{Disk, SegmentFile};

/// Smallest unit that the disk writes atomically, in bytes.
const SECTOR: usize = 512;

/// Injected faults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Capacity of the disk, in bytes.
    pub capacity: Option<usize>,
    /// Most bytes per write.
    pub short_write: Option<usize>,
    /// Whether every sync of a file fails.
    pub sync_fails: bool,
    /// Index, from 0, of the operation during which the disk crashes.
    pub crash_at: Option<u64>,
}

/// The part of the unsynced data that survives a crash.
#[derive(Clone, Debug)]
pub enum Survival {
    /// Nothing.
    Synced,
    /// Everything.
    All,
    /// A random choice for each sector, length and name.
    Some(Rng),
}

#[derive(Clone, Debug, Default)]
struct Content {
    synced: Vec<u8>,
    current: Vec<u8>,
    /// Every content of each sector since the last sync.
    versions: BTreeMap<usize, Vec<Vec<u8>>>,
    /// Every length since the last sync.
    lengths: Vec<usize>,
    /// Sectors that the next sync writes.
    dirty: BTreeSet<usize>,
}

type Names = BTreeMap<String, usize>;

#[derive(Clone, Debug, Default)]
struct State {
    faults: Faults,
    operations: u64,
    crashed: bool,
    files: Vec<Content>,
    names: Names,
    synced_names: Names,
    /// For each name, every file that had it since the last sync of names.
    renames: BTreeMap<String, Vec<Option<usize>>>,
}

/// A disk in memory. See the [module](self).
#[derive(Clone, Debug, Default)]
pub struct MemoryDisk {
    state: Arc<Mutex<State>>,
}

/// An open file of a [`MemoryDisk`].
#[derive(Debug)]
pub struct MemoryFile {
    state: Arc<Mutex<State>>,
    index: usize,
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn crashed() -> io::Error {
    io::Error::other("the machine is off")
}

impl Content {
    fn new(bytes: &[u8]) -> Self {
        let (synced, current) = (bytes.to_vec(), bytes.to_vec());
        Self { synced, current, ..Self::default() }
    }

    /// Applies a change of the bytes `from..to`.
    fn change(&mut self, from: usize, to: usize, change: impl FnOnce(&mut Vec<u8>)) {
        change(&mut self.current);
        for sector in from / SECTOR..to.div_ceil(SECTOR) {
            let version = sector_of(&self.current, sector).to_vec();
            self.versions.entry(sector).or_default().push(version);
            self.dirty.insert(sector);
        }
        self.lengths.push(self.current.len());
    }

    fn sync(&mut self) {
        self.synced.resize(self.current.len(), 0);
        for sector in std::mem::take(&mut self.dirty) {
            copy_sector(sector_of(&self.current, sector), &mut self.synced, sector);
        }
        self.versions.clear();
        self.lengths.clear();
    }

    /// Chooses a version since the last sync at random for each sector and for the length.
    fn mixed(&self, rng: &mut Rng) -> Vec<u8> {
        let length = |rng: &mut Rng| match rng.below(self.lengths.len() as u32 + 1) {
            0 => self.synced.len(),
            version => self.lengths[version as usize - 1],
        };
        let (some, other) = (length(rng), length(rng));
        let (low, high) = (some.min(other), some.max(other));
        let cut = rng.below(3) == 0;
        let length = if cut { low + rng.below((high - low) as u32 + 1) as usize } else { some };
        let mut bytes = vec![0; length];
        for sector in 0..length.div_ceil(SECTOR) {
            let versions = self.versions.get(&sector).map_or(&[][..], Vec::as_slice);
            let version = match rng.below(versions.len() as u32 + 1) {
                0 => sector_of(&self.synced, sector),
                version => &versions[version as usize - 1],
            };
            copy_sector(version, &mut bytes, sector);
        }
        bytes
    }
}

/// The part of a sector that a file has.
fn sector_of(file: &[u8], sector: usize) -> &[u8] {
    let start = (sector * SECTOR).min(file.len());
    &file[start..(start + SECTOR).min(file.len())]
}

/// Copies the content of a sector to a file, as far as the file has room.
fn copy_sector(content: &[u8], file: &mut [u8], sector: usize) {
    let start = (sector * SECTOR).min(file.len());
    let end = (start + content.len()).min(file.len());
    file[start..end].copy_from_slice(&content[..end - start]);
}

impl State {
    /// Counts a changing operation. Returns `true` if the crash happens during it.
    fn operate(&mut self) -> io::Result<bool> {
        if self.crashed {
            return Err(crashed());
        }
        self.crashed = self.faults.crash_at == Some(self.operations);
        self.operations += 1;
        Ok(self.crashed)
    }

    fn find(&self, name: &str) -> io::Result<usize> {
        self.names.get(name).copied().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Assigns a name to a file, or removes the name.
    fn name(&mut self, name: &str, index: Option<usize>) {
        match index {
            Some(index) => self.names.insert(name.to_owned(), index),
            None => self.names.remove(name),
        };
        self.renames.entry(name.to_owned()).or_default().push(index);
    }

    /// Chooses a file at random for each name, among those that had it since the last sync.
    fn mixed_names(&self, rng: &mut Rng) -> Names {
        let mut names = self.synced_names.clone();
        for (name, meanings) in &self.renames {
            let meaning = match rng.below(meanings.len() as u32 + 1) {
                0 => continue,
                meaning => meanings[meaning as usize - 1],
            };
            match meaning {
                Some(index) => names.insert(name.clone(), index),
                None => names.remove(name),
            };
        }
        names
    }

    fn used(&self) -> usize {
        self.names.values().map(|&index| self.files[index].current.len()).sum()
    }
}

impl MemoryDisk {
    /// Creates an empty disk.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the faults of all later operations.
    pub fn set_faults(&self, faults: Faults) {
        lock(&self.state).faults = faults;
    }

    /// Number of changing operations so far.
    pub fn operations(&self) -> u64 {
        lock(&self.state).operations
    }

    /// Whether the disk has crashed.
    pub fn has_crashed(&self) -> bool {
        lock(&self.state).crashed
    }

    /// The current content of a file, including unsynced data.
    pub fn content(&self, name: &str) -> Option<Vec<u8>> {
        let state = lock(&self.state);
        state.names.get(name).map(|&index| state.files[index].current.clone())
    }

    /// Adds a file with synced content.
    pub fn put(&self, name: &str, content: &[u8]) {
        let mut state = lock(&self.state);
        let index = state.files.len();
        state.files.push(Content::new(content));
        state.names.insert(name.to_owned(), index);
        state.synced_names.insert(name.to_owned(), index);
    }

    /// Returns an independent copy with everything synced and without faults.
    pub fn copy(&self) -> Self {
        self.after_crash(Survival::All)
    }

    /// The disk after the process was killed while the machine stays up. All data is there, and
    /// unsynced data stays unsynced.
    pub fn after_kill(&self) -> Self {
        let mut state = lock(&self.state).clone();
        (state.faults, state.crashed, state.operations) = (Faults::default(), false, 0);
        Self { state: Arc::new(Mutex::new(state)) }
    }

    /// The disk after a power failure, with the surviving data and without faults.
    pub fn after_crash(&self, mut survival: Survival) -> Self {
        let (state, fresh) = (lock(&self.state), Self::new());
        let names = match &mut survival {
            Survival::Synced => state.synced_names.clone(),
            Survival::All => state.names.clone(),
            Survival::Some(rng) => state.mixed_names(rng),
        };
        for (name, index) in names {
            let content = &state.files[index];
            let bytes = match &mut survival {
                Survival::Synced => content.synced.clone(),
                Survival::All => content.current.clone(),
                Survival::Some(rng) => content.mixed(rng),
            };
            fresh.put(&name, &bytes);
        }
        fresh
    }
}

impl Disk for MemoryDisk {
    type File = MemoryFile;

    fn names(&self) -> io::Result<Vec<String>> {
        let state = lock(&self.state);
        if state.crashed { Err(crashed()) } else { Ok(state.names.keys().cloned().collect()) }
    }

    fn open(&self, name: &str) -> io::Result<MemoryFile> {
        let state = lock(&self.state);
        if state.crashed {
            return Err(crashed());
        }
        Ok(MemoryFile { state: Arc::clone(&self.state), index: state.find(name)? })
    }

    fn create(&self, name: &str) -> io::Result<MemoryFile> {
        let mut state = lock(&self.state);
        if state.operate()? {
            return Err(crashed());
        }
        let index = state.files.len();
        state.files.push(Content::default());
        state.name(name, Some(index));
        Ok(MemoryFile { state: Arc::clone(&self.state), index })
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut state = lock(&self.state);
        let crash = state.operate()?;
        let index = state.find(from)?;
        state.name(from, None);
        state.name(to, Some(index));
        if crash { Err(crashed()) } else { Ok(()) }
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut state = lock(&self.state);
        let crash = state.operate()?;
        state.find(name)?;
        state.name(name, None);
        if crash { Err(crashed()) } else { Ok(()) }
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = lock(&self.state);
        if state.operate()? {
            return Err(crashed());
        }
        state.synced_names = state.names.clone();
        state.renames.clear();
        Ok(())
    }

    fn describe(&self, name: &str) -> String {
        name.to_owned()
    }
}

impl SegmentFile for MemoryFile {
    fn read(&mut self) -> io::Result<Vec<u8>> {
        let state = lock(&self.state);
        if state.crashed { Err(crashed()) } else { Ok(state.files[self.index].current.clone()) }
    }

    fn read_at(&mut self, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        let state = lock(&self.state);
        if state.crashed {
            return Err(crashed());
        }
        let content = &state.files[self.index].current;
        let bytes = content.get(offset as usize..).and_then(|rest| rest.get(..length));
        Ok(bytes.ok_or(io::ErrorKind::UnexpectedEof)?.to_vec())
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        let mut state = lock(&self.state);
        let crash = state.operate()?;
        let (length, used) = (state.files[self.index].current.len(), state.used());
        let offset = offset as usize;
        let mut count = bytes.len().min(state.faults.short_write.unwrap_or(usize::MAX));
        if crash {
            count /= 2;
        }
        if let Some(capacity) = state.faults.capacity {
            count = count.min(length.saturating_sub(offset) + capacity.saturating_sub(used));
        }
        if count == 0 && !bytes.is_empty() && !crash {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let end = offset + count;
        state.files[self.index].change(offset.min(length), end, |content| {
            content.resize(length.max(end), 0);
            content[offset..end].copy_from_slice(&bytes[..count]);
        });
        if crash { Err(crashed()) } else { Ok(count) }
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        let mut state = lock(&self.state);
        let crash = state.operate()?;
        let end = state.files[self.index].current.len();
        let from = end.min(length as usize);
        state.files[self.index].change(from, end, |content| content.resize(length as usize, 0));
        if crash { Err(crashed()) } else { Ok(()) }
    }

    fn sync(&mut self) -> io::Result<()> {
        let mut state = lock(&self.state);
        let (crash, fails) = (state.operate()?, state.faults.sync_fails);
        if crash {
            return Err(crashed());
        }
        let content = &mut state.files[self.index];
        if fails {
            content.dirty.clear();
            return Err(io::Error::other("the disk does not answer"));
        }
        content.sync();
        Ok(())
    }
}
