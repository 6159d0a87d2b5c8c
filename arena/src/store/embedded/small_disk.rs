//! A simulated disk for tests that can become full at any byte of a write, or fail.

use std::io;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use redb::{Database, StorageBackend};

use super::EmbeddedStore;
use super::medium::Medium;
use crate::store::error::{StoreError, failed};

/// One file on a disk with limited space. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct SmallDisk(Arc<(Mutex<State>, Condvar)>);

#[derive(Debug, Default)]
struct State {
    bytes: Vec<u8>,
    /// Bytes that may still be written, overwriting or not; `None` means no limit.
    room: Option<usize>,
    /// The error of a write that exceeds `room`; `None` means the error of a full disk.
    damage: Option<io::ErrorKind>,
    /// Number of successful syncs before a sync that fails although all data is written.
    syncs: Option<usize>,
    /// Number of failed checks for space.
    looks: usize,
    opened: usize,
}

impl SmallDisk {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn store(&self) -> EmbeddedStore {
        EmbeddedStore::on(Box::new(self.clone())).expect("there is room to begin with")
    }

    /// Limits the bytes that can be written from now on.
    pub(crate) fn leave_room(&self, room: Option<usize>) {
        self.state().room = room;
    }

    /// Makes every write fail from now on, with an error other than that of a full disk.
    pub(crate) fn damage(&self, kind: io::ErrorKind) {
        let mut state = self.state();
        (state.room, state.damage) = (Some(0), Some(kind));
    }

    /// Makes the sync after this number of syncs fail as on a full disk, although all data is
    /// written.
    pub(crate) fn fail_sync(&self, after: Option<usize>) {
        self.state().syncs = after;
    }

    /// Number of times that the database was opened.
    pub(crate) fn opened(&self) -> usize {
        self.state().opened
    }

    /// Blocks until the next failed check for space.
    pub(crate) fn wait_until_looked_at(&self) {
        let mut state = self.state();
        let before = state.looks;
        while state.looks == before {
            state = self.0.1.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Medium for SmallDisk {
    fn open(&self) -> Result<Database, StoreError> {
        self.state().opened += 1;
        Database::builder().create_with_backend(self.clone()).map_err(failed)
    }

    fn has_room(&self) -> io::Result<()> {
        let mut state = self.state();
        if state.room.is_none() {
            return Ok(());
        }
        state.looks += 1;
        self.0.1.notify_all();
        Err(io::ErrorKind::StorageFull.into())
    }

    fn folder(&self) -> &Path {
        Path::new("small")
    }
}

impl StorageBackend for SmallDisk {
    fn len(&self) -> io::Result<u64> {
        Ok(self.state().bytes.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let state = self.state();
        let bytes = state.bytes.get(offset as usize..).and_then(|bytes| bytes.get(..out.len()));
        out.copy_from_slice(bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    /// Uses none of the space, like a hole in a sparse file.
    fn set_len(&self, len: u64) -> io::Result<()> {
        self.state().bytes.resize(len as usize, 0);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut state = self.state();
        let fails = state.syncs == Some(0);
        state.syncs = state.syncs.and_then(|left| left.checked_sub(1));
        if fails { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }

    /// Writes as many bytes as fit, like a real disk.
    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut state = self.state();
        let fits = state.room.map_or(data.len(), |room| room.min(data.len()));
        let place = state.bytes.get_mut(offset as usize..).ok_or(io::ErrorKind::UnexpectedEof)?;
        place[..fits].copy_from_slice(&data[..fits]);
        state.room = state.room.map(|room| room - fits);
        if fits == data.len() {
            return Ok(());
        }
        Err(state.damage.unwrap_or(io::ErrorKind::StorageFull).into())
    }
}
