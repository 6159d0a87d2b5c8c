//! Rules of the root: noise, forced playouts, sequential halving.

use ouro_game::{PlayerSet, Rng};

use super::config::{Gumbel, Noise, SearchConfig, Simultaneous};
use super::node_store::{Edge, LEAST_PRIOR, NodeKind, NodeStore, ROOT};
use super::noise;
use super::scale::Scale;

/// The root's rules for one decision.
#[derive(Clone, Debug, Default)]
pub(super) struct Root {
    /// Factor of forced playouts; `None` if they are off.
    pub(super) forced: Option<f32>,
    /// Players with noise and forced playouts; `None` for all.
    pub(super) explorers: Option<PlayerSet>,
    /// Settings of sequential halving; `None` if it is off.
    pub(super) gumbel: Option<Gumbel>,
    /// One Gumbel variate per edge.
    variates: Vec<f32>,
    /// Visits of each edge in a kept tree, before this decision.
    inherited: Vec<u32>,
    /// Prior of each edge before noise.
    pub(super) priors: Vec<f32>,
    /// Per mover: its value at the start of the decision.
    values: Vec<f32>,
    /// Per mover: number of actions that sequential halving starts with.
    considered: Vec<u32>,
    simulations: u32,
    noise: Vec<f32>,
}

impl Root {
    /// Starts a decision of `simulations` at an expanded root. `full` is false for fast searches.
    pub(super) fn prepare<S: Clone>(
        &mut self,
        store: &mut NodeStore<S>,
        config: &SearchConfig,
        full: bool,
        simulations: u32,
        rng: &mut Rng,
    ) {
        let matching = matches!(config.simultaneous, Simultaneous::RegretMatching { .. })
            && store.node(ROOT).kind == NodeKind::Joint;
        self.forced = config.forced_playouts.filter(|_| full && !matching);
        self.gumbel = config.gumbel;
        self.simulations = simulations;
        self.inherited.clear();
        self.inherited.extend(store.edges_of(ROOT).iter().map(|edge| edge.visits));
        self.priors.clear();
        self.priors.extend(store.edges_of(ROOT).iter().map(|edge| edge.prior));
        self.variates.clear();
        self.values.clear();
        self.considered.clear();
        for (index, player) in store.node(ROOT).movers.iter().enumerate() {
            let block = store.block(ROOT, index);
            self.values.push(store.mean(ROOT, player) as f32);
            if let Some(noise) = config.noise.filter(|_| full && self.explores(player)) {
                self.add_noise(&mut store.edges[block.clone()], noise, rng);
            }
            if let Some(gumbel) = config.gumbel {
                let edges = &store.edges[block];
                self.variates.extend(edges.iter().map(|_| noise::gumbel(rng)));
                let possible = edges.iter().filter(|edge| edge.prior > 0.0).count();
                self.considered.push((possible as u32).min(gumbel.considered));
            }
        }
    }

    /// Mixes Dirichlet noise into the priors of one mover. An action with prior 0 is proven to
    /// lose and keeps it.
    fn add_noise(&mut self, edges: &mut [Edge], noise: Noise, rng: &mut Rng) {
        let count = edges.iter().filter(|edge| edge.prior > 0.0).count();
        if count == 0 {
            return;
        }
        self.noise.clear();
        self.noise.resize(count, 0.0);
        noise::dirichlet(f64::from(noise.total) / count as f64, &mut self.noise, rng);
        let open = edges.iter_mut().filter(|edge| edge.prior > 0.0);
        for (edge, drawn) in open.zip(&self.noise) {
            let mixed = (1.0 - noise.share) * edge.prior + noise.share * drawn;
            edge.prior = mixed.max(LEAST_PRIOR);
        }
    }

    fn explores(&self, player: usize) -> bool {
        self.explorers.is_none_or(|explorers| explorers.contains(player))
    }

    /// Factor of forced playouts of one player; `None` if it has none.
    pub(super) fn forced_of(&self, player: usize) -> Option<f32> {
        self.forced.filter(|_| self.explores(player))
    }

    /// The first action of a player whose visits are below the minimum of forced playouts. The index
    /// counts within `edges`, the player's block.
    pub(super) fn below_minimum(&self, player: usize, edges: &[Edge]) -> Option<usize> {
        let factor = self.forced_of(player)?;
        let total: u32 = edges.iter().map(|edge| edge.visits).sum();
        edges.iter().position(|edge| {
            edge.visits > 0 && (edge.visits as f32) < forced(factor, edge.prior, total)
        })
    }

