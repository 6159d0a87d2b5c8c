//! The gRPC services: convert requests, bound their memory, and call the state.
//!
//! The store and the files block, so every call runs on the blocking pool. Streams of changes end
//! when the arena stops, so that they do not delay the drain.

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use ouro_service::access::Guard;
use ouro_service::{IntoStatus, blocking};
use tokio::sync::{Semaphore, watch};
use tokio_stream::{Stream, StreamExt};
use tokio_util::sync::CancellationToken;
use tonic::{Response, Status};

use crate::error::CallError;
use crate::learner_watch::LearnerView;
use crate::state::ArenaState;

mod arena;
mod convert;
mod events;
mod permissions;
mod pool;
mod uploads;

pub(crate) use permissions::{ARENA_PERMISSIONS, POOL_PERMISSIONS};

use uploads::UploadSlots;

/// Maximum number of uploads held in memory at once. A run has one learner. After a reconnect the
/// learner uses the second slot, while its broken upload holds the first until the timeout.
const UPLOADS: usize = 2;
/// Maximum number of copies of lost weights that are received from actors at once.
const COPIES: usize = 1;
/// Maximum number of downloads held in memory at once: 1 GiB at the default limit of a weights
/// file.
const DOWNLOADS: usize = 16;

/// The handlers of both services. Clones share everything.
#[derive(Clone, Debug)]
pub(crate) struct Handlers {
    state: Arc<ArenaState>,
    max_weights_bytes: u64,
    uploads: UploadSlots,
    copies: UploadSlots,
    downloads: Arc<Semaphore>,
    process: Arc<ProcessView>,
    stop: CancellationToken,
}

/// What the status of the process is made of, besides the state of the arena.
#[derive(Debug)]
pub(crate) struct ProcessView {
    /// Folder of the weights, and of results in files.
    pub(crate) folder: PathBuf,
    /// Who may call.
    pub(crate) guard: Option<Guard>,
    /// Whether the learner answers.
    pub(crate) learner: watch::Receiver<LearnerView>,
}

/// A stream of responses.
type Answers<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

impl Handlers {
    pub(crate) fn new(
        state: Arc<ArenaState>,
        max_weights_bytes: u64,
        process: ProcessView,
        stop: CancellationToken,
    ) -> Self {
        Self {
            state,
            max_weights_bytes,
            uploads: UploadSlots::new(UPLOADS),
            copies: UploadSlots::new(COPIES),
            downloads: Arc::new(Semaphore::new(DOWNLOADS)),
            process: Arc::new(process),
            stop,
        }
    }

    /// Runs blocking work outside the threads of the runtime. Dropping the call does not interrupt
    /// the work, so no step is half done.
    async fn blocking<T, E>(
        &self,
        work: impl FnOnce(&ArenaState) -> Result<T, E> + Send + 'static,
    ) -> Result<T, CallError>
    where
        T: Send + 'static,
        E: Into<CallError> + Send + 'static,
    {
        let state = self.state.clone();
        blocking(move || work(&state).map_err(Into::into)).await.map_err(|_| CallError::Stopping)?
    }

    /// Ends `answers` when the arena stops.
    fn until_stopped<T: Send + 'static>(
        &self,
        answers: impl Stream<Item = Result<T, Status>> + Send + 'static,
    ) -> Answers<T> {
        let stop = self.stop.clone();
        let stopped = tokio_stream::once(stop).then(|stop| async move {
            stop.cancelled().await;
            None
        });
        let answers = answers.map(Some).chain(tokio_stream::once(None));
        Box::pin(answers.merge(stopped).map_while(|answer| answer))
    }
}

/// Turns an error into a status. All handlers return their results through this function.
fn answer<T>(result: Result<T, CallError>) -> Result<Response<T>, Status> {
    result.map(Response::new).map_err(|error| {
        tracing::debug!(%error, "call refused");
        error.status()
    })
}
