//! Floods of calls and connections beside an honest client.

use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use ouro_net::{ContentHash, Generation};
use ouro_proto::arena::v1;
use ouro_proto::arena::v1::pool_service_client::PoolServiceClient;
use ouro_proto::arena::v1::publish_checkpoint_request::Part;
use ouro_proto::{ArenaClient, Checkpoint, Credential};
use ouro_service::access::Role;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Status};

use super::access::Guarded;
use super::running::{MAX_BYTES, Running, uniform};

/// Longest time that an honest publication takes beside a flood.
const HONEST: Duration = Duration::from_secs(20);

/// Pause between two bytes of an upload that is never idle.
const TRICKLE: Duration = Duration::from_millis(100);

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

/// Uploads under this token that send a byte at a time and do not end by themselves. They are more
/// than fit into all slots and their queues.
async fn trickle(arena: &Running, token: &str, header: Part) -> JoinSet<Result<(), Status>> {
    let mut calls = JoinSet::new();
    for _ in 0..2 {
        let channel = arena.channel().await;
        for _ in 0..15 {
            let (parts, stream) = mpsc::channel(4);
            let mut part = header.clone();
            tokio::spawn(async move {
                // Sending fails once the call has ended.
                while parts.send(v1::PublishCheckpointRequest { part: Some(part) }).await.is_ok() {
                    part = Part::Chunk(Bytes::from_static(&[0]));
                    tokio::time::sleep(TRICKLE).await;
                }
            });
            let credential = Credential::Text(token.to_owned());
            let mut client = PoolServiceClient::with_interceptor(channel.clone(), credential);
            calls.spawn(async move {
                client.publish_checkpoint(ReceiverStream::new(stream)).await.map(drop)
            });
        }
    }
    calls
}

/// Removes the weights of a checkpoint and waits until the arena asks for a copy.
async fn lose(folder: &Path, client: &mut ArenaClient, lost: &Checkpoint) {
    let file = format!("arena/weights/{}.safetensors", lost.hash);
    std::fs::remove_file(folder.join(file)).unwrap();
    client.fetch_weights(lost).await.expect_err("it is lost");
    let mut snapshots = client.watch_pool().await.unwrap();
    let asked = async {
        loop {
            let pool = snapshots.next().await.unwrap().expect("the arena runs");
            if pool.missing.iter().any(|one| one.hash == lost.hash) {
                return;
            }
        }
    };
    tokio::time::timeout(HONEST, asked).await.expect("the arena asks for a copy");
}

#[tokio::test(flavor = "multi_thread")]
async fn uploads_of_an_actor_keep_no_candidate_out() {
    let folder = tempfile::tempdir().unwrap();
    let mut guarded = Guarded::start(folder.path()).await;
    let learner = guarded.token("learner", Role::Learner).await;
    let actor = guarded.token("actor", Role::Actor).await;
    let mut honest = guarded.client(&learner);
    let (file, newer) = (uniform(0), uniform(1));
    let stored = honest.publish(Generation(0), 10, file.clone()).await.unwrap();

    // The largest size that may be announced gives no time.
    let size_bytes = MAX_BYTES;
    let hash = ContentHash::of(&file).to_string();
    let large = v1::PublishHeader { hash, size_bytes, ..v1::PublishHeader::default() };
    let large = Part::Header(large);
    let mut calls = trickle(&guarded.arena, &actor, large).await;
    while let Some(call) = calls.join_next().await {
        let status = call.unwrap().expect_err("another size");
        assert_eq!(status.code(), Code::InvalidArgument, "{status:?}");
        assert!(status.message().contains("header says size_bytes 1048576"), "{status:?}");
    }
    // Weights that the arena has are not received again.
    let mut calls = trickle(&guarded.arena, &actor, header(&file)).await;
    while let Some(call) = calls.join_next().await {
        call.unwrap().expect("it is answered before the file ends");
    }

    // Copies of lost weights have their own slot and queue. A refused call shows both full.
    lose(folder.path(), &mut honest, &stored).await;
    let mut calls = trickle(&guarded.arena, &actor, header(&file)).await;
    let refused = calls.join_next().await.unwrap().unwrap().unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted, "{refused:?}");
    let published = honest.publish(Generation(1), 10, newer.clone());
    let published = tokio::time::timeout(HONEST, published).await.expect("in time");
    let published = published.expect("a slot is free");
    while let Some(call) = calls.join_next().await {
        // The newer candidate replaces the lost one. A call whose turn comes then has nothing to send.
        let Err(status) = call.unwrap() else { continue };
        let codes = [Code::DeadlineExceeded, Code::ResourceExhausted];
        assert!(codes.contains(&status.code()), "{status:?}");
    }

    // An actor that has the weights returns them.
    lose(folder.path(), &mut honest, &published).await;
    guarded.client(&actor).publish(Generation(1), 10, newer).await.unwrap();
    honest.fetch_weights(&published).await.expect("it is back");
    guarded.arena.stop().await;
}
