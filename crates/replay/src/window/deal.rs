//! Deals short segments of queued games to several batches at random.
//!
//! Consecutive moves of a game resemble each other. A batch of a few complete games is a poor
//! sample of play, and becomes poorer as games get longer. Its gradient and its batch-norm
//! statistics are noisy.
//!
//! With parallel actors each batch holds a short segment of many games (Mnih et al. 2016,
//! "Asynchronous methods for deep reinforcement learning"; Espeholt et al. 2018, "IMPALA"). Here
//! the games of several batches are cut into such segments, which are dealt to the batches at
//! random.

use std::collections::VecDeque;

use ouro_game::Rng;
use ouro_net::Generation;
use serde::{Deserialize, Serialize};

use super::batch::Draw;

/// Settings of dealing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deal {
    /// Batches that are dealt together, at least 1. With 1, games are split only at the ends of
    /// batches.
    pub batches: u64,
    /// Consecutive positions of a game that stay together, at least 1.
    pub segment: u32,
    /// Seed of the order.
    pub seed: u64,
}

impl Default for Deal {
    /// Undivided games, in order.
    fn default() -> Self {
        Self { batches: 1, segment: u32::MAX, seed: 0 }
    }
}

/// Progress of a queue within a deal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dealt {
    /// Batches of the deal drawn so far.
    pub batches: u64,
    /// The newest generation when the deal was made, which decided which games were too old.
    pub newest: Generation,
}

/// A position with the numbers from which its age is computed.
#[derive(Debug)]
pub(super) struct QueuedPosition<T> {
    pub(super) draw: Draw<T>,
    pub(super) generation: Generation,
    /// Positions inserted up to and including its game, since the start of the run.
    pub(super) end: u64,
}

impl Deal {
    /// Deals `positions`, which are in journal order, to batches of `count` positions. `index` is the
    /// index of the first batch and keys the shuffle. Positions within a batch are in order.
    pub(super) fn out<T>(
        &self,
        positions: Vec<QueuedPosition<T>>,
        count: usize,
        index: u64,
    ) -> VecDeque<Vec<QueuedPosition<T>>> {
        let mut segments: Vec<Vec<QueuedPosition<T>>> = Vec::new();
        for position in positions {
            match segments.last_mut() {
                Some(last)
                    if last.len() < self.segment as usize
                        && last[0].draw.number == position.draw.number =>
                {
                    last.push(position);
                }
                _ => segments.push(vec![position]),
            }
        }
        if self.batches > 1 {
            // Fisher–Yates shuffle, keyed so that a resumed queue repeats it.
            let mut rng = Rng::indexed(self.seed, "deal", index);
            for at in (1..segments.len()).rev() {
                segments.swap(at, rng.below(at as u32 + 1) as usize);
            }
        }
        let mut batches = VecDeque::new();
        let mut positions = segments.into_iter().flatten();
        loop {
            let mut batch: Vec<_> = positions.by_ref().take(count).collect();
            if batch.is_empty() {
                return batches;
            }
            batch.sort_by_key(|position| (position.draw.number, position.draw.position));
            batches.push_back(batch);
        }
    }
}
