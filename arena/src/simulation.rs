//! An arena for simulations: the real services, state, store and match runner.
//!
//! A simulation runs on one thread, so the match runner is stepped by a task instead of a thread of
//! its own. Disk, clock and network are passed in; weights are in a real folder.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::time::Duration;

use ouro_proto::arena::v1::arena_service_server::ArenaServiceServer;
use ouro_proto::arena::v1::pool_service_server::PoolServiceServer;
use ouro_proto::chunks::{DEFAULT_MAX_WEIGHTS_BYTES, MESSAGE_BYTES};
use ouro_replay::disk::Disk;
use ouro_service::server::{Connections, Limits};
use ouro_service::{Background, Clock, GrpcServer};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::config::{MatchConfig, check};
use crate::error::ArenaError;
use crate::event::ArenaEvent;
use crate::learner_watch::LearnerView;
use crate::match_runner::{MatchRunner, Next, Progress};
use crate::service::{ARENA_PERMISSIONS, Handlers, POOL_PERMISSIONS, ProcessView};
use crate::state::ArenaState;
use crate::store::{Decision, EmbeddedStore, Run, WeightsFolder};

/// Time that a step of the match runner takes.
const STEP: Duration = Duration::from_millis(50);
/// Time between two looks for a wake-up.
const LOOK: Duration = Duration::from_millis(20);

/// An arena for simulations.
pub struct SimulatedArena<C, D> {
    /// The run.
    pub run: Run,
    /// How candidates are matched.
    pub matches: MatchConfig,
    /// Disk of the store.
    pub disk: D,
    /// Folder of the weights.
    pub weights: PathBuf,
    /// The connections of the gRPC server.
    pub connections: C,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Called with each decision that the arena announces.
    pub decided: Box<dyn Fn(&Decision) + Send>,
}

impl<C, D> SimulatedArena<C, D>
where
    C: Connections,
    D: Disk<File: Send> + Send + 'static,
{
    /// Serves and plays until the future is dropped, or until the arena fails.
    pub async fn run(self) -> Result<(), ArenaError> {
        let Self { run, matches, disk, weights, connections, clock, decided } = self;
        let checked = check(&matches, &run.game, None)?;
        let (waker, wake) = sync_channel(1);
        let store = Box::new(EmbeddedStore::on(disk)?);
        let folder = Box::new(WeightsFolder::open(&weights)?);
        let state = Arc::new(ArenaState::load(run, checked, store, folder, clock, waker)?);
        let mut events = state.events();
        let stop = CancellationToken::new();
        let process = ProcessView {
            folder: weights,
            guard: None,
            learner: watch::Sender::<LearnerView>::default().subscribe(),
        };
        let handlers =
            Handlers::new(Arc::clone(&state), DEFAULT_MAX_WEIGHTS_BYTES, process, stop.clone());
        let pool = PoolServiceServer::new(handlers.clone());
        let arena = ArenaServiceServer::new(handlers);
        let server = GrpcServer::on(connections, Limits::default())
            .add_service(arena.max_decoding_message_size(MESSAGE_BYTES), ARENA_PERMISSIONS)
            .add_service(pool.max_decoding_message_size(MESSAGE_BYTES), POOL_PERMISSIONS)
            .describe(ouro_proto::FILE_DESCRIPTOR_SET)
            .run_until(stop.clone());
        let mut server = Background::task("server", server);
        let runner = MatchRunner { state, config: matches, wake, stop, workers: None };
        let telling = async {
            loop {
                match events.recv().await {
                    Ok(ArenaEvent::Decided(decision)) => decided(&decision),
                    Ok(_) | Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => return,
                }
            }
        };
        tokio::select! {
            biased;
            () = server.ended() => {}
            played = play(&runner) => return played,
            () = telling => {}
        }
        Ok(server.join().await?.map(drop)?)
    }
}

/// Steps the match runner for ever.
async fn play(runner: &MatchRunner) -> Result<(), ArenaError> {
    let mut progress = Progress::new(&runner.config);
    loop {
        match runner.step(&mut progress)? {
            Next::Step => tokio::time::sleep(STEP).await,
            Next::Wait(wait) => woken(&runner.wake, wait).await,
        }
    }
}

/// Waits for a wake-up, for at most this time.
async fn woken(wake: &Receiver<()>, limit: Duration) {
    let mut waited = Duration::ZERO;
    while wake.try_recv() == Err(TryRecvError::Empty) && waited < limit {
        tokio::time::sleep(LOOK).await;
        waited += LOOK;
    }
}
