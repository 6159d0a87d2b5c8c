//! The memory of one tree: nodes, edges and chance outcomes in pools.
//!
//! Everything is an index into a vector that is emptied and filled again, so a search
//! allocates only while its vectors grow to their working size.
//!
//! Invariants: a parent's index is below those of its children; node 0 is the root.

use ouro_game::{Game, PlayerSet};

use super::config::{SearchConfig, Simultaneous};
use super::joint::JointTable;

/// No node, no edge.
pub(super) const NONE: u32 = u32::MAX;
/// The least prior of an action that is not proven to lose; those that are have 0.
pub(super) const LEAST_PRIOR: f32 = f32::MIN_POSITIVE;
/// The root of every tree.
pub(super) const ROOT: u32 = 0;

/// Edges and listed outcomes per node on average, above which they count for the tree's size
/// instead of the nodes.
pub(super) const ENTRIES_PER_NODE: usize = 8;

/// Fewest bytes that a node counts with besides its state. Among two players they include its share
/// of the table of joint actions.
const LEAST_NODE_BYTES: usize = 384;

/// Upper bound of the bytes per node of a tree without regret matching; see
/// [`SearchConfig::node_bytes`].
pub fn node_bytes<G: Game>(game: &G) -> usize {
    SearchConfig::default().node_bytes(game)
}

impl SearchConfig {
    /// Upper bound of the bytes per node of a tree: the state, the node with its values for each
    /// player, and the eight edges or outcomes per node that [`max_nodes`](Self::max_nodes) allows.
    ///
    /// Spare capacity and, among more than two players, the table of joint actions are not counted.
    pub fn node_bytes<G: Game>(&self, game: &G) -> usize {
        // A sum, an exact value and a reward, and the number of edges at a simultaneous move.
        let values = size_of::<f64>() + 2 * size_of::<f32>() + size_of::<u32>();
        let regret = match self.simultaneous {
            Simultaneous::Decoupled => 0,
            Simultaneous::RegretMatching { .. } => size_of::<Regret>(),
        };
        // An outcome takes less than an edge.
        let edges = ENTRIES_PER_NODE * (size_of::<Edge>() + regret);
        let node = size_of::<Node>() + game.players() * values + edges;
        game.state_bytes() + node.max(LEAST_NODE_BYTES)
    }
}

/// The kind of a node, and its progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NodeKind {
    /// Not evaluated yet.
    Unexpanded,
    /// The evaluation is pending.
    Evaluating,
    /// One player moves; edges lead to children.
    Single,
    /// Several players move; edges hold statistics, the joint table the children.
    Joint,
    /// Equally likely outcomes, all listed; visited in rounds.
    Uniform,
    /// Drawn outcomes, in a linked list.
    Sampled,
    /// The game is over.
    Terminal,
}

/// One position.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    /// Values that were backed up through the node.
    pub(super) visits: u32,
    /// Descents through the node whose evaluation is pending.
    pub(super) pending: u32,
    /// First edge, or first outcome.
    pub(super) first: u32,
    /// Edges, or outcomes listed.
    pub(super) count: u32,
    /// `Joint`: first entry of the block lengths. `Uniform`: outcomes visited in this round.
    pub(super) extra: u32,
    /// Children whose exact value is known.
    pub(super) exact_children: u32,
    pub(super) elapsed: u32,
    /// Time at which the game ends if the proven value is played out: the winner hurries and the
    /// loser resists. Valid if the node is exact.
    pub(super) end: u32,
    pub(super) parent: u32,
    pub(super) movers: PlayerSet,
    /// Players still in the game. Set only if they have [ends of their own](super::tree::Tree::own_ends).
    pub(super) alive: PlayerSet,
    pub(super) kind: NodeKind,
    /// Whether the value in `exact` is proven.
    pub(super) is_exact: bool,
    /// Whether the parent has counted this node in `exact_children`.
    pub(super) is_counted: bool,
}

impl Node {
    /// The player to move, at a `Single` node.
    pub(super) fn mover(&self) -> usize {
        self.movers.0.trailing_zeros() as usize
    }
}

