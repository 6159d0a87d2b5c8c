//! The arena's state behind one door: store, weights, ratings, events.
//!
//! Shared by the gRPC handlers and the evaluator thread. Methods block.

use std::sync::mpsc::{SyncSender, TrySendError};
use std::sync::{Arc, Mutex, PoisonError};

use ouro_game::{Game, GameConfig, GameVisitor};
use ouro_net::{NetSpec, Weights};
use ouro_proto::arena_client::RatingTable;
use ouro_proto::pool::{PoolMember, PoolSnapshot};
use ouro_proto::{Checkpoint, CheckpointStatus, ContentHash, Generation};
use ouro_service::Clock;
use tokio::sync::{broadcast, watch};

use crate::comparison::expected_share;
use crate::error::CallError;
use crate::event::ArenaEvent;
use crate::gate::{PairResult, Score};
use crate::player_id::{ANCHOR, MatchId, PlayerId};
use crate::rating::{self, Tally};
use crate::store::{Promotion, Run, Store, StoreError, WeightsError, WeightsFolder};

/// Events that a slow watcher may be behind.
const EVENTS: usize = 1_024;

/// What a publication announces.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offer {
    pub(crate) hash: ContentHash,
    pub(crate) generation: Generation,
    pub(crate) step: u64,
    /// `None` stands for the newest generation before it.
    pub(crate) parent: Option<Generation>,
}

#[derive(Debug)]
pub(crate) struct Keeper {
    run: Run,
    store: Box<dyn Store>,
    weights: WeightsFolder,
    clock: Arc<dyn Clock>,
    ratings: watch::Sender<Arc<RatingTable>>,
    snapshots: watch::Sender<Arc<PoolSnapshot>>,
    events: broadcast::Sender<ArenaEvent>,
    wake: SyncSender<()>,
    /// Held while files and rows are brought in line, so that the removal of files does not
    /// take one whose row is about to be written.
    files: Mutex<()>,
}

impl Keeper {
    pub(crate) fn new(
        run: Run,
        store: Box<dyn Store>,
        weights: WeightsFolder,
        clock: Arc<dyn Clock>,
        wake: SyncSender<()>,
    ) -> Result<Self, StoreError> {
        store.bind_run(&run)?;
        let keeper = Self {
            run,
            store,
            weights,
            clock,
            ratings: watch::Sender::default(),
            snapshots: watch::Sender::default(),
            events: broadcast::Sender::new(EVENTS),
            wake,
            files: Mutex::new(()),
        };
        keeper.rate()?;
        Ok(keeper)
    }

    pub(crate) fn run(&self) -> &Run {
        &self.run
    }

    pub(crate) fn store(&self) -> &dyn Store {
        self.store.as_ref()
    }

    pub(crate) fn ratings(&self) -> watch::Receiver<Arc<RatingTable>> {
        self.ratings.subscribe()
    }

    /// The pool, whenever it changes.
    pub(crate) fn snapshots(&self) -> watch::Receiver<Arc<PoolSnapshot>> {
        self.snapshots.subscribe()
    }

    pub(crate) fn events(&self) -> broadcast::Receiver<ArenaEvent> {
        self.events.subscribe()
    }

    /// Tells whoever watches.
    pub(crate) fn tell(&self, event: ArenaEvent) {
        // Nobody watching is no error.
        let _ = self.events.send(event);
    }

    /// Makes the evaluator look again.
    pub(crate) fn wake(&self) {
        match self.wake.try_send(()) {
            // Full: it will look anyway. Disconnected: it has ended.
            Ok(()) | Err(TrySendError::Full(()) | TrySendError::Disconnected(())) => {}
        }
    }

    /// Takes a candidate whose bytes have the announced hash.
    pub(crate) fn publish(&self, offer: Offer, bytes: &[u8]) -> Result<Checkpoint, CallError> {
        self.check(offer, &Weights::from_safetensors(bytes)?)?;
        let checkpoint = Checkpoint {
            hash: offer.hash,
            generation: offer.generation,
            step: offer.step,
            size_bytes: bytes.len() as u64,
            status: CheckpointStatus::Candidate,
            published_at: self.now(),
            parent: self.parent(offer)?,
        };
        let stored = {
            let _files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
            // The file first: a row never points at nothing.
            self.weights.write(offer.hash, bytes)?;
            self.store.add_checkpoint(&checkpoint)?
        };
        if stored == checkpoint {
            tracing::info!(generation = offer.generation.0, hash = %offer.hash, "candidate arrived");
            self.tell(ArenaEvent::Published(stored.clone()));
            self.show_pool()?;
            self.wake();
        }
        Ok(stored)
    }

