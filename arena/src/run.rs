//! The lifecycle of an arena: bind, run, drain.
//!
//! During the drain, the match runner stops between two plies with all reported results stored,
//! health changes to NOT_SERVING, the port closes, and calls in flight finish.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use ouro_net::Generation;
use ouro_proto::Credential;
use ouro_proto::arena::v1::arena_service_server::ArenaServiceServer;
use ouro_proto::arena::v1::pool_service_server::PoolServiceServer;
use ouro_proto::chunks::MESSAGE_BYTES;
use ouro_proto::pool::PoolSnapshot;
use ouro_rating::RatingTable;
use ouro_service::{Background, BoxFuture, Clock, Conditions, Drain, GrpcServer, HttpServer};
use ouro_tls::ClientTls;
use tokio::sync::{broadcast, watch};
use tokio_util::sync::CancellationToken;

use crate::condition::Condition;
use crate::config::{ArenaConfig, MatchConfig, StoreConfig, WeightsConfig};
use crate::error::ArenaError;
use crate::event::ArenaEvent;
use crate::learner_watch::{LearnerFigures, LearnerView, LearnerWatch};
use crate::match_runner::MatchRunner;
use crate::metrics::ArenaSource;
use crate::service::{ARENA_PERMISSIONS, Handlers, POOL_PERMISSIONS, ProcessView};
use crate::state::ArenaState;
use crate::store::{
    EmbeddedStore, LOG_FILE, RedisAddress, RedisStore, Run, Store, StoreError, WeightsStore,
};
use crate::web::{self, Gauges, WebAccess};
use crate::workers::presence::watch_workers;
use crate::workers::queue::arena::{ArenaQueue, Presence};
use crate::workers::shared_match::Workers;

/// An arena with open ports and a locked store that does not run yet.
#[derive(Debug)]
pub struct Arena {
    server: GrpcServer,
    web: Option<HttpServer>,
    web_access: WebAccess,
    gauges: Gauges,
    learner: watch::Sender<LearnerView>,
    /// URL of the learner to watch, and whether its figures become charts.
    watched: Option<(String, bool)>,
    /// What the arena presents to that learner.
    credential: Credential,
    client_tls: Option<ClientTls>,
    /// Folder of weights and results in files.
    data: PathBuf,
    drain: Duration,
    state: Arc<ArenaState>,
    workers: Option<WorkerAccess>,
    matches: MatchConfig,
    max_weights_bytes: u64,
    wake: mpsc::Receiver<()>,
}

/// The ways to the workers, for which the results must be in Redis.
#[derive(Debug)]
struct WorkerAccess {
    queue: ArenaQueue,
    presence: Presence,
}

impl WorkerAccess {
    /// Removes what an earlier arena left in the queue. Each match that is shared does so as well, so
    /// the arena starts with its workers even if the queue cannot be opened yet.
    fn open(address: &RedisAddress, epoch: u64) -> Result<Self, StoreError> {
        let mut queue = ArenaQueue::new(address, epoch)?;
        if let Err(error) = queue.open() {
            tracing::warn!(%error, "jobs of an earlier arena stay until a match is shared");
        }
        Ok(Self { queue, presence: Presence::new(address)? })
    }
}

/// The open ports of an arena. Connections are answered once the arena runs.
struct Ports {
    server: GrpcServer,
    web: Option<HttpServer>,
}

impl Ports {
    async fn bind(config: &ArenaConfig) -> Result<Self, ArenaError> {
        let server = GrpcServer::bind(config.address, config.limits).await?;
        let server = server.guarded(config.guard.clone()).tls(config.server_tls.clone());
        let web = match config.web {
            Some(address) => {
                let bound = HttpServer::bind(address, config.limits.connections).await;
                let server = bound.map_err(|source| ArenaError::Web { address, source })?;
                Some(server.tls(config.server_tls.clone()))
            }
            None => None,
        };
        Ok(Self { server, web })
    }
}

/// What an arena keeps, and the ways to its workers.
struct Stores {
    results: Box<dyn Store>,
    weights: Box<dyn WeightsStore>,
    workers: Option<WorkerAccess>,
}

impl Stores {
    /// Opens the stores of a run. Results in Redis are taken over from any other arena.
    fn open(
        data: &Path,
        run: &Run,
        results: &StoreConfig,
        weights: &WeightsConfig,
    ) -> Result<Self, ArenaError> {
        std::fs::create_dir_all(data)
            .map_err(|source| ArenaError::Data { path: data.to_owned(), source })?;
        let weights = weights.open(data)?;
        let place = weights.name();
        let lost = |path| ArenaError::StoreLost { path, weights: place.into() };
        // The run is in the log before the first weights arrive.
        let has_weights = !weights.hashes()?.is_empty();
        let Some(address) = results.redis()? else {
            let path = data.join(LOG_FILE);
            let has_log = std::fs::metadata(&path).is_ok_and(|file| file.len() > 0);
            if !has_log && has_weights {
                return Err(lost(path));
            }
            let results = Box::new(EmbeddedStore::open(data)?);
            return Ok(Self { results, weights, workers: None });
        };
        let results = RedisStore::open_for(&address, data, run)?;
        if results.run().is_none() && has_weights {
            return Err(lost(results.name().into()));
        }
        let workers = Some(WorkerAccess::open(&address, results.epoch())?);
        Ok(Self { results: Box::new(results), weights, workers })
    }
}

