//! Adds new nodes and expands them with estimates.

use ouro_game::{Action, ActionMask, Chance, Game, PlayerSet, Turn, outcome_value};

use super::Tree;
use crate::evaluator::Estimate;
use crate::mcts::config::Objective;
use crate::mcts::node_store::{Edge, LEAST_PRIOR, NONE, NodeKind, ROOT, Regret};

/// Most forced steps before a node is made, in case a game forces its players in a circle.
const MAX_FORCED: usize = 100_000;

impl<G: Game> Tree<G> {
    /// Adds the child that the joint action in `self.joint` leads to.
    pub(super) fn add_child(&mut self, game: &G, parent: u32) -> u32 {
        let child = self.store.add_child(parent);
        let stepped = game.step(self.store.state_mut(child), &self.joint);
        debug_assert!(stepped.is_ok(), "legal actions must apply: {stepped:?}");
        self.open(game, child);
        child
    }

    /// Initialises a new node by its turn, after stepping through forced moves.
    pub(super) fn open(&mut self, game: &G, node: u32) {
        let parent = self.store.node(node).parent;
        let turn = if parent == NONE {
            game.turn(self.store.state(node))
        } else {
            self.step_on(game, parent, node)
        };
        let elapsed = game.elapsed(self.store.state(node));
        self.store.node_mut(node).elapsed = elapsed;
        if self.own_ends {
            self.store.node_mut(node).alive = game.alive(self.store.state(node));
        }
        match turn {
            Turn::Move(movers) => self.store.node_mut(node).movers = movers,
            Turn::Chance if game.is_decided(self.store.state(node)) => self.end(game, node),
            Turn::Chance => self.open_chance(game, node),
            Turn::Over => self.end(game, node),
        }
    }

    /// Plays forced moves at a new child and sums the rewards since its parent.
    fn step_on(&mut self, game: &G, parent: u32, node: u32) -> Turn {
        let rewarded = self.config.objective == Objective::Returns;
        let mut reward_sum = std::mem::take(&mut self.reward_sum);
        if rewarded {
            reward_sum.start(game, self.store.state(parent));
            reward_sum.add(game, self.store.state(node));
        }
        let (state, legal, joint) = (self.store.state_mut(node), &mut self.legal, &mut self.joint);
        let forced = self.forced;
        let turn = play_forced(game, state, forced, legal, joint, |state| {
            if rewarded {
                reward_sum.add(game, state);
            }
        });
        if rewarded {
            for (at, &sum) in self.store.slot(node).zip(reward_sum.sums()) {
                self.store.rewards[at] = finite(sum as f32);
            }
        }
        self.reward_sum = reward_sum;
        turn
    }

    /// Marks the end of the game, whose future values are known.
    fn end(&mut self, game: &G, node: u32) {
        for (player, at) in self.store.slot(node).enumerate() {
            self.store.exact[at] = match self.config.objective {
                Objective::Outcome => {
                    let outcome = game.outcome(self.store.state(node), player);
                    finite(outcome_value(outcome, self.config.draw))
                }
                Objective::Returns => 0.0,
            };
        }
        self.close(node);
    }

    /// Makes a node with exact values one without children.
    fn close(&mut self, node: u32) {
        let node = self.store.node_mut(node);
        (node.kind, node.is_exact, node.end) = (NodeKind::Terminal, true, node.elapsed);
    }

    /// Gives a node its edges, unless its values are exact, and loads its values for backing up.
    pub(super) fn expand(&mut self, game: &G, node: u32, evaluation: Estimate<'_>) {
        if evaluation.is_exact && self.config.solver && node != ROOT {
            self.load_values(game, node, evaluation.values);
            for (at, &value) in self.store.slot(node).zip(&self.values) {
                self.store.exact[at] = value as f32;
            }
            self.close(node);
            return;
        }
        let movers = self.store.node(node).movers;
        let actions = game.action_count();
        let first = self.store.edges.len();
        let first_block = self.store.blocks.len();
        for (row, player) in movers.iter().enumerate() {
            let priors =
                evaluation.priors.and_then(|all| all.get(row * actions..(row + 1) * actions));
            if !self.push_edges(game, node, player, priors) {
                // A game that breaks the law `Legal`; in release builds it counts as an end.
                debug_assert!(false, "a player to move has a legal action");
                self.store.edges.truncate(first);
                self.store.blocks.truncate(first_block);
                self.end(game, node);
                self.load_exact(node);
                return;
            }
        }
        if self.matching {
            self.store.regrets.resize(self.store.edges.len(), Regret::default());
        }
        let count = (self.store.edges.len() - first) as u32;
        let expanded = self.store.node_mut(node);
        (expanded.first, expanded.count) = (first as u32, count);
        if movers.len() == 1 {
            expanded.kind = NodeKind::Single;
            self.store.blocks.truncate(first_block);
        } else {
            expanded.kind = NodeKind::Joint;
            expanded.extra = first_block as u32;
        }
        self.load_values(game, node, evaluation.values);
    }

