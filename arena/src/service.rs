//! The gRPC face: converts at the border, keeps memory bounded, hands work to the keeper.
//!
//! Store and files block, so every call goes through the blocking pool. Uploads and downloads
//! hold whole files in memory; semaphores bound how many at once, and callers over the bound
//! wait. A transfer has a deadline, so that a slow client holds its slot for a bounded time.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use ouro_proto::arena::v1;
use ouro_proto::arena::v1::arena_service_server::ArenaService;
use ouro_proto::arena::v1::publish_checkpoint_request::Part;
use ouro_proto::arena_client::TRANSFER_TIMEOUT;
use ouro_proto::chunks::{self, Assembly};
use ouro_proto::{ContentHash, Generation};
use ouro_service::IntoStatus;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_stream::wrappers::ReceiverStream;
use tokio_stream::{Stream, StreamExt};
use tokio_util::task::AbortOnDropHandle;
use tonic::{Request, Response, Status, Streaming};

use crate::error::CallError;
use crate::keeper::{Keeper, Offer};

/// Uploads held in memory at once.
const UPLOADS: usize = 2;
/// Downloads held in memory at once.
const DOWNLOADS: usize = 16;
/// How long an upload may be quiet.
const IDLE: Duration = Duration::from_secs(30);

/// The arena as gRPC sees it.
#[derive(Debug)]
pub(crate) struct Handlers {
    keeper: Arc<Keeper>,
    max_weights_bytes: u64,
    uploads: Semaphore,
    downloads: Arc<Semaphore>,
}

impl Handlers {
    pub(crate) fn new(keeper: Arc<Keeper>, max_weights_bytes: u64) -> Self {
        Self {
            keeper,
            max_weights_bytes,
            uploads: Semaphore::new(UPLOADS),
            downloads: Arc::new(Semaphore::new(DOWNLOADS)),
        }
    }

    /// Runs blocking work away from the runtime's threads. A call that is dropped leaves the
    /// work running to its end, so nothing is half done.
    async fn blocking<T, E>(
        &self,
        work: impl FnOnce(&Keeper) -> Result<T, E> + Send + 'static,
    ) -> Result<T, CallError>
    where
        T: Send + 'static,
        E: Into<CallError> + Send + 'static,
    {
        let keeper = self.keeper.clone();
        tokio::task::spawn_blocking(move || work(&keeper).map_err(Into::into))
            .await
            .map_err(|_| CallError::Stopping)?
    }

    async fn receive(
        &self,
        mut parts: Streaming<v1::PublishCheckpointRequest>,
    ) -> Result<v1::Checkpoint, CallError> {
        let Some(Part::Header(header)) = next_part(&mut parts).await? else {
            return Err(CallError::HeaderMissing);
        };
        let hash: ContentHash = header.hash.parse()?;
        let assembly = Assembly::new(hash, header.size_bytes, self.max_weights_bytes)?;
        let _slot = self.uploads.acquire().await.map_err(|_| CallError::Stopping)?;
        let bytes = incoming(&mut parts, assembly, TRANSFER_TIMEOUT).await?;
        let offer = Offer { hash, generation: Generation(header.generation), step: header.step };
        let stored = self.blocking(move |keeper| keeper.publish(offer, &bytes)).await?;
        Ok((&stored).into())
    }

    async fn send(&self, hash: &str) -> Result<Chunks, CallError> {
        let hash: ContentHash = hash.parse()?;
        let slot = self.downloads.clone().acquire_owned().await;
        let slot = slot.map_err(|_| CallError::Stopping)?;
        let file = self.blocking(move |keeper| keeper.read_weights(hash)).await?;
        Ok(outgoing(file.into(), slot, TRANSFER_TIMEOUT))
    }
}

/// Puts together what comes in `parts`, all of it within `limit`.
async fn incoming(
    parts: &mut (impl Stream<Item = UploadPart> + Unpin),
    mut assembly: Assembly,
    limit: Duration,
) -> Result<Vec<u8>, CallError> {
    let arrive = async {
        while let Some(part) = next_part(parts).await? {
            let Part::Chunk(chunk) = part else { return Err(CallError::HeaderRepeated) };
            assembly.push(&chunk)?;
        }
        Ok(())
    };
    tokio::time::timeout(limit, arrive).await.map_err(|_| CallError::Slow(limit))??;
    Ok(assembly.finish()?)
}

/// A file as a stream of chunks. A task of its own feeds it, because a stream is not polled
/// while its client does not read: file and slot are free again once everything was taken,
/// the stream was dropped or `limit` has passed, whichever is first.
fn outgoing(file: Bytes, slot: OwnedSemaphorePermit, limit: Duration) -> Chunks {
    let (sender, receiver) = mpsc::channel(1);
    let feeder = AbortOnDropHandle::new(tokio::spawn(async move {
        let feed = async {
            for chunk in chunks::split(file) {
                if sender.send(Ok(v1::FetchWeightsResponse { chunk })).await.is_err() {
                    return;
                }
            }
        };
        if tokio::time::timeout(limit, feed).await.is_err() {
            drop(slot);
            // Waits, at the cost of one chunk, until the client reads or goes.
            let _ = sender.send(Err(CallError::Slow(limit).status())).await;
        }
    }));
    Box::pin(ReceiverStream::new(receiver).map(move |message| {
        let _owned = &feeder;
        message
    }))
}

