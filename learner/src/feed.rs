//! Threads that turn drawn positions into batches, a little ahead of training.
//!
//! Each batch carries the state of the replay after its draw. A training state that includes the
//! batch therefore resumes with the next one, even if more batches were drawn ahead. With one
//! thread, batches arrive in the order of their draws.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};

use ouro_game::Rng;
use ouro_replay::{Draw, EncodedTrajectory, ReplayState};
use ouro_service::{Background, BackgroundError};

use crate::algorithm::Algorithm;
use crate::alphazero::AlphaZero;
use crate::reinforce::Reinforce;
use crate::replay::SharedReplay;
use crate::rules::{Rules, UnpackError};

/// Batches that are ready ahead of training. Two hide the time of an assembly; more would only use
/// older data.
const AHEAD: usize = 2;

/// An algorithm whose batches are assembled from journaled games.
pub(crate) trait Assemble: Algorithm {
    /// Assembles a batch from drawn positions.
    fn assemble(
        rules: &dyn Rules,
        draws: &[Draw<EncodedTrajectory>],
        augmentation: &mut Rng,
    ) -> Result<Self::Batch, UnpackError>;
}

impl Assemble for AlphaZero {
    fn assemble(
        rules: &dyn Rules,
        draws: &[Draw<EncodedTrajectory>],
        augmentation: &mut Rng,
    ) -> Result<Self::Batch, UnpackError> {
        rules.positions(draws, augmentation)
    }
}

impl Assemble for Reinforce {
    fn assemble(
        rules: &dyn Rules,
        draws: &[Draw<EncodedTrajectory>],
        augmentation: &mut Rng,
    ) -> Result<Self::Batch, UnpackError> {
        rules.segments(draws, augmentation)
    }
}

/// A batch on its way to training.
#[derive(Debug)]
pub(crate) struct AssembledBatch<B> {
    /// The batch.
    pub batch: B,
    /// State of the replay after the draw.
    pub state: ReplayState,
}

/// Why a batch cannot be assembled.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FeedError {
    /// A game of the journal cannot be replayed any more.
    #[error(transparent)]
    Unpack(#[from] UnpackError),
    /// The code of the game panicked. The journal is intact.
    #[error(
        "the code of the game panicked where game {} of the journal is seen by the network; mend it and start again",
        .game.map_or_else(|| "(unknown)".to_owned(), |number| number.to_string())
    )]
    Panicked {
        /// Number of the first game that panics again when it is assembled alone, if any.
        game: Option<u64>,
    },
}

/// The queue from which training reads batches. Ends once the replay is closed.
pub(crate) type Feed<B> = Receiver<Result<AssembledBatch<B>, FeedError>>;

/// Starts `threads` threads that assemble batches of `rows` positions.
pub(crate) fn start<A: Assemble>(
    replay: &Arc<SharedReplay>,
    rules: &Arc<dyn Rules>,
    seed: u64,
    rows: usize,
    threads: usize,
) -> Result<Feed<A::Batch>, BackgroundError> {
    let (batches, feed) = sync_channel(AHEAD);
    for index in 0..threads {
        let (replay, rules, batches) = (Arc::clone(replay), Arc::clone(rules), batches.clone());
        let run = move || {
            while let Some(drawn) = replay.draw(rows) {
                // Keyed by the batch, so that symmetries depend neither on threads nor on restarts.
                let mut augmentation = Rng::indexed(seed, "augment", drawn.index);
                let batch = assemble::<A>(&*rules, &drawn.batch.draws, &mut augmentation);
                let failed = batch.is_err();
                let assembled = batch.map(|batch| AssembledBatch { batch, state: drawn.state });
                if batches.send(assembled).is_err() || failed {
                    return;
                }
            }
        };
        // Detached: the channel disconnects when all threads have ended.
        drop(Background::thread(format!("ouro-feed-{index}"), run)?);
    }
    Ok(feed)
}

/// Assembles a batch and turns a panic of the game's code into an error.
///
/// Unwinding is safe: the draws are not changed, and a partial batch is dropped. After a panic each
/// draw is assembled alone to find the game.
fn assemble<A: Assemble>(
    rules: &dyn Rules,
    draws: &[Draw<EncodedTrajectory>],
    augmentation: &mut Rng,
) -> Result<A::Batch, FeedError> {
    let again = augmentation.clone();
    let attempt = |draws: &[Draw<EncodedTrajectory>], augmentation: &mut Rng| {
        catch_unwind(AssertUnwindSafe(|| A::assemble(rules, draws, augmentation)))
    };
    if let Ok(batch) = attempt(draws, augmentation) {
        return Ok(batch?);
    }
    let panics = |draw: &&Draw<EncodedTrajectory>| {
        attempt(std::slice::from_ref(draw), &mut again.clone()).is_err()
    };
    Err(FeedError::Panicked { game: draws.iter().find(panics).map(|draw| draw.number) })
}

#[cfg(test)]
mod tests;
