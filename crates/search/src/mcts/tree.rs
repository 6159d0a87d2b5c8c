//! One search tree as a state machine without input or output.
//!
//! ```text
//! select ─┬─ DescentOutcome::Leaf(id) → the evaluator → receive(id, estimate)
//!         ├─ DescentOutcome::BackedUp : an end of the game or a proven node, already backed up
//!         ├─ DescentOutcome::Blocked  : the descent met a leaf whose evaluation is pending
//!         └─ DescentOutcome::Full     : the tree has reached its size limit
//! ```
//!
//! A value vector holds what each player will still get *from a node on*. The step to a child
//! adds its reward and discounts by the elapsed time. The outcome of a player that is eliminated
//! already is not discounted further. Edges keep sums for the player who chose, nodes for every player.

use ouro_game::{Action, ActionMask, Game, Rng, Symmetry};

use super::config::{Objective, SearchConfig};
use super::node_store::{ENTRIES_PER_NODE, NONE, Node, NodeKind, NodeStore, ROOT};
use super::reward_sum::RewardSum;
use super::root::Root;
use super::scale::Scaling;

mod back_up;
mod chance;
mod choose;
mod expand;
mod proof;
mod regret;

pub(super) use expand::{Forced, play_forced};

/// Flag of an edge in [`Path::edges`] that is not a visit of its player: a tremble, or the choice beside
/// another player's forced playout. Trees have fewer edges than this bit.
const UNCOUNTED: u32 = 1 << 31;

/// The outcome of a descent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DescentOutcome {
    /// A leaf to evaluate.
    Leaf(usize),
    /// A known value, already backed up.
    BackedUp,
    /// A leaf whose evaluation is pending; the descent was undone.
    Blocked,
    /// The tree has reached its size limit.
    Full,
}

/// One step of a descent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) node: u32,
    pub(super) child: u32,
    /// `Single`: the edge. `Joint`: where the edges start in [`Path::edges`]. Chance: the
    /// outcome.
    pub(super) choice: u32,
    /// What the players selected, if it leads to an exact node and the descent was redirected;
    /// else [`NONE`]. `Single`: the edge. `Joint`: the exact child.
    pub(super) wanted: u32,
}

/// The step of a descent at a `Joint` node.
#[derive(Clone, Copy, Debug)]
struct JointStep {
    /// Where the edges start in [`Path::edges`].
    edge: u32,
    child: u32,
    /// The child that the players selected, if the descent was redirected.
    wanted: u32,
}

/// Another reply of one of two players.
#[derive(Clone, Copy, Debug)]
struct OpenReply {
    player: usize,
    edge: u32,
    /// The number of the joint action with this reply.
    code: u64,
}

/// The edge that a descent takes, and the edge that PUCT selected if they differ.
#[derive(Clone, Copy, Debug)]
struct ChosenEdge {
    edge: u32,
    wanted: u32,
}

/// The path of a descent whose evaluation is pending.
#[derive(Clone, Debug, Default)]
pub(super) struct Path {
    pub(super) steps: Vec<Step>,
    /// The edges that the movers of `Joint` nodes selected. After those of a redirected step follow
    /// the edges to the child that is visited instead.
    pub(super) edges: Vec<u32>,
    pub(super) leaf: u32,
}

impl Path {
    /// The edges that the `movers` of a `Joint` node selected.
    fn selected(&self, step: &Step, movers: usize) -> &[u32] {
        &self.edges[step.choice as usize..][..movers]
    }

    /// The edges that lead to the step's child.
    fn taken(&self, step: &Step, movers: usize) -> &[u32] {
        let redirected = if step.wanted == NONE { 0 } else { movers };
        &self.edges[step.choice as usize + redirected..][..movers]
    }
}

/// The tree. See the [module](self).
#[derive(Debug)]
pub(super) struct Tree<G: Game> {
    pub(super) config: SearchConfig,
    pub(super) store: NodeStore<G::State>,
    pub(super) rng: Rng,
    pub(super) root: Root,
    pub(super) scaling: Scaling,
    symmetries: &'static [Symmetry],
    /// Whether steps leave values unchanged: no rewards and no discount.
    plain: bool,
    /// Whether the outcome of an eliminated player is discounted to its elimination, not to the end of
    /// the game: with more than two players. An elimination within collapsed moves counts at their end.
    pub(super) own_ends: bool,
    /// What is played without a node.
    pub(super) forced: Forced,
    /// Whether regret matching chooses at `Joint` nodes.
    matching: bool,
    paths: Vec<Path>,
    free: Vec<usize>,
    /// Pending evaluations.
    pub(super) in_flight: u32,
    legal: ActionMask,
    joint: Vec<Action>,
    /// The values being backed up, `[players]`.
    values: Vec<f64>,
    strategy: Vec<f64>,
    reward_sum: RewardSum,
}

