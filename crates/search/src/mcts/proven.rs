//! The choice at a root whose value is proven: which actions keep the value, and which of them wins
//! soonest or resists longest.

use ouro_game::Game;

use super::node_store::{NodeKind, ROOT};
use super::search::Search;
use super::tree::Tree;

impl<G: Game> Search<G> {
    /// Whether each action of the `seat`-th player to move is proven to lose, in the order of
    /// [`SeatResult::actions`](super::SeatResult::actions). Empty without a searched position, and
    /// for a forced move that has no node.
    ///
    /// With [`Objective::Outcome`](super::Objective::Outcome), a draw that is worth −1 counts as lost.
    pub fn proven_losses(&self, seat: usize) -> Vec<bool> {
        let root = self.tree.store.nodes.first();
        let searched = root.filter(|root| !self.ahead && seat < root.movers.len());
        let Some(NodeKind::Single | NodeKind::Joint) = searched.map(|root| root.kind) else {
            return Vec::new();
        };
        let edges = &self.tree.store.edges[self.tree.store.block(ROOT, seat)];
        edges.iter().map(|edge| edge.prior == 0.0).collect()
    }
}

impl<G: Game> Tree<G> {
    /// Which edges of a mover may be played, given the proven values.
    pub(super) fn allowed(&self, index: usize, player: usize) -> Vec<bool> {
        let root = self.store.node(ROOT);
        let block = self.store.block(ROOT, index);
        let edges = &self.store.edges[block];
        let mut allowed: Vec<bool> = if !root.is_exact {
            edges.iter().map(|edge| edge.prior > 0.0).collect()
        } else if root.kind == NodeKind::Single {
            let value = self.store.exact[player];
            edges
                .iter()
                .map(|edge| {
                    let child = self.store.nodes.get(edge.child as usize);
                    child.is_some_and(|child| child.is_exact)
                        && self.exact_step(ROOT, edge.child, player) == value
                })
                .collect()
        } else {
            self.equilibrium(index, player)
        };
        if !allowed.contains(&true) {
            allowed.fill(true);
        }
        allowed
    }

    /// Which actions of a mover keep the proven value of a simultaneous root against every action
    /// of the other player. A loser keeps all: an action that loses to one reply only is as good
    /// as one that is refuted altogether, and better against a player who misses that reply.
    fn equilibrium(&self, index: usize, player: usize) -> Vec<bool> {
        let count = self.store.block(ROOT, index).len();
        let value = self.store.exact[player];
        if self.store.node(ROOT).movers.len() != 2 || self.is_extreme(value, -1.0) {
            return vec![true; count];
        }
        let replies = self.store.block(ROOT, 1 - index).len();
        let keeps = |action: usize, reply: usize| {
            let code = if index == 0 { action * replies + reply } else { reply * count + action };
            let child = self.store.joints.get(ROOT, code as u64);
            self.store.nodes.get(child as usize).is_some_and(|node| node.is_exact)
                && self.exact_step(ROOT, child, player) >= value
        };
        (0..count).map(|action| (0..replies).all(|reply| keeps(action, reply))).collect()
    }

    /// Which edges a mover that is proven to lose may play: those that some reply does not refute,
    /// else those that were not refuted when this decision began. `None` if the mover is not proven to
    /// lose or no such edge is left.
    ///
    /// The others had a prior of 0. With a share of the policy, their surprise would have no bound.
    pub(super) fn resisting(&self, index: usize, player: usize) -> Option<Vec<bool>> {
        let root = self.store.node(ROOT);
        if !root.is_exact || !self.is_extreme(self.store.exact[player], -1.0) {
            return None;
        }
        let block = self.store.block(ROOT, index);
        let before = block.start - root.first as usize..block.end - root.first as usize;
        let now = self.store.edges[block].iter().map(|edge| edge.prior > 0.0).collect();
        let before = self.root.priors[before].iter().map(|&prior| prior > 0.0).collect();
        [now, before].into_iter().find(|open: &Vec<bool>| open.contains(&true))
    }

    /// The action with a share of the policy that wins soonest for a mover, or resists longest in a
    /// lost position; `None` if neither is proven.
    ///
    /// A loss is proven against the best replies only. An action therefore counts with the mean time
    /// over all replies, where a reply that is not proven to win counts as later than all others.
    pub(super) fn best_proven(&self, index: usize, player: usize, policy: &[f32]) -> Option<usize> {
        let root = self.store.node(ROOT);
        let value = self.store.exact[player];
        if !root.is_exact || value == 0.0 || root.movers.len() > 2 {
            return None;
        }
        let ends: Vec<Vec<Option<u32>>> =
            (0..policy.len()).map(|choice| self.ends(index, player, choice)).collect();
        let latest = ends.iter().flatten().flatten().max().copied().unwrap_or(root.elapsed);
        let mut best: Option<(usize, f64)> = None;
        for (choice, ends) in ends.iter().enumerate().filter(|(choice, _)| policy[*choice] > 0.0) {
            let times = ends.iter().map(|end| f64::from(end.unwrap_or(latest + 1)));
            let mean = times.sum::<f64>() / ends.len().max(1) as f64;
            let gain = if value > 0.0 { -mean } else { mean };
            if best.is_none_or(|(_, most)| gain > most) {
                best = Some((choice, gain));
            }
        }
        best.map(|(choice, _)| choice)
    }

    /// Per reply to an action of a mover at the root, when the game ends; `None` for a reply that
    /// does not have the proven value.
    fn ends(&self, index: usize, player: usize, choice: usize) -> Vec<Option<u32>> {
        let value = self.store.exact[player];
        let end = |child: u32| {
            let node = self.store.nodes.get(child as usize).filter(|node| node.is_exact)?;
            (self.exact_step(ROOT, child, player) == value).then_some(node.end)
        };
        let first = self.store.node(ROOT).first;
        if self.store.node(ROOT).kind == NodeKind::Single {
            return vec![end(self.store.edges[first as usize + choice].child)];
        }
        let mut edges = [0, 1].map(|mover| self.store.block(ROOT, mover).start as u32);
        edges[index] += choice as u32;
        let (before, radix) = self.code_around(ROOT, &edges, 1 - index);
        let replies = 0..self.store.block(ROOT, 1 - index).len() as u64;
        replies.map(|reply| end(self.store.joints.get(ROOT, before + radix * reply))).collect()
    }
}
