//! Results of a search: the action to play, and the training targets.
//!
//! Exponentials, logarithms and powers are libm's. Those of the standard library differ between platforms
//! in the last digit, and equal seeds must give equal games.

use ouro_game::{Action, Game, Turn};

use super::config::{Objective, Simultaneous};
use super::node_store::{Edge, NodeKind, ROOT};
use super::reward_sum::RewardSum;
use super::root::forced;
use super::scale::{self, Scale};
use super::search::Search;
use super::tree::{Tree, play_forced};

/// Least share of an action in Gumbel's improved policy, as a part of the largest share.
///
/// The action left by sequential halving need not score best, and the probability of a choice may not
/// be too small to divide by: a recorded game with one below 1e-30 is refused. With the most actions
/// that a network has, 65,536, a normalised share is at least 1.5e-29.
const LEAST_SHARE: f32 = 1e-24;

/// The result of a search in one position.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchResult {
    /// One entry per player to move, lowest first.
    pub seats: Vec<SeatResult>,
    /// Expected value of each player from this position on, `[players]`. Exact if `proven`, as in
    /// a finished game. With forced playouts, actions count with their shares of the policy; otherwise the
    /// value is the mean over all simulations.
    pub values: Vec<f32>,
    /// Number of simulations.
    pub simulations: u32,
    /// Whether the search was full or the move forced, so that the policy is a training target.
    pub full: bool,
    /// Whether the values are proven.
    pub proven: bool,
}

/// The result of a search for one player's move.
#[derive(Clone, Debug, PartialEq)]
pub struct SeatResult {
    /// The player.
    pub player: usize,
    /// The searched actions, ascending: the [viable](ouro_game::Game::viable) ones.
    pub actions: Vec<Action>,
    /// Visits of each action, those of a kept tree included.
    pub visits: Vec<u32>,
    /// The evaluator's prior over `actions`, before noise, summing to 1. An action that a kept
    /// tree has proven to lose has 0, and the others are renormalised.
    pub prior: Vec<f32>,
    /// The improved policy over `actions`, summing to 1: the policy target. It comes from visits
    /// less forced playouts, from the average strategy of regret matching, or from Gumbel's
    /// completed values. It is the prior if all actions lose, but the position is not proven.
    pub policy: Vec<f32>,
    /// The action to play.
    pub action: Action,
    /// Probability with which `action` was chosen, above 0. Sequential halving has no closed form
    /// for it, so the probability under the improved policy is used there.
    pub probability: f32,
}

impl SeatResult {
    /// Policy surprise: `KL(policy ‖ prior)` in nats, 0 or more. Policy-surprise weighting of
    /// training positions uses it (Wu, `KataGoMethods.md`).
    pub fn surprise(&self) -> f32 {
        let shares = self.policy.iter().zip(&self.prior).filter(|(share, _)| **share > 0.0);
        let sum: f64 = shares
            .map(|(&share, &prior)| {
                let (share, prior) = (f64::from(share), f64::from(prior.max(f32::MIN_POSITIVE)));
                share * libm::log(share / prior)
            })
            .sum();
        // Rounding can make the divergence of two equal policies slightly negative.
        sum.max(0.0) as f32
    }
}

impl<G: Game> Search<G> {
    /// Decides from the visits so far. Without simulations the priors decide; without an evaluated
    /// root the choice is uniform over the legal actions.
    pub fn decide(&mut self, game: &G) -> SearchResult {
        let proven = self.tree.store.nodes.first().is_some_and(|root| root.is_exact);
        let mut decision = SearchResult {
            seats: Vec::new(),
            values: vec![0.0; game.players()],
            simulations: self.simulations(),
            full: self.is_full,
            proven,
        };
        let Some(state) = self.state.take() else { return decision };
        if let Turn::Move(movers) = game.turn(&state) {
            let searched = !self.ahead
                && matches!(self.tree.store.node(ROOT).kind, NodeKind::Single | NodeKind::Joint);
            for (index, player) in movers.iter().enumerate() {
                let seat = if searched {
                    let temperature = self.config().temperature.at(game.elapsed(&state));
                    self.tree.seat(index, player, temperature)
                } else {
                    self.tree.unsearched(game, &state, player)
                };
                decision.seats.push(seat);
            }
        }
        self.write_values(game, &state, &mut decision);
        self.state = Some(state);
        decision
    }