    /// The generation that a candidate was trained from: the one that it names, or the newest
    /// before it.
    fn parent(&self, offer: Offer) -> Result<Option<Generation>, CallError> {
        match offer.parent {
            Some(parent) if parent >= offer.generation => {
                Err(CallError::Parent { parent, generation: offer.generation })
            }
            Some(parent) => Ok(Some(parent)),
            None => {
                let rows = self.store.checkpoints()?;
                let before = |row: &&Checkpoint| row.generation < offer.generation;
                Ok(rows.iter().rev().find(before).map(|row| row.generation))
            }
        }
    }

    fn check(&self, offer: Offer, weights: &Weights) -> Result<(), CallError> {
        let meta = weights.meta();
        for (field, header, file) in [
            ("generation", u64::from(offer.generation.0), u64::from(meta.generation)),
            ("step", offer.step, meta.step),
        ] {
            if header != file {
                return Err(CallError::HeaderMismatch { field, header, file });
            }
        }
        let theirs = serde_json::from_str::<GameConfig>(&meta.game);
        if theirs.ok().as_ref() != Some(&self.run.game) {
            let ours = serde_json::to_string(&self.run.game)
                .unwrap_or_else(|error| format!("an unreadable game: {error}"));
            // The file's text comes from a stranger: cut it.
            return Err(CallError::ForeignGame {
                theirs: meta.game.chars().take(400).collect(),
                ours,
            });
        }
        self.run
            .game
            .visit(Fits(weights.spec()))
            .unwrap_or_else(|error| Err(error.to_string()))
            .map_err(CallError::ForeignSpec)
    }

    /// The weights file with this hash.
    pub(crate) fn read_weights(&self, hash: ContentHash) -> Result<Vec<u8>, WeightsError> {
        self.weights.read(hash)
    }

    /// Shows the pool as it stands to whoever watches.
    fn show_pool(&self) -> Result<(), StoreError> {
        let checkpoints = self.store.checkpoints()?;
        let newest = checkpoints.last().cloned();
        let ratings = self.ratings.borrow().clone();
        let elo = |generation: Generation| {
            let name = generation.to_string();
            ratings.ratings.iter().find(|row| row.player == name).map(|row| row.elo)
        };
        let strength = newest.as_ref().and_then(|newest| elo(newest.generation));
        let members: Vec<PoolMember> = checkpoints
            .into_iter()
            .filter(|row| matches!(row.status, CheckpointStatus::Pool | CheckpointStatus::Champion))
            .map(|checkpoint| {
                let ratings = strength.zip(elo(checkpoint.generation));
                let newest_wins = ratings.map(|(newest, member)| expected_share(newest - member));
                PoolMember { checkpoint, newest_wins }
            })
            .collect();
        let champion = members.iter().map(|member| &member.checkpoint);
        let champion = champion.into_iter().find(|row| row.status == CheckpointStatus::Champion);
        let champion = champion.cloned();
        self.snapshots.send_if_modified(|shown| {
            let mut snapshot = PoolSnapshot { revision: shown.revision, newest, champion, members };
            if **shown == snapshot && snapshot.revision > 0 {
                return false;
            }
            snapshot.revision += 1;
            *shown = Arc::new(snapshot);
            true
        });
        Ok(())
    }

    /// The candidate to play next: the newest. Older ones that wait are overtaken and dropped.
    pub(crate) fn next_candidate(&self) -> Result<Option<Checkpoint>, StoreError> {
        let mut waiting = self.store.checkpoints()?;
        waiting.retain(|row| row.status == CheckpointStatus::Candidate);
        let newest = waiting.pop();
        for overtaken in waiting {
            self.drop_candidate(overtaken.generation, "overtaken by a newer candidate")?;
        }
        Ok(newest)
    }

    /// Turns a candidate down without a verdict.
    pub(crate) fn drop_candidate(
        &self,
        generation: Generation,
        reason: &str,
    ) -> Result<(), StoreError> {
        self.store.reject(generation)?;
        tracing::info!(generation = generation.0, reason, "candidate dropped");
        self.tell(ArenaEvent::Dropped { generation, reason: reason.to_owned() });
        self.show_pool()
    }

    /// Makes a candidate champion.
    pub(crate) fn promote(
        &self,
        generation: Generation,
        beat: PlayerId,
        score: Score,
    ) -> Result<(), StoreError> {
        let promotion = Promotion { generation, beat, score, promoted_at: self.now() };
        self.store.promote(&promotion)?;
        tracing::info!(generation = generation.0, %beat, share = score.share(), "promoted");
        self.show_pool()?;
        self.tell(ArenaEvent::Promoted(promotion));
        Ok(())
    }

    /// Stores results of a match.
    pub(crate) fn record(&self, id: MatchId, results: &[PairResult]) -> Result<(), StoreError> {
        self.store.record(id, results).map(|_| ())
    }

