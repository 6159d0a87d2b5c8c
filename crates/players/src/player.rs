//! The [`Player`] trait: what whoever sits at a board must do.

use ouro_game::{Action, Game, Rng};

/// One seat of one game that must choose.
#[derive(Debug)]
pub struct Request<'a, G: Game> {
    /// The position.
    pub state: &'a G::State,
    /// The seat that asks.
    pub player: usize,
    /// The randomness of this seat in this game. Whatever a player draws must come from here,
    /// so that a game does not depend on the games beside it.
    pub rng: &'a mut Rng,
}

/// What was chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    /// A legal action.
    pub action: Action,
    /// The probability with which this action was chosen, in (0, 1]: what an off-policy
    /// correction divides by.
    pub probability: f32,
}

/// Chooses actions, for one seat or many, in one game or many.
pub trait Player<G: Game>: Send {
    /// What the player is called in results and errors.
    fn name(&self) -> &str;

    /// Whether one call for many positions costs less than a call for each. A player that
    /// answers by the clock, or that thinks about each position alone, says no.
    fn batches(&self) -> bool {
        false
    }

    /// Appends one choice per request to `choices`, in the order of `requests`.
    ///
    /// Every request is of a player to move, so it has a legal action.
    fn choose(&mut self, game: &G, requests: &mut [Request<'_, G>], choices: &mut Vec<Choice>);
}
