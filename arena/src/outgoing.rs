//! Responses of many chunks to clients that may not read, bounded in memory and in time.

use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::time::timeout;
use tokio_stream::wrappers::ReceiverStream;
use tokio_stream::{Stream, StreamExt};
use tokio_util::task::AbortOnDropHandle;

/// Why a response ends before its last part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TooSlow {
    /// A part was not taken for this time.
    Idle(Duration),
    /// The whole response took longer than this.
    Total(Duration),
}

/// The parts as a stream. If the client is too slow, it ends with the result of `error`: an incomplete
/// response must not look complete.
///
/// A separate task feeds the stream, because a stream is not polled while its client does not read.
/// Parts and `slot` are released when all parts are taken, when the stream is dropped, when a part is
/// not taken for `idle`, or when `limit` has passed. One more part may be held after that, so a part must
/// not share memory with the others.
pub(crate) fn outgoing<T, E>(
    parts: impl Iterator<Item = T> + Send + 'static,
    slot: OwnedSemaphorePermit,
    idle: Duration,
    limit: Duration,
    error: impl Fn(TooSlow) -> E + Send + 'static,
) -> impl Stream<Item = Result<T, E>> + Send + Unpin
where
    T: Send + 'static,
    E: Send + 'static,
{
    let (sender, receiver) = mpsc::channel(1);
    let feeder = AbortOnDropHandle::new(tokio::spawn(async move {
        let fed = timeout(limit, feed(&sender, parts, idle)).await;
        drop(slot);
        if let Err(slow) = fed.unwrap_or(Err(TooSlow::Total(limit))) {
            // This send lasts until the client reads or disconnects; meanwhile only one part is held.
            let _ = sender.send(Err(error(slow))).await;
        }
    }));
    ReceiverStream::new(receiver).map(move |part| {
        let _owned = &feeder;
        part
    })
}

/// Sends the parts. Returns when the last one is taken or the receiver is dropped.
async fn feed<T, E>(
    sender: &mpsc::Sender<Result<T, E>>,
    mut parts: impl Iterator<Item = T>,
    idle: Duration,
) -> Result<(), TooSlow> {
    loop {
        // The channel has room for one part, so there is room once the last one is taken.
        let room = timeout(idle, sender.reserve()).await.map_err(|_| TooSlow::Idle(idle))?;
        let Ok(room) = room else { return Ok(()) };
        let Some(part) = parts.next() else { return Ok(()) };
        room.send(Ok(part));
    }
}
