//! gRPC servers on free loopback ports.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};

use ouro_service::GrpcServer;
use ouro_service::server::Limits;
use tokio_util::sync::{CancellationToken, DropGuard};
use tonic::body::Body;
use tonic::codegen::{Service, http};
use tonic::server::NamedService;

/// Returns the address to bind for a free loopback port. Tests run in parallel, so fixed ports
/// would collide.
pub fn free_port() -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, 0))
}

/// A running server. Dropping it stops the server.
#[derive(Debug)]
pub struct Served {
    /// URL of the server.
    pub url: String,
    _stop: DropGuard,
}

/// Binds a server to a free port, without services yet.
pub async fn bind() -> GrpcServer {
    GrpcServer::bind(free_port(), Limits::default()).await.expect("a free port")
}

/// Starts a bound server.
pub fn start(server: GrpcServer) -> Served {
    let (url, stop) = (format!("http://{}", server.local_addr()), CancellationToken::new());
    tokio::spawn(server.run_until(stop.clone()));
    Served { url, _stop: stop.drop_guard() }
}

/// Starts a server with one service.
pub async fn serve<S>(service: S) -> Served
where
    S: Service<http::Request<Body>, Response = http::Response<Body>, Error = Infallible>
        + NamedService
        + Clone
        + Send
        + Sync
        + 'static,
    S::Future: Send + 'static,
{
    start(bind().await.add_service(service, &[]))
}
