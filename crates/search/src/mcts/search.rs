//! One decision after another, each by a budget of simulations.

use ouro_game::{Action, ActionMask, Game, PlayerSet, Rng, Symmetry, Turn};

use super::config::SearchConfig;
use super::config_error::{SearchConfigError, check_joint_actions};
use super::node_store::{NONE, NodeKind, ROOT};
use super::tree::{DescentOutcome, Tree, play_forced};
use crate::evaluator::{Estimate, Leaf};

/// A leaf that is with the evaluator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeafId(usize);

/// What [`Search::select`] came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SelectOutcome {
    /// A leaf to evaluate and to give back with [`Search::back_up`].
    Leaf(LeafId),
    /// A simulation that needed no evaluation and is done.
    BackedUp,
    /// Nothing before a leaf in flight comes back.
    Blocked,
    /// The decision can be made.
    Done,
}

/// A search of one game, from decision to decision.
///
/// ```text
/// start(state) ─► select ⇄ back_up ... Done ─► decide ─► advance(joint, state) ─► select ...
/// ```
///
/// Contract: given the configuration, the generator passed to [`start`](Self::start) and the
/// evaluations, every decision is the same bit for bit.
#[derive(Debug)]
pub struct Search<G: Game> {
    pub(super) tree: Tree<G>,
    /// Simulations of this decision.
    budget: u32,
    started: u32,
    done: u32,
    /// Whether this decision is searched in full.
    pub(super) is_full: bool,
    /// Whether players move at all in the position to decide.
    playing: bool,
    /// The tree may not grow any more.
    exhausted: bool,
    /// The position to decide; the tree's root lies beyond forced moves if they differ.
    pub(super) state: Option<G::State>,
    pub(super) ahead: bool,
    pub(super) legal: ActionMask,
    pub(super) joint: Vec<Action>,
}

impl<G: Game> Search<G> {
    /// A search that waits for [`start`](Self::start), or says why the configuration does not
    /// fit.
    pub fn new(config: SearchConfig, game: &G) -> Result<Self, SearchConfigError> {
        config.validate()?;
        let (players, actions) = (game.players(), game.action_count());
        check_joint_actions(G::NAME, players, actions)?;
        Ok(Self {
            tree: Tree::new(config, game),
            budget: 0,
            started: 0,
            done: 0,
            is_full: true,
            playing: false,
            exhausted: false,
            state: None,
            ahead: false,
            legal: ActionMask::new(actions),
            joint: vec![Action::default(); players],
        })
    }

    /// The settings.
    pub fn config(&self) -> &SearchConfig {
        &self.tree.config
    }

    /// Forgets everything and begins a decision at `state`, drawing from `rng` from now on.
    pub fn start(&mut self, game: &G, state: &G::State, rng: Rng) {
        self.ahead = false;
        self.tree.reset(game, state, rng);
        self.start_decision(game, state);
    }

    /// Begins the next decision, at the exact_children `state` that `joint` has led to. What the tree
    /// knows of it is kept; whether there was anything.
    pub fn advance(&mut self, game: &G, joint: &[Action], state: &G::State) -> bool {
        let mut target = state.clone();
        if self.tree.collapse {
            play_forced(game, &mut target, true, &mut self.legal, &mut self.joint, |_| {});
        }
        let from = if self.ahead { ROOT } else { self.tree.child_of(joint) };
        let found = self.tree.find(from, &target);
        let kept = match found {
            Some(node) => {
                self.tree.keep(node);
                self.ahead = target != *state;
                self.tree.size() <= self.config().max_nodes as usize / 2
            }
            None => false,
        };
        if !kept {
            self.ahead = false;
            let rng = self.tree.rng.clone();
            self.tree.reset(game, state, rng);
        }
        self.start_decision(game, state);
        kept
    }

    fn start_decision(&mut self, game: &G, state: &G::State) {
        (self.started, self.done, self.exhausted) = (0, 0, false);
        match &mut self.state {
            Some(kept) => kept.clone_from(state),
            None => self.state = Some(state.clone()),
        }
        let movers = match game.turn(state) {
            Turn::Move(movers) => movers,
            Turn::Chance | Turn::Over => PlayerSet::EMPTY,
        };
        self.playing = !movers.is_empty();
        self.budget = self.tree.config.simulations;
        self.is_full = true;
        if self.tree.collapse && self.is_forced(game, state, movers) {
            self.budget = 0;
        } else if let Some(fast) = self.tree.config.fast {
            self.is_full = self.tree.rng.unit() < f64::from(fast.full_share);
            if !self.is_full {
                self.budget = fast.simulations;
            }
        }
        if matches!(self.tree.store.node(ROOT).kind, NodeKind::Single | NodeKind::Joint) {
            self.prepare_root();
        }
    }

    fn is_forced(&mut self, game: &G, state: &G::State, movers: PlayerSet) -> bool {
        movers.iter().all(|player| {
            game.legal(state, player, &mut self.legal);
            self.legal.count() <= 1
        })
    }

    /// Prepares the root for the decision that is made there, once: not while forced moves
    /// lead up to it, or their noise would add up.
    fn prepare_root(&mut self) {
        if self.ahead {
            return;
        }
        let Tree { root, store, config, rng, .. } = &mut self.tree;
        root.prepare(store, config, self.is_full, self.budget, rng);
    }

