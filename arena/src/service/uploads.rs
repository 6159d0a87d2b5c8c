//! Uploads of weights: slots, and the rate at which they arrive.
//!
//! An upload holds its file in memory, so it needs a slot. It takes the slot after its first chunk, so
//! a client that only announces a file blocks no other client. The queue for slots is short, and an
//! upload that pauses or is slow ends, so a client holds its slot for a bounded time. Copies of lost
//! weights have slots of their own: actors cannot keep the learner from publishing.

use std::sync::Arc;
use std::time::Duration;

use ouro_proto::arena::v1;
use ouro_proto::arena::v1::publish_checkpoint_request::Part;
use ouro_proto::chunks::Assembly;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_stream::{Stream, StreamExt};
use tonic::Status;

use super::pool::transfer_time;
use crate::error::CallError;

/// Maximum pause before each part of an upload. The slot of a stalled client is released after this
/// time instead of at the deadline of the transfer.
pub(super) const IDLE: Duration = Duration::from_secs(5);

/// Maximum number of uploads queued for a slot; each holds one chunk.
const WAITING: usize = 16;

/// Slots of uploads, and the queue for them. Clones share both.
#[derive(Clone, Debug)]
pub(super) struct UploadSlots {
    slots: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
}

impl UploadSlots {
    pub(super) fn new(slots: usize) -> Self {
        let [slots, waiting] = [slots, WAITING].map(|permits| Arc::new(Semaphore::new(permits)));
        Self { slots, waiting }
    }

    /// A slot. Fails if too many uploads wait for one, or if none is free in time.
    pub(super) async fn take(&self) -> Result<OwnedSemaphorePermit, CallError> {
        let busy = || CallError::Busy(WAITING);
        let _waiting = self.waiting.try_acquire().map_err(|_| busy())?;
        let slot = timeout(IDLE, Arc::clone(&self.slots).acquire_owned());
        slot.await.map_err(|_| busy())?.map_err(|_| CallError::Stopping)
    }
}

/// Receives the rest of an upload, of which `received` bytes have arrived. The upload may last for
/// `idle` and the time that the bytes received so far take at the minimum rate.
pub(super) async fn incoming(
    parts: &mut (impl Stream<Item = UploadPart> + Unpin),
    mut assembly: Assembly,
    mut received: u64,
    idle: Duration,
) -> Result<Vec<u8>, CallError> {
    let start = Instant::now();
    loop {
        // The announced size gives no time: a client could announce much and send little.
        let limit = transfer_time(received, idle);
        let chunk = timeout_at(start + limit, next_chunk(parts, &mut assembly));
        match chunk.await.map_err(|_| CallError::Slow(limit))?? {
            Some(bytes) => received += bytes,
            None => return Ok(assembly.finish()?),
        }
    }
}

/// Appends the next chunk of an upload and returns its length; `None` at the end.
pub(super) async fn next_chunk(
    parts: &mut (impl Stream<Item = UploadPart> + Unpin),
    assembly: &mut Assembly,
) -> Result<Option<u64>, CallError> {
    let Some(part) = next_part(parts).await? else { return Ok(None) };
    let Part::Chunk(chunk) = part else { return Err(CallError::HeaderRepeated) };
    assembly.push(&chunk)?;
    Ok(Some(chunk.len() as u64))
}

/// The next part of an upload; `None` at its end.
pub(super) async fn next_part(
    parts: &mut (impl Stream<Item = UploadPart> + Unpin),
) -> Result<Option<Part>, CallError> {
    let message = timeout(IDLE, parts.try_next())
        .await
        .map_err(|_| CallError::Idle(IDLE))?
        .map_err(CallError::Broken)?;
    match message {
        None => Ok(None),
        Some(v1::PublishCheckpointRequest { part: Some(part) }) => Ok(Some(part)),
        Some(_) => Err(CallError::Empty),
    }
}

/// A message of an upload, as received.
type UploadPart = Result<v1::PublishCheckpointRequest, Status>;

#[cfg(test)]
mod tests {
    use ouro_net::ContentHash;
    use ouro_proto::chunks::DEFAULT_MAX_WEIGHTS_BYTES;

    use super::*;

    #[tokio::test]
    async fn a_slow_upload_ends_although_it_is_active_and_announces_a_large_file() {
        let (hash, most) = (ContentHash::of(b""), DEFAULT_MAX_WEIGHTS_BYTES);
        let assembly = Assembly::new(hash, most, most).unwrap();
        let part = Ok(v1::PublishCheckpointRequest { part: Some(Part::Chunk(vec![7].into())) });
        // A byte has just arrived, so the upload is not idle.
        let mut parts = tokio_stream::once(part).chain(tokio_stream::pending());
        let error = incoming(&mut parts, assembly, 1, Duration::ZERO).await.unwrap_err();
        assert!(matches!(error, CallError::Slow(Duration::ZERO)), "{error}");
    }

    #[tokio::test]
    async fn uploads_beyond_the_queue_are_refused_and_a_released_slot_is_taken() {
        let slots = UploadSlots::new(1);
        let slot = slots.take().await.unwrap();
        let mut queue: Vec<_> = (0..WAITING).map(|_| Box::pin(slots.take())).collect();
        for waiting in &mut queue {
            // Polled once, it is in the queue.
            assert!(timeout(Duration::ZERO, waiting).await.is_err());
        }
        assert!(matches!(slots.take().await, Err(CallError::Busy(WAITING))));
        drop(slot);
        assert!(queue.remove(0).await.is_ok());
        drop(queue);
        assert!(slots.take().await.is_ok());
    }
}
