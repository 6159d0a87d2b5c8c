//! A running arena, and networks that play tic-tac-toe.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use ouro_arena::store::{Decision, Run};
use ouro_arena::web::Gauges;
use ouro_arena::{Arena, ArenaConfig, ArenaError, ArenaEvent};
use ouro_game::GameConfig;
use ouro_net::{Architecture, Generation, Weights};
use ouro_proto::{ArenaClient, CheckpointStatus};
use ouro_rating::{GateConfig, RatingTable};
use ouro_service::{Drain, ManualClock};
use ouro_testkit::network;
use tokio::sync::{broadcast, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tonic::transport::Channel;

pub(crate) const MAX_BYTES: u64 = 1 << 20;

pub(crate) fn game() -> GameConfig {
    network::tic_tac_toe()
}

/// The network of every candidate.
pub(crate) const ARCHITECTURE: Architecture =
    Architecture::Conv { channels: 4, layers: 1, hidden: 8 };

pub(crate) fn weights(game: &GameConfig, generation: u32) -> Weights {
    network::weights(game, ARCHITECTURE, generation, 10, 3)
}

/// A network with only these policy biases: its moves do not depend on the position.
pub(crate) fn biased(generation: u32, biases: [f32; 9]) -> Bytes {
    let weights = weights(&game(), generation);
    let (spec, meta) = (weights.spec().clone(), weights.meta().clone());
    let mut tensors = weights.tensors().to_vec();
    for (spec, tensor) in spec.tensors().iter().zip(&mut tensors) {
        tensor.fill(0.0);
        if spec.name == "policy.bias" {
            tensor.copy_from_slice(&biases);
        }
    }
    Weights::from_tensors(spec, meta, tensors).unwrap().to_safetensors().into()
}

/// Prefers the middle, then corners: clearly better than `random`.
pub(crate) fn strong(generation: u32) -> Bytes {
    biased(generation, [4.0, 0.0, 3.0, 0.0, 6.0, 0.0, 3.5, 0.0, 4.5])
}

/// Exactly as strong as `random`.
pub(crate) fn uniform(generation: u32) -> Bytes {
    biased(generation, [0.0; 9])
}

pub(crate) fn config(folder: &Path) -> ArenaConfig {
    let mut config = ArenaConfig::new(Run { game: game(), seed: 11 }, folder);
    config.matches.gate = GateConfig { games: 100, ..GateConfig::default() };
    config.matches.player = "net{weights=self}".into();
    config.matches.champion_games = 60;
    config.matches.anchor_games = 10;
    config.matches.spare_share = 0.0;
    config.matches.opening_plies = Some(0);
    config.max_weights_bytes = MAX_BYTES;
    config
}

pub(crate) fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::new(Duration::from_secs(1_000)))
}

pub(crate) struct Running {
    pub(crate) endpoint: String,
    pub(crate) client: ArenaClient,
    pub(crate) web: Option<SocketAddr>,
    pub(crate) gauges: Gauges,
    pub(crate) events: broadcast::Receiver<ArenaEvent>,
    pub(crate) idle: watch::Receiver<Option<Generation>>,
    pub(crate) ratings: watch::Receiver<Arc<RatingTable>>,
    pub(crate) stop: CancellationToken,
    pub(crate) task: JoinHandle<Result<Drain, ArenaError>>,
}

impl Running {
    pub(crate) async fn start(folder: &Path) -> Self {
        Self::start_with(config(folder)).await
    }

    pub(crate) async fn start_with(config: ArenaConfig) -> Self {
        Self::run(Arena::bind(config, clock()).await.unwrap())
    }

    /// Runs a bound arena.
    pub(crate) fn run(arena: Arena) -> Self {
        let endpoint = format!("http://{}", arena.local_addr());
        let (web, gauges) = (arena.web_addr(), arena.gauges());
        let (events, ratings) = (arena.events(), arena.ratings());
        let idle = arena.idle_after();
        let stop = CancellationToken::new();
        let task = tokio::spawn(arena.run_until(stop.clone()));
        let client = ArenaClient::new(&endpoint).unwrap();
        Self { endpoint, client, web, gauges, events, idle, ratings, stop, task }
    }

    /// Publishes a candidate and waits for its decision.
    pub(crate) async fn publish(&mut self, generation: u32, weights: Bytes) -> Decision {
        let stored = self.client.publish(Generation(generation), 10, weights).await.unwrap();
        assert_eq!(stored.status, CheckpointStatus::Candidate);
        self.decided(Generation(generation)).await
    }

    /// The decision on a published candidate.
    pub(crate) async fn decided(&mut self, candidate: Generation) -> Decision {
        loop {
            if let ArenaEvent::Decided(decision) = self.events.recv().await.unwrap()
                && decision.generation == candidate
            {
                return decision;
            }
        }
    }

    /// Waits until the generation is decided, its rated games are played and the arena is idle. The
    /// ratings change more than once on the way.
    pub(crate) async fn idle_after(&mut self, generation: u32) {
        self.idle.wait_for(|&after| after == Some(Generation(generation))).await.unwrap();
    }

    /// Waits until the ratings include this number of games of a player.
    pub(crate) async fn games_rated(&mut self, player: &str, games: u32) {
        loop {
            let event = match self.events.recv().await {
                Err(broadcast::error::RecvError::Lagged(_)) => continue,
                event => event.unwrap(),
            };
            if let ArenaEvent::Rated(table) = event
                && table.ratings.iter().any(|row| row.player == player && row.games >= games)
            {
                return;
            }
        }
    }

    pub(crate) async fn channel(&self) -> Channel {
        Channel::from_shared(self.endpoint.clone()).unwrap().connect().await.unwrap()
    }

    pub(crate) async fn stop(self) {
        self.stop.cancel();
        drop(self.client);
        assert_eq!(self.task.await.unwrap().unwrap(), Drain::Clean);
    }
}
