//! The pool service: uploads and downloads of weights, and changes of the pool.
//!
//! Uploads and downloads hold whole files in memory. Semaphores bound their number, and further
//! calls are queued. A transfer ends if it pauses too long or is too slow as a whole, so a client holds
//! its slot for a bounded time. For uploads, see [`uploads`](super::uploads).

use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use ouro_net::{ContentHash, Generation};
use ouro_players::opponents::{self, Opponent, OpponentShares};
use ouro_proto::Checkpoint;
use ouro_proto::arena::v1;
use ouro_proto::arena::v1::pool_service_server::PoolService;
use ouro_proto::arena::v1::publish_checkpoint_request::Part;
use ouro_proto::arena_client::TRANSFER_TIMEOUT;
use ouro_proto::chunks::{self, Assembly};
use ouro_proto::pool::PoolSnapshot;
use ouro_service::IntoStatus;
use ouro_service::access::{Identity, Role};
use tokio::sync::OwnedSemaphorePermit;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::WatchStream;
use tonic::{Request, Response, Status, Streaming};

use super::uploads::{IDLE, incoming, next_chunk, next_part};
use super::{Answers, Handlers, answer};
use crate::error::CallError;
use crate::figures::StreamKind;
use crate::outgoing::{self, TooSlow};
use crate::state::{ArenaState, Offer};

/// Maximum pause before a client takes the next chunk of a download, also after the last one. At the
/// minimum rate a chunk takes 16 seconds.
const UNREAD: Duration = Duration::from_secs(30);

/// Minimum mean rate of a transfer, in bytes per second. [`IDLE`] or [`UNREAD`] is added to the
/// resulting time.
const LEAST_RATE: u64 = 64 << 10;

impl Handlers {
    /// Receives weights. Those of an actor are copies of weights that the arena has lost.
    async fn receive(
        &self,
        mut parts: Streaming<v1::PublishCheckpointRequest>,
        role: Option<Role>,
    ) -> Result<v1::Checkpoint, CallError> {
        let Some(Part::Header(header)) = next_part(&mut parts).await? else {
            return Err(CallError::HeaderMissing);
        };
        let hash: ContentHash = header.hash.parse()?;
        let is_copy = role == Some(Role::Actor);
        if is_copy && let Some(stored) = self.stored(hash, header.size_bytes).await? {
            return Ok((&stored).into());
        }
        let mut assembly = Assembly::new(hash, header.size_bytes, self.max_weights_bytes)?;
        // Before the first chunk, an upload holds the few bytes of its header and no slot.
        let first = next_chunk(&mut parts, &mut assembly).await?;
        let slots = if is_copy { &self.copies } else { &self.uploads };
        let slot = slots.take().await?;
        // Another actor may have returned the weights meanwhile.
        if is_copy && let Some(stored) = self.stored(hash, header.size_bytes).await? {
            return Ok((&stored).into());
        }
        let bytes = match first {
            None => assembly.finish()?,
            Some(received) => incoming(&mut parts, assembly, received, IDLE).await?,
        };
        let offer = Offer {
            hash,
            generation: Generation(header.generation),
            step: header.step,
            parent: header.parent.map(Generation),
        };
        // A disconnected client does not end the work on its file, so the work itself holds the slot.
        let publish = move |state: &ArenaState| {
            let _slot = slot;
            state.publish(offer, &bytes)
        };
        let stored = self.blocking(publish).await?;
        Ok((&stored).into())
    }

    /// The checkpoint of weights that an actor offers; `None` if the arena lacks the weights. A copy
    /// that the arena does not need is not received.
    async fn stored(&self, hash: ContentHash, size: u64) -> Result<Option<Checkpoint>, CallError> {
        let checkpoints = self.blocking(|state| state.store().checkpoints()).await?;
        let known = checkpoints.into_iter().find(|checkpoint| checkpoint.hash == hash);
        let known = known.ok_or(CallError::NewWeights)?;
        if size != known.size_bytes {
            let (field, header, file) = ("size_bytes", size, known.size_bytes);
            return Err(CallError::HeaderMismatch { field, header, file });
        }
        let pool = self.state.pool().snapshots().borrow().clone();
        let is_missing = pool.missing.iter().any(|checkpoint| checkpoint.hash == hash);
        Ok((!is_missing).then_some(known))
    }