/// The next part of an upload; `None` at its end.
async fn next_part(
    parts: &mut (impl Stream<Item = UploadPart> + Unpin),
) -> Result<Option<Part>, CallError> {
    let message = tokio::time::timeout(IDLE, parts.try_next())
        .await
        .map_err(|_| CallError::Idle(IDLE))?
        .map_err(CallError::Broken)?;
    match message {
        None => Ok(None),
        Some(v1::PublishCheckpointRequest { part: Some(part) }) => Ok(Some(part)),
        Some(_) => Err(CallError::Empty),
    }
}

/// What an upload is made of, as the transport hands it over.
type UploadPart = Result<v1::PublishCheckpointRequest, Status>;

type Chunks = Pin<Box<dyn Stream<Item = Result<v1::FetchWeightsResponse, Status>> + Send>>;

/// The one place where an error becomes a status.
fn answer<T>(result: Result<T, CallError>) -> Result<Response<T>, Status> {
    result.map(Response::new).map_err(|error| {
        tracing::debug!(%error, "call refused");
        error.status()
    })
}

#[tonic::async_trait]
impl ArenaService for Handlers {
    async fn get_ratings(
        &self,
        _: Request<v1::GetRatingsRequest>,
    ) -> Result<Response<v1::GetRatingsResponse>, Status> {
        let ratings = self.keeper.ratings().borrow().clone();
        let rows = ratings.ratings.iter().map(|row| v1::Rating {
            player: row.player.clone(),
            elo: row.elo,
            elo_low: row.elo_low,
            elo_high: row.elo_high,
            games: row.games,
            score: row.score,
        });
        answer(Ok(v1::GetRatingsResponse {
            ratings: rows.collect(),
            anchor: ratings.anchor.clone(),
            games: ratings.games,
        }))
    }

    async fn list_checkpoints(
        &self,
        _: Request<v1::ListCheckpointsRequest>,
    ) -> Result<Response<v1::ListCheckpointsResponse>, Status> {
        answer(self.blocking(|keeper| keeper.store().checkpoints()).await.map(|rows| {
            v1::ListCheckpointsResponse { checkpoints: rows.iter().map(Into::into).collect() }
        }))
    }

    async fn get_pool(
        &self,
        _: Request<v1::GetPoolRequest>,
    ) -> Result<Response<v1::GetPoolResponse>, Status> {
        answer(self.blocking(Keeper::pool).await.map(|pool| v1::GetPoolResponse {
            newest: pool.newest.as_ref().map(Into::into),
            champion: pool.champion.as_ref().map(Into::into),
            pool: pool.pool.iter().map(Into::into).collect(),
        }))
    }

    type FetchWeightsStream = Chunks;

    async fn fetch_weights(
        &self,
        request: Request<v1::FetchWeightsRequest>,
    ) -> Result<Response<Chunks>, Status> {
        answer(self.send(&request.get_ref().hash).await)
    }

    async fn publish_checkpoint(
        &self,
        request: Request<Streaming<v1::PublishCheckpointRequest>>,
    ) -> Result<Response<v1::PublishCheckpointResponse>, Status> {
        answer(
            self.receive(request.into_inner())
                .await
                .map(|checkpoint| v1::PublishCheckpointResponse { checkpoint: Some(checkpoint) }),
        )
    }
}

#[cfg(test)]
mod tests {
    use ouro_proto::chunks::CHUNK_BYTES;
    use tonic::Code;

    use super::*;

    async fn slot(downloads: &Arc<Semaphore>) -> OwnedSemaphorePermit {
        downloads.clone().acquire_owned().await.unwrap()
    }

    fn file() -> Bytes {
        vec![7; 3 * CHUNK_BYTES].into()
    }

    #[tokio::test]
    async fn a_client_that_does_not_read_loses_its_slot_and_is_told() {
        let downloads = Arc::new(Semaphore::new(1));
        let mut stream = outgoing(file(), slot(&downloads).await, Duration::ZERO);
        // Nothing has been read, and yet the slot comes back.
        drop(slot(&downloads).await);
        assert_eq!(stream.next().await.unwrap().unwrap().chunk.len(), CHUNK_BYTES);
        assert_eq!(stream.next().await.unwrap().unwrap_err().code(), Code::DeadlineExceeded);
        assert!(stream.next().await.is_none());
    }

    #[tokio::test]
    async fn an_upload_that_drips_ends_at_its_deadline_however_lively_it_is() {
        let file = file();
        let assembly = Assembly::new(ContentHash::of(&file), file.len() as u64, 1 << 30).unwrap();
        let chunk = Part::Chunk(file.slice(..1));
        let part = Ok(v1::PublishCheckpointRequest { part: Some(chunk) });
        // A byte has just come, so the upload is not idle, and the rest may come yet.
        let mut parts = tokio_stream::once(part).chain(tokio_stream::pending());
        let error = incoming(&mut parts, assembly, Duration::ZERO).await.unwrap_err();
        assert!(matches!(error, CallError::Slow(Duration::ZERO)), "{error}");
    }

    #[tokio::test]
    async fn a_download_that_is_read_or_dropped_gives_its_slot_back() {
        let downloads = Arc::new(Semaphore::new(1));
        let stream = outgoing(file(), slot(&downloads).await, TRANSFER_TIMEOUT);
        let sizes: Vec<usize> = stream.map(|message| message.unwrap().chunk.len()).collect().await;
        assert_eq!(sizes, [CHUNK_BYTES; 3]);
        drop(outgoing(file(), slot(&downloads).await, TRANSFER_TIMEOUT));
        drop(slot(&downloads).await);
    }
}
