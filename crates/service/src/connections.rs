//! TCP listener with connection caps and time limits.
//!
//! The caps derive from the limit of open files, so connections always leave file descriptors for
//! the process's own files. A connection that does not complete the opening bytes of its protocol
//! is closed after [`ConnectionLimits::handshake`]. A connection whose peer stops reading is closed
//! after [`ConnectionLimits::stall`]. A flood of silent connections therefore occupies its slots
//! for seconds only. The cap per address is below the cap of the port, so one address cannot occupy
//! the whole port.
//!
//! On a guarded port, a connection without an admitted call is closed after
//! [`ConnectionLimits::admission`], even if its peer answers pings. After the first admitted call,
//! a connection may be idle for any time, until the credential of the last admitted call is revoked or
//! expires. Then the time limit applies again.

mod admission;
mod slots;
mod transport;

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use ouro_tls::{HandshakeError, PeerCertificate, Protocol, ServerTls};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::mpsc;
use tokio::time::{Sleep, sleep};
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::transport::server::Connected;

use crate::throttle::Throttle;
use admission::{Admission, Admitted};
use slots::{Slot, Slots};
use transport::Transport;

/// Time between two log lines about refused connections.
const LOG_INTERVAL: Duration = Duration::from_secs(30);
/// Delay after a failed `accept`; the usual cause is a lack of file descriptors.
const ACCEPT_DELAY: Duration = Duration::from_millis(500);

/// Connections that wait to be accepted; the system may lower the number. A flood of connections
/// fills a short queue, and the system then resets honest ones.
const BACKLOG: u32 = 4_096;

/// Highest limit of open files that a process requests from the system.
const MOST_FILES: u64 = 65_536;
/// Open files assumed if the system does not report its limit: the usual limit of a shell.
const FEW_FILES: u64 = 1_024;
/// File descriptors reserved for the process's own files.
const OWN_FILES: u64 = 256;
/// Equal shares of the remaining descriptors: up to three ports, and outgoing connections.
const SHARES: u64 = 4;
/// Upper bound of the connections of a port, for any limit of open files.
const MOST_CONNECTIONS: u64 = 1_024;

/// Limits of the connections of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// Maximum number of open connections of the port.
    pub per_port: usize,
    /// Maximum number of open connections from one IPv4 address or one IPv6 /64 network.
    pub per_address: usize,
    /// Time limit for the opening bytes of the protocol.
    pub handshake: Duration,
    /// Time that a write may last without progress.
    pub stall: Duration,
    /// Time limit for an admitted call, on a port that admits calls by their credential.
    pub admission: Duration,
}

impl ConnectionLimits {
    /// Limits for a process that may open `files` files.
    pub fn for_files(files: u64) -> Self {
        let own = OWN_FILES.min(files / 2);
        let per_port = ((files - own) / SHARES).clamp(2, MOST_CONNECTIONS) as usize;
        Self {
            per_port,
            per_address: per_port / 2,
            handshake: Duration::from_secs(10),
            stall: Duration::from_secs(30),
            admission: Duration::from_secs(60),
        }
    }
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self::for_files(open_files())
    }
}

/// The number of files that the process may open. The first call raises the limit as far as the
/// system permits, to at most [`MOST_FILES`].
fn open_files() -> u64 {
    static FILES: OnceLock<u64> = OnceLock::new();
    *FILES.get_or_init(|| match rlimit::increase_nofile_limit(MOST_FILES) {
        Ok(files) => files,
        Err(error) => {
            tracing::warn!("the limit of open files cannot be raised: {error}");
            FEW_FILES
        }
    })
}

/// An open port.
#[derive(Debug)]
pub struct Listener {
    listener: TcpListener,
    address: SocketAddr,
    limits: ConnectionLimits,
    /// Number of bytes that must arrive within the time of the handshake.
    opening: usize,
    /// Time limit for an admitted call; `None` if calls need no admission.
    admission: Option<Duration>,
    slots: Arc<Slots>,
    tls: Option<(ServerTls, Protocol)>,
    refusals: Throttle,
    failures: Throttle,
    handshakes: Arc<Mutex<Throttle>>,
}

/// A connection whose handshake is still due.
#[derive(Debug)]
pub struct Accepted {
    stream: TcpStream,
    peer: SocketAddr,
    slot: Slot,
    limits: ConnectionLimits,
    opening: usize,
    admission: Option<Duration>,
    tls: Option<(ServerTls, Protocol)>,
    log: Arc<Mutex<Throttle>>,
}

