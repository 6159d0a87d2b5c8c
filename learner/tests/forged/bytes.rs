//! Invalid bytes on the learner's port: broken protobuf, other protocols and noise.

use std::net::SocketAddr;

use bytes::{Buf, BufMut};
use ouro_proto::learner::v1 as wire;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::codegen::http::uri::PathAndQuery;
use tonic::{Code, Request, Status};

use super::actor::{Actor, Running, config, hello, won_game};

/// A codec that sends raw bytes instead of protobuf messages.
#[derive(Clone, Copy, Default)]
struct Raw;

impl Codec for Raw {
    type Encode = Vec<u8>;
    type Decode = Vec<u8>;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Raw {
    type Item = Vec<u8>;
    type Error = Status;

    fn encode(&mut self, message: Vec<u8>, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        buffer.put_slice(&message);
        Ok(())
    }
}

impl Decoder for Raw {
    type Item = Vec<u8>;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<Vec<u8>>, Status> {
        Ok(Some(buffer.copy_to_bytes(buffer.remaining()).to_vec()))
    }
}

/// Sends `messages` in a stream to `path`. Returns the status that ends the stream.
async fn call(running: &Running, path: &'static str, messages: Vec<Vec<u8>>) -> Status {
    let url = format!("http://{}", running.address);
    let channel = tonic::transport::Endpoint::from_shared(url).expect("a URL").connect().await;
    let mut client = tonic::client::Grpc::new(channel.expect("the port is open"));
    client.ready().await.expect("the connection is open");
    let request = Request::new(tokio_stream::iter(messages));
    let path = PathAndQuery::from_static(path);
    let mut answers = match client.streaming(request, path, Raw).await {
        Ok(answers) => answers.into_inner(),
        Err(status) => return status,
    };
    loop {
        match answers.message().await {
            Ok(Some(_)) => {}
            Ok(None) => return Status::ok("the stream ended"),
            Err(status) => return status,
        }
    }
}

const PUSH: &str = "/ouro.learner.v1.LearnerService/Push";

/// Invalid messages: name, path, bytes, and the code and start of the text of the final status.
const MESSAGES: [(&str, &str, &[u8], Code, &str); 8] = [
    ("an unknown call", "/ouro.learner.v1.LearnerService/Pull", b"", Code::Unimplemented, ""),
    ("an unknown service", "/ouro.learner.v9.LearnerService/Push", b"", Code::Unimplemented, ""),
    // Field 1 declares text of 127 bytes, but the message ends.
    ("text that is cut", PUSH, &[0x0a, 0x7f], Code::Internal, "failed to decode Protobuf message"),
    (
        "a tag of field 0",
        PUSH,
        &[0x02, 0x01, 0x00],
        Code::Internal,
        "failed to decode Protobuf message",
    ),
    (
        "a number without end",
        PUSH,
        &[0xff; 32],
        Code::Internal,
        "failed to decode Protobuf message",
    ),
    (
        "a hello that is a number",
        PUSH,
        &[0x08, 0x01],
        Code::Internal,
        "failed to decode Protobuf message",
    ),
    // The actor's name is not valid UTF-8.
    (
        "text that is none",
        PUSH,
        &[0x0a, 0x03, 0x0a, 0x01, 0xff],
        Code::Internal,
        "failed to decode Protobuf message",
    ),
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
    for (name, path, message, code, says) in MESSAGES {
        let status = call(&running, path, vec![message.to_vec()]).await;
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
    let honest_games = MESSAGES.len() + THROWN.len() + 1;
    assert_eq!(status.games, honest_games as f64);
    drop((half, honest));
    running.stop().await;
}
