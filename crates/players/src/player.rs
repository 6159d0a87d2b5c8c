//! The [`Player`] trait: chooses actions in games.

use ouro_game::{Action, Game, Rng};

/// One seat of one game that has to choose an action.
#[derive(Debug)]
pub struct Request<'a, G: Game> {
    /// The position.
    pub state: &'a G::State,
    /// The seat that has to choose.
    pub player: usize,
    /// The generator of this seat in this game. Players draw only from it, so that a game does
    /// not depend on other games in the call.
    pub rng: &'a mut Rng,
    /// Number of the game among those that the caller passes to this player, if it follows games.
    /// Players may keep what they know of a game from move to move. The same number may come back
    /// with another game.
    pub game: Option<u64>,
}

/// A chosen action.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    /// A legal action.
    pub action: Action,
    /// The probability with which this action was chosen, in (0, 1]: the behaviour probability
    /// that off-policy corrections divide by.
    pub probability: f32,
}

/// Chooses actions, for one seat or many, in one game or many.
pub trait Player<G: Game>: Send {
    /// Name of the player in results and errors.
    fn name(&self) -> &str;

    /// Whether one call for many positions costs less than one call for each. It is false for
    /// players that search by the clock or that search each position separately.
    fn batches(&self) -> bool {
        false
    }

    /// Appends one choice per request to `choices`, in the order of `requests`.
    ///
    /// Every request is for a seat that is to move, so it has a legal action.
    fn choose(&mut self, game: &G, requests: &mut [Request<'_, G>], choices: &mut Vec<Choice>);

    /// A game in which the player has a seat has ended in `state`. `number` is the
    /// [number](Request::game) of its requests. A [`GameBatch`](crate::GameBatch) calls this once for a game
    /// that it finishes.
    fn game_ended(&mut self, _game: &G, _number: u64, _state: &G::State) {}

    /// The expected outcome, in −1 to 1, that the last choice found for its seat, discounted as in the
    /// training of the player's network. `None` for players without such an estimate.
    fn last_value(&self) -> Option<f32> {
        None
    }
}
