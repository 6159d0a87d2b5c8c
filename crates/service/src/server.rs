//! A gRPC server with health, reflection, HTTP/2 limits and a bounded drain.
//!
//! [`GrpcServer::bind`] opens the port; [`run_until`](GrpcServer::run_until) answers calls. A drain
//! has three steps. Health changes to NOT_SERVING, which watchers receive before their streams end.
//! The port closes. Calls in flight finish, or the drain ends at its deadline.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use ouro_tls::{Protocol, ServerTls};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_stream::Stream;
use tokio_util::sync::CancellationToken;
use tonic::body::Body;
use tonic::codegen::{Service, http};
use tonic::server::NamedService;
use tonic::service::RoutesBuilder;
use tonic::transport::Server;
use tonic::transport::server::Connected;
use tonic_health::ServingStatus;
use tonic_health::pb::health_server::HealthServer;
use tonic_health::server::{HealthReporter, HealthService};

use crate::access::{Guard, Guarded, Permissions};
use crate::box_future::BoxFuture;
use crate::connections::{Connection, ConnectionLimits, Listener, incoming};
use crate::error::ServiceError;
use crate::shutdown::Drain;

/// Opening bytes of HTTP/2: the client's preface of 24 bytes, and the header of its SETTINGS frame
/// (RFC 9113, sections 3.4 and 4.1).
const OPENING_BYTES: usize = 24 + 9;

/// Largest message to the services for health and reflection, which name a service or a symbol.
const MOST_NAME_BYTES: usize = 1 << 10;

/// Resource limits of a port and of one connection.
///
/// The defaults are explicit because tonic passes "no limit" to hyper, which replaces hyper's safe
/// defaults: 200 concurrent streams, and 1024 locally reset streams (see RUSTSEC-2024-0003).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Caps and time limits of connections.
    pub connections: ConnectionLimits,
    /// Concurrent calls on one connection.
    pub concurrent_streams: u32,
    /// Number of streams reset because of the client's errors before the connection is closed.
    pub local_error_resets: usize,
    /// Bytes in flight on one stream.
    pub stream_window: u32,
    /// Bytes in flight on one connection. Larger than the window of one stream, so that a stalled
    /// upload does not block other streams.
    pub connection_window: u32,
    /// Idle time after which the peer is pinged.
    pub keepalive: Duration,
    /// Time that the peer has to answer a ping.
    pub keepalive_timeout: Duration,
    /// Time that calls in flight have to finish after the stop.
    pub drain: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: ConnectionLimits::default(),
            concurrent_streams: 16,
            local_error_resets: 1024,
            stream_window: 1 << 20,
            connection_window: 4 << 20,
            keepalive: Duration::from_secs(20),
            keepalive_timeout: Duration::from_secs(20),
            drain: Duration::from_secs(10),
        }
    }
}

/// Where the connections of a server come from: a [`Listener`], or the network of a simulation.
pub trait Connections: Send + 'static {
    /// An open connection.
    type Connection: AsyncRead + AsyncWrite + Connected + Unpin + Send + 'static;

    /// The address of the server.
    fn address(&self) -> SocketAddr;

    /// Closes connections without an admitted call after a time. By default they have no such limit,
    /// as in a simulation.
    fn set_guarded(&mut self) {}

    /// The connections as a stream. Dropping the stream closes the port.
    fn incoming(self) -> impl Stream<Item = io::Result<Self::Connection>> + Send + 'static;
}

/// A gRPC server on an open port.
#[derive(Debug)]
pub struct GrpcServer<C = Listener> {
    connections: C,
    address: SocketAddr,
    routes: RoutesBuilder,
    names: Vec<&'static str>,
    descriptors: Vec<&'static [u8]>,
    limits: Limits,
    guard: Option<Guard>,
}

impl GrpcServer {
    /// Opens `address`; port 0 selects a free port. Every caller may call every method unless a
    /// [guard](Self::guarded) is set.
    pub async fn bind(address: SocketAddr, limits: Limits) -> Result<Self, ServiceError> {
        let bind = |source| ServiceError::Bind { address, source };
        let listener = Listener::bind(address, limits.connections, OPENING_BYTES).await;
        Ok(Self::on(listener.map_err(bind)?, limits))
    }

    /// Makes all connections private.
    #[must_use]
    pub fn tls(mut self, tls: Option<ServerTls>) -> Self {
        self.connections.set_tls(tls, Protocol::Http2);
        self
    }
}

impl<C: Connections> GrpcServer<C> {
    /// A server of these connections.
    pub fn on(connections: C, limits: Limits) -> Self {
        Self {
            address: connections.address(),
            connections,
            routes: RoutesBuilder::default(),
            names: Vec::new(),
            descriptors: vec![tonic_health::pb::FILE_DESCRIPTOR_SET],
            limits,
            guard: None,
        }
    }

    /// Admits only calls that `guard` permits. To be set before services are added.
    ///
    /// Health checks need no token. They do not count as admitted calls, so that they cannot hold a
    /// connection: one that has no other call is closed after [`ConnectionLimits::admission`].
    #[must_use]
    pub fn guarded(mut self, guard: Option<Guard>) -> Self {
        self.guard = guard;
        self
    }