/// One action of one player at a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    pub(super) action: u32,
    /// 0 once the action is proven to lose, else at least [`LEAST_PRIOR`].
    pub(super) prior: f32,
    /// Descents, pending ones included.
    pub(super) visits: u32,
    /// Descents whose evaluation is pending.
    pub(super) pending: u32,
    /// Descents that PUCT wanted to send along an edge to an exact node.
    pub(super) redirected: u32,
    /// The child at a `Single` node, [`NONE`] before the first visit.
    pub(super) child: u32,
    /// Sum of the player's values over completed descents.
    pub(super) sum: f64,
}

impl Edge {
    /// Completed descents.
    #[inline]
    pub(super) fn completed(&self) -> u32 {
        self.visits - self.pending
    }

    /// Mean value of completed descents; 0 before the first.
    #[inline]
    pub(super) fn mean(&self) -> f64 {
        self.sum / f64::from(self.completed().max(1))
    }

    /// Removes redirected visits and keeps the mean value.
    fn drop_redirected(&mut self) {
        let wanted = self.visits - self.redirected;
        self.sum *= f64::from(wanted) / f64::from(self.visits.max(1));
        (self.visits, self.redirected) = (wanted, 0);
    }
}

/// Regret and average strategy of one edge, for regret matching.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Regret {
    /// Cumulative regret: what always playing this action would have gained.
    pub(super) gain: f64,
    /// Weighted sum of the action's probabilities.
    pub(super) strategy: f64,
}

/// One outcome of a chance node.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChanceOutcome {
    pub(super) outcome: u32,
    pub(super) child: u32,
    /// `Sampled`: how often it was drawn.
    pub(super) drawn: u32,
    /// `Sampled`: the next in the list.
    pub(super) next: u32,
}

/// The pools. Per node: `players` values in `totals`, `exact` and `rewards`.
#[derive(Clone, Debug)]
pub(super) struct NodeStore<S> {
    pub(super) players: usize,
    pub(super) nodes: Vec<Node>,
    /// Positions. May be longer than `nodes`, so that states beyond are reused.
    states: Vec<S>,
    /// Sums of future values, `[nodes, players]`.
    pub(super) totals: Vec<f64>,
    /// Proven values, valid if the node is exact, `[nodes, players]`.
    pub(super) exact: Vec<f32>,
    /// Rewards of the step to a node, `[nodes, players]`.
    pub(super) rewards: Vec<f32>,
    pub(super) edges: Vec<Edge>,
    /// Parallel to `edges` with regret matching, else empty.
    pub(super) regrets: Vec<Regret>,
    pub(super) outcomes: Vec<ChanceOutcome>,
    /// Edges of each mover of `Joint` nodes.
    pub(super) blocks: Vec<u32>,
    pub(super) joints: JointTable,
    spare: Spare,
}

/// Second buffers that [`NodeStore::keep_subtree`] writes to.
#[derive(Clone, Debug, Default)]
struct Spare {
    /// New index of each node.
    moved: Vec<u32>,
    edges: Vec<Edge>,
    regrets: Vec<Regret>,
    outcomes: Vec<ChanceOutcome>,
    blocks: Vec<u32>,
    joints: JointTable,
}

impl<S: Clone> NodeStore<S> {
    pub(super) fn new(players: usize) -> Self {
        Self {
            players,
            nodes: Vec::new(),
            states: Vec::new(),
            totals: Vec::new(),
            exact: Vec::new(),
            rewards: Vec::new(),
            edges: Vec::new(),
            regrets: Vec::new(),
            outcomes: Vec::new(),
            blocks: Vec::new(),
            joints: JointTable::default(),
            spare: Spare::default(),
        }
    }

    /// Starts over with a root.
    pub(super) fn reset(&mut self, state: &S) {
        self.nodes.clear();
        self.totals.clear();
        self.exact.clear();
        self.rewards.clear();
        self.edges.clear();
        self.regrets.clear();
        self.outcomes.clear();
        self.blocks.clear();
        self.joints.clear();
        match self.states.first_mut() {
            Some(root) => root.clone_from(state),
            None => self.states.push(state.clone()),
        }
        self.push_node(NONE);
    }

    /// Adds a child of `parent` whose state is a copy of the parent's, and returns its index.
    pub(super) fn add_child(&mut self, parent: u32) -> u32 {
        let index = self.nodes.len();
        if index < self.states.len() {
            let (before, from) = self.states.split_at_mut(index);
            from[0].clone_from(&before[parent as usize]);
        } else {
            self.states.push(self.states[parent as usize].clone());
        }
        self.push_node(parent);
        index as u32
    }

