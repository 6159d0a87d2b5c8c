//! A disk in memory that fails on order, for tests of whatever stands on a journal.
//!
//! A [`MemoryDisk`] knows what was synced and what was not. It can run out of space, write less
//! than asked, fail a sync, and crash at any operation; after a crash it starts anew with what
//! was synced and a chosen part of the rest. Clones share the disk.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ouro_game::Stream;

use crate::disk::{Disk, SegmentFile};

/// Smallest unit that reaches the platter whole, bytes.
const SECTOR: usize = 512;

/// What goes wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Bytes that fit on the disk, all files together.
    pub capacity: Option<usize>,
    /// Most bytes that one write takes.
    pub short_write: Option<usize>,
    /// Whether every sync of a file fails.
    pub sync_fails: bool,
    /// The operation, counted from 0, in the middle of which everything ends.
    pub crash_at: Option<u64>,
}

/// How much of what was not synced is there after a crash.
#[derive(Clone, Debug)]
pub enum Survival {
    /// Nothing.
    Synced,
    /// Everything.
    All,
    /// Each sector, length and name by chance.
    Some(Stream),
}

#[derive(Clone, Debug, Default)]
struct Content {
    synced: Vec<u8>,
    current: Vec<u8>,
}

type Names = BTreeMap<String, usize>;

#[derive(Debug, Default)]
struct State {
    faults: Faults,
    operations: u64,
    crashed: bool,
    files: Vec<Content>,
    names: Names,
    synced_names: Names,
    /// The names after each change since they were synced.
    renames: Vec<Names>,
}

/// The disk. See the [module](self).
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

impl State {
    /// Counts an operation that changes something. `true` if the crash comes in the middle of it.
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

    fn renamed(&mut self) {
        self.renames.push(self.names.clone());
    }

    fn used(&self) -> usize {
        self.names.values().map(|&index| self.files[index].current.len()).sum()
    }
}

impl MemoryDisk {
    /// An empty disk.
    pub fn new() -> Self {
        Self::default()
    }

    /// Says what goes wrong from now on.
    pub fn set_faults(&self, faults: Faults) {
        lock(&self.state).faults = faults;
    }

    /// Operations so far that changed something.
    pub fn operations(&self) -> u64 {
        lock(&self.state).operations
    }

    /// Whether the crash has come.
    pub fn has_crashed(&self) -> bool {
        lock(&self.state).crashed
    }

    /// A file as it is now, not only what was synced.
    pub fn content(&self, name: &str) -> Option<Vec<u8>> {
        let state = lock(&self.state);
        state.names.get(name).map(|&index| state.files[index].current.clone())
    }

    /// Puts a file there, synced.
    pub fn put(&self, name: &str, content: &[u8]) {
        let mut state = lock(&self.state);
        let index = state.files.len();
        state.files.push(Content { synced: content.to_vec(), current: content.to_vec() });
        state.names.insert(name.to_owned(), index);
        state.synced_names.insert(name.to_owned(), index);
    }

    /// A copy that shares nothing, with everything synced and without faults.
    pub fn copy(&self) -> Self {
        self.after_crash(Survival::All)
    }

    /// The disk after the power was gone: without faults, and with what has survived.
    pub fn after_crash(&self, survival: Survival) -> Self {
        let (state, fresh) = (lock(&self.state), Self::new());
        let mut survival = survival;
        let names = match &mut survival {
            Survival::Synced => &state.synced_names,
            Survival::All => &state.names,
            Survival::Some(stream) => match stream.below(state.renames.len() as u32 + 1) {
                0 => &state.synced_names,
                count => &state.renames[count as usize - 1],
            },
        };
        for (name, &index) in names {
            let Content { synced, current } = &state.files[index];
            let content = match &mut survival {
                Survival::Synced => synced.clone(),
                Survival::All => current.clone(),
                Survival::Some(stream) => mixed(synced, current, stream),
            };
            fresh.put(name, &content);
        }
        fresh
    }
}

/// Each sector either as it was synced or as it was written last; likewise the length.
fn mixed(synced: &[u8], current: &[u8], stream: &mut Stream) -> Vec<u8> {
    let mut length = if stream.below(2) == 0 { synced.len() } else { current.len() };
    if stream.below(3) == 0 {
        let (low, high) = (synced.len().min(current.len()), synced.len().max(current.len()));
        length = low + stream.below((high - low) as u32 + 1) as usize;
    }
    let mut bytes = vec![0; length];
    for (index, sector) in bytes.chunks_mut(SECTOR).enumerate() {
        let source = if stream.below(2) == 0 { synced } else { current };
        let rest = source.get(index * SECTOR..).unwrap_or_default();
        let count = rest.len().min(sector.len());
        sector[..count].copy_from_slice(&rest[..count]);
    }
    bytes
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
        state.names.insert(name.to_owned(), index);
        state.renamed();
        Ok(MemoryFile { state: Arc::clone(&self.state), index })
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut state = lock(&self.state);
        let crash = state.operate()?;
        let index = state.find(from)?;
        state.names.remove(from);
        state.names.insert(to.to_owned(), index);
        state.renamed();
        if crash { Err(crashed()) } else { Ok(()) }
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut state = lock(&self.state);
        let crash = state.operate()?;
        state.find(name)?;
        state.names.remove(name);
        state.renamed();
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
        let content = &mut state.files[self.index].current;
        content.resize(content.len().max(offset + count), 0);
        content[offset..offset + count].copy_from_slice(&bytes[..count]);
        if crash { Err(crashed()) } else { Ok(count) }
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        let mut state = lock(&self.state);
        let crash = state.operate()?;
        state.files[self.index].current.resize(length as usize, 0);
        if crash { Err(crashed()) } else { Ok(()) }
    }

    fn sync(&mut self) -> io::Result<()> {
        let mut state = lock(&self.state);
        let (crash, fails) = (state.operate()?, state.faults.sync_fails);
        if crash {
            return Err(crashed());
        }
        if fails {
            return Err(io::Error::other("the disk does not answer"));
        }
        let content = &mut state.files[self.index];
        content.synced = content.current.clone();
        Ok(())
    }
}
