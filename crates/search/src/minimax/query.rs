//! The query and the result of a search of the minimax family.

use ouro_game::{Action, Game, Turn};

use crate::clock::Deadline;
use crate::heuristic::Heuristic;

/// Maximum magnitude of the value of an undecided position.
pub const UNDECIDED: f32 = 0.99;
/// Decrease of the magnitude of a decided game's value for each turn after the root.
const PER_TURN: f32 = 1e-5;
/// Maximum number of turns that decrease the value, so that the value of a win stays above
/// [`UNDECIDED`].
const TURNS_COUNTED: u32 = 500;

/// How far to search.
#[derive(Clone, Copy, Debug)]
pub struct Limits<'a> {
    /// Turns to look ahead, clamped to 1 to [`Limits::DEEPEST`].
    pub turns: u32,
    /// When to stop. A stopped search returns its best result so far.
    pub deadline: Option<Deadline<'a>>,
}

impl Limits<'_> {
    /// The deepest search, which covers the whole tree of short games. The depth is limited
    /// because searches recurse.
    pub const DEEPEST: u32 = 128;

    /// As deep as possible.
    pub const FULL: Self = Self::turns(Self::DEEPEST);

    /// A fixed number of turns, without a deadline.
    pub const fn turns(turns: u32) -> Self {
        Self { turns, deadline: None }
    }
}

/// A position to search.
#[derive(Debug)]
pub struct Query<'a, G: Game> {
    /// The rules.
    pub game: &'a G,
    /// A state in which `player` is to move.
    pub state: &'a G::State,
    /// The searching player.
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

/// The error for a position in which the searching player is not to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("player {player} is not to move in this position of {game}; search for a player to move")]
pub struct NotToMove {
    /// The searching player.
    pub player: usize,
    /// The game's name.
    pub game: &'static str,
}

/// One choice of a line of play.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The player who chooses.
    pub player: usize,
    /// The chosen action.
    pub action: Action,
}

/// The result of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct MinimaxResult {
    /// The best action.
    pub action: Action,
    /// Its value for the searching player, −1 to 1.
    ///
    /// If the deadline ended the search, the value comes from the interrupted pass if that pass
    /// reached the action, else from the last complete pass. In the last complete pass, the value
    /// of any action but the best is only an upper bound. If no pass has reached an action, the value
    /// is that of a position after the action, for one combination of the replies.
    pub value: f32,
    /// The value for every player; only [`MaxN`](super::MaxN) computes it.
    pub values: Option<Vec<f32>>,
    /// Depth in turns of the last complete pass over the root actions. With reductions, lines with
    /// late actions are searched less deeply.
    pub turns: u32,
    /// Whether the value is exact: no position was cut off at the horizon.
    pub complete: bool,
    /// Whether the deadline ended the search.
    pub stopped: bool,
    /// The principal variation, as far as it is known.
    pub line: Vec<Step>,
    /// Positions visited, including those between the choices of one turn.
    pub nodes: u64,
    /// Positions evaluated at the horizon.
    pub evaluated: u64,
}

/// A search algorithm of the minimax family.
pub trait Searcher<G: Game>: Send {
    /// Searches a position.
    fn search<E: Heuristic<G>>(
        &mut self,
        query: Query<'_, G>,
        heuristic: &mut E,
    ) -> Result<MinimaxResult, NotToMove>;
}

/// Returns an error if the query's player is not to move.
pub(super) fn check<G: Game>(query: &Query<'_, G>) -> Result<(), NotToMove> {
    match query.game.turn(query.state) {
        Turn::Move(movers) if movers.contains(query.player) => Ok(()),
        _ => Err(NotToMove { player: query.player, game: G::NAME }),
    }
}

/// Value of a decided game.
pub(super) fn decided(outcome: f32, turns: u32) -> f32 {
    outcome.clamp(-1.0, 1.0) * (1.0 - PER_TURN * turns.min(TURNS_COUNTED) as f32)
}

/// Value of a position at the horizon.
pub(super) fn undecided(score: f32) -> f32 {
    if score.is_nan() { 0.0 } else { score.clamp(-UNDECIDED, UNDECIDED) }
}
