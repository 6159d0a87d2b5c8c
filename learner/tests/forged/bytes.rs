//! Invalid bytes on the learner's port: broken protobuf, other protocols and noise.

use std::net::SocketAddr;

use ouro_proto::learner::v1 as wire;
use ouro_testkit::raw::{MALFORMED, UNDECODED, call};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tonic::Code;
use tonic::transport::Channel;

use super::actor::{Actor, Running, config, hello, won_game};

/// A connection to the learner.
async fn channel(running: &Running) -> Channel {
    let url = format!("http://{}", running.address);
    let endpoint = tonic::transport::Endpoint::from_shared(url).expect("a URL");
    endpoint.connect().await.expect("the port is open")
}

const PUSH: &str = "/ouro.learner.v1.LearnerService/Push";
const STATUS: &str = "/ouro.learner.v1.LearnerService/GetStatus";

/// Invalid messages: name, path, bytes, and the code and start of the text of the final status.
const MESSAGES: [(&str, &str, &[u8], Code, &str); 5] = [
    ("an unknown call", "/ouro.learner.v1.LearnerService/Pull", b"", Code::Unimplemented, ""),
    ("an unknown service", "/ouro.learner.v9.LearnerService/Push", b"", Code::Unimplemented, ""),
    ("a hello that is a number", PUSH, &[0x08, 0x01], Code::Internal, UNDECODED),
    // The actor's name is not valid UTF-8.
    ("text that is none", PUSH, &[0x0a, 0x03, 0x0a, 0x01, 0xff], Code::Internal, UNDECODED),
    // Unknown fields are ignored, because newer programs may add some. The rest is empty.
    (
        "an unknown field",
        PUSH,
        &[0x7a, 0x01, 0x00],
        Code::InvalidArgument,
        "the first message must be a hello",
    ),
];

/// Bytes for the bare port. The learner closes each connection itself.
const THROWN: [(&str, &[u8]); 4] = [
    ("noise", &[0xa5; 4_096]),
    ("a request of HTTP/1.1", b"GET / HTTP/1.1\r\nHost: learner\r\n\r\n"),
    ("a hello of TLS", &[0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03]),
    // A frame of 16 MiB, larger than the learner's settings allow.
    (
        "a frame that is too large",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0\xff\xff\xff\0\0\0\0\0\x01",
    ),
];

async fn throw(address: SocketAddr, bytes: &[u8]) {
    let mut stream = TcpStream::connect(address).await.expect("the port is open");
    // The write may fail, because the learner may close before it has read everything.
    let _ = stream.write_all(bytes).await;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_bytes_come_the_learner_goes_on() {
    let directory = tempfile::tempdir().expect("a scratch folder");
    let config = config(directory.path());
    let running = Running::start(config.clone()).await;
    let (mut honest, _) = Actor::welcomed(&running, hello("honest", None, &config.game)).await;
    let malformed = [PUSH, STATUS].into_iter().flat_map(|path| {
        MALFORMED.map(|(name, bytes)| (name, path, bytes, Code::Internal, UNDECODED))
    });
    let messages: Vec<_> = MESSAGES.into_iter().chain(malformed).collect();
    let channel = channel(&running).await;
    for &(name, path, message, code, says) in &messages {
        let status = call(&channel, path, vec![message.to_vec()], usize::MAX).await;
        assert_eq!(status.code(), code, "{name}: {status:?}");
        assert!(status.message().starts_with(says), "{name}: {}", status.message());
        honest.push_honest(won_game(), name).await;
    }
    for (name, bytes) in THROWN {
        throw(running.address, bytes).await;
        honest.push_honest(won_game(), name).await;
    }
    // One connection stays silent, and one is closed at once.
    let half = TcpStream::connect(running.address).await.expect("the port is open");
    let gone = TcpStream::connect(running.address).await.expect("the port is open");
    drop(gone);
    honest.push_honest(won_game(), "a client that went").await;
    let status: wire::GetStatusResponse = running.status().await;
    let honest_games = messages.len() + THROWN.len() + 1;
    assert_eq!(status.games, honest_games as f64);
    drop((half, honest, channel));
    running.stop().await;
}
