//! One learner process under the load of many actors, beside hostile peers or without them.
//!
//! The actors push real games over real connections, as fast as they are acknowledged or at a fixed
//! rate. Every game that an actor sends is accepted exactly once. `cargo test` runs a short version
//! that judges counts, memory and open files. `cargo xtask load` measures everything in turns, with
//! and without floods, and prints tables.
#![cfg(target_os = "linux")]

mod actors;
mod fan_out;
mod learner;
mod measure;
mod plan;
mod report;
#[path = "../support"]
mod support {
    pub(crate) mod flood {
        mod bytes;
        pub(crate) mod client;
        pub(crate) mod table;
    }
    pub(crate) mod http;
    pub(crate) mod programs;
}

use std::time::Duration;

use actors::Games;
use learner::{LoadedLearner, SMALL_NET};
use measure::{Case, measure};
use plan::{PUSHED, Plan, game_of};
use support::flood::table::{FLOODS, Flood, Port};

/// Largest resident memory of the learner in MiB, with 200 actors, a window of at most 64 MiB of
/// games, and all floods at once.
const MEMORY_MIB: f64 = 512.0;

/// Most open files of the learner: a connection for each of 200 actors, those of the floods, and
/// those of the process.
const FILES: f64 = 1_024.0;

/// The floods of the learner's port.
fn hostile_peers() -> Vec<Flood> {
    FLOODS.iter().filter(|flood| flood.port == Port::Learner).cloned().collect()
}

/// All actors at full speed, then all floods beside them.
fn short() {
    let (name, settings) = PUSHED[0];
    let games = Games::random(&game_of(settings), 64);
    let mut learner = LoadedLearner::start(settings, SMALL_NET);
    for floods in [Vec::new(), hostile_peers()] {
        let case = Case { name: format!("{name}, short"), actors: 200, rate: None, floods };
        let sample = measure(&mut learner, &case, &games, Duration::from_secs(3));
        assert!(sample.games_per_second > 0.0, "{sample:?}");
        assert!(sample.memory_mib < MEMORY_MIB, "{sample:?}");
        assert!(sample.files < FILES, "{sample:?}");
    }
    learner.end();
}

#[test]
fn every_game_is_accepted_once_under_load_and_beside_hostile_peers() {
    match std::env::var("OURO_LOAD") {
        Ok(text) => report::run(&Plan::parse(&text), &hostile_peers()),
        Err(_) => short(),
    }
}
