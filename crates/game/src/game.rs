//! The [`Game`] trait: the interface that play, search and training need from a game.
//!
//! A game is two values. The *rules* (`Self`) hold the configuration and tables computed from
//! it. They never change during a game and all threads share them. The *state*
//! ([`Game::State`]) is one position: small, cheap to clone, stepped in place without
//! allocation.
//!
//! # How a game unfolds
//!
//! ```text
//! initial(rng) ──► turn(state) ─┬─ Turn::Move(players) ─► legal, step(actions) ─┐
//!                      ▲        ├─ Turn::Chance        ─► apply_chance(outcome) ─┤
//!                      │        └─ Turn::Over          ─► outcome(player)        │
//!                      └─────────────────────────────────────────────────────────┘
//! ```
//!
//! * **Simultaneous moves** (Battlesnake): `Turn::Move` holds several players. `step` takes
//!   one action for each of them and resolves all actions together.
//! * **Alternating moves** (Connect Four): `Turn::Move` holds exactly one player.
//! * **Single player** (Snake, puzzles): `Turn::Move` holds player 0.
//!   [`returns`](Game::returns) grows with each reward, and [`elapsed`](Game::elapsed) counts
//!   time steps. Values are discounted by `gamma ^ elapsed time`, also across forced moves.
//! * **Chance** (food, apples): after a step the state may be a chance node. Searches
//!   enumerate or sample its outcomes; plain play calls [`Game::settle`].
//! * **Elimination**: players not in [`Game::alive`] have no legal action and are never in
//!   `Turn::Move` again.
//!
//! # Players, seats and perspective
//!
//! Players are numbered from 0 in seat order. [`Game::observe`] writes the board from the
//! perspective of one player: that player's own features are in the same planes at every seat.
//! One network therefore serves all seats.
//!
//! # Your own game
//!
//! `docs/your-own-game.md` walks through `examples/stakes`, a small game with simultaneous
//! moves and chance. [`check_laws`](crate::check_laws) tests the properties that the types cannot
//! express. One line adds the game to the [catalog](crate::catalog).

use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::action::{Action, ActionMask};
use crate::error::{ConfigError, StepError};
use crate::player_set::PlayerSet;
use crate::rng::Rng;
use crate::rollout::RolloutBuffer;
use crate::symmetry::Symmetry;

/// What must happen next in a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// These players choose one action each, simultaneously.
    Move(PlayerSet),
    /// A chance outcome is due: see [`Game::chance`].
    Chance,
    /// The game has ended; [`Game::outcome`] is final.
    Over,
}

/// The outcomes of a chance node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chance {
    /// Outcomes `0..count`, each with a probability from [`Game::chance_probability`].
    Enumerable {
        /// Number of outcomes, at least 1.
        count: u32,
    },
    /// Outcomes are too many to list; [`Game::sample_chance`] draws them.
    Sampled,
}

/// Shape of an observation: `[channels, height, width]`, row-major, f32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlaneShape {
    /// Feature planes.
    pub channels: usize,
    /// Rows.
    pub height: usize,
    /// Columns.
    pub width: usize,
}

impl PlaneShape {
    /// Number of f32 values in one observation.
    pub const fn len(self) -> usize {
        self.channels * self.height * self.width
    }

    /// Whether an observation holds no values.
    pub const fn is_empty(self) -> bool {
        self.len() == 0
    }
}

