//! The search of one game: one decision after another, each with a budget of simulations.

use ouro_game::{Action, ActionMask, Game, PlayerSet, Rng, Symmetry, Turn};

use super::config::SearchConfig;
use super::config_error::{SearchConfigError, check_joint_actions};
use super::node_store::{NONE, NodeKind, ROOT};
use super::tree::{DescentOutcome, Tree, play_forced};
use crate::evaluator::{Estimate, Leaf};

/// Identifies a leaf whose evaluation is pending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeafId(usize);

/// The outcome of [`Search::select`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SelectOutcome {
    /// A leaf to evaluate; its estimate goes to [`Search::back_up`].
    Leaf(LeafId),
    /// A completed simulation that needed no evaluation.
    BackedUp,
    /// No simulation is possible until a pending evaluation returns.
    Blocked,
    /// The search is done.
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
    /// Simulations allowed for this decision.
    budget: u32,
    started: u32,
    done: u32,
    /// Whether this decision is searched in full.
    pub(super) is_full: bool,
    /// Whether any player is to move in the current position.
    playing: bool,
    /// Whether the tree has reached its size limit.
    exhausted: bool,
    /// The current position.
    pub(super) state: Option<G::State>,
    /// Whether the tree's root lies beyond forced moves of the current position.
    pub(super) ahead: bool,
    pub(super) legal: ActionMask,
    pub(super) joint: Vec<Action>,
}

impl<G: Game> Search<G> {
    /// A search without a position; [`start`](Self::start) sets one. The error names the setting
    /// that does not fit.
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

    /// Chooses the players with noise and forced playouts, from the next decision on: those that learn
    /// from this search. By default all do.
    pub fn explore_for(&mut self, players: PlayerSet) {
        self.tree.root.explorers = Some(players);
    }

    /// Clears the tree and starts a decision at `state`, with the generator `rng` from now on.
    pub fn start(&mut self, game: &G, state: &G::State, rng: Rng) {
        self.ahead = false;
        self.tree.reset(game, state, rng);
        self.start_decision(game, state);
    }

    /// Starts the next decision at the settled `state` that `joint` has led to.
    ///
    /// The subtree of `state` is kept if there is one; the result says whether there was.
    pub fn advance(&mut self, game: &G, joint: &[Action], state: &G::State) -> bool {
        let target = self.beyond_forced(game, state);
        let from = if self.ahead { ROOT } else { self.tree.child_of(joint) };
        let found = self.tree.find(from, &target);
        self.continue_at(game, found, state, &target)
    }

    /// Starts the next decision at a settled `state` that need not follow from the last one.
    ///
    /// The subtree of `state` is kept if the tree contains it, whichever moves lead there; the result
    /// says whether it does. Otherwise the search starts anew with the generator `rng`.
    pub fn resume(&mut self, game: &G, state: &G::State, rng: Rng) -> bool {
        let target = self.beyond_forced(game, state);
        let found = self.tree.find_anywhere(game, &target);
        if found.is_none() {
            self.tree.rng = rng;
        }
        self.continue_at(game, found, state, &target)
    }

    /// The state behind the forced moves of `state`, if they have no nodes.
    fn beyond_forced(&mut self, game: &G, state: &G::State) -> G::State {
        let mut target = state.clone();
        let forced = self.tree.forced;
        if forced.moves {
            play_forced(game, &mut target, forced, &mut self.legal, &mut self.joint, |_| {});
        }
        target
    }

    /// Starts a decision at `state` with the subtree of the node `found`, which holds `target`.
    fn continue_at(
        &mut self,
        game: &G,
        found: Option<u32>,
        state: &G::State,
        target: &G::State,
    ) -> bool {
        let kept = match found {
            Some(node) => {
                self.tree.keep(node);
                self.ahead = target != state;
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
        if self.tree.forced.moves && self.is_forced(game, state, movers) {
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

    /// Prepares the root for its decision, once. Decisions at forced moves before the root do not
    /// prepare it, or the noise of each would add up.
    fn prepare_root(&mut self) {
        if self.ahead {
            return;
        }
        let Tree { root, store, config, rng, .. } = &mut self.tree;
        root.prepare(store, config, self.is_full, self.budget, rng);
    }

    /// Whether the search is done. A caller with a deadline may decide earlier, as soon as no
    /// evaluation is pending.
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

    /// Completed simulations of this decision.
    pub fn simulations(&self) -> u32 {
        self.done
    }

    /// Number of pending evaluations.
    pub fn in_flight(&self) -> u32 {
        self.tree.in_flight
    }

    /// Nodes in memory.
    pub fn nodes(&self) -> usize {
        self.tree.store.nodes.len()
    }

    /// Size of the tree in the unit of [`SearchConfig::max_nodes`], at least its number of nodes.
    pub fn size(&self) -> usize {
        self.tree.size()
    }

    /// Descends the tree once.
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

    /// Writes the leaf of an id to `leaf`. Call it or [`leaf`](Self::leaf) once per id: both draw
    /// from the search's generator.
    pub fn write_leaf(&mut self, leaf_id: LeafId, leaf: &mut Leaf<G>) {
        (leaf.symmetry, leaf.rng) = self.leaf_randomness();
        let node = self.tree.leaf(leaf_id.0);
        leaf.movers = self.tree.store.node(node).movers;
        leaf.state.clone_from(self.tree.store.state(node));
    }

    /// The leaf of an id. Call it or [`write_leaf`](Self::write_leaf) once per id: both draw from
    /// the search's generator.
    pub fn leaf(&mut self, leaf_id: LeafId) -> Leaf<G> {
        let (symmetry, rng) = self.leaf_randomness();
        let node = self.tree.leaf(leaf_id.0);
        let movers = self.tree.store.node(node).movers;
        Leaf { state: self.tree.store.state(node).clone(), movers, symmetry, rng }
    }

    fn leaf_randomness(&mut self) -> (Symmetry, Rng) {
        (self.tree.draw_symmetry(), self.tree.rng.fork())
    }

    /// Takes the estimate of a leaf and backs it up.
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
    /// The child of the root under a joint action, or [`NONE`].
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

    /// The most visited node of `state`, anywhere in the tree.
    fn find_anywhere(&self, game: &G, state: &G::State) -> Option<u32> {
        let elapsed = game.elapsed(state);
        let nodes = self.store.nodes.iter().zip(0_u32..);
        let same = nodes.filter(|(node, at)| {
            node.elapsed == elapsed
                && node.kind != NodeKind::Terminal
                && self.store.state(*at) == state
        });
        same.max_by_key(|(node, _)| node.visits).map(|(_, at)| at)
    }

    /// The node of `state`: `node` itself, or a descendant through chance nodes only.
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
