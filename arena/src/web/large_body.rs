//! Bodies of many megabytes, whose number and time are bounded.
//!
//! The server holds a body until its client has read it. Without limits, clients that do not read
//! could fill the memory.

use std::io;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use tokio::sync::OwnedSemaphorePermit;
use tokio_stream::Stream;

use crate::outgoing::outgoing;

/// Size of a chunk. A client that does not read holds a few chunks after its slot is released.
const CHUNK_BYTES: usize = 64 << 10;

/// Maximum pause before a client takes the next chunk, also after the last one.
const UNREAD: Duration = Duration::from_secs(30);

/// Minimum mean rate, in bytes per second. [`UNREAD`] is added to the resulting time.
const LEAST_RATE: u64 = 64 << 10;

/// The body of a response with this content. It holds `slot` until it is sent or given up.
pub(super) fn large_body(content: Vec<u8>, slot: OwnedSemaphorePermit) -> Body {
    let limit = UNREAD + Duration::from_secs(content.len() as u64 / LEAST_RATE);
    Body::from_stream(chunks(content, slot, UNREAD, limit))
}

/// The content as a [bounded](outgoing) stream of chunks.
fn chunks(
    content: Vec<u8>,
    slot: OwnedSemaphorePermit,
    idle: Duration,
    limit: Duration,
) -> impl Stream<Item = io::Result<Bytes>> + Send + Unpin {
    let starts = (0..content.len()).step_by(CHUNK_BYTES);
    let parts = starts.map(move |start| {
        let end = content.len().min(start + CHUNK_BYTES);
        Bytes::copy_from_slice(&content[start..end])
    });
    outgoing(parts, slot, idle, limit, |_| io::ErrorKind::TimedOut.into())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::sync::Semaphore;
    use tokio_stream::StreamExt;

    use super::*;

    const LONG: Duration = Duration::from_secs(600);

    async fn slot(slots: &Arc<Semaphore>) -> OwnedSemaphorePermit {
        slots.clone().acquire_owned().await.unwrap()
    }

    #[tokio::test]
    async fn a_client_that_does_not_read_loses_its_slot_and_gets_no_complete_body() {
        for (idle, limit) in [(Duration::ZERO, LONG), (LONG, Duration::ZERO)] {
            let slots = Arc::new(Semaphore::new(1));
            let content = vec![7; 3 * CHUNK_BYTES];
            let mut body = chunks(content, slot(&slots).await, idle, limit);
            // The slot is free again although the client has read nothing.
            drop(slot(&slots).await);
            assert_eq!(body.next().await.unwrap().unwrap().len(), CHUNK_BYTES);
            assert!(body.next().await.unwrap().is_err());
            assert!(body.next().await.is_none());
        }
    }

    #[tokio::test]
    async fn a_body_holds_its_slot_until_its_last_chunk_is_taken() {
        let slots = Arc::new(Semaphore::new(1));
        let mut body = chunks(vec![7; CHUNK_BYTES + 1], slot(&slots).await, LONG, LONG);
        for bytes in [CHUNK_BYTES, 1] {
            tokio::task::yield_now().await;
            assert_eq!(slots.available_permits(), 0);
            assert_eq!(body.next().await.unwrap().unwrap().len(), bytes);
        }
        drop(slot(&slots).await);
        assert!(body.next().await.is_none());
    }

    #[tokio::test]
    async fn a_body_that_is_dropped_releases_its_slot() {
        let slots = Arc::new(Semaphore::new(1));
        drop(chunks(vec![7; 3 * CHUNK_BYTES], slot(&slots).await, LONG, LONG));
        drop(slot(&slots).await);
    }
}
