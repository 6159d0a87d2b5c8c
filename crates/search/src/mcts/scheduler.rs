//! Many searches, one batch.
//!
//! A step goes once around the searches, takes from each the leaves it may have in flight,
//! evaluates them together and gives every answer back. Nothing is left in flight between
//! steps, so searches can be read, advanced or replaced there: a game that has decided goes
//! on at once, and the batch stays full.
//!
//! Contract: which searches share a batch changes no result (see
//! [`Evaluator`]).

use ouro_game::Game;

use super::search::{Search, Selected, Ticket};
use crate::evaluator::{Estimates, Evaluator, Leaf};

/// Gathers leaves for an evaluator. See the [module](self).
#[derive(Debug)]
pub struct Scheduler<G: Game> {
    batch: usize,
    /// Where the next round begins, so that all get their turn when a batch cannot hold them.
    cursor: usize,
    /// Leaves; may be longer than a batch needs, to reuse what is beyond.
    leaves: Vec<Leaf<G>>,
    /// The search and ticket of each leaf of the batch.
    origins: Vec<(usize, Ticket)>,
    answers: Estimates,
}

impl<G: Game> Scheduler<G> {
    /// A scheduler of batches of at most `batch` leaves, or of the leaves in flight of one
    /// search if those are more.
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

    /// Gathers and evaluates one batch; returns its size, 0 when every search is done.
    pub fn step<E: Evaluator<G> + ?Sized>(
        &mut self,
        game: &G,
        searches: &mut [Search<G>],
        evaluator: &mut E,
    ) -> usize {
        self.gather(game, searches);
        let count = self.origins.len();
        if count == 0 {
            return 0;
        }
        self.answers.reset(game);
        evaluator.evaluate(game, &mut self.leaves[..count], &mut self.answers);
        debug_assert_eq!(self.answers.len(), count, "one evaluation per leaf");
        for (leaf, (search, ticket)) in self.origins.drain(..).enumerate() {
            let missing = crate::evaluator::Estimate { values: &[], priors: None };
            let answer = self.answers.get(leaf).unwrap_or(missing);
            searches[search].back_up(game, ticket, answer);
        }
        count
    }

    /// Steps until every search is done.
    pub fn run<E: Evaluator<G> + ?Sized>(
        &mut self,
        game: &G,
        searches: &mut [Search<G>],
        evaluator: &mut E,
    ) {
        while self.step(game, searches, evaluator) > 0 {}
    }

    fn gather(&mut self, game: &G, searches: &mut [Search<G>]) {
        self.origins.clear();
        let count = searches.len();
        if self.cursor >= count {
            self.cursor = 0;
        }
        for turn in 0..count {
            let index = (self.cursor + turn) % count;
            // A search gives all its leaves to one batch or none: how many come back together
            // is part of what it does.
            let most = searches[index].config().leaves_in_flight as usize;
            if !self.origins.is_empty() && self.origins.len() + most > self.batch {
                self.cursor = index;
                return;
            }
            loop {
                match searches[index].select(game) {
                    Selected::Leaf(ticket) => self.take(&mut searches[index], index, ticket),
                    Selected::Backed => {}
                    Selected::Blocked | Selected::Done => break,
                }
            }
        }
    }

    fn take(&mut self, search: &mut Search<G>, index: usize, ticket: Ticket) {
        let at = self.origins.len();
        match self.leaves.get_mut(at) {
            Some(leaf) => search.write_leaf(ticket, leaf),
            None => self.leaves.push(search.leaf(ticket)),
        }
        self.origins.push((index, ticket));
    }
}
