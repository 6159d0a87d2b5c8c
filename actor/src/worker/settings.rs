//! Settings of a worker, and the memory limits of its trees.

use ouro_game::Game;
use ouro_net::NetSpec;
use ouro_players::OpponentShares;
use ouro_search::SearchConfig;
use ouro_settings::{DemonstrationConfig, PlayConfig, ScriptedConfig, Swap};

use super::error::WorkerError;

/// Maximum nodes of a tree per simulation of a decision. It covers new nodes, nodes kept from the
/// previous decision, and chance nodes between them.
const NODES_PER_SIMULATION: u32 = 16;

/// Nodes that every tree may have in addition, whatever its number of simulations.
const LEAST_NODES: u32 = 1_024;

/// Settings of a worker.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkerSettings {
    /// Games at once.
    pub games: usize,
    /// Leaves of a full batch; see [`PlayConfig::batch`].
    pub batch: usize,
    /// See [`PlayConfig::opponents`].
    pub shares: OpponentShares,
    /// See [`PlayConfig::scripted`].
    pub scripted: ScriptedConfig,
    /// See [`PlayConfig::demonstrations`].
    pub demonstrations: DemonstrationConfig,
    /// The network of the run; see [`ActorConfig::net`](crate::ActorConfig::net).
    pub net: Option<NetSpec>,
    /// See [`PlayConfig::cohort`].
    pub cohort: u64,
    /// See [`PlayConfig::search`].
    pub search: Option<SearchConfig>,
    /// See [`PlayConfig::fresh_trees`].
    pub fresh_trees: bool,
    /// See [`PlayConfig::epsilon`].
    pub epsilon: f32,
    /// See [`PlayConfig::opening_plies`].
    pub opening_plies: u32,
    /// See [`PlayConfig::swap`].
    pub swap: Swap,
    /// See [`PlayConfig::max_plies`].
    pub max_plies: usize,
    /// Memory limit of all trees together, in bytes.
    pub tree_bytes: usize,
    /// See [`PlayConfig::cached_evaluations`].
    pub remembered: usize,
    /// Seed of games and opponents.
    pub seed: u64,
    /// Number of this worker in its process.
    pub index: u64,
}

/// Limits on the memory of a worker's trees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeLimits {
    /// Maximum number of trees at once.
    pub trees: usize,
    /// Maximum nodes of each tree.
    pub nodes: u32,
    /// Maximum bytes of all trees together.
    pub bytes: usize,
}

impl WorkerSettings {
    /// Settings of thread `index` of `threads`, with `seed` as the seed of its games and without a
    /// network.
    pub fn new(play: &PlayConfig, threads: usize, seed: u64, index: usize) -> Self {
        Self {
            games: play.games_per_thread,
            batch: play.batch,
            shares: play.opponents,
            scripted: play.scripted.clone(),
            demonstrations: play.demonstrations.clone(),
            net: None,
            cohort: play.cohort.unwrap_or(play.games_per_thread as u64),
            search: play.search.clone(),
            fresh_trees: play.fresh_trees,
            epsilon: play.epsilon,
            opening_plies: play.opening_plies,
            swap: play.swap,
            max_plies: play.max_plies,
            tree_bytes: play.tree_memory_mib.saturating_mul(1 << 20) / threads.max(1),
            remembered: play.cached_evaluations,
            seed,
            index: index as u64,
        }
    }

    /// Maximum number of trees at once: one per game in pure self-play, otherwise one per seat.
    pub fn trees(&self, players: usize) -> usize {
        let alone = self.shares.prioritised == 0.0 && self.shares.uniform == 0.0;
        let per_game = if alone { 1 } else { players };
        self.games.saturating_mul(per_game)
    }

    /// Limits of the trees under these settings; `None` without a search.
    pub fn limits<G: Game>(&self, game: &G) -> Option<TreeLimits> {
        let search = self.search.as_ref()?;
        let (trees, node) = (self.trees(game.players()), search.node_bytes(game));
        let fits = self.tree_bytes / trees.max(1) / node;
        let wanted =
            search.simulations.saturating_mul(NODES_PER_SIMULATION).saturating_add(LEAST_NODES);
        let nodes = search.max_nodes.min(wanted).min(fits.try_into().unwrap_or(u32::MAX));
        let bytes = trees.saturating_mul(nodes as usize).saturating_mul(node);
        Some(TreeLimits { trees, nodes, bytes })
    }

    /// The searches of learning seats and of opponents; `None` without a search.
    ///
    /// All trees fit into the memory together. Opponents search in the same way, but without
    /// exploration: no noise and no forced playouts.
    pub(super) fn searches<G: Game>(
        &self,
        game: &G,
    ) -> Result<Option<[SearchConfig; 2]>, WorkerError> {
        let (Some(search), Some(limits)) = (&self.search, self.limits(game)) else {
            return Ok(None);
        };
        let TreeLimits { trees, nodes: max_nodes, .. } = limits;
        // Up to half of a tree may be kept from the last move. The rest must be large enough for a
        // whole decision.
        if (max_nodes as usize) < search.simulations as usize * 4 {
            let needed = search.simulations as usize * 4 * search.node_bytes(game) * trees;
            return Err(WorkerError::Memory {
                trees,
                simulations: search.simulations,
                bytes: self.tree_bytes,
                needed,
            });
        }
        let learner = SearchConfig { max_nodes, ..search.clone() };
        let opponent = SearchConfig { noise: None, forced_playouts: None, ..learner.clone() };
        Ok(Some([learner, opponent]))
    }
}
