//! A keeper of tic-tac-toe, and networks for it.

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
use crate::keeper::{Keeper, Offer};
use crate::store::{EmbeddedStore, Run, WeightsFolder};

/// A keeper with its weights in `folder`, and what wakes its evaluator.
pub(crate) fn keeper(
    folder: &Path,
    store: EmbeddedStore,
    config: &MatchConfig,
) -> (Keeper, Receiver<()>) {
    let game = GameConfig::by_name("tic_tac_toe").unwrap();
    let clock = Arc::new(ManualClock::new(Duration::from_secs(9)));
    let weights = WeightsFolder::open(folder).unwrap();
    let checked = crate::config::check(config, &game).unwrap();
    let (waker, wake) = sync_channel(1);
    let run = Run { game, seed: 1 };
    (Keeper::new(run, checked, Box::new(store), weights, clock, waker).unwrap(), wake)
}

/// Offers a network that nobody trained.
pub(crate) fn offer(keeper: &Keeper, generation: u32) -> Result<Checkpoint, CallError> {
    let bytes = weights(&keeper.run().game, tiny(), generation, 0, 1).to_safetensors();
    let (hash, generation) = (ContentHash::of(&bytes), Generation(generation));
    keeper.publish(Offer { hash, generation, step: 0, parent: None }, &bytes)
}
