//! Measures a match at the gate between equal networks, for several numbers of games abreast:
//! `cargo run -p ouro-arena --example bench_gate -- checkpoints/duel-7x7.safetensors`.
//!
//! The times are CPU time of this process, so other load on the machine hardly changes them. Linux
//! only.

use std::path::Path;
use std::sync::Arc;

use ouro_arena::store::{Outcome, Run};
use ouro_arena::{Arena, ArenaConfig, ArenaEvent};
use ouro_net::{Generation, Weights, WeightsMeta};
use ouro_proto::ArenaClient;
use ouro_service::SystemClock;
use tokio_util::sync::CancellationToken;

/// Games abreast.
const ABREAST: [usize; 5] = [64, 2, 4, 8, 16];

/// Clock ticks per second in `/proc/self/stat`.
const TICKS: f64 = 100.0;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let path = std::env::args().nth(1).ok_or("give a file of weights")?;
    let weights = Weights::from_safetensors(&std::fs::read(path)?)?;
    let runtime = tokio::runtime::Runtime::new()?;
    ABREAST.iter().try_for_each(|&parallel| runtime.block_on(measure(&weights, parallel)))
}

/// CPU seconds that this process has used.
fn cpu() -> Result<f64, Failure> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: Result<Vec<f64>, _> = fields.skip(11).take(2).map(str::parse).collect();
    Ok(ticks?.iter().sum::<f64>() / TICKS)
}

/// The same network as another generation.
fn renamed(weights: &Weights, generation: u32) -> Result<Vec<u8>, Failure> {
    let meta =
        WeightsMeta { generation: Generation(generation), step: 1, ..weights.meta().clone() };
    let tensors = weights.tensors().to_vec();
    Ok(Weights::from_tensors(weights.spec().clone(), meta, tensors)?.to_safetensors())
}

async fn measure(weights: &Weights, parallel: usize) -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    let game = serde_json::from_str(&weights.meta().game)?;
    let mut config = ArenaConfig::new(Run { game, seed: 1 }, Path::new(folder.path()));
    config.matches.player = "mcts{sims=16,weights=self}".to_owned();
    config.matches.parallel = parallel;
    config.matches.max_plies = 400;
    config.matches.anchors = Some(Vec::new());
    config.matches.anchor_games = 0;
    config.matches.spare_share = 0.0;
    // Only the number of games ends the match, so each number abreast plays the same games.
    config.matches.gate.games = 100;
    config.matches.gate.sequential = false;
    let arena = Arena::bind(config, Arc::new(SystemClock::new())).await?;
    let mut client = ArenaClient::new(&format!("http://{}", arena.local_addr()))?;
    let mut events = arena.events();
    let stop = CancellationToken::new();
    let running = tokio::spawn(arena.run_until(stop.clone()));
    for generation in 0..2 {
        let file = renamed(weights, generation)?;
        client.publish(Generation(generation), 1, file.into()).await?;
        let (mut start, mut first) = (cpu()?, None);
        let decision = loop {
            match events.recv().await? {
                ArenaEvent::MatchStarted(_) => start = cpu()?,
                ArenaEvent::GateProgress { .. } => first = first.or(Some(cpu()? - start)),
                ArenaEvent::Decided(decision) => break decision,
                _ => {}
            }
        };
        let used = cpu()? - start;
        let Outcome::Ruled { report, .. } = decision.outcome else { return Err("no match".into()) };
        // Generation 0 only becomes the champion.
        if generation == 1 {
            ouro_testkit::print_uncaptured(format_args!(
                "{parallel:>3} games abreast: first pair after {:.2} CPU-s, verdict after {used:.2} \
                 CPU-s and {} games, {:.0} CPU-ms per game that counts",
                first.unwrap_or_default(),
                report.games,
                1e3 * used / f64::from(report.games),
            ));
        }
    }
    stop.cancel();
    running.await??;
    Ok(())
}
