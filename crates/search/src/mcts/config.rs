//! Settings of a tree search.
//!
//! The documentation of each field names its effect, its term in the literature and its source.
//! The defaults are a deterministic AlphaZero search: PUCT, the parent's mean for unvisited
//! actions, no noise, every decision searched in full.
//!
//! Contract: settings that pass [`SearchConfig::validate`] work with every game. Otherwise the
//! error names the field.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::schedule::Temperature;

/// Most simulations of one decision.
pub const MAX_SIMULATIONS: u32 = 1 << 28;

/// Settings of one search. See the [module](self).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SearchConfig {
    /// Simulations per decision: descents from the root. The evaluation of the root itself and
    /// visits of a kept tree do not count.
    #[schemars(range(min = 1, max = MAX_SIMULATIONS))]
    pub simulations: u32,

    /// Weight of the prior against the value, `c_puct`: an action scores
    /// `Q + c · P · √N / (1 + n)`, values on the scale of [`value_scale`](Self::value_scale).
    /// Rosin 2011, "Multi-armed bandits with episode context"; Silver et al. 2018,
    /// "A general reinforcement learning algorithm" (AlphaZero).
    #[schemars(range(min = 0))]
    pub exploration: f32,
    /// Lets `exploration` grow with the visits: `c + ln((N + base + 1) / base)`. `pb_c_base`
    /// of AlphaZero's pseudocode, 19,652 there. Left out: it does not grow.
    #[schemars(range(min = 1))]
    pub exploration_base: Option<f32>,
    /// Value of an unvisited action.
    pub first_play: FirstPlay,
    /// How players choose simultaneous moves.
    pub simultaneous: Simultaneous,
    /// Probability that a player at a simultaneous move makes a uniformly random move in the tree
    /// instead of the chosen one. Plans then do not rely on opponents that never err. Such a move
    /// is not a visit of the player who made it. The trembling hand of Selten 1975,
    /// "Reexamination of the perfectness concept for equilibrium points in extensive games". 0
    /// switches it off. For PUCT only, without Gumbel.
    #[schemars(range(min = 0, max = 1))]
    pub tremble: f32,

    /// What players maximise, which is the meaning of values. Not a key of settings files: the
    /// algorithm of a run decides it.
    #[serde(skip)]
    pub objective: Objective,
    /// Value of a drawn game to each player, in place of 0, if values are outcomes, as in AlphaZero.
    /// Below 0, both players prefer a risk to a draw. The values of networks with outcome classes follow
    /// it without new training. KataGo has a similar setting, `drawEquivalentWinsForWhite`.
    // It replaces a `Game::outcome` of 0, with `Objective::Outcome` only.
    #[schemars(range(min = -1, max = 1))]
    pub draw: f32,
    /// Discount gamma per unit of [`elapsed`](ouro_game::Game::elapsed) time: a step that takes
    /// time `t` is worth `reward + gamma^t · value`. Among more than two players, the outcome of an
    /// eliminated player is discounted to its elimination, as in training. Not a key of settings files:
    /// searches and training share the discount of the run.
    #[serde(skip)]
    pub discount: f32,
    /// How values are scaled for comparison with the prior's term.
    pub value_scale: ValueScale,

    /// How chance nodes are explored.
    pub chance: ChanceWidth,
    /// Collapses positions in which every player to move has a single legal action into one edge
    /// that sums their time and rewards, without nodes and evaluations. Left out: only in games in
    /// which this pays, which are Snake, Maze Dash and SNAKGAME. From the AlphaSnake paper (arXiv
    /// 2211.09622).
    // `Game::collapse_forced` is the choice of each game.
    pub collapse_forced: Option<bool>,
    /// Evaluates each leaf under a random symmetry of the board.
    /// Silver et al. 2017, "Mastering the game of Go without human knowledge".
    pub random_symmetry: bool,
    /// Backs up proven results. An action proven to win is played, an action proven to lose is no
    /// longer tried, and a proven root ends the search. Less is proven if two players' outcomes
    /// are not opposed, as when a draw costs both something. Winands et al. 2008, "Monte-Carlo
    /// tree search solver".
    ///
    /// A single winning move proves a position only if 1 is known to be the maximum, which holds
    /// for undiscounted outcomes. With returns or a discount, a position is proven only by all its
    /// continuations, and so only near the end of a game.
    pub solver: bool,

    /// Dirichlet noise in the root's priors, for self-play. With regret matching, priors and noise
    /// matter only while no action has a positive regret.
    pub noise: Option<Noise>,
    /// Visits each tried root action at least `√(k · P · N)` times, with this `k`, and removes
    /// the extra visits from the policy target and from the value target. 2 in Wu 2019, "Accelerating
    /// self-play learning in Go" (KataGo), section 3.2. If two players move at once, one is forced at a
    /// time, and the other's choice in that simulation does not count as a visit. Off in fast searches and
    /// with regret matching.
    #[schemars(range(min = 0))]
    pub forced_playouts: Option<f32>,
    /// Searches most decisions with fewer simulations, no noise and no forced playouts. Only full
    /// searches are policy targets. Playout cap randomisation, KataGo section 3.1.
    pub fast: Option<FastSearch>,
    /// Chooses at the root by sampling without replacement and sequential halving, in place
    /// of PUCT: better with few simulations. Danihelka et al. 2022, "Policy improvement by
    /// planning with Gumbel". The action that it chooses is played, and `temperature` has no effect.
    pub gumbel: Option<Gumbel>,
    /// How visits become the action that is played.
    pub temperature: Temperature,

    /// Leaves of one tree that are evaluated in one batch. More than 1 needs virtual loss, which
    /// makes the search slightly worse. The number is exact, whatever else is in the batch, except beside
    /// forced playouts of one of two players that move at once, which can fill a batch less.
    #[schemars(range(min = 1, max = 4_096))]
    pub leaves_in_flight: u32,
    /// Value of a visit whose evaluation is pending, on the scale of
    /// [`value_scale`](Self::value_scale), −1 for a loss: virtual loss. Chaslot et al. 2008,
    /// "Parallel Monte-Carlo tree search".
    pub virtual_value: f32,
    /// Most nodes of a tree. A full tree ends the search, and the decision uses the visits so far.
    /// At most half of it is kept for the next decision. If a tree has more than eight edges and
    /// listed chance outcomes per node, eight of them count as a node.
    #[schemars(range(min = 16, max = 0x7fff_ffff_u32))]
    pub max_nodes: u32,
}