    fn write_values(&mut self, game: &G, state: &G::State, decision: &mut SearchResult) {
        let config = &self.tree.config;
        let rewarded = config.objective == Objective::Returns;
        let mut reward_sum = RewardSum::new(config.discount);
        reward_sum.start(game, state);
        if self.ahead {
            let mut state = state.clone();
            let (legal, joint) = (&mut self.legal, &mut self.joint);
            let forced = self.tree.forced;
            play_forced(game, &mut state, forced, legal, joint, |state| {
                reward_sum.add(game, state)
            });
        }
        let alive = game.alive(state);
        // The seats of a position before the root have not been searched.
        let seats = if self.ahead { &[] } else { decision.seats.as_slice() };
        for (player, value) in decision.values.iter_mut().enumerate() {
            let at_root = self.tree.root_value(player, seats);
            let got = if rewarded { reward_sum.sums()[player] } else { 0.0 };
            let is_decided = self.tree.own_ends && !alive.contains(player);
            let factor = if is_decided { 1.0 } else { reward_sum.factor() };
            *value = (got + factor * at_root) as f32;
        }
    }
}

impl<G: Game> Tree<G> {
    /// The value of the root for a player.
    ///
    /// With forced playouts, actions count with their shares of the policy instead of their visits. How
    /// many bad actions a position has would lower its value otherwise. KataGo prunes its value targets
    /// for the same reason (`getPrunedNodeValues`).
    fn root_value(&self, player: usize, seats: &[SeatResult]) -> f64 {
        let root = self.store.node(ROOT);
        if root.is_exact {
            return f64::from(self.store.exact[player]);
        }
        let is_single = root.kind == NodeKind::Single;
        let own = root.movers.iter().position(|mover| mover == player);
        let index = own.or(is_single.then_some(0));
        let pruned = index.zip(index.and_then(|index| seats.get(index)));
        let pruned = pruned.filter(|_| self.root.forced.is_some());
        let value = pruned.and_then(|(index, seat)| {
            let edges = &self.store.edges[self.store.block(ROOT, index)];
            let (mut shares, mut sum) = (0.0, 0.0);
            for (edge, &share) in edges.iter().zip(&seat.policy) {
                if share > 0.0 && edge.completed() > 0 {
                    let value = match own {
                        Some(_) => edge.mean(),
                        None => self.step_mean(ROOT, edge.child, player),
                    };
                    shares += f64::from(share);
                    sum += f64::from(share) * value;
                }
            }
            (shares > 0.0).then(|| sum / shares)
        });
        value.unwrap_or_else(|| self.store.mean(ROOT, player))
    }

    /// The mean value for `player` of stepping to `child`.
    fn step_mean(&self, node: u32, child: u32, player: usize) -> f64 {
        if self.store.node(child).is_exact {
            return f64::from(self.exact_step(node, child, player));
        }
        let reward = f64::from(self.store.rewards[self.store.slot(child).start + player]);
        reward + self.discount_for(node, child, player) * self.store.mean(child, player)
    }

    /// A uniform choice, for a position without a search.
    fn unsearched(&mut self, game: &G, state: &G::State, player: usize) -> SeatResult {
        let mut legal = ouro_game::ActionMask::default();
        game.viable(state, player, &mut legal);
        let actions: Vec<Action> = legal.iter().collect();
        let share = 1.0 / actions.len().max(1) as f32;
        let drawn = if actions.len() > 1 { self.rng.below(actions.len() as u32) } else { 0 };
        SeatResult {
            player,
            visits: vec![0; actions.len()],
            prior: vec![share; actions.len()],
            policy: vec![share; actions.len()],
            action: actions.get(drawn as usize).copied().unwrap_or_default(),
            probability: share,
            actions,
        }
    }

