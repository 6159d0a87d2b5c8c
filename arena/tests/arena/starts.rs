//! A start that is refused because a port is taken changes nothing.

use std::net::{SocketAddr, TcpListener};

use ouro_arena::config::StoreConfig;
use ouro_arena::{Arena, ArenaConfig};
use ouro_testkit::redis::RedisServer;

use super::running::{Running, clock, config, uniform};

/// Tries to start with `taken` as the address of the server, then as that of the page.
async fn is_refused(config: impl Fn() -> ArenaConfig, taken: SocketAddr) {
    for config in
        [ArenaConfig { address: taken, ..config() }, ArenaConfig { web: Some(taken), ..config() }]
    {
        let error = Arena::bind(config, clock()).await.unwrap_err().to_string();
        assert!(error.contains(&taken.to_string()), "{error}");
    }
}

#[tokio::test]
async fn a_start_on_a_port_in_use_creates_nothing() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("arena");
    is_refused(|| config(&data), taken.local_addr().unwrap()).await;
    assert!(!data.exists());
}

/// Without `redis-server` on this machine the test is skipped, unless all checks are required.
#[tokio::test(flavor = "multi_thread")]
async fn a_start_on_a_port_in_use_takes_no_results_over() {
    let (folder, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let Some(server) = RedisServer::start(data.path()) else { return };
    let store = StoreConfig::Redis {
        url: server.url("arena"),
        name: "test".into(),
        password_file: None,
        tls: Box::default(),
    };
    let config = || ArenaConfig { store: store.clone(), ..config(folder.path()) };
    let mut arena = Running::start_with(config()).await;
    arena.publish(0, uniform(0)).await;
    let address = arena.endpoint.strip_prefix("http://").unwrap().parse().unwrap();
    is_refused(config, address).await;
    // The arena still is the writer.
    arena.publish(1, uniform(1)).await;
    arena.stop().await;
}
