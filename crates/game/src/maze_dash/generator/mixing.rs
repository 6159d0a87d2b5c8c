//! Random changes of a path under preferences: for its length, for decisions, for scattered
//! obstacles.
//!
//! A change of the path is proposed at random and accepted with probability `2^gain`, where `gain`
//! is the change of the weighted sum of [`Weights`] in bits (Metropolis et al. 1953). Proposals are
//! not symmetric, so the paths do not follow an exact distribution.

#![expect(clippy::cast_precision_loss, reason = "counts of a few cells and 24 bits fit an f32")]

use super::reroute::Reroute;
use super::slide_path::{EMPTY, OUTSIDE, SlidePath};
use crate::rng::Rng;

/// How much a path is preferred, in bits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weights {
    /// For each cell of the path, or for each cell nearer to the length that is asked for.
    pub(super) cell: f32,
    /// For each turn where both sides are free.
    pub(super) decision: f32,
    /// Against each pair of obstacles that are neighbours.
    pub(super) pair: f32,
}

/// The length that changes aim for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Aim {
    /// The longer the better.
    Longer,
    /// The nearer to this length the better.
    Near(usize),
}

/// Decisions that one change adds, and pairs of obstacles that it removes, at most. Changes that gain
/// more exist but are rare; the limits only save the look at hopeless changes.
const MOST_DECISIONS: f32 = 8.0;
const MOST_PAIRS: f32 = 12.0;

/// A path that changes.
pub(super) struct Mixer {
    pub(super) path: SlidePath,
    change: Reroute,
    /// Cells whose weight a change can alter.
    affected: Vec<u32>,
    /// Per cell, the number of the last change that affected it.
    marks: Vec<u32>,
    mark: u32,
}

impl Mixer {
    /// A mixer of `path`.
    pub(super) fn new(path: SlidePath) -> Self {
        let marks = vec![0; path.size()];
        Self { path, change: Reroute::default(), affected: Vec::new(), marks, mark: 0 }
    }

    /// Proposes one change, and makes it if it is accepted.
    pub(super) fn step(&mut self, weights: Weights, aim: Aim, rng: &mut Rng) {
        if !self.change.propose(&self.path, rng) {
            return;
        }
        let more = self.change.gain();
        let nearer = match aim {
            Aim::Longer => more,
            Aim::Near(target) => {
                let excess = self.path.len() as isize - target as isize;
                excess.abs() - (excess + more).abs()
            }
        };
        let gain = weights.cell * nearer as f32;
        let threshold = log2_of_uniform(rng);
        if gain + MOST_DECISIONS * weights.decision + MOST_PAIRS * weights.pair < threshold {
            return;
        }
        self.collect_affected();
        let before = self.weigh(weights);
        self.change.apply(&mut self.path);
        if gain + self.weigh(weights) - before < threshold {
            self.change.undo(&mut self.path);
        }
    }

    fn collect_affected(&mut self) {
        self.mark = self.mark.wrapping_add(1);
        self.affected.clear();
        for cell in self.change.touched() {
            for near in self.path.neighbours(cell).into_iter().chain([cell]) {
                let mark = &mut self.marks[near as usize];
                if *mark != self.mark && self.path.label(near) != OUTSIDE {
                    *mark = self.mark;
                    self.affected.push(near);
                }
            }
        }
    }

    /// Weight of the affected cells.
    fn weigh(&self, weights: Weights) -> f32 {
        let (mut decisions, mut pairs) = (0_u32, 0_u32);
        for &cell in &self.affected {
            if self.path.label(cell) == EMPTY {
                let near = self.path.neighbours(cell);
                pairs +=
                    near.into_iter().filter(|&near| self.path.label(near) == EMPTY).count() as u32;
            } else {
                decisions += u32::from(self.path.is_decision(cell));
            }
        }
        // A pair is seen from both of its cells.
        weights.decision * decisions as f32 - weights.pair * 0.5 * pairs as f32
    }
}

/// About the binary logarithm of a uniform number. It is linear between powers of two, so that every
/// machine computes the same.
fn log2_of_uniform(rng: &mut Rng) -> f32 {
    let bits = rng.bits() | 1;
    let zeros = bits.leading_zeros();
    let mantissa = (bits << zeros >> 40) as f32 / (1_u32 << 23) as f32;
    mantissa - 2.0 - zeros as f32
}