    /// The result of the `index`-th mover of the root.
    fn seat(&mut self, index: usize, player: usize, temperature: f32) -> SeatResult {
        let block = self.store.block(ROOT, index);
        let offset = block.start - self.store.node(ROOT).first as usize;
        // Choice and policy come from the same actions.
        let resisting = self.resisting(index, player);
        let allowed = resisting.unwrap_or_else(|| self.allowed(index, player));
        let edges = &self.store.edges[block.clone()];
        let scale = self.scaling.scale();
        let visits: Vec<u32> = edges.iter().map(|edge| edge.visits).collect();
        let visited = || -> Vec<f32> { visits.iter().map(|&visits| visits as f32).collect() };
        let priors = || -> Vec<f32> { edges.iter().map(|edge| edge.prior).collect() };
        let mut prior = self.root.priors[offset..offset + edges.len()].to_vec();
        keep_allowed(&mut prior, &vec![true; edges.len()]);
        normalize(&mut prior);
        let joint = self.store.node(ROOT).kind == NodeKind::Joint;
        let matching =
            joint && matches!(self.config.simultaneous, Simultaneous::RegretMatching { .. });
        // The allowed actions of a proven root are equally good, however they got their visits.
        let is_exact = self.store.node(ROOT).is_exact;
        let pruning = self.root.forced_of(player).filter(|_| !is_exact);
        // All actions lose, though the other player may lose as well. None is better than another.
        let is_lost = !is_exact && edges.iter().all(|edge| edge.prior == 0.0);
        let mut policy: Vec<f32> = if is_lost {
            prior.clone()
        } else if matching {
            let regrets = &self.store.regrets[block.clone()];
            regrets.iter().map(|regret| regret.strategy as f32).collect()
        } else if self.root.gumbel.is_some() {
            let scores: Vec<f32> = self.root.gumbel_scores(index, offset, edges, scale).collect();
            softmax(&scores)
        } else if let Some(factor) = pruning {
            self.pruned(edges, factor, scale)
        } else {
            visited()
        };
        let is_left = |(&share, &allowed): (&f32, &bool)| allowed && share > 0.0;
        if pruning.is_some() && !policy.iter().zip(&allowed).any(is_left) {
            // All visits of the allowed actions are pruned.
            policy = visited();
        }
        if policy.iter().sum::<f32>() <= 0.0 {
            policy = priors();
        }
        keep_allowed(&mut policy, &allowed);
        normalize(&mut policy);
        let (chosen, probability) = if self.root.gumbel.is_some() && !matching {
            let chosen = self.root.gumbel_choice(index, offset, edges, scale);
            let chosen = if allowed[chosen] { chosen } else { greatest(&policy, edges) };
            (chosen, policy[chosen].max(f32::MIN_POSITIVE))
        } else if temperature == 0.0 && !matching {
            let best = self.best_proven(index, player, &policy);
            (best.unwrap_or_else(|| greatest(&policy, edges)), 1.0)
        } else {
            let sharpness = if matching { 1.0 } else { 1.0 / temperature };
            let most = policy.iter().copied().fold(0.0, f32::max);
            let weights: Vec<f32> =
                policy.iter().map(|share| libm::powf(share / most, sharpness)).collect();
            let chosen = self.rng.weighted(&weights);
            let total: f64 = weights.iter().map(|&weight| f64::from(weight)).sum();
            (chosen, ((f64::from(weights[chosen]) / total) as f32).max(f32::MIN_POSITIVE))
        };
        let actions = edges.iter().map(|edge| Action(edge.action)).collect::<Vec<_>>();
        SeatResult { player, action: actions[chosen], actions, visits, prior, policy, probability }
    }

