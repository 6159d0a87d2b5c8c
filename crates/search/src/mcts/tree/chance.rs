//! Chance nodes of the tree.
//!
//! Equally likely outcomes are visited in rounds. Each round visits all of them once in random
//! order, which implements "least visited first, ties at random" without a search for the least.
//! Other outcomes are drawn as the game draws them, until a node has enough distinct ones; from
//! then on each is visited in proportion to how often it was drawn.

use ouro_game::{Chance, Game};

use super::{Step, Tree};
use crate::mcts::node_store::{ChanceOutcome, NONE, Node, NodeKind};

impl<G: Game> Tree<G> {
    /// Makes a chance node `Uniform` or `Sampled`.
    pub(super) fn open_chance(&mut self, game: &G, node: u32) {
        let state = self.store.state(node);
        let uniform = match game.chance(state) {
            Chance::Enumerable { count } if count <= self.config.chance.enumerate => {
                let even = 1.0 / f64::from(count);
                let is_even =
                    |outcome| (game.chance_probability(state, outcome) - even).abs() < 1e-9;
                (0..count).all(is_even).then_some(count)
            }
            Chance::Enumerable { .. } | Chance::Sampled => None,
        };
        let first = self.store.outcomes.len() as u32;
        let opened = self.store.node_mut(node);
        match uniform {
            Some(count) => {
                (opened.kind, opened.first, opened.count) = (NodeKind::Uniform, first, count);
                self.store.outcomes.extend((0..count).map(|outcome| ChanceOutcome {
                    outcome,
                    child: NONE,
                    drawn: 0,
                    next: NONE,
                }));
            }
            None => (opened.kind, opened.first) = (NodeKind::Sampled, NONE),
        }
    }

    /// The next outcome of this round, and its child.
    pub(super) fn step_uniform(&mut self, game: &G, node: u32, current: &Node) -> (u32, u32) {
        let visited = current.extra;
        let drawn = visited + self.rng.below(current.count - visited);
        let (at, other) = (current.first + visited, current.first + drawn);
        self.store.outcomes.swap(at as usize, other as usize);
        self.store.node_mut(node).extra = (visited + 1) % current.count;
        (at, self.outcome_child(game, node, at))
    }

    /// A drawn outcome, and its child.
    pub(super) fn step_sampled(&mut self, game: &G, node: u32, current: &Node) -> (u32, u32) {
        let at = if current.count < self.config.chance.sample {
            self.draw_outcome(game, node, current)
        } else {
            self.least_visited(current)
        };
        (at, self.outcome_child(game, node, at))
    }

    fn draw_outcome(&mut self, game: &G, node: u32, current: &Node) -> u32 {
        let outcome = game.sample_chance(self.store.state(node), &mut self.rng);
        let mut at = current.first;
        while at != NONE {
            let listed = &mut self.store.outcomes[at as usize];
            if listed.outcome == outcome {
                listed.drawn += 1;
                return at;
            }
            at = listed.next;
        }
        let new = self.store.outcomes.len() as u32;
        self.store.outcomes.push(ChanceOutcome {
            outcome,
            child: NONE,
            drawn: 1,
            next: current.first,
        });
        let listing = self.store.node_mut(node);
        (listing.first, listing.count) = (new, current.count + 1);
        new
    }

    /// The listed outcome with the fewest visits per draw, the newest of equals.
    fn least_visited(&self, current: &Node) -> u32 {
        let (mut best, mut fewest) = (current.first, f64::INFINITY);
        let mut at = current.first;
        while at != NONE {
            let listed = &self.store.outcomes[at as usize];
            let visits = match self.store.nodes.get(listed.child as usize) {
                Some(child) => child.visits + child.pending,
                None => 0,
            };
            let ratio = f64::from(visits) / f64::from(listed.drawn);
            if ratio < fewest {
                (best, fewest) = (at, ratio);
            }
            at = listed.next;
        }
        best
    }

    fn outcome_child(&mut self, game: &G, node: u32, at: u32) -> u32 {
        let ChanceOutcome { outcome, child, .. } = self.store.outcomes[at as usize];
        if child != NONE {
            return child;
        }
        let child = self.store.add_child(node);
        let applied = game.apply_chance(self.store.state_mut(child), outcome);
        debug_assert!(applied.is_ok(), "a listed outcome must apply: {applied:?}");
        self.open(game, child);
        self.store.outcomes[at as usize].child = child;
        child
    }

    /// Reverts one visit of a round. A draw is kept, since it is a valid sample.
    pub(super) fn undo_chance(&mut self, step: &Step) {
        let node = self.store.node_mut(step.node);
        if node.kind == NodeKind::Uniform {
            node.extra = if node.extra == 0 { node.count - 1 } else { node.extra - 1 };
        }
    }
}