    fn push_node(&mut self, parent: u32) {
        self.nodes.push(Node {
            visits: 0,
            pending: 0,
            first: 0,
            count: 0,
            extra: 0,
            exact_children: 0,
            elapsed: 0,
            end: 0,
            parent,
            movers: PlayerSet::EMPTY,
            alive: PlayerSet::EMPTY,
            kind: NodeKind::Unexpanded,
            is_exact: false,
            is_counted: false,
        });
        let len = self.nodes.len() * self.players;
        self.totals.resize(len, 0.0);
        self.exact.resize(len, 0.0);
        self.rewards.resize(len, 0.0);
    }

    #[inline]
    pub(super) fn node(&self, node: u32) -> &Node {
        &self.nodes[node as usize]
    }

    #[inline]
    pub(super) fn node_mut(&mut self, node: u32) -> &mut Node {
        &mut self.nodes[node as usize]
    }

    pub(super) fn state(&self, node: u32) -> &S {
        &self.states[node as usize]
    }

    pub(super) fn state_mut(&mut self, node: u32) -> &mut S {
        &mut self.states[node as usize]
    }

    /// The edges of a node, all movers.
    #[inline]
    pub(super) fn edges_of(&self, node: u32) -> &[Edge] {
        let node = self.node(node);
        &self.edges[node.first as usize..][..node.count as usize]
    }

    /// The edges of the `index`-th mover of a node, as a range of the pool.
    pub(super) fn block(&self, node: u32, index: usize) -> std::ops::Range<usize> {
        let node = self.node(node);
        let first = node.first as usize;
        if node.kind != NodeKind::Joint {
            return first..first + node.count as usize;
        }
        let lengths = &self.blocks[node.extra as usize..][..=index];
        let before: u32 = lengths[..index].iter().sum();
        first + before as usize..first + (before + lengths[index]) as usize
    }

    #[inline]
    pub(super) fn slot(&self, node: u32) -> std::ops::Range<usize> {
        let first = node as usize * self.players;
        first..first + self.players
    }

    /// Mean future value of `player` at a node; 0 before the first visit.
    #[inline]
    pub(super) fn mean(&self, node: u32, player: usize) -> f64 {
        let visits = f64::from(self.node(node).visits.max(1));
        self.totals[node as usize * self.players + player] / visits
    }

    /// Makes `root` the root and drops all nodes that are not below it. No evaluation may be
    /// pending.
    ///
    /// The visits of the new root are a policy, so redirected visits are removed. Nodes only move
    /// to lower indices, so they move in place; edges and outcomes are written to spare buffers in
    /// the same order.
    pub(super) fn keep_subtree(&mut self, root: u32) {
        let mut spare = std::mem::take(&mut self.spare);
        spare.moved.clear();
        spare.moved.resize(self.nodes.len(), NONE);
        spare.edges.clear();
        spare.regrets.clear();
        spare.outcomes.clear();
        spare.blocks.clear();
        spare.joints.clear();
        let players = self.players;
        let mut kept = 0;
        for old in root as usize..self.nodes.len() {
            let parent = self.nodes[old].parent;
            let new_parent = match spare.moved.get(parent as usize) {
                Some(&moved) if old != root as usize => moved,
                _ => NONE,
            };
            if old != root as usize && new_parent == NONE {
                continue;
            }
            spare.moved[old] = kept as u32;
            let mut node = self.nodes[old];
            node.parent = new_parent;
            self.move_edges(&mut node, &mut spare);
            self.nodes[kept] = node;
            self.states.swap(kept, old);
            let (from, to) = (old * players, kept * players);
            self.totals.copy_within(from..from + players, to);
            self.exact.copy_within(from..from + players, to);
            self.rewards.copy_within(from..from + players, to);
            kept += 1;
        }
        self.nodes.truncate(kept);
        self.totals.truncate(kept * players);
        self.exact.truncate(kept * players);
        self.rewards.truncate(kept * players);
        let renumber = |child: &mut u32| {
            *child = spare.moved.get(*child as usize).copied().unwrap_or(NONE);
        };
        spare.edges.iter_mut().for_each(|edge| renumber(&mut edge.child));
        spare.outcomes.iter_mut().for_each(|outcome| renumber(&mut outcome.child));
        spare.joints.reserve(&self.joints);
        for (parent, code, child) in self.joints.iter() {
            let parent = spare.moved[parent as usize];
            if parent != NONE {
                spare.joints.insert(parent, code, spare.moved[child as usize]);
            }
        }
        std::mem::swap(&mut self.edges, &mut spare.edges);
        std::mem::swap(&mut self.regrets, &mut spare.regrets);
        std::mem::swap(&mut self.outcomes, &mut spare.outcomes);
        std::mem::swap(&mut self.blocks, &mut spare.blocks);
        std::mem::swap(&mut self.joints, &mut spare.joints);
        self.spare = spare;
        let root = self.node(ROOT);
        if matches!(root.kind, NodeKind::Single | NodeKind::Joint) {
            let edges = root.first as usize..(root.first + root.count) as usize;
            self.edges[edges].iter_mut().for_each(Edge::drop_redirected);
        }
    }

