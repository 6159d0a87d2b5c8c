//! Evaluates the leaves of many searches in one batch.
//!
//! A step visits every search once, gathers its leaves, evaluates them together and returns every
//! estimate. No evaluation is pending between steps, so searches can be read, advanced or replaced
//! there. A decided game can continue at once, and batches stay full.
//!
//! Contract: results do not depend on which searches share a batch (see [`Evaluator`]). A step
//! does a bounded amount of work, so that callers can keep a deadline: one batch, and at most
//! [`KNOWN_PER_STEP`] simulations per search that need no evaluation.

use ouro_game::Game;

use super::search::{LeafId, Search, SelectOutcome};
use crate::evaluator::{Estimates, Evaluator, Leaf};

/// Most simulations of one search in one step that end in a position of known value.
///
/// If all leaves of a tree are known but the root is not proven, as in matching pennies, every
/// simulation is of this kind.
pub const KNOWN_PER_STEP: usize = 256;

/// The work of one step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepReport {
    /// Leaves evaluated.
    pub leaves: usize,
    /// Simulations made without an evaluation.
    pub known: usize,
}

impl StepReport {
    /// Whether the step did nothing, because every search is done.
    pub fn is_idle(&self) -> bool {
        self.leaves == 0 && self.known == 0
    }
}

/// Gathers leaves for an evaluator. See the [module](self).
#[derive(Debug)]
pub struct Scheduler<G: Game> {
    batch: usize,
    /// The search that the next step starts with, so that all searches get their turn if a batch
    /// cannot hold the leaves of all.
    cursor: usize,
    /// Leaves. May be longer than a batch, so that leaves beyond are reused.
    leaves: Vec<Leaf<G>>,
    /// The search and the leaf id of each leaf of the batch.
    origins: Vec<(usize, LeafId)>,
    answers: Estimates,
}

impl<G: Game> Scheduler<G> {
    /// A scheduler of batches of at most `batch` leaves, or of the `leaves_in_flight` of one
    /// search if that is more.
    pub fn new(batch: usize) -> Self {
        Self {
            batch: batch.max(1),
            cursor: 0,
            leaves: Vec::new(),
            origins: Vec::new(),
            answers: Estimates::new(),
        }
    }

    /// Leaves in a full batch.
    pub fn batch(&self) -> usize {
        self.batch
    }

    /// Gathers and evaluates one batch. Idle when every search is done.
    pub fn step<E: Evaluator<G> + ?Sized>(
        &mut self,
        game: &G,
        searches: &mut [Search<G>],
        evaluator: &mut E,
    ) -> StepReport {
        let known = self.gather(game, searches);
        let count = self.origins.len();
        if count == 0 {
            return StepReport { leaves: 0, known };
        }
        self.answers.reset(game);
        evaluator.evaluate(game, &mut self.leaves[..count], &mut self.answers);
        debug_assert_eq!(self.answers.len(), count, "one evaluation per leaf");
        for (leaf, (search, leaf_id)) in self.origins.drain(..).enumerate() {
            let missing = crate::evaluator::Estimate { values: &[], priors: None, is_exact: false };
            let answer = self.answers.get(leaf).unwrap_or(missing);
            searches[search].back_up(game, leaf_id, answer);
        }
        StepReport { leaves: count, known }
    }

    /// Steps until every search is done.
    pub fn run<E: Evaluator<G> + ?Sized>(
        &mut self,
        game: &G,
        searches: &mut [Search<G>],
        evaluator: &mut E,
    ) {
        while !self.step(game, searches, evaluator).is_idle() {}
    }

    /// Fills the batch; returns the simulations that needed no evaluation.
    fn gather(&mut self, game: &G, searches: &mut [Search<G>]) -> usize {
        let mut all_known = 0;
        self.origins.clear();
        let count = searches.len();
        if self.cursor >= count {
            self.cursor = 0;
        }
        for turn in 0..count {
            let index = (self.cursor + turn) % count;
            // A search gives all its leaves to one batch or none, since the number of leaves that
            // return together affects its result.
            let most = searches[index].config().leaves_in_flight as usize;
            if !self.origins.is_empty() && self.origins.len() + most > self.batch {
                self.cursor = index;
                break;
            }
            // Counted per search, so that the bound does not depend on the rest of the batch.
            let mut known = 0;
            while known < KNOWN_PER_STEP {
                match searches[index].select(game) {
                    SelectOutcome::Leaf(leaf_id) => self.take(&mut searches[index], index, leaf_id),
                    SelectOutcome::BackedUp => known += 1,
                    SelectOutcome::Blocked | SelectOutcome::Done => break,
                }
            }
            all_known += known;
        }
        all_known
    }

    fn take(&mut self, search: &mut Search<G>, index: usize, leaf_id: LeafId) {
        let at = self.origins.len();
        match self.leaves.get_mut(at) {
            Some(leaf) => search.write_leaf(leaf_id, leaf),
            None => self.leaves.push(search.leaf(leaf_id)),
        }
        self.origins.push((index, leaf_id));
    }
}