    /// Appends the edges of one player; returns whether there are any.
    fn push_edges(&mut self, game: &G, node: u32, player: usize, priors: Option<&[f32]>) -> bool {
        game.viable(self.store.state(node), player, &mut self.legal);
        let edges = &mut self.store.edges;
        let first = edges.len();
        let mut total = 0.0;
        for action in self.legal.iter() {
            let prior = priors.and_then(|row| row.get(action.index()).copied());
            let prior = prior.filter(|prior| *prior > 0.0 && prior.is_finite()).unwrap_or(0.0);
            total += prior;
            edges.push(Edge {
                action: action.0,
                prior,
                visits: 0,
                pending: 0,
                redirected: 0,
                child: NONE,
                sum: 0.0,
            });
        }
        let block = &mut edges[first..];
        let count = block.len();
        if total > 0.0 && total.is_finite() {
            block.iter_mut().for_each(|edge| edge.prior = (edge.prior / total).max(LEAST_PRIOR));
        } else {
            block.iter_mut().for_each(|edge| edge.prior = 1.0 / count as f32);
        }
        self.store.blocks.push(count as u32);
        count > 0
    }

    /// Loads the evaluator's values, and the known outcomes of eliminated players.
    fn load_values(&mut self, game: &G, node: u32, values: &[f32]) {
        let state = self.store.state(node);
        let alive = game.alive(state);
        for (player, value) in self.values.iter_mut().enumerate() {
            *value = f64::from(match self.config.objective {
                _ if alive.contains(player) => finite(values.get(player).copied().unwrap_or(0.0)),
                Objective::Outcome => {
                    finite(outcome_value(game.outcome(state, player), self.config.draw))
                }
                Objective::Returns => 0.0,
            });
        }
    }
}

/// The value, or 0 if it is not finite, so that sums stay finite.
fn finite(value: f32) -> f32 {
    if value.is_finite() { value } else { 0.0 }
}

/// Steps that a search plays without nodes of its own.
#[derive(Clone, Copy, Debug)]
pub(in crate::mcts) struct Forced {
    /// Joint actions without an alternative.
    pub(in crate::mcts) moves: bool,
    /// Chance, without an event, where the game can.
    pub(in crate::mcts) chance: bool,
}

/// Plays chance with one outcome, and what else is `forced`. Calls `stepped` with every state on
/// the way and returns the turn of the last one.
pub(in crate::mcts) fn play_forced<G: Game>(
    game: &G,
    state: &mut G::State,
    forced: Forced,
    legal: &mut ActionMask,
    joint: &mut [Action],
    mut stepped: impl FnMut(&G::State),
) -> Turn {
    for _ in 0..MAX_FORCED {
        let turn = game.turn(state);
        let played = match turn {
            Turn::Chance if game.chance(state) == (Chance::Enumerable { count: 1 }) => {
                game.apply_chance(state, 0).is_ok()
            }
            Turn::Chance if game.is_decided(state) => return turn,
            Turn::Chance if forced.chance => {
                if !game.skip_chance(state) {
                    return turn;
                }
                true
            }
            Turn::Move(movers) if forced.moves && is_forced(game, state, movers, legal, joint) => {
                game.step(state, joint).is_ok()
            }
            Turn::Move(_) | Turn::Chance | Turn::Over => return turn,
        };
        if !played {
            debug_assert!(false, "the only choice must apply");
            return turn;
        }
        stepped(state);
    }
    game.turn(state)
}

/// Whether each player to move has a single legal action, which is written to `joint`.
fn is_forced<G: Game>(
    game: &G,
    state: &G::State,
    movers: PlayerSet,
    legal: &mut ActionMask,
    joint: &mut [Action],
) -> bool {
    movers.iter().all(|player| {
        game.legal(state, player, legal);
        let mut actions = legal.iter();
        match (actions.next(), actions.next()) {
            (Some(only), None) => {
                joint[player] = only;
                true
            }
            _ => false,
        }
    })
}
