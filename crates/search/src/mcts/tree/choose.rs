//! Selects the action of a descent.

use std::ops::Range;

use ouro_game::Game;

use super::{ChosenEdge, Tree};
use crate::mcts::config::FirstPlay;
use crate::mcts::node_store::{Edge, NONE, Node, ROOT};
use crate::mcts::scale;

impl<G: Game> Tree<G> {
    /// The edge that the single player to move tries.
    ///
    /// A visit of an exact node gains no information. If PUCT selects an edge to an exact node,
    /// that edge gets the visit and its value is backed up, but the descent continues along the
    /// best other edge, so that the others are proven in turn. The root is excluded, because its
    /// visits are the result.
    #[inline]
    pub(super) fn choose_single(&self, node: u32, current: &Node, simulation: u32) -> ChosenEdge {
        let block = current.first as usize..(current.first + current.count) as usize;
        let index = self.choose(node, current, block.clone(), 0, current.mover(), simulation);
        let edge = (block.start + index) as u32;
        if current.exact_children == 0 || node == ROOT || !self.leads_to_exact(edge) {
            return ChosenEdge { edge, wanted: NONE };
        }
        match self.best_open(current, block) {
            Some(open) => ChosenEdge { edge: open, wanted: edge },
            None => ChosenEdge { edge, wanted: NONE },
        }
    }

    fn leads_to_exact(&self, edge: u32) -> bool {
        let child = self.store.edges[edge as usize].child;
        self.store.nodes.get(child as usize).is_some_and(|child| child.is_exact)
    }

    /// The best edge that does not lead to an exact node; unvisited edges have value 0.
    #[cold]
    fn best_open(&self, current: &Node, block: Range<usize>) -> Option<u32> {
        let scale = self.scaling.scale();
        let explore = self.explore((current.visits + current.pending) as f32);
        let (mut best, mut best_score) = (None, f32::NEG_INFINITY);
        for at in block {
            let score = scale::score(&self.store.edges[at], explore, 0.0, scale);
            if score > best_score && !self.leads_to_exact(at as u32) {
                (best, best_score) = (Some(at as u32), score);
            }
        }
        best
    }

    /// The edge, counted within `block`, that the `index`-th mover of a node tries next.
    #[inline]
    pub(super) fn choose(
        &self,
        node: u32,
        current: &Node,
        block: Range<usize>,
        index: usize,
        player: usize,
        simulation: u32,
    ) -> usize {
        let offset = block.start - current.first as usize;
        let edges = &self.store.edges[block];
        let scale = self.scaling.scale();
        if node == ROOT
            && let Some(chosen) = self.root.choose(index, offset, edges, scale, simulation)
        {
            return chosen;
        }
        let visits = (current.visits + current.pending) as f32;
        let first_play = match self.config.first_play {
            FirstPlay::Constant { value } => value,
            FirstPlay::Parent => scale.apply_unseen(self.store.mean(node, player) as f32),
            FirstPlay::ParentReduced { reduction } => {
                let tried = edges.iter().filter(|edge| edge.visits > 0);
                let share: f32 = tried.map(|edge| edge.prior).sum();
                scale.apply_unseen(self.store.mean(node, player) as f32) - reduction * share.sqrt()
            }
        };
        scale::best(edges, self.explore(visits), first_play, scale)
    }

    /// `c · √N`.
    #[inline]
    pub(in crate::mcts) fn explore(&self, visits: f32) -> f32 {
        let growth = match self.config.exploration_base {
            Some(base) => ((visits + base) / base).ln(),
            None => 0.0,
        };
        (self.config.exploration + growth) * visits.sqrt()
    }

    /// Sum of the visits of some edges.
    pub(in crate::mcts) fn visits(edges: &[Edge]) -> u32 {
        edges.iter().map(|edge| edge.visits).sum()
    }
}
