//! Fixtures of the unit tests: small networks with random weights for tic-tac-toe.

use std::path::Path;
use std::sync::Arc;

use ouro_game::tic_tac_toe::TicTacToe;
use ouro_game::{Game, GameConfig};
use ouro_net::{Architecture, ContentHash, Engine, Generation, ValueRange, Weights, WeightsMeta};
use ouro_players::OpponentShares;
use ouro_replay::Trajectory;
use ouro_settings::PlayConfig;
use ouro_testkit::network::spec_of;

use crate::roster::Member;
use crate::{ActorConfig, Entry, Roster, Worker, WorkerSettings};

pub(crate) fn config() -> GameConfig {
    ouro_testkit::network::tic_tac_toe()
}

/// Random weights for a game, different for each generation.
pub(crate) fn weights_for<G: Game>(game: &G, generation: u32) -> Weights {
    let architecture = Architecture::Mlp { layers: 1, hidden: 8, value: ValueRange::Tanh };
    let spec = spec_of(game, architecture);
    let meta = WeightsMeta { game: "{}".to_owned(), generation: Generation(generation), step: 0 };
    let weights = Weights::initialize(spec, meta, u64::from(generation)).unwrap();
    // Fresh policies are almost uniform and hard to distinguish; larger weights separate them.
    let mut tensors = weights.tensors().to_vec();
    tensors.iter_mut().flatten().for_each(|value| *value *= 3.0);
    let (spec, meta) = (weights.spec().clone(), weights.meta().clone());
    Weights::from_tensors(spec, meta, tensors).unwrap()
}

pub(crate) fn weights(generation: u32) -> Weights {
    weights_for(&TicTacToe::default(), generation)
}

pub(crate) fn entry_for<G: Game>(game: &G, generation: u32) -> Entry {
    let weights = weights_for(game, generation);
    let hash = ContentHash::of(&weights.to_safetensors());
    Entry { hash, generation: Generation(generation), engine: Arc::new(Engine::new(&weights)) }
}

pub(crate) fn entry(generation: u32) -> Entry {
    entry_for(&TicTacToe::default(), generation)
}

pub(crate) fn roster_for<G: Game>(game: &G, newest: u32, pool: &[u32]) -> Roster {
    let member = |&generation: &u32| {
        let entry = entry_for(game, generation);
        Member { entry, newest_wins: None }
    };
    let revision = None;
    Roster { revision, newest: entry_for(game, newest), pool: pool.iter().map(member).collect() }
}

pub(crate) fn roster(newest: u32, pool: &[u32]) -> Roster {
    roster_for(&TicTacToe::default(), newest, pool)
}

/// Settings of a worker that plays `games` games of tic-tac-toe at once, without search.
pub(crate) fn settings(games: usize) -> WorkerSettings {
    let play = PlayConfig {
        games_per_thread: games,
        opponents: OpponentShares::SELF_PLAY,
        // With the default cohort, a few games would meet too few opponents.
        cohort: Some(1),
        max_plies: 9,
        ..PlayConfig::default()
    };
    let usual = ActorConfig::new(config(), String::new(), String::new());
    ActorConfig { play, ..usual }.worker(5, 0)
}

/// A finished game between learning seats of this generation.
pub(crate) fn played(generation: u32) -> Trajectory {
    let mut worker = Worker::new(TicTacToe::default(), Arc::new(config()), settings(1)).unwrap();
    let roster = roster(generation, &[]);
    let mut finished = Vec::new();
    while finished.is_empty() {
        finished = worker.tick(&roster).unwrap();
    }
    finished.remove(0).trajectory
}

/// Parses a file of JSON lines.
pub(crate) fn json_lines(path: &Path) -> Vec<serde_json::Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