    /// The address that was opened.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Adds a service whose methods `permissions` lists. The health service reports it under its
    /// name.
    #[must_use]
    pub fn add_service<S>(mut self, service: S, permissions: Permissions) -> Self
    where
        S: Service<http::Request<Body>, Response = http::Response<Body>, Error = Infallible>
            + NamedService
            + Clone
            + Send
            + Sync
            + 'static,
        S::Future: Send + 'static,
    {
        self.names.push(S::NAME);
        self.routes.add_service(Guarded::new(service, self.guard.clone(), Some(permissions)));
        self
    }

    /// Adds an encoded `FileDescriptorSet` for reflection.
    #[must_use]
    pub fn describe(mut self, descriptors: &'static [u8]) -> Self {
        self.descriptors.push(descriptors);
        self
    }

    /// Serves until `stop` is cancelled, then drains.
    pub fn run_until(self, stop: CancellationToken) -> BoxFuture<Result<Drain, ServiceError>> {
        Box::pin(self.serve(stop))
    }

    async fn serve(mut self, stop: CancellationToken) -> Result<Drain, ServiceError> {
        let mut health = HealthReporter::new();
        for name in &self.names {
            health.set_service_status(name, ServingStatus::Serving).await;
        }
        // These services take names only. Anyone may call the first, and a larger message would be
        // kept until its last byte arrives.
        let service = HealthService::from_health_reporter(health.clone());
        self.routes
            .add_service(HealthServer::new(service).max_decoding_message_size(MOST_NAME_BYTES));
        // grpcurl before 1.8.8 and many other tools request only v1alpha.
        let names = |version| format!("grpc.reflection.{version}.ServerReflection");
        let v1 = self.reflection().with_service_name(names("v1"));
        let v1 = v1.build_v1()?.max_decoding_message_size(MOST_NAME_BYTES);
        let guarded = Guarded::new(v1, self.guard.clone(), None);
        self.routes.add_service(guarded);
        let v1alpha = self.reflection().with_service_name(names("v1alpha"));
        let v1alpha = v1alpha.build_v1alpha()?.max_decoding_message_size(MOST_NAME_BYTES);
        let guarded = Guarded::new(v1alpha, self.guard.clone(), None);
        self.routes.add_service(guarded);
        if let Some(guard) = self.guard.take() {
            self.connections.set_guarded();
            tokio::spawn(guard.follow(stop.clone()));
        }

        let limits = self.limits;
        let closed = CancellationToken::new();
        let serving = Server::builder()
            .max_concurrent_streams(limits.concurrent_streams)
            .http2_max_local_error_reset_streams(Some(limits.local_error_resets))
            .initial_stream_window_size(limits.stream_window)
            .initial_connection_window_size(limits.connection_window)
            .http2_keepalive_interval(Some(limits.keepalive))
            .http2_keepalive_timeout(Some(limits.keepalive_timeout))
            .add_routes(std::mem::take(&mut self.routes).routes())
            .serve_with_incoming_shutdown(
                self.connections.incoming(),
                closed.clone().cancelled_owned(),
            );
        tracing::info!(address = %self.address, services = ?self.names, "serving");
        tokio::pin!(serving);
        tokio::select! {
            ended = &mut serving => return ended.map(|()| Drain::Clean).map_err(Into::into),
            () = stop.cancelled() => {}
        }
        for name in self.names.iter().chain(&[""]) {
            health.set_service_status(name, ServingStatus::NotServing).await;
        }
        // Removing a service ends the streams of its watchers, after they received NOT_SERVING.
        // An open stream would delay the drain up to the deadline.
        for name in self.names.iter().chain(&[""]) {
            health.clear_service_status(name).await;
        }
        closed.cancel();
        match tokio::time::timeout(limits.drain, serving).await {
            Ok(ended) => ended.map(|()| Drain::Clean).map_err(Into::into),
            Err(_) => {
                tracing::warn!(address = %self.address, "calls still open after the drain time");
                Ok(Drain::DeadlinePassed)
            }
        }
    }

    /// Reflection of the services of this server only. The descriptors contain further services.
    fn reflection(&self) -> tonic_reflection::server::Builder<'static> {
        let mut builder = tonic_reflection::server::Builder::configure()
            .with_service_name(<HealthServer<HealthService> as NamedService>::NAME);
        for name in &self.names {
            builder = builder.with_service_name(*name);
        }
        for descriptors in &self.descriptors {
            builder = builder.register_encoded_file_descriptor_set(descriptors);
        }
        builder
    }
}

impl Connections for Listener {
    type Connection = Connection;

    fn address(&self) -> SocketAddr {
        self.local_addr()
    }

    fn set_guarded(&mut self) {
        self.limit_admission();
    }

    fn incoming(self) -> impl Stream<Item = io::Result<Connection>> + Send + 'static {
        incoming(self)
    }
}

#[cfg(test)]
mod tests;