    /// Computes everyone's rating anew.
    pub(crate) fn rate(&self) -> Result<(), StoreError> {
        let tallies: Vec<Tally> = self
            .store
            .scores()?
            .into_iter()
            .map(|(id, score)| Tally {
                player: id.candidate.to_string(),
                opponent: id.opponent.to_string(),
                score,
            })
            .collect();
        let ratings = Arc::new(rating::rate(&tallies, ANCHOR));
        self.ratings.send_replace(ratings.clone());
        self.tell(ArenaEvent::Rated(ratings));
        self.show_pool()
    }

    /// Removes the weights of rejected candidates, except the newest, which actors play.
    pub(crate) fn remove_rejected(&self) -> Result<(), CallError> {
        let _files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let checkpoints = self.store.checkpoints()?;
        let newest = checkpoints.last().map(|row| row.hash);
        let kept = |hash| {
            Some(hash) == newest
                || checkpoints
                    .iter()
                    .any(|row| row.hash == hash && row.status != CheckpointStatus::Rejected)
        };
        Ok(self.weights.retain(kept)?)
    }

    fn now(&self) -> f64 {
        self.clock.unix().as_secs_f64()
    }
}

/// Whether a network has the game's shape.
struct Fits<'a>(&'a NetSpec);

impl GameVisitor for Fits<'_> {
    type Output = Result<(), String>;

    fn visit<G: Game>(self, game: G) -> Self::Output {
        let (planes, actions) = (self.0.planes, self.0.actions);
        if planes != game.planes() {
            return Err(format!("it reads {planes:?}, the game shows {:?}", game.planes()));
        }
        if actions != game.action_count() {
            return Err(format!("it has {actions} actions, the game {}", game.action_count()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use ouro_net::{Architecture, WeightsMeta};
    use ouro_service::ManualClock;

    use super::*;
    use crate::store::EmbeddedStore;

    fn keeper(folder: &std::path::Path) -> Keeper {
        let game = GameConfig::by_name("tic_tac_toe").unwrap();
        let clock = Arc::new(ManualClock::new(Duration::from_secs(9)));
        let store = Box::new(EmbeddedStore::in_memory().unwrap());
        let weights = WeightsFolder::open(folder).unwrap();
        Keeper::new(Run { game, seed: 1 }, store, weights, clock, mpsc::sync_channel(1).0).unwrap()
    }

    struct Spec;

    impl GameVisitor for Spec {
        type Output = NetSpec;

        fn visit<G: Game>(self, game: G) -> NetSpec {
            let architecture = Architecture::Conv { channels: 2, layers: 1, hidden: 2 };
            NetSpec { planes: game.planes(), actions: game.action_count(), architecture }
        }
    }

    fn publish(keeper: &Keeper, generation: u32) -> Checkpoint {
        let spec = keeper.run.game.visit(Spec).unwrap();
        let game = serde_json::to_string(&keeper.run.game).unwrap();
        let meta = WeightsMeta { game, generation, step: 0 };
        let bytes = Weights::initialize(spec, meta, 1).unwrap().to_safetensors();
        let (hash, generation) = (ContentHash::of(&bytes), Generation(generation));
        keeper.publish(Offer { hash, generation, step: 0, parent: None }, &bytes).unwrap()
    }

    #[test]
    fn only_the_newest_candidate_is_played_and_the_overtaken_are_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let keeper = keeper(folder.path());
        let mut events = keeper.events();
        assert_eq!(keeper.next_candidate().unwrap(), None);
        let published: Vec<Checkpoint> = (0..3).map(|number| publish(&keeper, number)).collect();
        assert_eq!(keeper.next_candidate().unwrap().as_ref(), Some(&published[2]));
        let mut dropped = Vec::new();
        while let Ok(event) = events.try_recv() {
            if let ArenaEvent::Dropped { generation, .. } = event {
                dropped.push(generation.0);
            }
        }
        assert_eq!(dropped, [0, 1]);
        assert_eq!(keeper.next_candidate().unwrap().as_ref(), Some(&published[2]));
    }

    #[test]
    fn weights_of_the_rejected_are_removed_except_the_newest() {
        let folder = tempfile::tempdir().unwrap();
        let keeper = keeper(folder.path());
        let [first, second, third] = [0, 1, 2].map(|number| publish(&keeper, number));
        keeper.promote(first.generation, PlayerId::Random, Score::default()).unwrap();
        keeper.drop_candidate(second.generation, "test").unwrap();
        keeper.drop_candidate(third.generation, "test").unwrap();
        keeper.remove_rejected().unwrap();
        assert!(keeper.read_weights(first.hash).is_ok());
        assert!(matches!(keeper.read_weights(second.hash), Err(WeightsError::Missing(_))));
        assert!(keeper.read_weights(third.hash).is_ok());
        let pool = keeper.snapshots().borrow().clone();
        assert_eq!(pool.newest.as_ref().unwrap().generation, third.generation);
        assert_eq!(pool.champion.as_ref().unwrap().generation, first.generation);
        assert_eq!(pool.members[0].checkpoint.parent, None);
        assert_eq!(third.parent, Some(second.generation));
    }
}