    /// Copies the edges or outcomes of a node to the spare buffers and updates the node.
    fn move_edges(&self, node: &mut Node, spare: &mut Spare) {
        let (first, count) = (node.first as usize, node.count as usize);
        match node.kind {
            NodeKind::Single | NodeKind::Joint => {
                node.first = spare.edges.len() as u32;
                spare.edges.extend_from_slice(&self.edges[first..first + count]);
                if !self.regrets.is_empty() {
                    spare.regrets.extend_from_slice(&self.regrets[first..first + count]);
                }
                if node.kind == NodeKind::Joint {
                    let blocks = &self.blocks[node.extra as usize..][..node.movers.len()];
                    node.extra = spare.blocks.len() as u32;
                    spare.blocks.extend_from_slice(blocks);
                }
            }
            NodeKind::Uniform => {
                node.first = spare.outcomes.len() as u32;
                spare.outcomes.extend_from_slice(&self.outcomes[first..first + count]);
            }
            NodeKind::Sampled => {
                let mut next = node.first;
                node.first = if count == 0 { NONE } else { spare.outcomes.len() as u32 };
                for listed in 1..=count {
                    let mut outcome = self.outcomes[next as usize];
                    next = outcome.next;
                    let here = spare.outcomes.len() as u32;
                    outcome.next = if listed == count { NONE } else { here + 1 };
                    spare.outcomes.push(outcome);
                }
            }
            NodeKind::Unexpanded | NodeKind::Evaluating | NodeKind::Terminal => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use ouro_game::battlesnake::{Config, Small};

    use super::*;

    /// Bytes of a node with its values, its edges and their regrets.
    fn held<S>(store: &NodeStore<S>) -> usize {
        size_of_val(store.nodes.as_slice())
            + size_of_val(store.totals.as_slice())
            + size_of_val(store.exact.as_slice())
            + size_of_val(store.rewards.as_slice())
            + size_of_val(store.edges.as_slice())
            + size_of_val(store.regrets.as_slice())
            + size_of_val(store.blocks.as_slice())
    }

    #[test]
    fn the_limit_of_memory_covers_a_node_of_any_number_of_players() {
        let edge = Edge {
            action: 0,
            prior: 0.0,
            visits: 0,
            pending: 0,
            redirected: 0,
            child: NONE,
            sum: 0.0,
        };
        let matching = Simultaneous::RegretMatching { exploration: 0.5 };
        for snakes in [2, 4, 6, 8] {
            let game = Small::new(Config { snakes, ..Config::default() }).expect("in range");
            for simultaneous in [Simultaneous::Decoupled, matching] {
                let mut store = NodeStore::new(game.players());
                store.reset(&());
                store.edges.resize(ENTRIES_PER_NODE, edge);
                store.blocks.resize(game.players(), 0);
                if simultaneous == matching {
                    store.regrets.resize(ENTRIES_PER_NODE, Regret::default());
                }
                let search = SearchConfig { simultaneous, ..SearchConfig::default() };
                let limit = search.node_bytes(&game) - game.state_bytes();
                let bytes = held(&store);
                assert!(bytes <= limit, "{snakes} snakes: {bytes} bytes, limit {limit}");
            }
        }
    }
}