    /// The action that sequential halving selects; `None` leaves it to PUCT.
    ///
    /// The index counts within `edges`, the block of mover `index`, which starts at the
    /// `offset`-th edge of the root.
    pub(super) fn halving(
        &self,
        index: usize,
        offset: usize,
        edges: &[Edge],
        scale: Scale,
        simulation: u32,
    ) -> Option<usize> {
        self.gumbel?;
        let wanted = planned_visits(*self.considered.get(index)?, self.simulations, simulation);
        let scores = self.gumbel_scores(index, offset, edges, scale);
        let (mut best, mut best_score) = (None, f32::NEG_INFINITY);
        for (at, score) in scores.enumerate() {
            let visits = edges[at].visits.saturating_sub(self.inherited[offset + at]);
            let total = score + self.variates[offset + at];
            if visits == wanted && total > best_score {
                (best, best_score) = (Some(at), total);
            }
        }
        best
    }

    /// `logit + σ(completed Q)` of each edge. The improved policy is the softmax of these scores.
    pub(super) fn gumbel_scores(
        &self,
        index: usize,
        offset: usize,
        edges: &[Edge],
        scale: Scale,
    ) -> impl Iterator<Item = f32> {
        let Gumbel { visit_offset, scale: value_weight, .. } = self.gumbel.unwrap_or_default();
        let most = edges.iter().map(|edge| edge.visits).max().unwrap_or(0);
        let weight = (visit_offset + most as f32) * value_weight;
        // The completed value of unvisited actions mixes the root's own value and the visited
        // actions' values, weighted by their priors (appendix D of the paper).
        let (mut visits, mut prior, mut value) = (0.0, 0.0, 0.0);
        for edge in edges.iter().filter(|edge| edge.completed() > 0) {
            visits += edge.completed() as f32;
            prior += edge.prior;
            value += edge.prior * edge.mean() as f32;
        }
        let own = self.values.get(index).copied().unwrap_or(0.0);
        let tried = if prior > 0.0 { value / prior } else { own };
        let completed = (own + visits * tried) / (1.0 + visits);
        debug_assert!(offset + edges.len() <= self.inherited.len(), "edges of the root");
        edges.iter().map(move |edge| {
            let value = match edge.completed() {
                0 => scale.apply_unseen(completed),
                _ => scale.apply(edge.mean() as f32),
            };
            libm::logf(edge.prior) + weight * 0.5 * (value + 1.0)
        })
    }

    /// The edge that remains after sequential halving: the one with the greatest score among the
    /// most visited edges of this decision.
    pub(super) fn gumbel_choice(
        &self,
        index: usize,
        offset: usize,
        edges: &[Edge],
        scale: Scale,
    ) -> usize {
        let own = |at: usize| edges[at].visits.saturating_sub(self.inherited[offset + at]);
        let open = |at: &usize| edges[*at].prior > 0.0;
        let most = (0..edges.len()).filter(open).map(own).max().unwrap_or(0);
        let (mut best, mut best_score) = (0, f32::NEG_INFINITY);
        for (at, score) in self.gumbel_scores(index, offset, edges, scale).enumerate() {
            let total = score + self.variates[offset + at];
            if own(at) == most && total > best_score {
                (best, best_score) = (at, total);
            }
        }
        best
    }
}

/// The least visits of a forced playout: `√(k · P · N)`.
pub(super) fn forced(factor: f32, prior: f32, total: u32) -> f32 {
    (factor * prior * total as f32).sqrt()
}

/// The number of visits that the next action of sequential halving has so far.
///
/// Of `simulations` simulations, all `considered` actions get the same number of visits, then the
/// better half, and so on, with an equal share of the simulations per round.
fn planned_visits(considered: u32, simulations: u32, simulation: u32) -> u32 {
    let rounds = considered.max(2).next_power_of_two().ilog2();
    let (mut left, mut visits, mut rest) = (considered.max(1), 0, simulation);
    loop {
        let repeats = (simulations / (rounds * left)).max(1);
        if rest / left < repeats {
            return visits + rest / left;
        }
        rest -= repeats * left;
        visits += repeats;
        left = if considered > 1 { (left / 2).max(2) } else { 1 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcts::config::MAX_SIMULATIONS;

    fn plan(considered: u32, simulations: u32) -> Vec<u32> {
        (0..simulations).map(|at| planned_visits(considered, simulations, at)).collect()
    }

    #[test]
    fn halving_tries_all_then_the_better_half() {
        assert_eq!(plan(4, 16), [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]);
        assert_eq!(plan(1, 4), [0, 1, 2, 3]);
        assert_eq!(plan(4, 3), [0, 0, 0]);
        assert_eq!(plan(2, 5), [0, 0, 1, 1, 2]);
    }

    #[test]
    fn the_plan_of_the_longest_search_has_equal_rounds_and_needs_no_memory() {
        let all = MAX_SIMULATIONS;
        // 4 rounds of a quarter each: of 16, of 8, of 4 and of 2 actions.
        let shares = [16, 8, 4, 2].map(|left| all / 4 / left);
        let ends = [all / 4, all / 2, all / 4 * 3, all].map(|end| planned_visits(16, all, end - 1));
        let mut visits = 0;
        for (share, end) in shares.into_iter().zip(ends) {
            visits += share;
            assert_eq!(end, visits - 1);
        }
    }
}
