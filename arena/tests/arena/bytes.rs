//! Bytes that are no messages, for every call of both services.

use ouro_testkit::raw::{MALFORMED, UNDECODED, call};
use tonic::Code;

use super::running::{Running, uniform};

/// Every call, by its path.
const CALLS: [&str; 12] = [
    "/ouro.arena.v1.PoolService/PublishCheckpoint",
    "/ouro.arena.v1.PoolService/FetchCheckpoint",
    "/ouro.arena.v1.PoolService/DrawOpponents",
    "/ouro.arena.v1.PoolService/WatchPool",
    "/ouro.arena.v1.ArenaService/GetRatings",
    "/ouro.arena.v1.ArenaService/ComparePlayers",
    "/ouro.arena.v1.ArenaService/ListCheckpoints",
    "/ouro.arena.v1.ArenaService/ListMatches",
    "/ouro.arena.v1.ArenaService/GetMatch",
    "/ouro.arena.v1.ArenaService/GetGame",
    "/ouro.arena.v1.ArenaService/GetGate",
    "/ouro.arena.v1.ArenaService/WatchEvents",
];

#[tokio::test(flavor = "multi_thread")]
async fn bytes_that_are_no_message_are_refused_by_every_call() {
    let folder = tempfile::tempdir().unwrap();
    let mut arena = Running::start(folder.path()).await;
    let channel = arena.channel().await;
    for path in CALLS {
        for (name, bytes) in MALFORMED {
            let status = call(&channel, path, vec![bytes.to_vec()], 1).await;
            assert_eq!(status.code(), Code::Internal, "{path}, {name}: {status:?}");
            assert!(status.message().contains(UNDECODED), "{path}, {name}: {status:?}");
        }
        // A call without its message.
        let status = call(&channel, path, Vec::new(), 1).await;
        assert!(status.code() != Code::Ok, "{path}: {status:?}");
        assert_eq!(status.message().lines().count(), 1, "{path}: {status:?}");
    }
    for path in ["/ouro.arena.v1.PoolService/Publish", "/ouro.arena.v2.PoolService/WatchPool", "/"]
    {
        let status = call(&channel, path, vec![Vec::new()], 1).await;
        assert_eq!(status.code(), Code::Unimplemented, "{path}: {status:?}");
    }
    arena.client.publish(ouro_net::Generation(0), 10, uniform(0)).await.unwrap();
    drop(channel);
    arena.stop().await;
}