    /// Whether the decision can be made. It may be made earlier, at a deadline, as soon as
    /// nothing is in flight.
    pub fn is_done(&self) -> bool {
        let root = self.tree.store.nodes.first();
        !self.playing
            || self.tree.in_flight == 0
                && root.is_none_or(|root| {
                    root.is_exact
                        || self.exhausted
                        || self.done >= self.budget && root.kind != NodeKind::Unexpanded
                })
    }

    /// Simulations of this decision that are done.
    pub fn simulations(&self) -> u32 {
        self.done
    }

    /// Leaves that are with the evaluator.
    pub fn in_flight(&self) -> u32 {
        self.tree.in_flight
    }

    /// Nodes in memory.
    pub fn nodes(&self) -> usize {
        self.tree.store.nodes.len()
    }

    /// Goes down the tree once.
    pub fn select(&mut self, game: &G) -> SelectOutcome {
        if self.is_done() {
            return SelectOutcome::Done;
        }
        let root = *self.tree.store.node(ROOT);
        let is_root = root.kind == NodeKind::Unexpanded;
        let waits = root.kind == NodeKind::Evaluating
            || root.is_exact
            || self.exhausted
            || !is_root && self.started >= self.budget
            || self.tree.in_flight >= self.config().leaves_in_flight;
        if waits {
            return SelectOutcome::Blocked;
        }
        match self.tree.select(game, self.started) {
            DescentOutcome::Leaf(leaf_id) => {
                self.started += u32::from(!is_root);
                SelectOutcome::Leaf(LeafId(leaf_id))
            }
            DescentOutcome::BackedUp => {
                self.started += 1;
                self.done += 1;
                SelectOutcome::BackedUp
            }
            DescentOutcome::Blocked => SelectOutcome::Blocked,
            DescentOutcome::Full => {
                self.exhausted = true;
                if self.is_done() { SelectOutcome::Done } else { SelectOutcome::Blocked }
            }
        }
    }

    /// Writes the leaf of a leaf_id to `leaf`.
    pub fn write_leaf(&mut self, leaf_id: LeafId, leaf: &mut Leaf<G>) {
        (leaf.symmetry, leaf.rng) = self.leaf_randomness();
        let node = self.tree.leaf(leaf_id.0);
        leaf.movers = self.tree.store.node(node).movers;
        leaf.state.clone_from(self.tree.store.state(node));
    }

    /// The leaf of a leaf_id. Ask once per leaf_id: it draws from the search's generator.
    pub fn leaf(&mut self, leaf_id: LeafId) -> Leaf<G> {
        let (symmetry, rng) = self.leaf_randomness();
        let node = self.tree.leaf(leaf_id.0);
        let movers = self.tree.store.node(node).movers;
        Leaf { state: self.tree.store.state(node).clone(), movers, symmetry, rng }
    }

    fn leaf_randomness(&mut self) -> (Symmetry, Rng) {
        (self.tree.draw_symmetry(), self.tree.rng.fork())
    }

    /// Gives the evaluation of a leaf back.
    pub fn back_up(&mut self, game: &G, leaf_id: LeafId, evaluation: Estimate<'_>) {
        let is_root = self.tree.leaf(leaf_id.0) == ROOT;
        self.tree.receive(game, leaf_id.0, evaluation);
        if is_root {
            self.prepare_root();
        } else {
            self.done += 1;
        }
    }
}

impl<G: Game> Tree<G> {
    /// The child that a joint action leads to from the root, or [`NONE`].
    fn child_of(&self, joint: &[Action]) -> u32 {
        let Some(root) = self.store.nodes.first() else { return NONE };
        let position = |block: &[super::node_store::Edge], player: usize| {
            let action = joint.get(player)?;
            block.iter().position(|edge| edge.action == action.0)
        };
        match root.kind {
            NodeKind::Single => {
                let edges = self.store.edges_of(ROOT);
                position(edges, root.mover()).map_or(NONE, |at| edges[at].child)
            }
            NodeKind::Joint => {
                let mut code = 0;
                for (index, player) in root.movers.iter().enumerate() {
                    let block = &self.store.edges[self.store.block(ROOT, index)];
                    let Some(at) = position(block, player) else { return NONE };
                    code = code * block.len() as u64 + at as u64;
                }
                self.store.joints.get(ROOT, code)
            }
            NodeKind::Unexpanded
            | NodeKind::Evaluating
            | NodeKind::Uniform
            | NodeKind::Sampled
            | NodeKind::Terminal => NONE,
        }
    }

    /// The node for `state` at `node` or behind chance below it.
    fn find(&self, node: u32, state: &G::State) -> Option<u32> {
        let found = self.store.nodes.get(node as usize)?;
        if found.kind != NodeKind::Terminal && self.store.state(node) == state {
            return Some(node);
        }
        match found.kind {
            NodeKind::Uniform => {
                let outcomes = &self.store.outcomes[found.first as usize..][..found.count as usize];
                outcomes.iter().find_map(|outcome| self.find(outcome.child, state))
            }
            NodeKind::Sampled => {
                let mut at = found.first;
                while let Some(outcome) = self.store.outcomes.get(at as usize) {
                    if let Some(found) = self.find(outcome.child, state) {
                        return Some(found);
                    }
                    at = outcome.next;
                }
                None
            }
            NodeKind::Unexpanded
            | NodeKind::Evaluating
            | NodeKind::Single
            | NodeKind::Joint
            | NodeKind::Terminal => None,
        }
    }
}