impl<G: Game> Tree<G> {
    pub(super) fn new(config: SearchConfig, game: &G) -> Self {
        let players = game.players();
        let matching =
            matches!(config.simultaneous, super::config::Simultaneous::RegretMatching { .. });
        let plain = config.objective == Objective::Outcome && config.discount == 1.0;
        Self {
            store: NodeStore::new(players),
            rng: Rng::new(0, "unset"),
            root: Root::default(),
            scaling: Scaling::new(&config),
            symmetries: &[Symmetry::Identity],
            plain,
            own_ends: config.objective == Objective::Outcome && !plain && players > 2,
            forced: Forced {
                moves: config.collapse_forced.unwrap_or(game.collapse_forced()),
                chance: config.chance.ignore,
            },
            matching,
            paths: Vec::new(),
            free: Vec::new(),
            in_flight: 0,
            legal: ActionMask::new(game.action_count()),
            joint: vec![Action::default(); players],
            values: vec![0.0; players],
            strategy: Vec::new(),
            reward_sum: RewardSum::new(config.discount),
            config,
        }
    }

    /// Clears the tree and sets the root to a position in which players move.
    pub(super) fn reset(&mut self, game: &G, state: &G::State, rng: Rng) {
        self.rng = rng;
        self.symmetries =
            if self.config.random_symmetry { game.symmetries() } else { &[Symmetry::Identity] };
        self.scaling.reset();
        self.release_paths();
        self.store.reset(state);
        self.open(game, ROOT);
    }

    /// Makes a node the root and drops all nodes that are not below it.
    pub(super) fn keep(&mut self, node: u32) {
        self.release_paths();
        self.store.keep_subtree(node);
    }

    /// Size of the tree in nodes of at most [`ENTRIES_PER_NODE`] entries.
    #[inline]
    pub(super) fn size(&self) -> usize {
        let entries = self.store.edges.len() + self.store.outcomes.len();
        self.store.nodes.len().max(entries / ENTRIES_PER_NODE)
    }

    fn release_paths(&mut self) {
        self.free.clear();
        self.free.extend(0..self.paths.len());
        self.in_flight = 0;
    }

    /// Descends to a leaf. `simulation` counts the descents of this decision, which sequential
    /// halving at the root needs.
    pub(super) fn select(&mut self, game: &G, simulation: u32) -> DescentOutcome {
        // A step adds a few nodes at most; chance nodes in a row are the exception.
        if self.size() + 8 > self.config.max_nodes as usize {
            return DescentOutcome::Full;
        }
        let leaf_id = self.free.pop().unwrap_or_else(|| {
            self.paths.push(Path::default());
            self.paths.len() - 1
        });
        let mut path = std::mem::take(&mut self.paths[leaf_id]);
        path.steps.clear();
        path.edges.clear();
        let mut node = ROOT;
        let reached = loop {
            let current = *self.store.node(node);
            if current.is_exact {
                break DescentOutcome::BackedUp;
            }
            let mut wanted = NONE;
            let (choice, child) = match current.kind {
                NodeKind::Unexpanded => break DescentOutcome::Leaf(leaf_id),
                // A terminal node is exact.
                NodeKind::Evaluating | NodeKind::Terminal => break DescentOutcome::Blocked,
                NodeKind::Single => {
                    let chosen = self.choose_single(node, &current, simulation);
                    wanted = chosen.wanted;
                    self.step_single(game, node, chosen)
                }
                NodeKind::Joint => {
                    let taken = self.step_joint(game, node, &current, simulation, &mut path);
                    wanted = taken.wanted;
                    (taken.edge, taken.child)
                }
                NodeKind::Uniform => self.step_uniform(game, node, &current),
                NodeKind::Sampled => self.step_sampled(game, node, &current),
            };
            self.store.node_mut(node).pending += 1;
            path.steps.push(Step { node, child, choice, wanted });
            node = child;
        };
        path.leaf = node;
        match reached {
            DescentOutcome::Leaf(_) => {
                self.store.node_mut(node).kind = NodeKind::Evaluating;
                self.in_flight += 1;
            }
            DescentOutcome::BackedUp => {
                self.load_exact(node);
                self.back_up_path(game, &path);
            }
            DescentOutcome::Blocked | DescentOutcome::Full => self.undo(&path),
        }
        self.paths[leaf_id] = path;
        if !matches!(reached, DescentOutcome::Leaf(_)) {
            self.free.push(leaf_id);
        }
        reached
    }

