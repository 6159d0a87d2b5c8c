//! Candidates on their way in, and which of them is next.

use std::sync::atomic::Ordering;

use ouro_game::{Game, GameConfig, GameVisitor};
use ouro_net::{ContentHash, Generation, NetSpec, Weights};
use ouro_proto::{Checkpoint, CheckpointStatus};

use super::{Keeper, held};
use crate::error::CallError;
use crate::event::ArenaEvent;
use crate::run::Waiting;
use crate::store::{Outcome, StoreError};

/// What a publication announces.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offer {
    pub(crate) hash: ContentHash,
    pub(crate) generation: Generation,
    pub(crate) step: u64,
    /// `None` stands for the newest generation before it.
    pub(crate) parent: Option<Generation>,
}

impl Keeper {
    /// Takes a candidate whose bytes have the announced hash. Without room on the disk it is not
    /// taken, which is said once, and whoever sent it tries again.
    pub(crate) fn publish(&self, offer: Offer, bytes: &[u8]) -> Result<Checkpoint, CallError> {
        let was_full = self.trouble.borrow().of(Waiting::Candidates).is_some();
        let has_room = if was_full { self.store.mend().map_err(CallError::from) } else { Ok(()) };
        let taken = has_room.and_then(|()| self.take(offer, bytes));
        let words = match &taken {
            Ok(_) => None,
            Err(error) if error.is_no_space() => Some(error.to_string()),
            Err(_) => return taken,
        };
        if self.note_trouble(Waiting::Candidates, words) {
            match &taken {
                Ok(_) => tracing::warn!("there is space again: candidates are taken"),
                Err(error) => tracing::error!(%error, "the disk is full: candidates wait"),
            }
        }
        taken
    }

    fn take(&self, offer: Offer, bytes: &[u8]) -> Result<Checkpoint, CallError> {
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
            let _files = held(&self.files);
            // The file first: a row never points at nothing.
            self.weights.write(offer.hash, bytes)?;
            self.store.add_checkpoint(&checkpoint)?
        };
        // The store cannot say whether it is new: a commit that failed may have happened all the
        // same. The evaluator first: it is not new if it is sent again because of what follows.
        if self.announce(&stored) {
            self.arrived.store(true, Ordering::Release);
            self.wake();
        }
        self.show_pool()?;
        Ok(stored)
    }

    /// Tells of a candidate that is stored, once, however often it comes; whether it is new.
    fn announce(&self, candidate: &Checkpoint) -> bool {
        let is_new = held(&self.announced).insert(candidate.generation);
        if is_new {
            let (generation, hash) = (candidate.generation.0, candidate.hash);
            tracing::info!(generation, %hash, "candidate arrived");
            self.tell(ArenaEvent::Published(candidate.clone()));
        }
        is_new
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
            ("generation", u64::from(offer.generation.0), u64::from(meta.generation.0)),
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

    /// Whether a candidate arrived since [`next_candidate`](Self::next_candidate) was asked.
    pub(crate) fn has_news(&self) -> bool {
        self.arrived.load(Ordering::Acquire)
    }

    /// The candidate to play next: the newest. Those that wait and are older than it, or older
    /// than the champion, are overtaken and dropped.
    pub(crate) fn next_candidate(&self) -> Result<Option<Checkpoint>, StoreError> {
        self.arrived.store(false, Ordering::Release);
        let champion = self.store.champion()?.generation();
        let mut waiting = self.store.checkpoints()?;
        waiting.retain(|row| row.status == CheckpointStatus::Candidate);
        for candidate in &waiting {
            self.announce(candidate);
        }
        let newest = waiting.pop_if(|row| Some(row.generation) > champion);
        for overtaken in waiting {
            let reason = if Some(overtaken.generation) < champion {
                "older than the champion"
            } else {
                "overtaken by a newer candidate"
            };
            self.drop_candidate(overtaken.generation, reason)?;
        }
        Ok(newest)
    }

    /// Turns a candidate down without a verdict.
    pub(crate) fn drop_candidate(
        &self,
        generation: Generation,
        reason: &str,
    ) -> Result<(), StoreError> {
        let explanation = format!("{generation} was dropped without a verdict: {reason}.");
        self.decide(generation, Outcome::Dropped { reason: reason.to_owned() }, explanation)
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