    async fn send(&self, hash: &str) -> Result<Chunks, CallError> {
        let hash: ContentHash = hash.parse()?;
        let slot = self.downloads.clone().acquire_owned().await;
        let slot = slot.map_err(|_| CallError::Stopping)?;
        let read = move |state: &ArenaState| state.read_weights(hash).map(|file| (file, slot));
        let (file, slot) = self.blocking(read).await?;
        let limit = transfer_time(file.len() as u64, UNREAD);
        Ok(outgoing(file.into(), slot, UNREAD, limit))
    }
}

/// Maximum time for a transfer of `bytes` bytes: `idle`, and their time at the minimum rate.
pub(super) fn transfer_time(bytes: u64, idle: Duration) -> Duration {
    TRANSFER_TIMEOUT.min(idle + Duration::from_secs(bytes / LEAST_RATE))
}

/// A file as a [bounded](outgoing::outgoing) stream of chunks.
fn outgoing(file: Bytes, slot: OwnedSemaphorePermit, idle: Duration, limit: Duration) -> Chunks {
    let parts = chunks::split(file).map(|part| {
        // A copy: parts share the memory of the whole file.
        v1::FetchCheckpointResponse { chunk: Bytes::copy_from_slice(&part) }
    });
    Box::pin(outgoing::outgoing(parts, slot, idle, limit, |slow| {
        let error = match slow {
            TooSlow::Idle(idle) => CallError::Unread(idle),
            TooSlow::Total(limit) => CallError::Slow(limit),
        };
        error.status()
    }))
}

type Chunks = Answers<v1::FetchCheckpointResponse>;

/// Maximum number of opponents in one response.
const MAX_DRAWS: u32 = 4_096;

/// The opponents that a request draws from the pool.
fn drawn(
    pool: &PoolSnapshot,
    request: &v1::DrawOpponentsRequest,
) -> Result<v1::DrawOpponentsResponse, CallError> {
    if !(1..=MAX_DRAWS).contains(&request.count) {
        return Err(CallError::DrawCount { got: request.count, most: MAX_DRAWS });
    }
    let shares = request.shares.ok_or(CallError::SharesMissing)?;
    let v1::OpponentShares { self_play, prioritised, uniform } = shares;
    let shares = OpponentShares { self_play, prioritised, uniform };
    shares.validate()?;
    let newest = pool.newest.as_ref().ok_or(CallError::NothingPublished)?;
    let chances: Vec<Option<f64>> = pool.members.iter().map(|member| member.newest_wins).collect();
    let mut rng = ouro_game::Rng::new(request.seed.into(), "opponents");
    let opponents = (0..request.count).map(|_| {
        let (row, self_play) = match opponents::draw(&chances, &shares, &mut rng) {
            Opponent::Newest => (newest, true),
            Opponent::Member(index) => (&pool.members[index].checkpoint, false),
        };
        v1::Opponent { generation: row.generation.0, hash: row.hash.to_string(), self_play }
    });
    Ok(v1::DrawOpponentsResponse { opponents: opponents.collect() })
}

#[tonic::async_trait]
impl PoolService for Handlers {
    async fn publish_checkpoint(
        &self,
        request: Request<Streaming<v1::PublishCheckpointRequest>>,
    ) -> Result<Response<v1::PublishCheckpointResponse>, Status> {
        let role = request.extensions().get().map(Identity::role);
        let received = self.receive(request.into_inner(), role).await;
        match &received {
            Ok(_) => drop(self.state.figures().uploads_accepted.fetch_add(1, Ordering::Relaxed)),
            Err(error) => self.state.figures().upload_refused(error.code()),
        }
        let response = |checkpoint| v1::PublishCheckpointResponse { checkpoint: Some(checkpoint) };
        answer(received.map(response))
    }