impl Arena {
    /// Checks the configuration, opens the ports, then the store.
    pub fn bind(config: ArenaConfig, clock: Arc<dyn Clock>) -> BoxFuture<Result<Self, ArenaError>> {
        Box::pin(Self::open(config, clock))
    }

    async fn open(config: ArenaConfig, clock: Arc<dyn Clock>) -> Result<Self, ArenaError> {
        let checked = config.check()?;
        // The ports come first: an arena that cannot listen must take no results over from one that
        // can.
        let Ports { server, web } = Ports::bind(&config).await?;
        let (waker, wake) = mpsc::sync_channel(1);
        let (data, run) = (config.data.clone(), config.run);
        let (results, weights) = (config.store, config.weights);
        let load = move || -> Result<(ArenaState, Option<WorkerAccess>), ArenaError> {
            let stores = Stores::open(&data, &run, &results, &weights)?;
            let Stores { results, weights, workers } = stores;
            Ok((ArenaState::load(run, checked, results, weights, clock, waker)?, workers))
        };
        let (state, workers) = Background::thread("arena-start", load)?.join().await??;
        Ok(Self {
            server,
            web,
            web_access: WebAccess { names: config.web_names, guard: config.guard },
            gauges: Gauges::default(),
            learner: watch::Sender::default(),
            watched: config.learner.map(|address| (address, true)),
            credential: config.credential,
            client_tls: config.client_tls,
            data: config.data,
            drain: config.limits.drain,
            state: Arc::new(state),
            workers,
            matches: config.matches,
            max_weights_bytes: config.max_weights_bytes,
            wake,
        })
    }

    /// The address of the gRPC server.
    pub fn local_addr(&self) -> SocketAddr {
        self.server.local_addr()
    }

    /// The address of the web page, if there is one.
    pub fn web_addr(&self) -> Option<SocketAddr> {
        self.web.as_ref().map(HttpServer::local_addr)
    }

    /// The time series of the web page, to which a learner in the same process adds values. Clones
    /// share their values while the arena runs.
    pub fn gauges(&self) -> Gauges {
        self.gauges.clone()
    }

    /// Watches the learner at `address` with the token of `credential` for the page; `tls` verifies
    /// it at an `https` address. Its figures do not become charts: the caller adds them to the
    /// [gauges](Self::gauges).
    pub fn watch_learner(
        &mut self,
        address: String,
        credential: Credential,
        tls: Option<ClientTls>,
    ) {
        self.watched = Some((address, false));
        (self.credential, self.client_tls) = (credential, tls);
    }

    /// The series of the arena for Prometheus; the source stays valid while the arena runs.
    pub fn metrics(&self) -> ArenaSource {
        let (state, folder) = (Arc::clone(&self.state), self.data.clone());
        ArenaSource { state, learner: self.learner.subscribe(), folder }
    }

    /// Subscribes to the pool as actors see it.
    pub fn pool(&self) -> watch::Receiver<Arc<PoolSnapshot>> {
        self.state.pool().snapshots()
    }

    /// The newest generation after which the arena was idle: the generation is decided, its games
    /// against the anchors are played unless it was dropped, the ratings are current, and no
    /// candidate is left. Unless spare games are played, nothing changes before the next
    /// publication.
    pub fn idle_after(&self) -> watch::Receiver<Option<Generation>> {
        self.state.candidates().idle_after()
    }

    /// Conditions that an operator must resolve before matches or publications continue.
    pub fn conditions(&self) -> watch::Receiver<Conditions<Condition>> {
        self.state.conditions()
    }

    /// Events from now on.
    pub fn events(&self) -> broadcast::Receiver<ArenaEvent> {
        self.state.events()
    }

    /// Subscribes to the rating table.
    pub fn ratings(&self) -> watch::Receiver<Arc<RatingTable>> {
        self.state.ratings().table()
    }

    /// The number of workers that help to play matches.
    pub fn workers(&self) -> watch::Receiver<u32> {
        self.state.workers().subscribe()
    }