/// The assumed value of an unvisited action: first-play urgency. Gelly and Wang 2006,
/// "Exploration exploitation in Go".
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum FirstPlay {
    /// The mean of its parent, as in the AlphaSnake paper.
    Parent,
    /// The mean of its parent less `reduction · √(sum of the priors of tried actions)`, as in
    /// Leela Zero and KataGo (0.2 there).
    ParentReduced {
        /// The factor, at least 0.
        #[schemars(range(min = 0))]
        reduction: f32,
    },
    /// A constant on the scale of [`value_scale`](SearchConfig::value_scale); −1 is a loss, as in
    /// AlphaZero.
    Constant {
        /// The constant.
        value: f32,
    },
}

/// How players choose simultaneous moves within the tree.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Simultaneous {
    /// Each player by PUCT over its own actions, independently: decoupled UCT. Simple and strong,
    /// but it need not approach an equilibrium. Tak et al. 2014, "Monte Carlo tree search variants
    /// for simultaneous move games".
    Decoupled,
    /// Each player by regret matching plus. The result is the average strategy, which approaches
    /// an equilibrium. Hart and Mas-Colell 2000; Lanctot et al. 2013, "Monte Carlo tree search for
    /// simultaneous move games: a case study in the game of Tron"; Lisý et al. 2013; Tammelin
    /// 2014. If a single player moves, PUCT chooses as usual. The average strategy is played
    /// without a temperature.
    RegretMatching {
        /// A share `exploration · √(actions / visits)` of choices is uniformly random. Every
        /// action is then tried, and the bias vanishes in the long run. Above 0, at most 1.
        #[schemars(extend("exclusiveMinimum" = 0), range(max = 1))]
        exploration: f32,
    },
}

/// The meaning of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Objective {
    /// The [`outcome`](ouro_game::Game::outcome) of the game, −1 to 1. Rewards before the end are
    /// ignored.
    Outcome,
    /// The discounted sum of rewards, the differences of
    /// [`returns`](ouro_game::Game::returns).
    Returns,
}

