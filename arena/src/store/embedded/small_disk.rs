//! A disk for tests that can run full, anywhere within a write, or break.

use std::io;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use redb::{Database, StorageBackend};

use super::medium::Medium;
use super::{EmbeddedStore, failed};
use crate::store::StoreError;

/// One file on a disk with so much room. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct SmallDisk(Arc<(Mutex<State>, Condvar)>);

#[derive(Debug, Default)]
struct State {
    bytes: Vec<u8>,
    /// Bytes that may still be written, over others or not; `None` for any number.
    room: Option<usize>,
    /// What a write says for which there is no room, if not that.
    damage: Option<io::ErrorKind>,
    /// Syncs until one fails, with everything written all the same.
    syncs: Option<usize>,
    /// How often somebody looked for room in vain.
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

    /// From now on so many bytes can be written.
    pub(crate) fn leave_room(&self, room: Option<usize>) {
        self.state().room = room;
    }

    /// From now on no byte can be written, for a reason other than room.
    pub(crate) fn damage(&self, kind: io::ErrorKind) {
        let mut state = self.state();
        (state.room, state.damage) = (Some(0), Some(kind));
    }

    /// After so many more syncs, if given, one fails for want of room, which there was for what
    /// it syncs.
    pub(crate) fn fail_sync(&self, after: Option<usize>) {
        self.state().syncs = after;
    }

    /// How often it was opened.
    pub(crate) fn opened(&self) -> usize {
        self.state().opened
    }

    /// Returns once somebody has looked for room in vain.
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

    /// Takes no room, as a hole in a file does not.
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

    /// Writes what there is room for, as a disk does.
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
