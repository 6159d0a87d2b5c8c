//! The minimax family over any game: plain minimax, paranoid alpha-beta and MaxN.
//!
//! # The tree
//!
//! Players who move at the same time are put in a sequence: the searching player first, then
//! the others by seat. In the tree a later mover knows what those before it chose, so the
//! others answer the searching player's choice, which in the game they can only guess. The
//! position is resolved once all of its movers have chosen. A *ply* is one choice, a *turn* one
//! resolved position, so with four snakes a turn is four plies. Depths count turns.
//!
//! A chance node is not a ply. The [`Heuristic`] may resolve it by an assumption; otherwise
//! its value is the expectation over its outcomes, or over [`CHANCE_SAMPLES`] draws from a
//! generator that is fixed by the position where outcomes cannot be listed.
//!
//! # Values
//!
//! A finished game is worth its outcome in −1 to 1, shrunk by 1/100,000 for every turn from the
//! root, so that a sooner win and a later loss are better. Unfinished positions at the horizon
//! are worth what the evaluation says, at most [`UNDECIDED`] either way: less than a win, more
//! than a loss, while a draw is worth 0. A player who is out is worth its outcome of the turn in
//! which it fell, though others play on.
//!
//! # Contract
//!
//! Searches are deterministic unless they meet a deadline. Of several best actions the lowest
//! is found. [`Paranoid`] finds the same action and value as [`Plain`], only sooner. After the
//! first search a searcher allocates nothing per node.

mod chance;
mod deepening;
mod frame;
mod line;
mod max_n;
mod node_counter;

mod ordering;
mod paranoid;
mod plain;
mod table;

use ouro_game::{Action, Game, Turn};

pub use chance::CHANCE_SAMPLES;
pub use max_n::MaxN;
pub use node_counter::{Deadline, NODES_PER_CLOCK_CHECK};
pub use paranoid::Paranoid;
pub use plain::Plain;

use crate::Heuristic;

/// Largest magnitude of the value of an undecided position.
pub const UNDECIDED: f32 = 0.99;
/// What a decided game loses in magnitude with every turn from the root.
const PER_TURN: f32 = 1e-5;
/// Turns after which a decided game loses no more.
const TURNS_COUNTED: u32 = 500;

/// How far to search.
#[derive(Clone, Copy, Debug)]
pub struct Limits<'a> {
    /// Turns to look ahead, 1 to [`Limits::DEEPEST`]; what is outside counts as the nearer end.
    pub turns: u32,
    /// When to stop. A search that is stopped answers from what it has found.
    pub deadline: Option<Deadline<'a>>,
}

impl Limits<'_> {
    /// The deepest search there is, which for short games is the whole tree. The depth is
    /// limited because searches recurse.
    pub const DEEPEST: u32 = 128;

    /// As deep as possible.
    pub const FULL: Self = Self::turns(Self::DEEPEST);

    /// A fixed number of turns, however long they take.
    pub const fn turns(turns: u32) -> Self {
        Self { turns, deadline: None }
    }
}

/// A position to search.
#[derive(Debug)]
pub struct Query<'a, G: Game> {
    /// The rules.
    pub game: &'a G,
    /// Where `player` is to move.
    pub state: &'a G::State,
    /// Who asks.
    pub player: usize,
    /// How far to search.
    pub limits: Limits<'a>,
}

impl<G: Game> Clone for Query<'_, G> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<G: Game> Copy for Query<'_, G> {}

/// A position in which the player has nothing to choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("player {player} is not to move in this position of {game}; search where it is")]
pub struct NotToMove {
    /// Who asked.
    pub player: usize,
    /// The game's name.
    pub game: &'static str,
}

/// One choice of a line of play.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Who chooses.
    pub player: usize,
    /// What.
    pub action: Action,
}

/// What a search found.
#[derive(Clone, Debug, PartialEq)]
pub struct MinimaxResult {
    /// The best action.
    pub action: Action,
    /// Its value for the searching player, −1 to 1.
    ///
    /// If the deadline ended the search, it is the best known one: of the interrupted pass if
    /// that got to the action, else of the last whole pass, where for an action that was not
    /// the best then it is a bound from above. 0 if nothing is known at all.
    pub value: f32,
    /// The value for every player; only [`MaxN`] knows that of others.
    pub values: Option<Vec<f32>>,
    /// Turns to which all actions were searched.
    pub turns: u32,
    /// Whether the value is that of the game, with no position cut off at the horizon.
    pub complete: bool,
    /// Whether the deadline ended the search.
    pub stopped: bool,
    /// The line of play that both sides think best, as far as it is known.
    pub line: Vec<Step>,
    /// Positions visited, those between the choices of one turn included.
    pub nodes: u64,
    /// Positions evaluated at the horizon.
    pub evaluated: u64,
}

/// A search of the family: what players are built from.
pub trait Searcher<G: Game>: Send {
    /// Searches a position.
    fn search<E: Heuristic<G>>(
        &mut self,
        query: Query<'_, G>,
        heuristic: &mut E,
    ) -> Result<MinimaxResult, NotToMove>;
}

/// Refuses a query whose player has nothing to choose.
fn check<G: Game>(query: &Query<'_, G>) -> Result<(), NotToMove> {
    match query.game.turn(query.state) {
        Turn::Move(movers) if movers.contains(query.player) => Ok(()),
        _ => Err(NotToMove { player: query.player, game: G::NAME }),
    }
}

/// Value of a decided game.
fn decided(outcome: f32, turns: u32) -> f32 {
    outcome.clamp(-1.0, 1.0) * (1.0 - PER_TURN * turns.min(TURNS_COUNTED) as f32)
}

/// Value of a position at the horizon.
fn undecided(score: f32) -> f32 {
    if score.is_nan() { 0.0 } else { score.clamp(-UNDECIDED, UNDECIDED) }
}
