//! Selects the action of a descent.

use std::ops::Range;

use ouro_game::Game;

use super::{ChosenEdge, OpenReply, Tree};
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
        let mover = current.mover();
        let forced = if node == ROOT {
            self.root.below_minimum(mover, &self.store.edges[block.clone()])
        } else {
            None
        };
        let choose = || self.choose(node, current, block.clone(), 0, mover, simulation);
        let edge = (block.start + forced.unwrap_or_else(choose)) as u32;
        if current.exact_children == 0 || node == ROOT || !self.leads_to_exact(edge) {
            return ChosenEdge { edge, wanted: NONE };
        }
        match self.best_open(current, block) {
            Some(open) => ChosenEdge { edge: open, wanted: edge },
            None => ChosenEdge { edge, wanted: NONE },
        }
    }

    fn leads_to_exact(&self, edge: u32) -> bool {
        self.is_exact(self.store.edges[edge as usize].child)
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

    /// The reply to visit instead, if the `child` under the `edges` of both players is exact and
    /// the node is not.
    ///
    /// A proof needs an action that wins against every reply. The loser's other replies are
    /// therefore tried first, then the winner's other actions, each by the score of PUCT.
    #[inline]
    pub(super) fn open_reply(
        &self,
        node: u32,
        current: &Node,
        edges: &[u32],
        child: u32,
    ) -> Option<OpenReply> {
        let is_duel = self.store.players == 2 && edges.len() == 2;
        if !is_duel || !self.config.solver || self.matching || !self.is_exact(child) {
            return None;
        }
        let loser = usize::from(self.exact_step(node, child, 0) > 0.0);
        let players = [loser, 1 - loser];
        players.into_iter().find_map(|player| self.best_reply(node, current, edges, player))
    }

    /// The best other edge of `player` that leads to a child which is not exact.
    #[cold]
    fn best_reply(
        &self,
        node: u32,
        current: &Node,
        edges: &[u32],
        player: usize,
    ) -> Option<OpenReply> {
        let (before, radix) = self.code_around(node, edges, player);
        let scale = self.scaling.scale();
        let explore = self.explore((current.visits + current.pending) as f32);
        let (mut best, mut best_score) = (None, f32::NEG_INFINITY);
        for (choice, at) in self.store.block(node, player).enumerate() {
            let code = before + radix * choice as u64;
            let score = scale::score(&self.store.edges[at], explore, 0.0, scale);
            if score > best_score && !self.is_exact(self.store.joints.get(node, code)) {
                best_score = score;
                best = Some(OpenReply { player, edge: at as u32, code });
            }
        }
        best
    }

    /// Whether a child exists and is exact.
    fn is_exact(&self, child: u32) -> bool {
        self.store.nodes.get(child as usize).is_some_and(|child| child.is_exact)
    }

    /// The mover of a simultaneous root of two that plays a forced playout in this descent, by its index,
    /// and the edge, counted within its block. At most one mover does; the movers come first in turn.
    pub(super) fn forced_mover(&self, current: &Node, simulation: u32) -> Option<(usize, usize)> {
        if self.root.forced.is_none() || current.movers.len() != 2 {
            return None;
        }
        let first = simulation as usize % 2;
        [first, 1 - first].into_iter().find_map(|index| {
            let player = current.movers.iter().nth(index)?;
            let edges = &self.store.edges[self.store.block(ROOT, index)];
            Some((index, self.root.below_minimum(player, edges)?))
        })
    }

    /// The edge, counted within `block`, that the `index`-th mover of a node tries next.
    ///
    /// If all its actions are proven to lose and the node is not exact, the actions take turns: the
    /// values of the other player are then means over all of them.
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
            && let Some(chosen) = self.root.halving(index, offset, edges, scale, simulation)
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
        let best = scale::best(edges, self.explore(visits), first_play, scale);
        if edges.get(best).is_some_and(|edge| edge.prior == 0.0) {
            return least_visited_loser(edges).unwrap_or(best);
        }
        best
    }

    /// `c · √N`.
    #[inline]
    pub(in crate::mcts) fn explore(&self, visits: f32) -> f32 {
        let growth = match self.config.exploration_base {
            Some(base) => libm::logf((visits + base) / base),
            None => 0.0,
        };
        (self.config.exploration + growth) * visits.sqrt()
    }

    /// Sum of the visits of some edges.
    pub(in crate::mcts) fn visits(edges: &[Edge]) -> u32 {
        edges.iter().map(|edge| edge.visits).sum()
    }
}

/// The least visited edge, if all are proven to lose.
#[cold]
fn least_visited_loser(edges: &[Edge]) -> Option<usize> {
    let all = edges.iter().all(|edge| edge.prior == 0.0);
    let least = (0..edges.len()).min_by_key(|&at| edges[at].visits);
    least.filter(|_| all)
}
