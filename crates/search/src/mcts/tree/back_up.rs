//! Backs up values from a leaf to the root.

use ouro_game::Game;

use super::{Path, Step, Tree, UNCOUNTED};
use crate::evaluator::Estimate;
use crate::mcts::node_store::{NONE, NodeKind};
use crate::mcts::reward_sum::power;

impl<G: Game> Tree<G> {
    /// Expands the leaf `leaf_id` with its estimate and backs the values up.
    pub(in crate::mcts) fn receive(&mut self, game: &G, leaf_id: usize, evaluation: Estimate<'_>) {
        let path = std::mem::take(&mut self.paths[leaf_id]);
        self.expand(game, path.leaf, evaluation);
        self.back_up_path(game, &path);
        self.paths[leaf_id] = path;
        self.free.push(leaf_id);
        self.in_flight -= 1;
    }

    /// Loads a node's exact values as those to back up.
    pub(super) fn load_exact(&mut self, node: u32) {
        let exact = &self.store.exact[self.store.slot(node)];
        for (value, &exact) in self.values.iter_mut().zip(exact) {
            *value = f64::from(exact);
        }
    }

    /// Backs up `self.values`, which are relative to the leaf, to the root.
    pub(super) fn back_up_path(&mut self, game: &G, path: &Path) {
        self.add_visit(path.leaf);
        let mut news = self.config.solver && self.store.node(path.leaf).is_exact;
        for step in path.steps.iter().rev() {
            if !self.plain {
                self.take_step(step);
            }
            match self.store.node(step.node).kind {
                NodeKind::Single => {
                    let player = self.store.node(step.node).mover();
                    self.credit(step.choice, player);
                }
                NodeKind::Joint => {
                    let movers = self.store.node(step.node).movers;
                    let edges = path.selected(step, movers.len());
                    if step.wanted != NONE {
                        self.load_step(step.node, step.wanted);
                    }
                    if self.matching {
                        self.match_regrets(step, edges);
                    }
                    for (&edge, player) in edges.iter().zip(movers.iter()) {
                        if edge & UNCOUNTED == 0 {
                            self.credit(edge, player);
                        }
                    }
                }
                NodeKind::Uniform
                | NodeKind::Sampled
                | NodeKind::Unexpanded
                | NodeKind::Evaluating
                | NodeKind::Terminal => {}
            }
            self.store.node_mut(step.node).pending -= 1;
            news = news && self.prove(game, step, path);
            if step.wanted != NONE && self.store.node(step.node).kind == NodeKind::Single {
                self.credit_wanted(step);
            }
            // Proven by this descent, or by another one while this one was pending.
            if self.store.node(step.node).is_exact {
                self.load_exact(step.node);
            }
            self.add_visit(step.node);
        }
    }

    /// Continues with the value of the exact node that PUCT selected.
    #[cold]
    fn credit_wanted(&mut self, step: &Step) {
        self.load_step(step.node, self.store.edges[step.wanted as usize].child);
        let mover = self.store.node(step.node).mover();
        self.credit(step.wanted, mover);
    }

    /// Loads the exact values of stepping to `child`.
    fn load_step(&mut self, node: u32, child: u32) {
        for player in 0..self.store.players {
            self.values[player] = f64::from(self.exact_step(node, child, player));
        }
    }

    /// Converts future values at a child to those at its parent.
    #[inline]
    fn take_step(&mut self, step: &Step) {
        if self.own_ends {
            self.discount_living(step);
            return;
        }
        let discount = self.discount(step.node, step.child);
        let rewards = &self.store.rewards[self.store.slot(step.child)];
        for (value, &reward) in self.values.iter_mut().zip(rewards) {
            *value = f64::from(reward) + discount * *value;
        }
    }

    /// Discounts the future outcomes at a child, which are those of the players alive at its parent.
    fn discount_living(&mut self, step: &Step) {
        let discount = self.discount(step.node, step.child);
        let alive = self.store.node(step.node).alive;
        for (player, value) in self.values.iter_mut().enumerate() {
            if alive.contains(player) {
                *value *= discount;
            }
        }
    }

    /// The discount factor of the step to `child` for a player; 1 if it is eliminated before the step.
    pub(in crate::mcts) fn discount_for(&self, node: u32, child: u32, player: usize) -> f64 {
        if self.own_ends && !self.store.node(node).alive.contains(player) {
            return 1.0;
        }
        self.discount(node, child)
    }

    /// The discount factor of the step to `child`, for the players alive before it.
    #[inline]
    pub(super) fn discount(&self, node: u32, child: u32) -> f64 {
        let [from, to] = [self.store.node(node), self.store.node(child)].map(|node| node.elapsed);
        power(f64::from(self.config.discount), to.saturating_sub(from))
    }

    /// Adds the player's value to an edge.
    #[inline]
    fn credit(&mut self, edge: u32, player: usize) {
        let edge = &mut self.store.edges[edge as usize];
        edge.pending -= 1;
        edge.sum += self.values[player];
        if self.scaling.follows() {
            self.scaling.see(edge.mean() as f32);
        }
    }

    #[inline]
    fn add_visit(&mut self, node: u32) {
        self.store.node_mut(node).visits += 1;
        let slot = self.store.slot(node);
        for (total, value) in self.store.totals[slot].iter_mut().zip(&self.values) {
            *total += value;
        }
    }
}
