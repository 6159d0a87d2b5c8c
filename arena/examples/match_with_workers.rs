//! Times a match with 0, 1 and 2 workers: `cargo build --release -p ouro-arena`, then
//! `cargo run --release -p ouro-arena --example match_with_workers -- ROUNDS`.
//!
//! Each round plays a match of a new untrained network against `random` without workers, with one and
//! with two, in this order. Arena, workers and Redis run on this machine. A time is that from the
//! start of the match to the ratings after it.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ouro_arena::config::StoreConfig;
use ouro_arena::store::Run;
use ouro_arena::{Arena, ArenaConfig, ArenaEvent, MatchKind};
use ouro_net::{Architecture, Generation};
use ouro_proto::ArenaClient;
use ouro_rating::GateConfig;
use ouro_service::SystemClock;
use ouro_testkit::network::weights;
use ouro_testkit::process::Process;
use ouro_testkit::redis::RedisServer;
use tokio::sync::{broadcast, watch};
use tokio_util::sync::CancellationToken;

/// The matches: game, network, player and games.
const MATCHES: [(&str, &str, &str, u32); 2] = [
    (
        r#"{"game":"battlesnake","width":11,"height":11,"snakes":2}"#,
        r#"{"kind":"conv","channels":32,"layers":3,"hidden":64}"#,
        "mcts{sims=32,weights=self}",
        64,
    ),
    (
        r#"{"game":"tic_tac_toe"}"#,
        r#"{"kind":"conv","channels":4,"layers":1,"hidden":8}"#,
        "net{weights=self}",
        64,
    ),
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rounds = std::env::args().nth(1).map_or(Ok(5), |rounds| rounds.parse())?;
    let runtime = tokio::runtime::Runtime::new()?;
    MATCHES.iter().try_for_each(|setup| runtime.block_on(measure(*setup, rounds)))
}

/// An arena in this process.
struct Bench {
    folder: tempfile::TempDir,
    settings: PathBuf,
    url: String,
    config: ArenaConfig,
    client: ArenaClient,
    events: broadcast::Receiver<ArenaEvent>,
    workers: watch::Receiver<u32>,
    net: Architecture,
    generation: u32,
}

async fn measure(
    (game, net, player, games): (&str, &str, &str, u32),
    rounds: usize,
) -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let data = folder.path().join("redis");
    std::fs::create_dir(&data)?;
    let server = RedisServer::start(&data).ok_or("redis-server is not installed")?;
    let settings = folder.path().join("run.toml");
    let mut config = ArenaConfig::new(
        Run { game: serde_json::from_str(game)?, seed: 1 },
        folder.path().join("arena"),
    );
    config.address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    config.store = StoreConfig::Redis {
        url: server.url("arena"),
        name: "ouro".to_owned(),
        password_file: None,
        tls: Box::default(),
    };
    config.matches.player = player.to_owned();
    config.matches.anchors = Some(Vec::new());
    config.matches.anchor_games = games;
    config.matches.spare_share = 0.0;
    config.matches.gate = GateConfig { games: 2, ..GateConfig::default() };
    write_settings(&settings, game)?;
    let arena = Arena::bind(config.clone(), Arc::new(SystemClock::new())).await?;
    let (events, workers) = (arena.events(), arena.workers());
    let stop = CancellationToken::new();
    let running = tokio::spawn(arena.run_until(stop.clone()));
    let client = ArenaClient::new(&format!("http://{}", config.address))?;
    let net = serde_json::from_str(net)?;
    let url = server.url("worker");
    let mut bench =
        Bench { folder, settings, url, config, client, events, workers, net, generation: 0 };
    // The first match fills caches.
    bench.play().await?;
    let mut times: [Vec<f64>; 3] = Default::default();
    for _ in 0..rounds {
        for (count, times) in times.iter_mut().enumerate() {
            times.push(bench.play_with(count).await?.as_secs_f64());
        }
    }
    stop.cancel();
    running.await??;
    report(player, games, &times);
    Ok(())
}

/// Settings of workers for this game.
fn write_settings(path: &Path, game: &str) -> Result<(), Box<dyn std::error::Error>> {
    let game: BTreeMap<String, serde_json::Value> = serde_json::from_str(game)?;
    // Only the game matters to a worker.
    let mut text = String::from("preset = \"duel-7x7\"\n\n[game]\n");
    for (key, value) in game {
        text += &format!("{key} = {value}\n");
    }
    Ok(std::fs::write(path, text)?)
}

impl Bench {
    /// The time of a match with this number of workers.
    async fn play_with(&mut self, count: usize) -> Result<Duration, Box<dyn std::error::Error>> {
        let program = std::env::current_exe()?;
        let program = program.parent().and_then(Path::parent).ok_or("no folder")?;
        let worker = |_| {
            let mut command = Command::new(program.join("ouro-arena"));
            command.arg("worker").current_dir(self.folder.path()).arg("--config");
            command.arg(&self.settings).args(["--store", &self.url]);
            command.args(["--arena", &self.config.address.to_string()]);
            Process::start(command.stderr(Stdio::null()))
        };
        let mut running: Vec<Process> = (0..count).map(worker).collect();
        let wanted = u32::try_from(count)?;
        self.workers.wait_for(|workers| *workers == wanted).await?;
        let time = self.play().await?;
        for worker in &mut running {
            worker.signal("-TERM");
            worker.wait();
        }
        Ok(time)
    }

    /// The time of one match.
    async fn play(&mut self) -> Result<Duration, Box<dyn std::error::Error>> {
        let generation = self.generation;
        self.generation += 1;
        let seed = generation.into();
        let file = weights(&self.config.run.game, self.net.clone(), generation, 1, seed);
        self.client.publish(Generation(generation), 1, file.to_safetensors().into()).await?;
        let mut start = None;
        loop {
            match self.events.recv().await? {
                ArenaEvent::MatchStarted(info) if info.key.kind == MatchKind::Rating => {
                    start = Some(Instant::now());
                }
                ArenaEvent::Rated(_) => {
                    if let Some(start) = start {
                        return Ok(start.elapsed());
                    }
                }
                _ => {}
            }
        }
    }
}

fn report(player: &str, games: u32, times: &[Vec<f64>; 3]) {
    let median = |times: &[f64]| {
        let mut sorted = times.to_vec();
        sorted.sort_by(f64::total_cmp);
        sorted[sorted.len() / 2]
    };
    for (workers, with) in times.iter().enumerate() {
        // Pairs of one round, so that load on the machine affects both alike.
        let ratios: Vec<f64> =
            times[0].iter().zip(with).map(|(alone, with)| alone / with).collect();
        ouro_testkit::print_uncaptured(format_args!(
            "{player}, {games} games, {workers} workers: {:.3} s, {:.2} times as fast ({with:.3?})",
            median(with),
            median(&ratios),
        ));
    }
}
