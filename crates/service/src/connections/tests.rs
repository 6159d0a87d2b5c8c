//! Connections that send nothing, send too slowly or read nothing.

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;

/// Number of opening bytes in the tests.
const OPENING: usize = 8;

fn limits() -> ConnectionLimits {
    ConnectionLimits {
        per_port: 3,
        per_address: 3,
        handshake: Duration::from_millis(200),
        stall: Duration::from_millis(200),
        admission: Duration::from_millis(200),
    }
}

/// Starts an echo server and returns its address.
async fn echo(limits: ConnectionLimits, opening: usize) -> SocketAddr {
    let address = SocketAddr::from(([127, 0, 0, 1], 0));
    let mut listener = Listener::bind(address, limits, opening).await.unwrap();
    let address = listener.local_addr();
    tokio::spawn(async move {
        loop {
            let mut connection = listener.accept().await.open().await.expect("no handshake");
            tokio::spawn(async move {
                let mut bytes = [0; 64];
                while let Ok(count @ 1..) = connection.read(&mut bytes).await {
                    if connection.write_all(&bytes[..count]).await.is_err() {
                        break;
                    }
                }
            });
        }
    });
    address
}

/// Waits until the server has closed a connection.
async fn closed(stream: &mut TcpStream) {
    let mut byte = [0];
    let read = tokio::time::timeout(Duration::from_secs(20), stream.read(&mut byte)).await;
    assert!(!matches!(read.expect("it is closed"), Ok(1..)));
}

#[tokio::test]
async fn a_connection_that_sends_nothing_is_closed_and_its_slot_is_free_again() {
    let address = echo(limits(), OPENING).await;
    let mut silent = Vec::new();
    for _ in 0..3 {
        silent.push(TcpStream::connect(address).await.unwrap());
    }
    // The fourth connection is closed at once, before any handshake times out.
    let mut refused = TcpStream::connect(address).await.unwrap();
    closed(&mut refused).await;
    for stream in &mut silent {
        closed(stream).await;
    }
    let mut honest = TcpStream::connect(address).await.unwrap();
    for _ in 0..2 {
        honest.write_all(&[0; OPENING]).await.unwrap();
        honest.read_exact(&mut [0; OPENING]).await.unwrap();
        // After the opening bytes, a connection may be idle for any time.
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(3_600)).await;
        tokio::time::resume();
    }
}

#[tokio::test]
async fn a_handshake_of_single_bytes_is_closed_too() {
    let address = echo(limits(), usize::MAX).await;
    let mut slow = TcpStream::connect(address).await.unwrap();
    let ended = async {
        while slow.write_all(&[0]).await.is_ok() {
            // The echo of the byte, or the end of the connection.
            let _ = slow.read(&mut [0]).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), ended).await.expect("it is closed");
}

#[tokio::test]
async fn a_guarded_connection_is_closed_unless_a_call_is_admitted_in_time() {
    let address = SocketAddr::from(([127, 0, 0, 1], 0));
    let mut listener = Listener::bind(address, limits(), 0).await.unwrap();
    listener.limit_admission();
    let address = listener.local_addr();
    let mut caller = TcpStream::connect(address).await.unwrap();
    let mut admitted = listener.accept().await.open().await.expect("no handshake");
    let credential = CancellationToken::new();
    admitted.connect_info().set_admitted(&credential);
    let mut peer = TcpStream::connect(address).await.unwrap();
    let mut refused = listener.accept().await.open().await.expect("no handshake");
    let reading = async {
        loop {
            // Bytes do not extend the time.
            peer.write_all(&[0]).await.unwrap();
            if let Err(error) = refused.read_u8().await {
                break error;
            }
        }
    };
    let error = tokio::time::timeout(Duration::from_secs(20), reading).await.expect("it ends");
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    // The other connection is older and stays open.
    caller.write_all(&[7]).await.unwrap();
    assert_eq!(admitted.read_u8().await.unwrap(), 7);
    // Until its credential is revoked. The task that reads it is woken.
    let reading = tokio::spawn(async move { admitted.read_u8().await });
    credential.cancel();
    let ended = tokio::time::timeout(Duration::from_secs(20), reading).await.expect("it ends");
    assert_eq!(ended.unwrap().unwrap_err().kind(), io::ErrorKind::TimedOut);
}

#[tokio::test]
async fn a_peer_that_reads_nothing_is_closed() {
    let address = SocketAddr::from(([127, 0, 0, 1], 0));
    let mut listener = Listener::bind(address, limits(), 0).await.unwrap();
    let _peer = TcpStream::connect(listener.local_addr()).await.unwrap();
    let mut connection = listener.accept().await.open().await.expect("no handshake");
    let writing = async {
        loop {
            if let Err(error) = connection.write_all(&[0; 1 << 16]).await {
                break error;
            }
        }
    };
    let error = tokio::time::timeout(Duration::from_secs(20), writing).await.expect("it ends");
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
}
