//! An arena from start to stop: bind, run, drain.
//!
//! Drain order: the evaluator stops between two plies (results so far are stored), health
//! turns to NOT_SERVING and the port closes, calls in flight finish.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use ouro_net::Generation;
use ouro_proto::arena::v1::arena_service_server::ArenaServiceServer;
use ouro_proto::arena::v1::pool_service_server::PoolServiceServer;
use ouro_proto::chunks::MESSAGE_BYTES;
use ouro_proto::pool::PoolSnapshot;
use ouro_rating::RatingTable;
use ouro_service::{Background, Clock, Drain, GrpcServer, Trouble};
use tokio::sync::{broadcast, watch};
use tokio_util::sync::CancellationToken;

use crate::config::{ArenaConfig, MatchConfig};
use crate::error::ArenaError;
use crate::evaluator::Evaluator;
use crate::event::ArenaEvent;
use crate::keeper::Keeper;
use crate::service::Handlers;
use crate::store::{EmbeddedStore, WeightsFolder};
use crate::web::{Gauges, WebServer};

/// Name of the store's file in the data folder.
pub const STORE_FILE: &str = "arena.redb";
/// Name of the folder of weights in the data folder.
pub const WEIGHTS_FOLDER: &str = "weights";

/// What waits while a person must see to something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Waiting {
    /// Matches and decisions, which cannot be stored.
    Matches,
    /// Candidates, which cannot be taken.
    Candidates,
}

/// An arena whose ports are open and whose store is locked; nothing runs yet.
#[derive(Debug)]
pub struct Arena {
    server: GrpcServer,
    web: Option<WebServer>,
    gauges: Gauges,
    drain: Duration,
    keeper: Arc<Keeper>,
    matches: MatchConfig,
    max_weights_bytes: u64,
    wake: mpsc::Receiver<()>,
}

impl Arena {
    /// Checks the configuration, opens the store, then the ports.
    pub async fn bind(config: ArenaConfig, clock: Arc<dyn Clock>) -> Result<Self, ArenaError> {
        let checked = config.check()?;
        let (waker, wake) = mpsc::sync_channel(1);
        let (data, run) = (config.data, config.run);
        let open = move || -> Result<Keeper, ArenaError> {
            std::fs::create_dir_all(&data)
                .map_err(|source| ArenaError::Data { path: data.clone(), source })?;
            let store = EmbeddedStore::open(&data.join(STORE_FILE))?;
            let weights = WeightsFolder::open(&data.join(WEIGHTS_FOLDER))?;
            let store = Box::new(store);
            Ok(Keeper::new(run, checked, store, weights, clock, waker)?)
        };
        let keeper = Background::thread("arena-start", open)?.join().await??;
        let server = GrpcServer::bind(config.address, config.limits).await?;
        let web = match config.web {
            Some(address) => Some(WebServer::bind(address).await?),
            None => None,
        };
        Ok(Self {
            server,
            web,
            gauges: Gauges::default(),
            drain: config.limits.drain,
            keeper: Arc::new(keeper),
            matches: config.matches,
            max_weights_bytes: config.max_weights_bytes,
            wake,
        })
    }

    /// The address that was opened.
    pub fn local_addr(&self) -> SocketAddr {
        self.server.local_addr()
    }

    /// The address of the web page, if there is one.
    pub fn web_addr(&self) -> Option<SocketAddr> {
        self.web.as_ref().map(WebServer::local_addr)
    }

    /// Takes figures of a learner for the web page. Clones go on taking them while the arena runs.
    pub fn gauges(&self) -> Gauges {
        self.gauges.clone()
    }

    /// The pool as actors see it.
    pub fn pool(&self) -> watch::Receiver<Arc<PoolSnapshot>> {
        self.keeper.snapshots()
    }

    /// The newest generation after which the arena was at rest: it was decided about, it has
    /// played the anchors, everybody is rated, and no other waits. Nothing changes then before
    /// the next publication, unless spare games are played.
    pub fn rested(&self) -> watch::Receiver<Option<Generation>> {
        self.keeper.rested()
    }

    /// What a person must see to before matches or publications go on.
    pub fn trouble(&self) -> watch::Receiver<Trouble<Waiting>> {
        self.keeper.trouble()
    }

    /// What happens from now on.
    pub fn events(&self) -> broadcast::Receiver<ArenaEvent> {
        self.keeper.events()
    }

    /// The newest ratings.
    pub fn ratings(&self) -> watch::Receiver<Arc<RatingTable>> {
        self.keeper.ratings()
    }

    /// Serves and plays until `stop` is cancelled, then drains. Ends early, with the error, if
    /// matches cannot go on.
    pub async fn run_until(self, stop: CancellationToken) -> Result<Drain, ArenaError> {
        // A child, so that a failing arena does not stop whoever runs it.
        let stop = stop.child_token();
        let evaluator = Evaluator {
            keeper: self.keeper.clone(),
            config: self.matches,
            wake: self.wake,
            stop: stop.clone(),
        };
        let evaluation = Background::thread("arena-evaluator", move || evaluator.run())?;

        let handlers = Handlers::new(self.keeper.clone(), self.max_weights_bytes, stop.clone());
        let pool = PoolServiceServer::new(handlers.clone());
        let server = self
            .server
            .add_service(ArenaServiceServer::new(handlers).max_decoding_message_size(MESSAGE_BYTES))
            .add_service(pool.max_decoding_message_size(MESSAGE_BYTES))
            .describe(ouro_proto::FILE_DESCRIPTOR_SET)
            .run_until(stop.clone());
        let evaluation = async {
            let result = evaluation.join().await;
            stop.cancel();
            result?
        };
        let waker = async {
            stop.cancelled().await;
            self.keeper.wake();
        };
        let serving = async {
            let result = server.await;
            stop.cancel();
            result
        };
        let page = async {
            let Some(web) = self.web else { return Ok(Drain::Clean) };
            let (keeper, gauges) = (self.keeper.clone(), self.gauges);
            let result = web.run_until(keeper, gauges, stop.clone(), self.drain).await;
            stop.cancel();
            result
        };
        let (served, shown, evaluated, ()) = tokio::join!(serving, page, evaluation, waker);
        evaluated?;
        Ok(match (served?, shown?) {
            (Drain::Clean, Drain::Clean) => Drain::Clean,
            _ => Drain::DeadlinePassed,
        })
    }
}
