//! A keeper of tic-tac-toe, and networks for it.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

use ouro_game::{Game, GameConfig, GameVisitor};
use ouro_net::{Architecture, ContentHash, Generation, NetSpec, Weights, WeightsMeta};
use ouro_proto::Checkpoint;
use ouro_service::ManualClock;

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
    let checked = config.check(&game).unwrap();
    let (waker, wake) = sync_channel(1);
    let run = Run { game, seed: 1 };
    (Keeper::new(run, checked, Box::new(store), weights, clock, waker, false).unwrap(), wake)
}

struct Spec;

impl GameVisitor for Spec {
    type Output = NetSpec;

    fn visit<G: Game>(self, game: G) -> NetSpec {
        let architecture = Architecture::Conv { channels: 2, layers: 1, hidden: 2 };
        NetSpec { planes: game.planes(), actions: game.action_count(), architecture }
    }
}

/// Offers a network that nobody trained.
pub(crate) fn offer(keeper: &Keeper, generation: u32) -> Result<Checkpoint, CallError> {
    let spec = keeper.run().game.visit(Spec).unwrap();
    let game = serde_json::to_string(&keeper.run().game).unwrap();
    let meta = WeightsMeta { game, generation: Generation(generation), step: 0 };
    let bytes = Weights::initialize(spec, meta, 1).unwrap().to_safetensors();
    let (hash, generation) = (ContentHash::of(&bytes), Generation(generation));
    keeper.publish(Offer { hash, generation, step: 0, parent: None }, &bytes)
}
