//! Proven results and their propagation to parents (MCTS-Solver).
//!
//! A node is *exact* if its value under best play is known. Ends of games are exact. A node in
//! which one player moves becomes exact if that player has a move to a proven win, or if all its
//! children are exact. A chance node becomes exact if all its possible outcomes are. A node in
//! which two players move simultaneously needs a move that wins against every reply, or children
//! that are all exact and have a saddle point in pure strategies.
//!
//! A win is the loss of the other player. A draw can have the same value for its player, but has
//! another one for the other player.
//!
//! Values of two players need not be opposed: returns are not, nor are outcomes if a draw costs
//! both something. A saddle point therefore counts only if they are. With more players, a choice
//! between equally good moves that treat others differently proves nothing.

use ouro_game::{Chance, Game};

use super::{Path, Step, Tree, UNCOUNTED};
use crate::mcts::config::Objective;
use crate::mcts::node_store::{NONE, NodeKind};

impl<G: Game> Tree<G> {
    /// Registers that `step.child` is exact; returns whether `step.node` has become exact.
    pub(super) fn prove(&mut self, game: &G, step: &Step, path: &Path) -> bool {
        if self.store.node(step.child).is_counted || self.store.node(step.node).is_exact {
            return false;
        }
        self.store.node_mut(step.child).is_counted = true;
        self.store.node_mut(step.node).exact_children += 1;
        match self.store.node(step.node).kind {
            NodeKind::Single => self.prove_single(step),
            NodeKind::Joint => self.prove_joint(step, path),
            NodeKind::Uniform => self.prove_uniform(step.node),
            NodeKind::Sampled => self.prove_sampled(game, step.node),
            NodeKind::Unexpanded | NodeKind::Evaluating | NodeKind::Terminal => false,
        }
    }

    /// The exact value for `player` of stepping to an exact child.
    pub(in crate::mcts) fn exact_step(&self, node: u32, child: u32, player: usize) -> f32 {
        let at = self.store.slot(child).start + player;
        if self.plain {
            return self.store.exact[at];
        }
        let exact = f64::from(self.store.exact[at]);
        (f64::from(self.store.rewards[at]) + self.discount_for(node, child, player) * exact) as f32
    }

    /// Whether a value is the maximum, or the minimum if `sign` is −1.
    ///
    /// Never with returns, whose bounds are unknown, nor for a discounted future outcome.
    pub(in crate::mcts) fn is_extreme(&self, value: f32, sign: f32) -> bool {
        self.config.objective == Objective::Outcome && value * sign >= 1.0
    }

    /// Whether stepping to an exact child wins for `player` and loses for the only other player, if
    /// there is one. Never with more players, whose values a win does not determine.
    fn is_won(&self, node: u32, child: u32, player: usize) -> bool {
        let loses = |other| self.is_extreme(self.exact_step(node, child, other), -1.0);
        self.is_extreme(self.exact_step(node, child, player), 1.0)
            && match self.store.players {
                1 => true,
                2 => loses(1 - player),
                _ => false,
            }
    }

    /// Makes `node` exact with the values of stepping to `child`, which end at `end`.
    fn settle(&mut self, node: u32, child: u32, end: u32) -> bool {
        for player in 0..self.store.players {
            let value = self.exact_step(node, child, player);
            let at = self.store.slot(node).start + player;
            self.store.exact[at] = value;
        }
        let node = self.store.node_mut(node);
        (node.is_exact, node.end) = (true, end);
        true
    }

    /// Time at which the exact node `child` ends.
    fn end_of(&self, child: u32) -> u32 {
        self.store.node(child).end
    }

    fn prove_single(&mut self, step: &Step) -> bool {
        let mover = self.store.node(step.node).mover();
        let value = self.exact_step(step.node, step.child, mover);
        let lost = self.is_extreme(value, -1.0);
        let edge = &mut self.store.edges[step.choice as usize];
        edge.sum = f64::from(value) * f64::from(edge.completed());
        if lost {
            // PUCT does not visit an action with prior 0 while another action is left.
            edge.prior = 0.0;
        }
        if self.is_won(step.node, step.child, mover) {
            return self.settle(step.node, step.child, self.end_of(step.child));
        }
        let node = self.store.node(step.node);
        if node.exact_children < node.count {
            return false;
        }
        let mut best = (step.child, value);
        for edge in self.store.edges_of(step.node) {
            let value = self.exact_step(step.node, edge.child, mover);
            let is_sooner = self.end_of(edge.child) < self.end_of(best.0);
            // A winner hurries; everyone else takes the longest way.
            if value > best.1 || value == best.1 && is_sooner == (value > 0.0) {
                best = (edge.child, value);
            }
        }
        let ambiguous = self.store.edges_of(step.node).iter().any(|edge| {
            self.exact_step(step.node, edge.child, mover) == best.1
                && !self.same_for_all(step.node, edge.child, best.0)
        });
        !ambiguous && self.settle(step.node, best.0, self.end_of(best.0))
    }

    fn same_for_all(&self, node: u32, one: u32, other: u32) -> bool {
        let mut players = 0..self.store.players;
        players.all(|player| {
            self.exact_step(node, one, player) == self.exact_step(node, other, player)
        })
    }

