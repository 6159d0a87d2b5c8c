//! Test helpers: the state of a tic-tac-toe arena, and networks for it.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

use ouro_game::GameConfig;
use ouro_net::{ContentHash, Generation};
use ouro_proto::Checkpoint;
use ouro_service::ManualClock;
use ouro_testkit::network::{tiny, weights};

use crate::config::MatchConfig;
use crate::error::CallError;
use crate::state::{ArenaState, Offer};
use crate::store::{EmbeddedStore, Run, WeightsFolder};

/// A state with its weights in `folder`, and the receiver of its wake-ups.
pub(crate) fn state(
    folder: &Path,
    store: EmbeddedStore,
    config: &MatchConfig,
) -> (ArenaState, Receiver<()>) {
    let game = GameConfig::by_name("tic_tac_toe").unwrap();
    let clock = Arc::new(ManualClock::new(Duration::from_secs(9)));
    let weights = WeightsFolder::open(folder).unwrap();
    let checked = crate::config::check(config, &game).unwrap();
    let (waker, wake) = sync_channel(1);
    let run = Run { game, seed: 1 };
    (ArenaState::load(run, checked, Box::new(store), weights, clock, waker).unwrap(), wake)
}

/// Publishes an untrained network.
pub(crate) fn offer(state: &ArenaState, generation: u32) -> Result<Checkpoint, CallError> {
    let bytes = weights(&state.run().game, tiny(), generation, 0, 1).to_safetensors();
    let (hash, generation) = (ContentHash::of(&bytes), Generation(generation));
    state.publish(Offer { hash, generation, step: 0, parent: None }, &bytes)
}