    type FetchCheckpointStream = Chunks;

    async fn fetch_checkpoint(
        &self,
        request: Request<v1::FetchCheckpointRequest>,
    ) -> Result<Response<Chunks>, Status> {
        answer(self.send(&request.get_ref().hash).await)
    }

    async fn draw_opponents(
        &self,
        request: Request<v1::DrawOpponentsRequest>,
    ) -> Result<Response<v1::DrawOpponentsResponse>, Status> {
        let pool = self.state.pool().snapshots().borrow().clone();
        answer(drawn(&pool, request.get_ref()))
    }

    type WatchPoolStream = Answers<v1::WatchPoolResponse>;

    async fn watch_pool(
        &self,
        _: Request<v1::WatchPoolRequest>,
    ) -> Result<Response<Self::WatchPoolStream>, Status> {
        let snapshots = WatchStream::new(self.state.pool().snapshots());
        let watching = self.state.figures().watch(StreamKind::Pool);
        let answers = snapshots.map(move |snapshot| {
            let _ = &watching;
            Ok(snapshot.as_ref().into())
        });
        answer(Ok(self.until_stopped(answers)))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ouro_proto::chunks::CHUNK_BYTES;
    use tokio::sync::Semaphore;
    use tonic::Code;

    use super::*;

    async fn slot(downloads: &Arc<Semaphore>) -> OwnedSemaphorePermit {
        downloads.clone().acquire_owned().await.unwrap()
    }

    fn file() -> Bytes {
        vec![7; 3 * CHUNK_BYTES].into()
    }

    #[tokio::test]
    async fn a_client_that_does_not_read_loses_its_slot_and_gets_an_error() {
        let (none, long) = (Duration::ZERO, TRANSFER_TIMEOUT);
        let unread = "no chunk was read for 0ns; fetch again";
        let slow = "the transfer took longer than 0ns; try again";
        for (idle, limit, message) in [(none, long, unread), (long, none, slow)] {
            let downloads = Arc::new(Semaphore::new(1));
            let kept = file();
            let mut stream = outgoing(kept.clone(), slot(&downloads).await, idle, limit);
            // The slot is free again although the client has read nothing, and so is the file.
            drop(slot(&downloads).await);
            assert!(kept.is_unique());
            assert_eq!(stream.next().await.unwrap().unwrap().chunk.len(), CHUNK_BYTES);
            let error = stream.next().await.unwrap().unwrap_err();
            assert_eq!((error.code(), error.message()), (Code::DeadlineExceeded, message));
            assert!(stream.next().await.is_none());
        }
    }

    #[tokio::test]
    async fn a_download_holds_its_slot_until_its_last_chunk_is_taken() {
        let downloads = Arc::new(Semaphore::new(1));
        let (small, long) = (file().slice(..1), TRANSFER_TIMEOUT);
        let mut stream = outgoing(small, slot(&downloads).await, long, long);
        // The only chunk is sent, but not taken.
        tokio::task::yield_now().await;
        assert_eq!(downloads.available_permits(), 0);
        assert_eq!(stream.next().await.unwrap().unwrap().chunk.len(), 1);
        drop(slot(&downloads).await);
    }

    #[tokio::test]
    async fn a_download_that_is_read_or_dropped_releases_its_slot() {
        let downloads = Arc::new(Semaphore::new(1));
        let long = TRANSFER_TIMEOUT;
        let stream = outgoing(file(), slot(&downloads).await, long, long);
        let sizes: Vec<usize> = stream.map(|message| message.unwrap().chunk.len()).collect().await;
        assert_eq!(sizes, [CHUNK_BYTES; 3]);
        drop(outgoing(file(), slot(&downloads).await, long, long));
        drop(slot(&downloads).await);
    }
}
