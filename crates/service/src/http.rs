//! An HTTP/1 server with limits on connections and headers, and a bounded drain.

use std::convert::Infallible;
use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::{Body, Incoming};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use ouro_tls::{Protocol, ServerTls};
use tokio_util::sync::CancellationToken;
use tonic::codegen::{Service, http};

use crate::connections::{ConnectionLimits, Listener, PeerInfo};
use crate::shutdown::Drain;

/// Largest head of a request, in bytes.
const HEAD_BYTES: usize = 64 << 10;

/// An HTTP/1 server on an open port.
#[derive(Debug)]
pub struct HttpServer {
    listener: Listener,
}

impl HttpServer {
    /// Opens `address`; port 0 selects a free port.
    pub async fn bind(address: SocketAddr, limits: ConnectionLimits) -> io::Result<Self> {
        // The time limit for the head of a request also covers the first bytes, so the listener
        // checks none.
        Ok(Self { listener: Listener::bind(address, limits, 0).await? })
    }

    /// Makes all connections private.
    #[must_use]
    pub fn tls(mut self, tls: Option<ServerTls>) -> Self {
        self.listener.set_tls(tls, Protocol::Http1);
        self
    }

    /// The address that was opened.
    pub fn local_addr(&self) -> SocketAddr {
        self.listener.local_addr()
    }

    /// Answers requests with `service` until `stop` is cancelled, then closes the port. Requests in
    /// flight may finish within `drain`.
    ///
    /// A connection is closed if the head of its next request is not complete within
    /// [`ConnectionLimits::handshake`]. Requests carry the [`PeerInfo`] of their connection.
    pub async fn run_until<S, B>(
        mut self,
        service: S,
        stop: CancellationToken,
        drain: Duration,
    ) -> Drain
    where
        S: Service<http::Request<Incoming>, Response = http::Response<B>, Error = Infallible>
            + Clone
            + Send
            + 'static,
        S::Future: Send,
        B: Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
    {
        let mut builder = hyper::server::conn::http1::Builder::new();
        builder
            .timer(TokioTimer::new())
            .header_read_timeout(self.listener.limits().handshake)
            .max_buf_size(HEAD_BYTES);
        let graceful = GracefulShutdown::new();
        loop {
            let connection = tokio::select! {
                connection = self.listener.accept() => connection,
                () = stop.cancelled() => break,
            };
            let (builder, service) = (builder.clone(), service.clone());
            let watcher = graceful.watcher();
            tokio::spawn(async move {
                let Some(connection) = connection.open().await else { return };
                let service = WithPeer { service, peer: connection.peer() };
                let service = TowerToHyperService::new(service);
                let serving = builder.serve_connection(TokioIo::new(connection), service);
                let serving = watcher.watch(serving);
                // The peer caused the error: it violated the protocol or disconnected.
                if let Err(error) = serving.await {
                    tracing::debug!("connection ended: {error}");
                }
            });
        }
        let address = self.local_addr();
        drop(self.listener);
        match tokio::time::timeout(drain, graceful.shutdown()).await {
            Ok(()) => Drain::Clean,
            Err(_) => {
                tracing::warn!(%address, "pages still being sent after the drain time");
                Drain::DeadlinePassed
            }
        }
    }
}

/// A service whose requests know their connection.
#[derive(Clone)]
struct WithPeer<S> {
    service: S,
    peer: PeerInfo,
}

impl<S: Service<http::Request<Incoming>>> Service<http::Request<Incoming>> for WithPeer<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.service.poll_ready(context)
    }

    fn call(&mut self, mut request: http::Request<Incoming>) -> S::Future {
        request.extensions_mut().insert(self.peer.clone());
        self.service.call(request)
    }
}
