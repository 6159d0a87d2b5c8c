//! Channels of gRPC clients, with TLS or without.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tonic::codegen::Service;
use tonic::codegen::http::Uri;
use tonic::transport::{Channel, Endpoint, Error};

use crate::client::ClientTls;

/// A channel that connects with its first call. An `https` URL needs `tls`; without, each call fails
/// with the reason.
///
/// # Panics
///
/// Outside a Tokio runtime.
pub fn connect_lazy(endpoint: &Endpoint, tls: Option<&ClientTls>) -> Channel {
    match is_private(endpoint) {
        true => endpoint.connect_with_connector_lazy(Connector(tls.cloned())),
        false => endpoint.connect_lazy(),
    }
}

/// A channel that is connected. An `https` URL needs `tls`.
pub async fn connect(endpoint: &Endpoint, tls: Option<&ClientTls>) -> Result<Channel, Error> {
    match is_private(endpoint) {
        true => endpoint.connect_with_connector(Connector(tls.cloned())).await,
        false => endpoint.connect().await,
    }
}

fn is_private(endpoint: &Endpoint) -> bool {
    endpoint.uri().scheme_str() == Some("https")
}

type Connection = TokioIo<TlsStream<TcpStream>>;

/// Opens private connections.
struct Connector(Option<ClientTls>);

impl Service<Uri> for Connector {
    type Response = Connection;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Connection>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let tls = self.0.clone();
        Box::pin(async move {
            let tls = tls.ok_or_else(|| {
                io::Error::other(
                    "an https address needs the certificate of an authority; set deploy.tls_ca",
                )
            })?;
            open(&tls, &uri).await
        })
    }
}

async fn open(tls: &ClientTls, uri: &Uri) -> io::Result<Connection> {
    let host = uri.host().ok_or_else(|| io::Error::other("the address has no host"))?;
    // The host of an IPv6 address is written in brackets.
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
    let tcp = TcpStream::connect((host, uri.port_u16().unwrap_or(443))).await?;
    tcp.set_nodelay(true)?;
    let connector = TlsConnector::from(Arc::clone(&tls.config()));
    let stream = connector.connect(name, tcp).await;
    let refused = |error: io::Error| {
        io::Error::new(error.kind(), format!("no private connection to {host}: {error}"))
    };
    stream.map(TokioIo::new).map_err(refused)
}