    /// Serves and plays until `stop` is cancelled, then drains. Returns early with the error if
    /// matches cannot continue.
    pub fn run_until(self, stop: CancellationToken) -> BoxFuture<Result<Drain, ArenaError>> {
        Box::pin(self.run(stop))
    }

    async fn run(self, stop: CancellationToken) -> Result<Drain, ArenaError> {
        // A child token, so that a failing arena does not stop the whole process.
        let stop = stop.child_token();
        let mut workers = None;
        let mut presence = None;
        if let Some(access) = self.workers {
            workers = Some(Workers::new(access.queue, self.state.workers().subscribe()));
            let (state, stop) = (self.state.clone(), stop.clone());
            let watch = move || watch_workers(access.presence, state.workers(), &stop);
            presence = Some(Background::thread("arena-workers", watch)?);
        }
        let runner = MatchRunner {
            state: self.state.clone(),
            config: self.matches,
            wake: self.wake,
            stop: stop.clone(),
            workers,
        };
        let matches = Background::thread("arena-matches", move || runner.run())?;

        let process = ProcessView {
            folder: self.data,
            guard: self.web_access.guard.clone(),
            learner: self.learner.subscribe(),
        };
        let handlers =
            Handlers::new(self.state.clone(), self.max_weights_bytes, process, stop.clone());
        let pool = PoolServiceServer::new(handlers.clone());
        let arena = ArenaServiceServer::new(handlers);
        let server = self
            .server
            .add_service(arena.max_decoding_message_size(MESSAGE_BYTES), ARENA_PERMISSIONS)
            .add_service(pool.max_decoding_message_size(MESSAGE_BYTES), POOL_PERMISSIONS)
            .describe(ouro_proto::FILE_DESCRIPTOR_SET)
            .run_until(stop.clone());
        let playing = async {
            let result = matches.join().await;
            stop.cancel();
            result?
        };
        // The match runner may wait for work without a timeout, so a stop must wake it.
        let waker = async {
            stop.cancelled().await;
            self.state.candidates().wake();
        };
        let serving = async {
            let result = server.await;
            stop.cancel();
            result
        };
        let watching = async {
            let Some((address, is_charted)) = self.watched else { return };
            let view = self.learner.clone();
            let (start, clock) = (start_of_charts(&self.state), Arc::clone(self.state.clock()));
            let charts = is_charted.then(|| self.gauges.clone());
            let (credential, tls) = (self.credential, self.client_tls);
            let watch = LearnerWatch { address, credential, tls, view, charts, start, clock };
            tokio::select! {
                () = watch.run() => {}
                () = stop.cancelled() => {}
            }
        };
        let page = async {
            let Some(server) = self.web else { return Drain::Clean };
            let (state, gauges) = (self.state.clone(), self.gauges.clone());
            let figures = LearnerFigures { gauges, view: self.learner.subscribe() };
            web::serve(server, self.web_access, state, figures, stop.clone(), self.drain).await
        };
        let (served, shown, played, (), ()) = tokio::join!(serving, page, playing, waker, watching);
        if let Some(presence) = presence {
            presence.join().await?;
        }
        // The error of the match runner is returned first: it stops the servers, which then report
        // no error.
        played?;
        // The last ratings include games that were stored after the last fit and checkpoints that
        // were published during the drain. They therefore equal the ratings that the log replays
        // to.
        let state = self.state;
        Background::thread("arena-ratings", move || state.update_ratings())?.join().await??;
        Ok(match (served?, shown) {
            (Drain::Clean, Drain::Clean) => Drain::Clean,
            _ => Drain::DeadlinePassed,
        })
    }
}

/// Unix time of the first generation; now if there is none.
fn start_of_charts(state: &ArenaState) -> Duration {
    let first = state.store().checkpoints().ok().and_then(|rows| rows.into_iter().next());
    let first = first.and_then(|row| Duration::try_from_secs_f64(row.published_at).ok());
    first.unwrap_or_else(|| state.clock().unix())
}

#[cfg(test)]
mod tests {
    use ouro_testkit::redis::RedisServer;

    use super::*;
    use crate::store::Connection;

    #[test]
    fn a_queue_that_cannot_be_opened_at_the_start_is_opened_later() {
        let folder = tempfile::tempdir().unwrap();
        let Some(server) = RedisServer::start(folder.path()) else { return };
        let address = RedisAddress::new(server.url("arena"), "test");
        // The queue refuses an epoch that the server does not know.
        let mut access = WorkerAccess::open(&address, 1).unwrap();
        assert!(access.queue.open().is_err());
        let admin = RedisAddress::new(server.url("admin"), "any");
        let set = |redis: &mut redis::Connection| {
            redis::cmd("SET").arg("ouro:{test}:writer").arg(1).query::<()>(redis)
        };
        Connection::new(&admin).unwrap().run(set).unwrap();
        access.queue.open().unwrap();
    }
}