impl Listener {
    /// Opens `address`; port 0 selects a free port. The first `opening` bytes of a connection must
    /// arrive within the time of the handshake. 0 if the protocol has a time limit of its own.
    #[expect(clippy::unused_async, reason = "it needs a runtime, like the listener of tokio")]
    pub async fn bind(
        address: SocketAddr,
        limits: ConnectionLimits,
        opening: usize,
    ) -> io::Result<Self> {
        let listener = listen(address)?;
        let address = listener.local_addr()?;
        Ok(Self {
            listener,
            address,
            limits,
            opening,
            admission: None,
            slots: Arc::default(),
            tls: None,
            refusals: Throttle::new(LOG_INTERVAL),
            failures: Throttle::new(LOG_INTERVAL),
            handshakes: Arc::new(Mutex::new(Throttle::new(LOG_INTERVAL))),
        })
    }

    /// Makes all connections private.
    pub fn set_tls(&mut self, tls: Option<ServerTls>, protocol: Protocol) {
        self.tls = tls.map(|tls| (tls, protocol));
    }

    /// Closes connections without an admitted call after [`ConnectionLimits::admission`].
    pub(crate) fn limit_admission(&mut self) {
        self.admission = Some(self.limits.admission);
    }

    /// The address that was opened.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// The limits of the connections.
    pub fn limits(&self) -> ConnectionLimits {
        self.limits
    }

    /// Waits for the next connection within the caps. Connections beyond the caps are closed at
    /// once.
    pub async fn accept(&mut self) -> Accepted {
        loop {
            let (stream, peer) = match self.listener.accept().await {
                Ok(accepted) => accepted,
                Err(error) => {
                    self.failed(&error).await;
                    continue;
                }
            };
            match Slots::take(&self.slots, peer.ip(), &self.limits) {
                Ok(slot) => {
                    return Accepted {
                        stream,
                        peer,
                        slot,
                        limits: self.limits,
                        opening: self.opening,
                        admission: self.admission,
                        tls: self.tls.clone(),
                        log: Arc::clone(&self.handshakes),
                    };
                }
                Err(reason) => {
                    if let Some(count) = self.refusals.admit() {
                        tracing::warn!(
                            address = %self.address, %peer, count,
                            "connection refused: {reason}",
                        );
                    }
                }
            }
        }
    }

    /// Reports a failed `accept` and pauses. Errors that the peer caused are ignored.
    async fn failed(&mut self, error: &io::Error) {
        use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
        if matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset) {
            return;
        }
        if let Some(count) = self.failures.admit() {
            tracing::warn!(
                address = %self.address, count,
                "no connection can be accepted: {error}; raise the limit of open files",
            );
        }
        sleep(ACCEPT_DELAY).await;
    }
}

/// Opens a port with a long queue of connections.
fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // As `TcpListener::bind` does. On Windows the option would let another process take the port.
    #[cfg(not(windows))]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

impl Accepted {
    /// Makes the connection private if the port is. `None` if the client fails to do its part; the
    /// reason is logged.
    pub async fn open(self) -> Option<Connection> {
        // Without this option, small messages are delayed, but none is lost.
        let _ = self.stream.set_nodelay(true);
        let Self { stream, peer, slot, limits, opening, admission, tls, log } = self;
        let Some((tls, protocol)) = tls else {
            let transport = Transport::Plain(stream);
            let peer = PeerInfo { address: Some(peer), certificate: None };
            return Some(Connection::new(transport, peer, slot, &limits, opening, admission));
        };
        match tls.accept(stream, protocol, limits.handshake).await {
            Ok((stream, certificate)) => {
                let transport = Transport::Private(Box::new(stream));
                let certificate = certificate.map(Arc::new);
                let peer = PeerInfo { address: Some(peer), certificate };
                Some(Connection::new(transport, peer, slot, &limits, opening, admission))
            }
            Err(error) => {
                let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
                // A client that goes away is no event.
                if !matches!(error, HandshakeError::Other(_))
                    && let Some(count) = log.admit()
                {
                    tracing::warn!(%peer, count, "connection refused: {error}");
                }
                None
            }
        }
    }
}

