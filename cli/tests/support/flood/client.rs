//! The client of a flood, with a loopback address of its own.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use super::table::{Flood, Then};

/// Source address of the flood.
pub(crate) const FLOODER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

/// Pause before a connection that was closed is opened again.
const AGAIN: Duration = Duration::from_millis(5);

/// Pause between two bytes of [`Then::Drip`].
const DRIP: Duration = Duration::from_secs(1);

/// Name of the threads of a flood.
pub(crate) const FLOOD_THREAD: &str = "flood";

/// A flood in progress.
pub(crate) struct Flooding {
    runtime: Runtime,
    tasks: JoinSet<()>,
    connections: Arc<AtomicU64>,
}

impl Flooding {
    /// Ends the flood: closes every connection. Returns the number of connections that were opened.
    pub(crate) fn end(mut self) -> u64 {
        self.runtime.block_on(self.tasks.shutdown());
        self.connections.load(Ordering::Relaxed)
    }
}

/// Starts a flood that writes for `length`; its connections stay open until it is ended.
pub(crate) fn flood(address: SocketAddr, kind: &Flood, length: Duration) -> Flooding {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder
        .worker_threads(1)
        .thread_name(FLOOD_THREAD)
        .enable_all()
        .build()
        .expect("a runtime");
    let (connections, until) = (Arc::new(AtomicU64::new(0)), Instant::now() + length);
    let mut tasks = JoinSet::new();
    for index in 0..kind.connections {
        let (kind, connections) = (kind.clone(), Arc::clone(&connections));
        let attack = async move {
            while Instant::now() < until {
                if let Ok(stream) = connect(address).await {
                    connections.fetch_add(1, Ordering::Relaxed);
                    // A connection that the server closes is opened again.
                    let _ = attack(stream, &kind, index, until).await;
                }
                tokio::time::sleep(AGAIN).await;
            }
        };
        tasks.spawn_on(attack, runtime.handle());
    }
    Flooding { runtime, tasks, connections }
}

async fn connect(address: SocketAddr) -> std::io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.bind((FLOODER, 0).into())?;
    socket.connect(address).await
}

/// One connection of a flood.
async fn attack(
    mut stream: TcpStream,
    kind: &Flood,
    index: u32,
    until: Instant,
) -> std::io::Result<()> {
    let opening = (kind.opening)(index);
    if matches!(kind.then, Then::Trickle) {
        for byte in opening.iter().cycle() {
            stream.write_all(&[*byte]).await?;
            tokio::time::sleep(Duration::from_millis(100)).await;
            if Instant::now() >= until {
                return Ok(());
            }
        }
    }
    stream.write_all(&opening).await?;
    match kind.then {
        Then::Close => return Ok(()),
        Then::Repeat(bytes) => {
            let (mut reader, mut writer) = stream.into_split();
            // Reads everything, so that only the requests themselves are a burden.
            let reading = tokio::spawn(async move {
                let mut buffer = vec![0; 1 << 16];
                while reader.read(&mut buffer).await.is_ok_and(|count| count > 0) {}
            });
            let mut number = 0;
            while Instant::now() < until && !reading.is_finished() {
                writer.write_all(&bytes(number)).await?;
                number += 1;
            }
            reading.abort();
        }
        Then::RepeatUnread(bytes) => {
            let mut number = 0;
            while Instant::now() < until {
                let bytes = bytes(number);
                let left = until.saturating_duration_since(Instant::now());
                // A server that stops reading is what the flood is after; it stays connected.
                match tokio::time::timeout(left, stream.write_all(&bytes)).await {
                    Ok(written) => written?,
                    Err(_) => return Ok(()),
                }
                number += 1;
            }
        }
        Then::Drip(bytes) => {
            let (mut reader, mut writer) = stream.into_split();
            let reading = tokio::spawn(async move {
                let mut buffer = vec![0; 1 << 10];
                while reader.read(&mut buffer).await.is_ok_and(|count| count > 0) {}
            });
            for byte in bytes(index) {
                if Instant::now() >= until || reading.is_finished() {
                    break;
                }
                writer.write_all(&[byte]).await?;
                tokio::time::sleep(DRIP).await;
            }
            reading.abort();
        }
        Then::Hold | Then::Trickle => {
            let mut byte = [0];
            let left = until.saturating_duration_since(Instant::now());
            // Ends early if the server closes the connection.
            let reading =
                async { while stream.read(&mut byte).await.is_ok_and(|count| count > 0) {} };
            let _ = tokio::time::timeout(left, reading).await;
        }
        Then::HoldUnread => {
            tokio::time::sleep(until.saturating_duration_since(Instant::now())).await;
        }
    }
    Ok(())
}