/// The rules of one game under one configuration. See the [module](self) for the protocol.
pub trait Game: Clone + Debug + Send + Sync + 'static {
    /// Board size and settings: everything that determines the rules. Part of every record.
    type Config: Clone + Debug + PartialEq + Serialize + DeserializeOwned + Send + Sync + 'static;
    /// One position. Deserialisation validates the position.
    type State: Clone
        + Debug
        + PartialEq
        + Eq
        + Serialize
        + DeserializeOwned
        + Send
        + Sync
        + 'static;

    /// Stable lower-case name, used in configs, records and on the command line.
    const NAME: &'static str;

    /// Builds the rules. The error names the field of the configuration that is out of range.
    fn new(config: Self::Config) -> Result<Self, ConfigError>;

    /// The configuration these rules were built from.
    fn config(&self) -> &Self::Config;

    /// Number of seats, 1 to 16.
    fn players(&self) -> usize;

    /// Size of the action space; actions are `0..action_count`.
    fn action_count(&self) -> usize;

    /// The initial position. Random set-ups draw from `rng` only.
    fn initial(&self, rng: &mut Rng) -> Self::State;

    /// What must happen next.
    fn turn(&self, state: &Self::State) -> Turn;

    /// Sets `mask` to the legal actions of `player`, `action_count` bits.
    ///
    /// A player in [`Turn::Move`] has at least one; any other player has none.
    fn legal(&self, state: &Self::State, player: usize, mask: &mut ActionMask);

    /// Sets `mask` to the legal actions of `player` that need not eliminate it at once,
    /// `action_count` bits.
    ///
    /// The mask leaves out actions after which the player is not [`alive`](Game::alive), whatever
    /// the others do. If all legal actions are of that kind, it holds all of them. Searches and
    /// players choose within this mask; the rules accept every legal action. The default is
    /// [`legal`](Game::legal).
    fn viable(&self, state: &Self::State, player: usize, mask: &mut ActionMask) {
        self.legal(state, player, mask);
    }

    /// The players to move, after checking that `actions` has one entry per player.
    ///
    /// Every [`step`](Game::step) starts with this check.
    fn movers(&self, state: &Self::State, actions: &[Action]) -> Result<PlayerSet, StepError> {
        let (got, expected) = (actions.len(), self.players());
        if got != expected {
            return Err(StepError::ActionCount { got, expected });
        }
        match self.turn(state) {
            Turn::Move(movers) => Ok(movers),
            Turn::Chance => Err(StepError::ChancePending),
            Turn::Over => Err(StepError::GameOver),
        }
    }

    /// Whether no player moves again, in a state that is not to move.
    ///
    /// True if the game is [over](Turn::Over), and at a chance node whose outcomes all lead to an
    /// end with the returns and outcomes of this state. A search takes such a node for the end.
    /// Otherwise a decided game would hide behind chance nodes, whose values are proven only when
    /// every outcome has been visited.
    fn is_decided(&self, state: &Self::State) -> bool {
        self.turn(state) == Turn::Over
    }

    /// Applies one action per player.
    ///
    /// `actions` has [`players`](Game::players) entries; entries of players that are not to move
    /// are ignored. On an error the state is unchanged.
    fn step(&self, state: &mut Self::State, actions: &[Action]) -> Result<(), StepError>;

    /// The kind of chance node that `state` is. Meaningful in [`Turn::Chance`] only.
    fn chance(&self, _state: &Self::State) -> Chance {
        Chance::Enumerable { count: 1 }
    }

    /// Probability of `outcome` at an enumerable chance node; 0 outside its range.
    ///
    /// By default all outcomes are equally likely.
    fn chance_probability(&self, state: &Self::State, outcome: u32) -> f64 {
        match self.chance(state) {
            Chance::Enumerable { count } if outcome < count => 1.0 / f64::from(count),
            _ => 0.0,
        }
    }

    /// Draws an outcome of the chance node with its true probability.
    ///
    /// The default draws equally likely outcomes. A game that overrides
    /// [`chance_probability`](Game::chance_probability) must override this method too.
    fn sample_chance(&self, state: &Self::State, rng: &mut Rng) -> u32 {
        match self.chance(state) {
            Chance::Enumerable { count } => rng.below(count),
            Chance::Sampled => 0,
        }
    }

    /// Resolves the chance node with `outcome`. On an error the state is unchanged.
    fn apply_chance(&self, _state: &mut Self::State, _outcome: u32) -> Result<(), StepError> {
        Err(StepError::NotAChanceNode)
    }

    /// Resolves the chance node without an event, for searches that
    /// ignore chance. Returns whether the game can; the default cannot.
    ///
    /// Such a state need not be an outcome of the node: in Battlesnake no food appears, even if
    /// the rules would place some.
    fn skip_chance(&self, _state: &mut Self::State) -> bool {
        false
    }

    /// Resolves chance nodes by sampling until players move or the game is over.
    ///
    /// Games may override this for speed; the draws and the result must stay the same.
    fn settle(&self, state: &mut Self::State, rng: &mut Rng) {
        while self.turn(state) == Turn::Chance {
            let outcome = self.sample_chance(state, rng);
            if self.apply_chance(state, outcome).is_err() {
                debug_assert!(false, "a sampled outcome must apply");
                return;
            }
        }
    }

    /// [`step`](Game::step), then [`settle`](Game::settle): one whole turn of a real game.
    fn advance(
        &self,
        state: &mut Self::State,
        actions: &[Action],
        rng: &mut Rng,
    ) -> Result<(), StepError> {
        self.step(state, actions)?;
        self.settle(state, rng);
        Ok(())
    }

    /// Plays random moves until the game is over or `limit` turns have been played.
    ///
    /// Chance is settled first and after every turn. The default draws uniformly from the legal
    /// actions and allocates nothing once `buffer` has grown. A game may override the method to
    /// be faster, or to leave out moves that no player would make; its documentation says which.
    fn rollout(
        &self,
        state: &mut Self::State,
        limit: u32,
        buffer: &mut RolloutBuffer,
        rng: &mut Rng,
    ) {
        crate::rollout::uniform(self, state, limit, buffer, rng);
    }

    /// Writes the rollout policy of `player` as integer weights.
    ///
    /// `weights` has [`action_count`](Game::action_count) entries. An illegal action has weight
    /// 0, and so may a legal action that no sensible player would choose. At least one legal
    /// action of a player to move has a positive weight. The sum is arbitrary, but fits `u32`.
    /// `legal` is working memory. The default gives every legal action weight 1.
    ///
    /// Such a rollout policy is called a *playout policy* in Gelly et al. 2006, "Modification of
    /// UCT with patterns in Monte-Carlo Go". A game that overrides this method also overrides
    /// [`guided_rollout`](Game::guided_rollout).
    fn weigh(
        &self,
        state: &Self::State,
        player: usize,
        legal: &mut ActionMask,
        weights: &mut [u32],
    ) {
        weights.fill(0);
        self.legal(state, player, legal);
        legal.iter().for_each(|action| weights[action.index()] = 1);
    }

    /// A [`rollout`](Game::rollout) in which actions are drawn in proportion to the weights of
    /// [`weigh`](Game::weigh).
    ///
    /// The default is the plain rollout, because the default weights are uniform.
    /// [`rollout::guided`](crate::rollout::guided) is an implementation for any game.
    fn guided_rollout(
        &self,
        state: &mut Self::State,
        limit: u32,
        buffer: &mut RolloutBuffer,
        rng: &mut Rng,
    ) {
        self.rollout(state, limit, buffer, rng);
    }

    /// Players still in the game: all players, unless the game eliminates players.
    fn alive(&self, _state: &Self::State) -> PlayerSet {
        PlayerSet::first(self.players())
    }

    /// Whether a search should play forced moves through.
    ///
    /// A state in which one player is to move and has one legal action is then not a node of the
    /// search tree; only its time ([`elapsed`](Game::elapsed)) and its rewards count. The game
    /// itself and its records contain such states like any other.
    fn collapse_forced(&self) -> bool {
        false
    }

    /// Upper bound of the bytes of a state, those on the heap that no other state shares included.
    /// Searches limit their memory by it.
    fn state_bytes(&self) -> usize {
        size_of::<Self::State>()
    }

    /// Time steps since the start. Discounts are `gamma ^ (difference of elapsed)`.
    fn elapsed(&self, state: &Self::State) -> u32;

    /// Cumulative, undiscounted reward of `player` so far. The reward of a step is the
    /// difference between the returns after and before it.
    fn returns(&self, state: &Self::State, player: usize) -> f32;

    /// Outcome of `player`: 1 win, 0 draw, −1 loss, or a value between. A truncated game has the
    /// outcome of its last state.
    fn outcome(&self, state: &Self::State, player: usize) -> f32;

    /// The figure that people quote for a finished game: points, or a snake's length. The
    /// default is the [`returns`](Game::returns).
    fn score(&self, state: &Self::State, player: usize) -> f32 {
        self.returns(state, player)
    }

    /// Shape of an observation.
    fn planes(&self) -> PlaneShape;

    /// Numbers of channels of earlier versions of [`planes`](Game::planes), whose planes are the
    /// first of today's. Networks that were trained with them still play.
    fn earlier_channels(&self) -> &'static [usize] {
        &[]
    }

    /// Shape of a short observation, `[features, 1, 1]`, for small networks that must be fast; `None`
    /// if the game has none. Its length differs from that of all planes.
    fn features(&self) -> Option<PlaneShape> {
        None
    }

    /// The configuration of the same game between two players; `None` if there is no such game.
    ///
    /// Rules built from it can [`observe`](Game::observe) a state of this game in which two players are
    /// [`alive`](Game::alive), in any seats. They write the [`features`](Game::features) of a duel, so a
    /// network trained in duels can evaluate the end of a game of more players.
    fn duel(_config: &Self::Config) -> Option<Self::Config> {
        None
    }

    /// Whether a network that reads this observation can play: it is [`planes`](Game::planes), the
    /// planes of an [earlier version](Game::earlier_channels), or [`features`](Game::features).
    fn accepts(&self, planes: PlaneShape) -> bool {
        if self.features() == Some(planes) {
            return true;
        }
        let channels = self.planes().channels;
        planes == PlaneShape { channels: planes.channels, ..self.planes() }
            && (planes.channels == channels || self.earlier_channels().contains(&planes.channels))
    }

    /// Writes the observation of `state` from the perspective of `player` into `out`. The length of
    /// `out` selects which: [`planes`](Game::planes), those of an
    /// [earlier version](Game::earlier_channels), or [`features`](Game::features). Every value is
    /// overwritten.
    fn observe(&self, state: &Self::State, player: usize, out: &mut [f32]);

    /// The board's symmetries under these rules, identity first.
    fn symmetries(&self) -> &'static [Symmetry] {
        &[Symmetry::Identity]
    }

    /// The image of a state. Commutes with [`step`](Game::step).
    fn transform(&self, state: &Self::State, _symmetry: Symmetry) -> Self::State {
        state.clone()
    }

    /// The image of an action under a symmetry.
    fn transform_action(&self, action: Action, _symmetry: Symmetry) -> Action {
        action
    }

    /// A drawing of the state for a terminal, several lines, ending in a newline.
    fn render(&self, state: &Self::State) -> String;

    /// Display name of an action: `up`, `b2`, `column 4`.
    fn action_name(&self, action: Action) -> String;

    /// A portable 64-bit digest of a state. Records keep digests to catch a replay that drifts.
    /// The default hashes the serialised form.
    fn digest(&self, state: &Self::State) -> u64 {
        crate::digest::digest_serialized(state)
    }
}

/// The value of an [`outcome`](Game::outcome) where a draw is worth `draw`, −1 to 1, instead of 0.
pub fn outcome_value(outcome: f32, draw: f32) -> f32 {
    if outcome == 0.0 { draw } else { outcome }
}