/// What calls learn about the peer of their connection.
#[derive(Clone, Debug, Default)]
pub struct PeerInfo {
    /// Its address.
    pub address: Option<SocketAddr>,
    /// The client's certificate, if it has presented one.
    pub certificate: Option<Arc<PeerCertificate>>,
}

/// The connection of a gRPC call. Clones are the same connection.
#[derive(Clone, Debug)]
pub struct ConnectionInfo {
    /// The peer.
    pub peer: PeerInfo,
    admitted: Admitted,
}

impl ConnectionInfo {
    /// Notes that a call was admitted: the connection has no time limit until its credential is
    /// `revoked`.
    pub(crate) fn set_admitted(&self, revoked: &CancellationToken) {
        self.admitted.set(revoked);
    }
}

/// A connection of a [`Listener`]. Dropping it frees its slot.
#[derive(Debug)]
pub struct Connection {
    transport: Transport,
    peer: PeerInfo,
    opening: Option<Opening>,
    /// `None` if calls need no admission.
    admission: Option<Admission>,
    admitted: Admitted,
    stall: Duration,
    stalled: Option<Pin<Box<Sleep>>>,
    _slot: Slot,
}

/// The rest of a handshake: missing bytes and deadline.
#[derive(Debug)]
struct Opening {
    bytes: usize,
    deadline: Pin<Box<Sleep>>,
}

impl Connection {
    fn new(
        transport: Transport,
        peer: PeerInfo,
        slot: Slot,
        limits: &ConnectionLimits,
        opening: usize,
        admission: Option<Duration>,
    ) -> Self {
        let deadline = || Box::pin(sleep(limits.handshake));
        let opening = (opening > 0).then(|| Opening { bytes: opening, deadline: deadline() });
        let admitted = Admitted::default();
        Self {
            transport,
            peer,
            opening,
            admission: admission.map(|limit| Admission::new(limit, admitted.clone())),
            admitted,
            stall: limits.stall,
            stalled: None,
            _slot: slot,
        }
    }

    /// What calls on this connection learn about its peer.
    pub fn peer(&self) -> PeerInfo {
        self.peer.clone()
    }

    /// Returns the result of a write, or an error once writes have stalled for the time limit.
    fn progress<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let stall = self.stall;
        let deadline = self.stalled.get_or_insert_with(|| Box::pin(sleep(stall)));
        deadline.as_mut().poll(context).map(|()| Err(timed_out("the peer reads nothing")))
    }
}

fn timed_out(reason: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, reason)
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.transport).poll_read(context, buffer);
        let count = buffer.filled().len() - before;
        if let Some(opening) = &mut self.opening {
            opening.bytes = opening.bytes.saturating_sub(count);
            if opening.bytes == 0 {
                self.opening = None;
            } else if opening.deadline.as_mut().poll(context).is_ready() {
                return Poll::Ready(Err(timed_out("the peer did not open the protocol in time")));
            }
        }
        if let Some(admission) = &mut self.admission
            && admission.is_over(context)
        {
            return Poll::Ready(Err(timed_out("the peer made no admitted call in time")));
        }
        read
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.transport).poll_write(context, bytes);
        self.progress(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.transport).poll_write_vectored(context, slices);
        self.progress(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.transport.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.transport).poll_flush(context);
        // TLS takes a write before the peer does, so a peer that reads nothing shows here.
        if self.transport.is_private() { self.progress(context, flushed) } else { flushed }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.transport).poll_shutdown(context)
    }
}

impl Connected for Connection {
    type ConnectInfo = ConnectionInfo;

    fn connect_info(&self) -> ConnectionInfo {
        ConnectionInfo { peer: self.peer(), admitted: self.admitted.clone() }
    }
}

/// The open connections of a port as a stream. Dropping the stream closes the port.
pub(crate) fn incoming(mut listener: Listener) -> ReceiverStream<io::Result<Connection>> {
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(async move {
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = sender.closed() => return,
            };
            let sender = sender.clone();
            let open = async move {
                if let Some(connection) = accepted.open().await {
                    // Without a receiver the port is closing.
                    let _ = sender.send(Ok(connection)).await;
                }
            };
            // A slow handshake must not delay other clients. Their number is that of the slots.
            tokio::spawn(open);
        }
    });
    ReceiverStream::new(receiver)
}

#[cfg(test)]
mod tests;
