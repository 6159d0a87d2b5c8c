//! Everything that a tree search can be told.
//!
//! Each field says what it does, what the literature calls it and where it comes from. The
//! defaults are a plain, deterministic AlphaZero search: PUCT, the parent's mean for
//! unvisited actions, no noise, every decision searched in full.
//!
//! Contract: [`SearchConfig::validate`] accepts only what every game can be searched with, and
//! names the field otherwise.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::schedule::Temperature;

/// Most simulations of one decision.
pub const MAX_SIMULATIONS: u32 = 1 << 28;

/// Settings of one search. See the [module](self).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SearchConfig {
    /// Descents from the root per decision; evaluating the root itself is not one. What a
    /// kept tree brings along does not count.
    pub simulations: u32,

    /// Weight of the prior against the value, `c_puct`: an action scores
    /// `Q + c · P · √N / (1 + n)`, values on the scale of [`value_scale`](Self::value_scale).
    /// Rosin 2011, "Multi-armed bandits with episode context"; Silver et al. 2018,
    /// "A general reinforcement learning algorithm" (AlphaZero).
    pub exploration: f32,
    /// Lets `exploration` grow with the visits: `c + ln((N + base + 1) / base)`. `pb_c_base`
    /// of AlphaZero's pseudocode, 19,652 there; `None` keeps it constant.
    pub exploration_base: Option<f32>,
    /// Value of an action that was never tried.
    pub first_play: FirstPlay,
    /// How players who move at the same time choose.
    pub simultaneous: Simultaneous,
    /// Chance with which anyone who moves at the same time as another is taken to err in the tree
    /// and to make any legal move: nobody then counts on what the other would never do. Such a
    /// move is no visit of whoever made it. The trembling hand of Selten 1975, "Reexamination of
    /// the perfectness concept for equilibrium points in extensive games". 0 trusts everybody.
    /// For PUCT alone, without Gumbel.
    pub tremble: f32,

    /// What values mean, and so what players maximise.
    pub objective: Objective,
    /// Value kept per unit of [`elapsed`](ouro_game::Game::elapsed) time, the discount gamma:
    /// a step that takes `t` is worth `reward + gamma^t · value`.
    pub discount: f32,
    /// How values of any size become comparable with the prior's term.
    pub value_scale: ValueScale,

    /// How chance nodes are explored.
    pub chance: ChanceWidth,
    /// Steps through positions where every player to move has a single legal action, as one
    /// edge whose time and rewards add up; no node, no evaluation. `None` does what the game
    /// asks for ([`Game::collapse_forced`](ouro_game::Game::collapse_forced)). The AlphaSnake
    /// paper (arXiv 2211.09622).
    pub collapse_forced: Option<bool>,
    /// Evaluates each leaf under a random symmetry of the board, not the identity.
    /// Silver et al. 2017, "Mastering the game of Go without human knowledge".
    pub random_symmetry: bool,
    /// Backs up proven results: an action proven to win is played, one proven to lose is no
    /// longer tried, and a proven root ends the search. Where two players' outcomes are
    /// not opposed, as where a draw costs both something, less is proven. Winands et al. 2008, "Monte-Carlo tree search solver".
    ///
    /// A single winning move proves a position only where 1 is known to be the most there is:
    /// with undiscounted outcomes. Where returns count, or time does, a position is proven by
    /// all that can follow from it, and so only near the end of a game.
    pub solver: bool,

    /// Random priors mixed in at the root, for self-play. Regret matching goes by priors only
    /// while nothing is regretted, and so does the noise there.
    pub noise: Option<Noise>,
    /// Makes the root try each tried action at least `√(k · P · N)` times, with this `k`, and
    /// takes those visits out of the policy target again. 2 in Wu 2019, "Accelerating
    /// self-play learning in Go" (KataGo), section 3.2. Off in fast searches,
    /// and where regret matching chooses.
    pub forced_playouts: Option<f32>,
    /// Searches most decisions with fewer simulations, no noise and no forced playouts; only
    /// full ones are meant as policy targets. Playout cap randomisation, KataGo section 3.1.
    pub fast: Option<FastSearch>,
    /// Chooses at the root by sampling without replacement and sequential halving, in place
    /// of PUCT: better with few simulations. Danihelka et al. 2022, "Policy improvement by
    /// planning with Gumbel".
    pub gumbel: Option<Gumbel>,
    /// How visits become the action that is played.
    pub temperature: Temperature,

    /// Leaves that one tree gives to a batch before any of them comes back. More than 1 needs
    /// virtual loss and so a slightly worse search; the number is kept exactly, whatever else
    /// is in the batch.
    pub leaves_in_flight: u32,
    /// Value that a visit in flight counts as, on the scale of
    /// [`value_scale`](Self::value_scale), −1 for a loss: virtual loss. Chaslot et al. 2008,
    /// "Parallel Monte-Carlo tree search".
    pub virtual_value: f32,
    /// Nodes after which a tree grows no more: the decision is made with what there is. Half
    /// of it is the most that is kept for the next decision. Eight edges or listed outcomes of
    /// chance count as a node where there are more of them.
    pub max_nodes: u32,
}

