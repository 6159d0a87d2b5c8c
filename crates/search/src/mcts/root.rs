//! What is special about the root: noise, forced playouts, sequential halving.

use ouro_game::Rng;

use super::config::{Gumbel, Noise, SearchConfig};
use super::node_store::{Edge, LEAST_PRIOR, NodeStore, ROOT};
use super::noise;
use super::scale::Scale;

/// The root's rule for one decision.
#[derive(Clone, Debug, Default)]
pub(super) struct Root {
    /// Factor of forced playouts, if they are on.
    pub(super) forced: Option<f32>,
    /// Settings of sequential halving, if it is on.
    pub(super) gumbel: Option<Gumbel>,
    /// One Gumbel variate per edge.
    variates: Vec<f32>,
    /// Visits of each edge that a kept tree brought along.
    inherited: Vec<u32>,
    /// Prior of each edge before noise.
    pub(super) priors: Vec<f32>,
    /// Per mover: its value when the decision began.
    values: Vec<f32>,
    /// Per mover: actions that sequential halving begins with.
    considered: Vec<u32>,
    simulations: u32,
    noise: Vec<f32>,
}

impl Root {
    /// Begins a decision of `simulations` at an expanded root. `full` is false for fast ones.
    pub(super) fn prepare<S: Clone>(
        &mut self,
        store: &mut NodeStore<S>,
        config: &SearchConfig,
        full: bool,
        simulations: u32,
        rng: &mut Rng,
    ) {
        self.forced = config.forced_playouts.filter(|_| full);
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
            if let Some(noise) = config.noise.filter(|_| full) {
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

    /// Mixes Dirichlet noise into the priors of one mover. An action without a prior is proven
    /// to lose and stays so.
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

    /// The action that the rule wants, if it wants one: counted within `edges`, the block of
    /// mover `index`, which starts at the `offset`-th edge of the root.
    pub(super) fn choose(
        &self,
        index: usize,
        offset: usize,
        edges: &[Edge],
        scale: Scale,
        simulation: u32,
    ) -> Option<usize> {
        if let Some(factor) = self.forced {
            let total: u32 = edges.iter().map(|edge| edge.visits).sum();
            let owed = |edge: &Edge| {
                edge.visits > 0 && (edge.visits as f32) < forced(factor, edge.prior, total)
            };
            return edges.iter().position(owed);
        }
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

    /// `logit + σ(completed Q)` of each edge: what the improved policy is a softmax of.
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
        // What an action that was not tried is worth: the root's own value and the tried
        // actions' values by their priors (appendix D of the paper).
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
            edge.prior.ln() + weight * 0.5 * (value + 1.0)
        })
    }

    /// The edge that sequential halving is left with: of the most visited ones in this
    /// decision the one with the greatest score.
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

/// Visits that an action is owed: `√(k · P · N)`.
pub(super) fn forced(factor: f32, prior: f32, total: u32) -> f32 {
    (factor * prior * total as f32).sqrt()
}

/// How many visits the action must have that sequential halving of `considered` actions tries
/// in one of `simulations` simulations: all of them equally often, then the better half equally
/// often, and so on with the same share of simulations each.
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
    fn the_plan_of_the_longest_search_shares_it_out_and_takes_no_memory() {
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
