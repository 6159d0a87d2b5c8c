//! Floods of calls and connections beside an honest client.

use std::time::Duration;

use ouro_net::{ContentHash, Generation};
use ouro_proto::arena::v1;
use ouro_proto::arena::v1::pool_service_client::PoolServiceClient;
use ouro_proto::arena::v1::publish_checkpoint_request::Part;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use super::running::{Running, uniform};

/// Longest time that an honest publication takes beside a flood.
const HONEST: Duration = Duration::from_secs(20);

/// Uploads that are announced and then stall.
async fn stall(arena: &Running, connections: usize, first: impl Fn() -> Vec<Part>) -> Vec<Stalled> {
    let mut stalled = Vec::new();
    for _ in 0..connections {
        let client = PoolServiceClient::new(arena.channel().await);
        // As many as one connection may have, less the call that follows.
        for _ in 0..15 {
            let (parts, stream) = mpsc::channel(4);
            for part in first() {
                parts.send(v1::PublishCheckpointRequest { part: Some(part) }).await.unwrap();
            }
            let mut client = client.clone();
            let call = tokio::spawn(async move {
                client.publish_checkpoint(ReceiverStream::new(stream)).await.map(drop)
            });
            stalled.push(Stalled { _parts: parts, call });
        }
        // An answered call shows that the arena has read the connection.
        let request = v1::DrawOpponentsRequest::default();
        client.clone().draw_opponents(request).await.expect_err("it asks for no opponent");
    }
    stalled
}

struct Stalled {
    _parts: mpsc::Sender<v1::PublishCheckpointRequest>,
    call: tokio::task::JoinHandle<Result<(), tonic::Status>>,
}

fn header(file: &[u8]) -> Part {
    Part::Header(v1::PublishHeader {
        hash: ContentHash::of(file).to_string(),
        size_bytes: file.len() as u64,
        ..v1::PublishHeader::default()
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn uploads_that_stall_keep_no_candidate_out() {
    let folder = tempfile::tempdir().unwrap();
    let mut arena = Running::start(folder.path()).await;
    let other = uniform(1);
    let stalled = stall(&arena, 10, || vec![header(&other)]).await;
    let honest = arena.client.publish(Generation(0), 10, uniform(0));
    tokio::time::timeout(HONEST, honest).await.expect("in time").expect("a slot is free");
    drop(stalled);

    // With a chunk they do take slots, for seconds.
    let chunk = || vec![header(&other), Part::Chunk(other.slice(..1))];
    let stalled = stall(&arena, 4, chunk).await;
    let honest = async {
        while arena.client.publish(Generation(1), 10, other.clone()).await.is_err() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(2 * HONEST, honest).await.expect("a slot gets free");
    for one in stalled {
        let status = one.call.await.unwrap().expect_err("it never ended its file");
        assert!(
            matches!(status.code(), tonic::Code::DeadlineExceeded | tonic::Code::ResourceExhausted),
            "{status:?}"
        );
    }
    arena.stop().await;
}