    /// Steps along the edge of the single player to move.
    fn step_single(&mut self, game: &G, node: u32, chosen: ChosenEdge) -> (u32, u32) {
        let ChosenEdge { edge: at, wanted } = chosen;
        if wanted != NONE {
            self.charge(wanted);
            self.store.edges[at as usize].redirected += 1;
        }
        self.charge(at);
        let edge = self.store.edges[at as usize];
        let mut child = edge.child;
        if child == NONE {
            self.joint[self.store.node(node).mover()] = Action(edge.action);
            child = self.add_child(game, node);
            self.store.edges[at as usize].child = child;
        }
        (at, child)
    }

    /// Chooses an edge for each player to move and steps to the child of the joint action.
    ///
    /// A visit of an exact child gains no information. The edges get the visit and its value is
    /// backed up, but the descent continues at another child that a proof of this node needs.
    ///
    /// Beside a forced playout of one of two movers, the choice of the other one is no visit. The forced
    /// action would otherwise enter the values of the other's actions as if it were likely. Among more
    /// movers, all visits count, because too few would be left.
    fn step_joint(
        &mut self,
        game: &G,
        node: u32,
        current: &Node,
        simulation: u32,
        path: &mut Path,
    ) -> JointStep {
        let first = path.edges.len() as u32;
        let forced = if node == ROOT { self.forced_mover(current, simulation) } else { None };
        let mut code = 0_u64;
        let mut start = current.first as usize;
        for (index, player) in current.movers.iter().enumerate() {
            let length = self.store.blocks[current.extra as usize + index] as usize;
            let block = start..start + length;
            start += length;
            let trembles =
                self.config.tremble > 0.0 && self.rng.unit() < f64::from(self.config.tremble);
            let playout = match forced {
                Some((mover, edge)) => (mover == index).then_some(edge),
                None if node == ROOT && current.movers.len() > 2 => {
                    self.root.below_minimum(player, &self.store.edges[block.clone()])
                }
                None => None,
            };
            let chosen = if self.matching {
                self.draw(block.clone(), current.visits + current.pending)
            } else if let Some(edge) = playout {
                edge
            } else if trembles {
                self.rng.below(length as u32) as usize
            } else {
                self.choose(node, current, block.clone(), index, player, simulation)
            };
            let at = block.start + chosen;
            self.joint[player] = Action(self.store.edges[at].action);
            let is_visit = playout.is_some() || forced.is_none() && !trembles;
            if !is_visit {
                path.edges.push(at as u32 | UNCOUNTED);
            } else {
                self.charge(at as u32);
                path.edges.push(at as u32);
            }
            code = code * length as u64 + chosen as u64;
        }
        let mut child = self.store.joints.get(node, code);
        let mut wanted = NONE;
        if let Some(reply) = self.open_reply(node, current, &path.edges[first as usize..], child) {
            path.edges.extend_from_within(first as usize..);
            let at = path.edges.len() - current.movers.len() + reply.player;
            path.edges[at] = reply.edge;
            self.joint[reply.player] = Action(self.store.edges[reply.edge as usize].action);
            (wanted, code) = (child, reply.code);
            child = self.store.joints.get(node, code);
        }
        if child == NONE {
            child = self.add_child(game, node);
            self.store.joints.insert(node, code, child);
        }
        JointStep { edge: first, child, wanted }
    }

    /// Reverts the counts of a descent that was blocked.
    fn undo(&mut self, path: &Path) {
        for step in path.steps.iter().rev() {
            self.store.node_mut(step.node).pending -= 1;
            match self.store.node(step.node).kind {
                NodeKind::Single => {
                    self.uncharge(step.choice);
                    if step.wanted != NONE {
                        self.uncharge(step.wanted);
                        self.store.edges[step.choice as usize].redirected -= 1;
                    }
                }
                NodeKind::Joint => {
                    let movers = self.store.node(step.node).movers.len();
                    for &edge in path.selected(step, movers) {
                        if edge & UNCOUNTED == 0 {
                            self.uncharge(edge);
                        }
                    }
                }
                NodeKind::Uniform | NodeKind::Sampled => self.undo_chance(step),
                NodeKind::Unexpanded | NodeKind::Evaluating | NodeKind::Terminal => {}
            }
        }
    }

    /// Counts a pending visit.
    #[inline]
    fn charge(&mut self, edge: u32) {
        let edge = &mut self.store.edges[edge as usize];
        edge.visits += 1;
        edge.pending += 1;
    }

    fn uncharge(&mut self, edge: u32) {
        let edge = &mut self.store.edges[edge as usize];
        edge.visits -= 1;
        edge.pending -= 1;
    }

    /// The leaf of a descent.
    pub(super) fn leaf(&self, leaf_id: usize) -> u32 {
        self.paths[leaf_id].leaf
    }

    /// A symmetry for the next evaluation.
    pub(super) fn draw_symmetry(&mut self) -> Symmetry {
        match self.symmetries {
            [only] => *only,
            all => all[self.rng.below(all.len() as u32) as usize],
        }
    }
}