/// What an action that was never tried is taken to be worth: first-play urgency. Gelly and
/// Wang 2006, "Exploration exploitation in Go".
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum FirstPlay {
    /// The mean of its parent, as in the AlphaSnake paper.
    Parent,
    /// The mean of its parent less `reduction · √(sum of the priors of tried actions)`, as in
    /// Leela Zero and KataGo (0.2 there).
    ParentReduced {
        /// The factor, at least 0.
        reduction: f32,
    },
    /// A constant on the scale of [`SearchConfig::value_scale`]; −1 is a loss, as in AlphaZero.
    Constant {
        /// The constant.
        value: f32,
    },
}

/// How players who move at the same time choose within the tree.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Simultaneous {
    /// Each by PUCT over their own actions, as if nobody else moved: decoupled UCT. Simple and
    /// strong, but need not approach an equilibrium. Tak et al. 2014, "Monte Carlo tree search
    /// variants for simultaneous move games".
    Decoupled,
    /// Each by regret matching plus; the average strategy is the result and approaches an
    /// equilibrium. Hart and Mas-Colell 2000; Lanctot et al. 2013, "Monte Carlo tree search for
    /// simultaneous move games: a case study in the game of Tron"; Lisý et al. 2013; Tammelin
    /// 2014. Where one player moves, and for the temperature, it changes nothing: there PUCT
    /// chooses, here the average strategy is played as it is.
    RegretMatching {
        /// Uniformly random choices are a share `exploration · √(actions / visits)`, so that
        /// every action is tried and the strategy is not bent in the long run. Above 0, at
        /// most 1.
        exploration: f32,
    },
}

/// What a value says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Objective {
    /// [`outcome`](ouro_game::Game::outcome) at the end: −1 to 1. Rewards on the way are
    /// ignored.
    Outcome,
    /// The discounted sum of rewards, the differences of
    /// [`returns`](ouro_game::Game::returns).
    Returns,
}

/// The linear map from values to the scale on which PUCT's two terms meet, −1 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ValueScale {
    /// No map: values are within −1 and 1 anyway, or the exploration constant is tuned to them.
    Raw,
    /// From bounds that are known.
    Bounds {
        /// Value that becomes −1.
        low: f32,
        /// Value that becomes 1.
        high: f32,
    },
    /// From the least and the greatest mean value in this tree so far. Schrittwieser et al.
    /// 2020 (MuZero), appendix B. It maps to 0 to 1; on the range used here, twice as wide, its
    /// exploration constants are doubled. What was never tried counts as no better than the
    /// best value seen.
    Running,
}

/// How many outcomes a chance node tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ChanceWidth {
    /// Equally likely outcomes up to this many are all children, visited equally often: the
    /// least visited first, ties at random, as in the AlphaSnake paper.
    pub enumerate: u32,
    /// Others are drawn. Once a node has this many different children it draws no more and
    /// visits them in proportion to how often each was drawn: sparse sampling. Kearns et al.
    /// 2002, "A sparse sampling algorithm for near-optimal planning".
    pub sample: u32,
}

/// Dirichlet noise: priors become `(1 − share) · P + share · Dirichlet(total / legal)`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Noise {
    /// Sum of the concentrations, split evenly over the legal actions. 10.83 in KataGo, which
    /// is AlphaZero's 0.03 for the 361 points of Go.
    pub total: f32,
    /// Weight of the noise, 0.25 in AlphaZero.
    pub share: f32,
}

/// Searches that play on quickly without being targets.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FastSearch {
    /// Probability that a decision is searched in full, 0.25 in KataGo.
    pub full_share: f32,
    /// Simulations of the other decisions, about a sixth of the full number in KataGo.
    pub simulations: u32,
}

/// Sequential halving at the root.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Gumbel {
    /// Actions considered at first, `m` in the paper, 16 there.
    pub considered: u32,
    /// `c_visit`, 50 in the paper: a value counts `(c_visit + most visits) · c_scale`.
    pub visit_offset: f32,
    /// `c_scale`, 1 in the paper, for values mapped to 0 to 1.
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
        Self { enumerate: 1_024, sample: 32 }
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
