//! What the tests play with: small networks of random weights for tic-tac-toe, and a server
//! on a port of its own.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use ouro_game::tic_tac_toe::{self, TicTacToe};
use ouro_game::{Game, GameConfig};
use ouro_net::{Architecture, Engine, NetSpec, Weights, WeightsMeta};
use ouro_proto::ContentHash;
use ouro_service::GrpcServer;
use ouro_service::server::Limits;
use tokio_util::sync::{CancellationToken, DropGuard};
use tonic::body::Body;
use tonic::codegen::{Service, http};
use tonic::server::NamedService;

use crate::{Entry, Roster};

pub(crate) fn config() -> GameConfig {
    GameConfig::TicTacToe(tic_tac_toe::Config::default())
}

/// Random weights, other ones for each generation.
pub(crate) fn weights(generation: u32) -> Weights {
    let game = TicTacToe::default();
    let architecture = Architecture::Conv { channels: 2, layers: 1, hidden: 4 };
    let spec = NetSpec { planes: game.planes(), actions: game.action_count(), architecture };
    let meta = WeightsMeta { game: "{}".to_owned(), generation, step: 0 };
    Weights::initialize(spec, meta, u64::from(generation)).unwrap()
}

pub(crate) fn entry(generation: u32) -> Entry {
    let weights = weights(generation);
    let hash = ContentHash::of(&weights.to_safetensors());
    Entry { hash, generation, engine: Arc::new(Engine::new(&weights)) }
}

pub(crate) fn roster(newest: u32, pool: &[u32]) -> Roster {
    Roster { newest: entry(newest), pool: pool.iter().copied().map(entry).collect() }
}

/// Serves over loopback until the guard is dropped. Returns the address as a URL.
pub(crate) async fn serve<S>(service: S) -> (String, DropGuard)
where
    S: Service<http::Request<Body>, Response = http::Response<Body>, Error = Infallible>
        + NamedService
        + Clone
        + Send
        + Sync
        + 'static,
    S::Future: Send + 'static,
{
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let server = GrpcServer::bind(address, Limits::default()).await.unwrap().add_service(service);
    let (url, stop) = (format!("http://{}", server.local_addr()), CancellationToken::new());
    tokio::spawn(server.run_until(stop.clone()));
    (url, stop.drop_guard())
}
