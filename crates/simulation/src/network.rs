//! The simulated network, as tonic's servers and clients use it.
//!
//! Every byte that a host receives goes into the [hash](traffic) of the simulation, with its time.

use std::cell::Cell;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper_util::rt::TokioIo;
use ouro_actor::Dial;
use ouro_proto::ArenaClient;
use ouro_service::server::Connections;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::mpsc;
use tokio_stream::Stream;
use tokio_stream::wrappers::ReceiverStream;
use tonic::codegen::Service;
use tonic::codegen::http::Uri;
use tonic::transport::Endpoint;
use tonic::transport::server::Connected;
use turmoil::net::{TcpListener, TcpStream};

use crate::determinism::now;
use crate::log::fold;

thread_local! {
    static TRAFFIC: Cell<u64> = const { Cell::new(0) };
}

/// The hash of all bytes received so far.
pub(crate) fn traffic() -> u64 {
    TRAFFIC.get()
}

/// A connection.
pub(crate) struct Wire(TcpStream);

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.0).poll_read(context, buffer);
        let received = &buffer.filled()[before..];
        if !received.is_empty() {
            let hash = fold(TRAFFIC.get(), &now().as_nanos().to_le_bytes());
            TRAFFIC.set(fold(hash, received));
        }
        read
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

impl Connected for Wire {
    type ConnectInfo = ();

    fn connect_info(&self) {}
}

/// An open port of a simulated host.
pub(crate) struct Port {
    listener: TcpListener,
    address: SocketAddr,
}

impl Port {
    /// Opens a port of the current host.
    pub(crate) async fn open(port: u16) -> io::Result<Self> {
        let address = SocketAddr::from((Ipv4Addr::UNSPECIFIED, port));
        Ok(Self { listener: TcpListener::bind(address).await?, address })
    }
}

impl Connections for Port {
    type Connection = Wire;

    fn address(&self) -> SocketAddr {
        self.address
    }

    fn incoming(self) -> impl Stream<Item = io::Result<Wire>> + Send + 'static {
        let (sender, receiver) = mpsc::channel(1);
        tokio::spawn(async move {
            loop {
                let accepted = tokio::select! {
                    accepted = self.listener.accept() => accepted,
                    () = sender.closed() => return,
                };
                if sender.send(accepted.map(|(stream, _)| Wire(stream))).await.is_err() {
                    return;
                }
            }
        });
        ReceiverStream::new(receiver)
    }
}

/// Opens connections from the current host.
#[derive(Clone, Copy)]
struct Connector;

impl Service<Uri> for Connector {
    type Response = TokioIo<Wire>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        Box::pin(async move {
            let (host, port) = (uri.host().unwrap_or_default(), uri.port_u16().unwrap_or(80));
            Ok(TokioIo::new(Wire(TcpStream::connect((host, port)).await?)))
        })
    }
}

/// Connects to the learner.
pub(crate) fn dial() -> Dial {
    Box::new(|endpoint: Endpoint| {
        Box::pin(async move { endpoint.connect_with_connector(Connector).await })
    })
}

/// A client of the arena at an address.
pub(crate) fn arena(address: &str) -> anyhow::Result<ArenaClient> {
    let endpoint = ArenaClient::endpoint(address)?;
    Ok(ArenaClient::from_channel(endpoint.connect_with_connector_lazy(Connector)))
}
