//! Games of a queue, cut up and mixed before they are learned from.
//!
//! Consecutive moves of a game resemble each other. A batch of a few whole games says little about
//! play in general, the less the longer games become: its gradient is noisy, and so are the
//! statistics that batch norm takes from it. Actors that step in parallel have each batch hold a
//! short segment of many games (Mnih et al. 2016, "Asynchronous methods for deep reinforcement
//! learning"; Espeholt et al. 2018, "IMPALA"); here the games of several batches are cut into such
//! segments, and these are dealt out to the batches by chance.

use std::collections::VecDeque;

use ouro_game::Rng;
use ouro_net::Generation;
use serde::{Deserialize, Serialize};

use super::Draw;

/// How positions that wait are dealt out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deal {
    /// Batches that are dealt together, at least 1; 1 keeps games in one piece but for the seams
    /// between batches.
    pub batches: u64,
    /// Consecutive positions of a game that stay together, at least 1.
    pub segment: u32,
    /// Seed of the order.
    pub seed: u64,
}

impl Default for Deal {
    /// Games in one piece, in order.
    fn default() -> Self {
        Self { batches: 1, segment: u32::MAX, seed: 0 }
    }
}

/// Where a queue stands within a deal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dealt {
    /// Batches of the deal that were drawn.
    pub batches: u64,
    /// The newest generation when it was made: it says which games were too old.
    pub newest: Generation,
}

/// A position with what tells its age.
#[derive(Debug)]
pub(super) struct Card<T> {
    pub(super) draw: Draw<T>,
    pub(super) generation: Generation,
    /// Positions inserted up to its game, that one included, since the start of the run.
    pub(super) end: u64,
}

impl Deal {
    /// Deals `cards`, which are in order, out to batches of `count`. `index` is that of the first
    /// of these batches. Within a batch positions are in order.
    pub(super) fn out<T>(
        &self,
        cards: Vec<Card<T>>,
        count: usize,
        index: u64,
    ) -> VecDeque<Vec<Card<T>>> {
        let mut segments: Vec<Vec<Card<T>>> = Vec::new();
        for card in cards {
            match segments.last_mut() {
                Some(last)
                    if last.len() < self.segment as usize
                        && last[0].draw.number == card.draw.number =>
                {
                    last.push(card);
                }
                _ => segments.push(vec![card]),
            }
        }
        if self.batches > 1 {
            let mut rng = Rng::indexed(self.seed, "deal", index);
            for at in (1..segments.len()).rev() {
                segments.swap(at, rng.below(at as u32 + 1) as usize);
            }
        }
        let mut batches = VecDeque::new();
        let mut cards = segments.into_iter().flatten();
        loop {
            let mut batch: Vec<_> = cards.by_ref().take(count).collect();
            if batch.is_empty() {
                return batches;
            }
            batch.sort_by_key(|card| (card.draw.number, card.draw.position));
            batches.push_back(batch);
        }
    }
}
