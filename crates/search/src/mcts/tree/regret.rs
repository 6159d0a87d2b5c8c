//! Regret matching at simultaneous moves.
//!
//! Each player draws an action in proportion to its cumulative regret, clamped at 0 (regret
//! matching plus). The regret of an action is its value less the value obtained. The value of an
//! alternative is the mean of the child under the other players' choices; an unvisited child
//! updates nothing.
//!
//! The average strategy, not the last one, approaches an equilibrium of the node. Each strategy
//! is weighted by the visits before it (linear averaging), so that early strategies soon lose
//! their weight. Both after Tammelin 2014, "Solving large imperfect information games using CFR+".

use std::ops::Range;

use ouro_game::Game;

use super::{Step, Tree, UNCOUNTED};
use crate::mcts::config::Simultaneous;
use crate::mcts::node_store::{NONE, NodeStore};

impl<G: Game> Tree<G> {
    /// Draws an edge of a block by its current strategy, or uniformly with a probability that
    /// decreases with the visits.
    pub(super) fn draw(&mut self, block: Range<usize>, visits: u32) -> usize {
        let Simultaneous::RegretMatching { exploration } = self.config.simultaneous else {
            return 0;
        };
        let count = block.len();
        let explored = f64::from(exploration) * (count as f64 / f64::from(visits.max(1))).sqrt();
        if self.rng.unit() < explored {
            return self.rng.below(count as u32) as usize;
        }
        strategy(&self.store, block, &mut self.strategy);
        let mut left = self.rng.unit();
        for (index, probability) in self.strategy.iter().enumerate() {
            left -= probability;
            if left < 0.0 {
                return index;
            }
        }
        // Rounding can leave a remainder; it goes to the last action with a positive probability.
        self.strategy.iter().rposition(|&probability| probability > 0.0).unwrap_or(0)
    }

    /// Updates the regrets of all movers with `self.values`, backed up from `step.child`.
    pub(super) fn match_regrets(&mut self, step: &Step, edges: &[u32]) {
        let movers = self.store.node(step.node).movers;
        let weight = f64::from(self.store.node(step.node).visits);
        for (index, player) in movers.iter().enumerate() {
            let block = self.store.block(step.node, index);
            strategy(&self.store, block.clone(), &mut self.strategy);
            for (at, probability) in block.clone().zip(&self.strategy) {
                self.store.regrets[at].strategy += weight * probability;
            }
            let (before, radix) = self.code_around(step.node, edges, index);
            let got = self.values[player];
            for (choice, at) in block.enumerate() {
                if at == edges[index] as usize {
                    continue;
                }
                let code = before + radix * choice as u64;
                let child = self.store.joints.get(step.node, code);
                if child != NONE && self.store.node(child).visits > 0 {
                    let instead = self.worth(step.node, child, player);
                    let gain = &mut self.store.regrets[at].gain;
                    *gain = (*gain + instead - got).max(0.0);
                }
            }
        }
    }

    /// The number of the joint action without the part of mover `index`, and the radix of that
    /// mover.
    pub(in crate::mcts) fn code_around(
        &self,
        node: u32,
        edges: &[u32],
        index: usize,
    ) -> (u64, u64) {
        let blocks = &self.store.blocks[self.store.node(node).extra as usize..][..edges.len()];
        let mut start = self.store.node(node).first;
        let (mut code, mut radix) = (0_u64, 1);
        for (other, (&edge, &length)) in edges.iter().zip(blocks).enumerate() {
            code *= u64::from(length);
            if other > index {
                radix *= u64::from(length);
            }
            if other != index {
                code += u64::from((edge & !UNCOUNTED) - start);
            }
            start += length;
        }
        (code, radix)
    }

    /// Mean value of a player for stepping to `child`.
    fn worth(&self, node: u32, child: u32, player: usize) -> f64 {
        let mean = self.store.mean(child, player);
        let reward = self.store.rewards[self.store.slot(child)][player];
        f64::from(reward) + self.discount(node, child) * mean
    }
}

/// Writes probabilities in proportion to positive regrets, or the priors if no regret is positive.
fn strategy<S: Clone>(store: &NodeStore<S>, block: Range<usize>, out: &mut Vec<f64>) {
    out.clear();
    out.extend(store.regrets[block.clone()].iter().map(|regret| regret.gain.max(0.0)));
    let total: f64 = out.iter().sum();
    if total > 0.0 {
        out.iter_mut().for_each(|weight| *weight /= total);
    } else {
        for (weight, edge) in out.iter_mut().zip(&store.edges[block]) {
            *weight = f64::from(edge.prior);
        }
    }
}
