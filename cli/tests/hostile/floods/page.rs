//! The honest client: single requests for the page, from a loopback address of its own.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use tokio::net::TcpSocket;

/// Source address of the honest client.
pub(crate) const HONEST: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 1);

/// Longest time of one read or write of the honest client.
const SLOW: Duration = Duration::from_secs(5);

/// Whether the page is answered for a client at `source`.
pub(crate) fn page(web: SocketAddr, source: Ipv4Addr) -> bool {
    let ask = || -> std::io::Result<bool> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let socket = runtime.block_on(async {
            let socket = TcpSocket::new_v4()?;
            socket.bind((source, 0).into())?;
            socket.connect(web).await?.into_std()
        })?;
        let mut stream = socket;
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(SLOW))?;
        stream.set_write_timeout(Some(SLOW))?;
        stream
            .write_all(b"GET /matches HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer.starts_with("HTTP/1.1 200"))
    };
    ask().unwrap_or(false)
}
