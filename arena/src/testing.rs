//! Test helpers: the state of a tic-tac-toe arena, and networks for it.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

use ouro_game::GameConfig;
use ouro_net::{ContentHash, Generation};
use ouro_proto::Checkpoint;
use ouro_rating::{ClusterResult, ClusterShape, GameResult, Gate, GateConfig, Ranking};
use ouro_replay::testing::MemoryDisk;
use ouro_service::{Clock, ManualClock};
use ouro_testkit::network::{tiny, weights};

use crate::config::MatchConfig;
use crate::error::CallError;
use crate::state::{ArenaState, Offer};
use crate::store::{EmbeddedStore, Outcome, Run, Store, WeightsFolder, WeightsStore};

/// A state with its store on `disk` and its weights in `folder`, and the receiver of its wake-ups.
pub(crate) fn state(
    folder: &Path,
    disk: &MemoryDisk,
    config: &MatchConfig,
) -> (ArenaState, Receiver<()>) {
    timed_state(folder, disk, config, Arc::new(ManualClock::new(Duration::from_secs(9))))
}

/// Like [`state`], with a clock.
pub(crate) fn timed_state(
    folder: &Path,
    disk: &MemoryDisk,
    config: &MatchConfig,
    clock: Arc<dyn Clock>,
) -> (ArenaState, Receiver<()>) {
    stored_state(folder, Box::new(EmbeddedStore::on(disk.clone()).unwrap()), config, clock)
}

/// Like [`timed_state`], on another store.
pub(crate) fn stored_state(
    folder: &Path,
    store: Box<dyn Store>,
    config: &MatchConfig,
    clock: Arc<dyn Clock>,
) -> (ArenaState, Receiver<()>) {
    full_state(Box::new(WeightsFolder::open(folder).unwrap()), store, config, clock)
}

/// Like [`stored_state`], with weights anywhere.
pub(crate) fn full_state(
    weights: Box<dyn WeightsStore>,
    store: Box<dyn Store>,
    config: &MatchConfig,
    clock: Arc<dyn Clock>,
) -> (ArenaState, Receiver<()>) {
    let game = GameConfig::by_name("tic_tac_toe").unwrap();
    let checked = crate::config::check(config, &game, None).unwrap();
    let (waker, wake) = sync_channel(1);
    let run = Run { game, seed: 1 };
    (ArenaState::load(run, checked, store, weights, clock, waker).unwrap(), wake)
}

/// Publishes an untrained network.
pub(crate) fn offer(state: &ArenaState, generation: u32) -> Result<Checkpoint, CallError> {
    offer_from(state, None, generation)
}

/// The same, with the announced parent.
pub(crate) fn offer_from(
    state: &ArenaState,
    parent: Option<u32>,
    generation: u32,
) -> Result<Checkpoint, CallError> {
    let bytes = weights(&state.run().game, tiny(), generation, 0, 1).to_safetensors();
    let (hash, generation) = (ContentHash::of(&bytes), Generation(generation));
    let parent = parent.map(Generation);
    state.publish(Offer { hash, generation, step: 0, parent }, &bytes)
}

/// Promotes a generation over the champion.
pub(crate) fn promote(state: &ArenaState, generation: Generation) {
    let champion = state.store().champion().unwrap();
    let shape = ClusterShape { seats: 2 };
    let rule = GateConfig { games: 2, ..GateConfig::default() };
    let mut gate = Gate::new(rule, shape).unwrap();
    let won =
        |fingerprint| GameResult { ranking: Ranking::new(1.0, &[-1.0]), margin: 0.0, fingerprint };
    gate.fold(&ClusterResult { cluster: 0, games: vec![won(1), won(2)] });
    let report = Box::new(gate.report());
    let outcome = Outcome::Ruled { number: 0, champion, report };
    state.decide(generation, outcome, String::new()).unwrap();
}