    /// Visits without those that only forced playouts caused. KataGo, section 3.2.
    ///
    /// Visits of an action are removed, up to the forced number, while PUCT would still not
    /// prefer the action to the most visited one that is not proven to lose. An action with a single
    /// remaining visit loses that too.
    fn pruned(&self, edges: &[Edge], factor: f32, scale: Scale) -> Vec<f32> {
        let total = Self::visits(edges);
        let explore = self.explore(self.store.node(ROOT).visits as f32);
        let open = edges.iter().filter(|edge| edge.prior > 0.0);
        let Some(best) = open.max_by_key(|edge| edge.visits) else { return Vec::new() };
        let target = scale::score(best, explore, 0.0, scale);
        let prune = |edge: &Edge| {
            if edge.visits == best.visits || edge.visits == 0 {
                return edge.visits as f32;
            }
            let owed = forced(factor, edge.prior, total).ceil() as u32;
            let mean = edge.mean();
            let mut left = edge.visits;
            while left > 0 && edge.visits - left < owed {
                let visits = left - 1;
                let less = Edge { visits, sum: mean * f64::from(visits), ..*edge };
                let value = scale.apply(mean as f32);
                let score = if visits == 0 {
                    value + explore * edge.prior
                } else {
                    scale::score(&less, explore, 0.0, scale)
                };
                if score >= target {
                    break;
                }
                left = visits;
            }
            if left <= 1 { 0.0 } else { left as f32 }
        };
        edges.iter().map(prune).collect()
    }
}

fn softmax(scores: &[f32]) -> Vec<f32> {
    let most = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    if !most.is_finite() {
        return vec![0.0; scores.len()];
    }
    scores.iter().map(|score| libm::expf(score - most).max(LEAST_SHARE)).collect()
}

/// Sets shares of disallowed actions to 0. If no share is left, the allowed actions share evenly.
fn keep_allowed(policy: &mut [f32], allowed: &[bool]) {
    let mut left = 0.0;
    for (share, &allowed) in policy.iter_mut().zip(allowed) {
        if !allowed {
            *share = 0.0;
        }
        left += *share;
    }
    if left <= 0.0 {
        for (share, &allowed) in policy.iter_mut().zip(allowed) {
            *share = f32::from(u8::from(allowed));
        }
    }
}

fn normalize(policy: &mut [f32]) {
    let total: f32 = policy.iter().sum();
    policy.iter_mut().for_each(|share| *share /= total);
}

/// Index of the largest share; of equals the one with the better value, then the first.
fn greatest(policy: &[f32], edges: &[Edge]) -> usize {
    let mut best = 0;
    for at in 1..policy.len() {
        let better = policy[at] > policy[best]
            || policy[at] == policy[best] && edges[at].mean() > edges[best].mean();
        if better {
            best = at;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use ouro_game::Rng;
    use ouro_game::tic_tac_toe::{self, TicTacToe};

    use super::super::config::SearchConfig;
    use super::super::scheduler::Scheduler;
    use super::*;
    use crate::evaluator::Uniform;

    #[test]
    fn forced_visits_are_pruned_although_the_most_visited_action_was_refuted() {
        let game = TicTacToe::new(tic_tac_toe::Config {}).expect("the board");
        let config = SearchConfig { simulations: 64, ..SearchConfig::default() };
        let mut search = Search::new(config, &game).expect("a valid configuration");
        search.start(&game, &game.initial(&mut Rng::new(0, "game")), Rng::new(1, "search"));
        Scheduler::new(1).run(&game, std::slice::from_mut(&mut search), &mut Uniform);
        let tree = &search.tree;
        let edge = |visits: u32, mean: f64, prior| {
            let sum = mean * f64::from(visits);
            Edge { visits, pending: 0, redirected: 0, sum, prior, ..tree.store.edges[0] }
        };
        // The first one was just proven to lose. Its score would keep all visits of the third.
        let edges = [edge(50, -1.0, 0.0), edge(10, 0.1, 0.5), edge(4, -0.6, 0.1)];
        let pruned = tree.pruned(&edges, 2.0, tree.scaling.scale());
        assert_eq!(pruned[1..], [10.0, 0.0]);
    }
}
