//! Any bytes as messages of any call are answered or refused with a clear status by a running arena.
//!
//! The first byte selects the call. The rest is split into messages: a length of two bytes before
//! each. The arena runs in this process behind its own port, so its coverage counts.
#![no_main]

use std::sync::{Arc, OnceLock};

use libfuzzer_sys::fuzz_target;
use ouro_arena::store::Run;
use ouro_arena::{Arena, ArenaConfig};
use ouro_net::Generation;
use ouro_proto::ArenaClient;
use ouro_rating::GateConfig;
use ouro_service::SystemClock;
use ouro_testkit::network::{tic_tac_toe, tiny, weights};
use ouro_testkit::raw::{UNDECODED, call};
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;
use tonic::Code;
use tonic::transport::{Channel, Endpoint};

/// A call by its path, and whether its answer is a stream that has no end.
const CALLS: [(&str, bool); 12] = [
    ("/ouro.arena.v1.PoolService/PublishCheckpoint", false),
    ("/ouro.arena.v1.PoolService/FetchCheckpoint", false),
    ("/ouro.arena.v1.PoolService/DrawOpponents", false),
    ("/ouro.arena.v1.PoolService/WatchPool", true),
    ("/ouro.arena.v1.ArenaService/GetRatings", false),
    ("/ouro.arena.v1.ArenaService/ComparePlayers", false),
    ("/ouro.arena.v1.ArenaService/ListCheckpoints", false),
    ("/ouro.arena.v1.ArenaService/ListMatches", false),
    ("/ouro.arena.v1.ArenaService/GetMatch", false),
    ("/ouro.arena.v1.ArenaService/GetGame", false),
    ("/ouro.arena.v1.ArenaService/GetGate", false),
    ("/ouro.arena.v1.ArenaService/WatchEvents", true),
];

/// An arena with a promoted checkpoint, and a connection to it.
struct Running {
    runtime: Runtime,
    channel: Channel,
    _folder: tempfile::TempDir,
}

impl Running {
    fn start() -> Self {
        let runtime = Runtime::new().expect("a runtime");
        let folder = tempfile::tempdir().expect("a scratch folder");
        let mut config = ArenaConfig::new(Run { game: tic_tac_toe(), seed: 1 }, folder.path());
        config.matches.gate = GateConfig { games: 20, ..GateConfig::default() };
        config.matches.champion_games = 2;
        config.matches.anchor_games = 2;
        config.matches.spare_share = 0.0;
        config.max_weights_bytes = 1 << 20;
        let channel = runtime.block_on(async {
            let arena = Arena::bind(config, Arc::new(SystemClock::default())).await;
            let arena = arena.expect("a valid configuration");
            let (url, mut idle) = (format!("http://{}", arena.local_addr()), arena.idle_after());
            tokio::spawn(arena.run_until(CancellationToken::new()));
            let mut client = ArenaClient::new(&url).expect("a URL");
            for generation in 0..2 {
                let file = weights(&tic_tac_toe(), tiny(), generation, 1, 3).to_safetensors();
                let published = client.publish(Generation(generation), 1, file.into()).await;
                published.expect("valid weights");
                let is_decided = |idle: &Option<Generation>| *idle == Some(Generation(generation));
                idle.wait_for(is_decided).await.expect("the arena runs");
            }
            Endpoint::from_shared(url).expect("a URL").connect().await.expect("the port is open")
        });
        Self { runtime, channel, _folder: folder }
    }
}

/// Splits the input into messages.
fn messages(mut bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut messages = Vec::new();
    while let Some((length, rest)) = bytes.split_first_chunk::<2>() {
        let length = usize::from(u16::from_le_bytes(*length)).min(rest.len());
        let (message, rest) = rest.split_at(length);
        messages.push(message.to_vec());
        bytes = rest;
    }
    messages
}

fuzz_target!(|bytes: &[u8]| {
    static RUNNING: OnceLock<Running> = OnceLock::new();
    let running = RUNNING.get_or_init(Running::start);
    let Some((&choice, bytes)) = bytes.split_first() else { return };
    let (path, is_endless) = CALLS[usize::from(choice) % CALLS.len()];
    let answers = usize::from(!is_endless);
    let call = call(&running.channel, path, messages(bytes), answers);
    let status = running.runtime.block_on(call);
    // tonic's own refusals: a message that does not decode, and a call without its one message.
    let is_of_transport =
        [UNDECODED, "Missing request message"].iter().any(|text| status.message().contains(text));
    let is_fault = matches!(status.code(), Code::Unknown | Code::Internal | Code::Unavailable);
    assert!(!is_fault || is_of_transport, "{path}: {status:?}");
    assert!(status.message().lines().count() <= 1, "{path}: {status:?}");
});
