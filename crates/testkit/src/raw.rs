//! gRPC calls with bytes in place of messages.

use std::time::Duration;

use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::Channel;
use tonic::{Request, Status};

/// Longest time until the first answer of a call.
const PATIENCE: Duration = Duration::from_secs(60);

/// Bytes that are no message of Protocol Buffers, with a name for each defect.
pub const MALFORMED: [(&str, &[u8]); 10] = [
    // Field 1 declares text of 127 bytes, but the message ends.
    ("text that is cut", &[0x0a, 0x7f]),
    ("text of 4 GiB", &[0x7a, 0xff, 0xff, 0xff, 0xff, 0x0f]),
    ("a tag of field 0", &[0x02, 0x01, 0x00]),
    ("a number without end", &[0xff; 32]),
    ("a number of 64 bits that is cut", &[0x09, 1, 2, 3]),
    ("a number of 32 bits that is cut", &[0x0d, 1]),
    ("groups without end", &[0x0b; 200]),
    ("the end of no group", &[0x0c]),
    ("wire type 6", &[0x0e]),
    ("wire type 7", &[0x0f]),
];

/// The start of the text with which a server refuses [`MALFORMED`].
pub const UNDECODED: &str = "failed to decode Protobuf message";

/// A codec that sends and receives bytes.
#[derive(Clone, Copy, Debug, Default)]
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
        bytes::BufMut::put_slice(buffer, &message);
        Ok(())
    }
}

impl Decoder for Raw {
    type Item = Vec<u8>;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<Vec<u8>>, Status> {
        let length = bytes::Buf::remaining(buffer);
        Ok(Some(bytes::Buf::copy_to_bytes(buffer, length).to_vec()))
    }
}

/// Sends `messages` to the call with this path. Returns the status that ends the call, or `Ok` once
/// `answers` answers have arrived.
pub async fn call(
    channel: &Channel,
    path: &'static str,
    messages: Vec<Vec<u8>>,
    answers: usize,
) -> Status {
    let call = async {
        let mut client = tonic::client::Grpc::new(channel.clone());
        client.ready().await.expect("the connection is open");
        let request = Request::new(tokio_stream::iter(messages));
        let path = PathAndQuery::from_static(path);
        let mut stream = match client.streaming(request, path, Raw).await {
            Ok(stream) => stream.into_inner(),
            Err(status) => return status,
        };
        for _ in 0..answers {
            match stream.message().await {
                Ok(Some(_)) => {}
                Ok(None) => return Status::ok("the stream ended"),
                Err(status) => return status,
            }
        }
        Status::ok("the answers arrived")
    };
    tokio::time::timeout(PATIENCE, call).await.unwrap_or_else(|_| panic!("{path} is not answered"))
}