    fn prove_uniform(&mut self, node: u32) -> bool {
        let current = *self.store.node(node);
        if current.exact_children < current.count {
            return false;
        }
        for player in 0..self.store.players {
            let outcomes = current.first as usize..(current.first + current.count) as usize;
            let values = outcomes
                .map(|at| self.exact_step(node, self.store.outcomes[at].child, player))
                .map(f64::from);
            let mean = values.sum::<f64>() / f64::from(current.count);
            let at = self.store.slot(node).start + player;
            self.store.exact[at] = mean as f32;
        }
        let outcomes = current.first as usize..(current.first + current.count) as usize;
        let ends = outcomes.map(|at| self.end_of(self.store.outcomes[at].child));
        let end = ends.max().unwrap_or(current.elapsed);
        let node = self.store.node_mut(node);
        (node.is_exact, node.end) = (true, end);
        true
    }

    fn prove_sampled(&mut self, game: &G, node: u32) -> bool {
        let current = *self.store.node(node);
        let Chance::Enumerable { count } = game.chance(self.store.state(node)) else {
            return false;
        };
        if current.exact_children < current.count || current.count > count {
            return false;
        }
        let (mut covered, mut end) = (0.0, current.elapsed);
        let mut means = std::mem::take(&mut self.strategy);
        means.clear();
        means.resize(self.store.players, 0.0);
        let mut at = current.first;
        while at != NONE {
            let listed = self.store.outcomes[at as usize];
            let chance = game.chance_probability(self.store.state(node), listed.outcome);
            covered += chance;
            end = end.max(self.end_of(listed.child));
            for (player, mean) in means.iter_mut().enumerate() {
                *mean += chance * f64::from(self.exact_step(node, listed.child, player));
            }
            at = listed.next;
        }
        // All possible outcomes must have been drawn.
        let complete = covered > 1.0 - 1e-9;
        if complete {
            for (at, &mean) in self.store.slot(node).zip(&means) {
                self.store.exact[at] = mean as f32;
            }
            let node = self.store.node_mut(node);
            (node.is_exact, node.end) = (true, end);
        }
        self.strategy = means;
        complete
    }

    fn prove_joint(&mut self, step: &Step, path: &Path) -> bool {
        let node = step.node;
        let movers = self.store.node(node).movers;
        let edges = path.taken(step, movers.len());
        for (index, player) in movers.iter().enumerate() {
            let value = self.exact_step(node, step.child, player);
            let sign = if value > 0.0 { 1.0 } else { -1.0 };
            if !self.is_extreme(value, sign) || !self.holds_always(node, edges, index, sign) {
                continue;
            }
            if sign < 0.0 {
                let edge = &mut self.store.edges[(edges[index] & !UNCOUNTED) as usize];
                edge.prior = 0.0;
                edge.sum = f64::from(value) * f64::from(edge.completed());
            } else {
                let end = self.longest_reply(node, edges, 1 - index);
                return self.settle(node, step.child, end);
            }
        }
        let joint: u64 = (0..movers.len()).fold(1, |product: u64, index| {
            product.saturating_mul(self.store.block(node, index).len() as u64)
        });
        if u64::from(self.store.node(node).exact_children) < joint {
            return false;
        }
        if self.store.players == 2
            && movers.len() == 2
            && let Some(child) = self.saddle(node)
        {
            return self.settle(node, child, self.end_of(child));
        }
        let same = (0..joint)
            .all(|code| self.same_for_all(node, self.store.joints.get(node, code), step.child));
        same && self.settle(node, step.child, self.end_of(step.child))
    }

    /// The latest end among the replies of mover `index`, whose children are all exact.
    fn longest_reply(&self, node: u32, edges: &[u32], index: usize) -> u32 {
        let (before, radix) = self.code_around(node, edges, index);
        let replies = 0..self.store.block(node, index).len() as u64;
        let child = |reply| self.store.joints.get(node, before + radix * reply);
        replies.map(|reply| self.end_of(child(reply))).max().unwrap_or_default()
    }

    /// Whether the action of mover `index` in `edges` is proven to win, or to lose if `sign` is
    /// −1, against every action of the other player. Only checked if exactly two players move.
    fn holds_always(&self, node: u32, edges: &[u32], index: usize, sign: f32) -> bool {
        let movers = self.store.node(node).movers;
        let Some(player) = movers.iter().nth(index) else { return false };
        if edges.len() != 2 {
            return false;
        }
        let (before, radix) = self.code_around(node, edges, 1 - index);
        (0..self.store.block(node, 1 - index).len() as u64).all(|reply| {
            let child = self.store.joints.get(node, before + radix * reply);
            if child == NONE || !self.store.node(child).is_exact {
                return false;
            }
            if sign > 0.0 {
                self.is_won(node, child, player)
            } else {
                self.is_extreme(self.exact_step(node, child, player), -1.0)
            }
        })
    }

    /// The child at a saddle point of a two-player node whose children are all exact: best for
    /// each player given the other's action.
    ///
    /// `None` if one player's gain is not the other's loss. Equilibria may then differ in value,
    /// so the node has no unique value.
    pub(in crate::mcts) fn saddle(&self, node: u32) -> Option<u32> {
        let (rows, columns) = (self.store.block(node, 0).len(), self.store.block(node, 1).len());
        let child = |row: usize, column: usize| {
            self.store.joints.get(node, (row * columns + column) as u64)
        };
        let value = |row, column| self.exact_step(node, child(row, column), 0);
        let mut cells = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
        let opposed =
            |(row, column)| value(row, column) == -self.exact_step(node, child(row, column), 1);
        if !cells.clone().all(opposed) {
            return None;
        }
        let saddle = cells.find(|&(row, column)| {
            let here = value(row, column);
            (0..columns).all(|other| value(row, other) >= here)
                && (0..rows).all(|other| value(other, column) <= here)
        });
        saddle.map(|(row, column)| child(row, column))
    }
}