/// The linear map from values to −1 to 1, the scale on which PUCT adds its two terms.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ValueScale {
    /// No map: values are within −1 and 1, or the exploration constant is tuned to them.
    Raw,
    /// From known bounds.
    Bounds {
        /// Value that becomes −1.
        low: f32,
        /// Value that becomes 1.
        high: f32,
    },
    /// From the least and the greatest mean value seen since the tree was started, those of nodes that
    /// were dropped since included. Schrittwieser et al. 2020
    /// (MuZero), appendix B. MuZero maps to 0 to 1; the range here is twice as wide, so its
    /// exploration constants double. An unvisited action counts as no better than the best value
    /// seen.
    Running,
}

/// How many outcomes a chance node distinguishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ChanceWidth {
    /// Up to this many equally likely outcomes are all children and are visited equally often:
    /// the least visited first, ties at random, as in the AlphaSnake paper.
    #[schemars(range(min = 1, max = 1_048_576))]
    pub enumerate: u32,
    /// Other outcomes are drawn. A node with this many distinct children draws no more and visits
    /// them in proportion to how often each was drawn: sparse sampling. Kearns et al. 2002, "A
    /// sparse sampling algorithm for near-optimal planning".
    #[schemars(range(min = 1, max = 1_048_576))]
    pub sample: u32,
    /// Leaves chance out of the tree where the game can: nothing happens at a chance node. Trees
    /// become deeper, because visits are not split among outcomes, and plan without the events that
    /// chance would bring. Battlesnake and SNAKGAME can: in their trees no food appears, and Chef does
    /// nothing. In Battlesnake at equal time it takes 62.5 % of the points against the same search with
    /// chance (`docs/results.md`).
    // `Game::skip_chance` says whether a game can.
    pub ignore: bool,
}

/// Dirichlet noise: priors become `(1 − share) · P + share · Dirichlet(total / legal)`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Noise {
    /// Sum of the concentrations, split evenly over the legal actions. 10.83 in KataGo, which
    /// is AlphaZero's 0.03 for the 361 points of Go.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub total: f32,
    /// Weight of the noise, 0.25 in AlphaZero.
    #[schemars(range(min = 0, max = 1))]
    pub share: f32,
}

/// Fast searches, which are not policy targets.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FastSearch {
    /// Probability that a decision is searched in full, 0.25 in KataGo. Above 0, because only full
    /// searches are policy targets.
    #[schemars(range(max = 1), extend("exclusiveMinimum" = 0))]
    pub full_share: f32,
    /// Simulations of the other decisions, about a sixth of the full number in KataGo.
    #[schemars(range(min = 1, max = MAX_SIMULATIONS))]
    pub simulations: u32,
}

/// Sequential halving at the root.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Gumbel {
    /// Actions considered at first, `m` in the paper, 16 there.
    #[schemars(range(min = 1, max = 65_536))]
    pub considered: u32,
    /// `c_visit`, 50 in the paper: a value counts `(c_visit + most visits) · c_scale`.
    #[schemars(range(min = 0))]
    pub visit_offset: f32,
    /// `c_scale`, 1 in the paper, for values mapped to 0 to 1.
    #[schemars(range(min = 0))]
    pub scale: f32,
}

impl Default for SearchConfig {
    fn default() -> Self {
        Self {
            simulations: 200,
            exploration: 1.5,
            exploration_base: None,
            first_play: FirstPlay::Parent,
            simultaneous: Simultaneous::Decoupled,
            tremble: 0.0,
            objective: Objective::Outcome,
            draw: 0.0,
            discount: 1.0,
            value_scale: ValueScale::Raw,
            chance: ChanceWidth::default(),
            collapse_forced: None,
            random_symmetry: false,
            solver: true,
            noise: None,
            forced_playouts: None,
            fast: None,
            gumbel: None,
            temperature: Temperature::default(),
            leaves_in_flight: 1,
            virtual_value: -1.0,
            max_nodes: 1 << 22,
        }
    }
}

impl Default for ChanceWidth {
    fn default() -> Self {
        Self { enumerate: 1_024, sample: 32, ignore: true }
    }
}

impl Default for Noise {
    fn default() -> Self {
        Self { total: 10.83, share: 0.25 }
    }
}

impl Default for Gumbel {
    fn default() -> Self {
        Self { considered: 16, visit_offset: 50.0, scale: 1.0 }
    }
}
