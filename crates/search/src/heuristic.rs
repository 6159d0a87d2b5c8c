//! The [`Heuristic`] trait: scores of unfinished positions at the horizon of a minimax search.

use ouro_game::{ActionMask, Game};

/// Scores unfinished positions and selects the actions that are worth searching.
///
/// A heuristic is deterministic: the same position has the same score, so that every search of
/// the minimax family finds the same value.
pub trait Heuristic<G: Game>: Send {
    /// Writes a score for each player of an unfinished state into `scores`, `[players]`.
    ///
    /// Higher is better. Scores lie strictly inside (−1, 1), where −1 is a lost game and 1 a won
    /// one. Entries of eliminated players are ignored.
    fn evaluate(&mut self, game: &G, state: &G::State, scores: &mut [f32]);

    /// The score of one living player. `scores` is working memory, `[players]`.
    ///
    /// The default evaluates all players.
    fn evaluate_player(
        &mut self,
        game: &G,
        state: &G::State,
        player: usize,
        scores: &mut [f32],
    ) -> f32 {
        self.evaluate(game, state, scores);
        scores[player]
    }

    /// The time that the scores of `players` players of a position take, in nodes of a search, at
    /// least 1. A node takes about a microsecond.
    ///
    /// A search with a deadline reads the clock every
    /// [`NODES_PER_CLOCK_CHECK`](crate::minimax::NODES_PER_CLOCK_CHECK) nodes, and an evaluation counts
    /// as this many. The default suits a heuristic that is about as fast as the rules.
    fn cost(&self, _players: u32) -> u32 {
        1
    }

    /// Whether scores are expected outcomes, discounted as in training, so that a network may learn
    /// to predict the value of a search with them.
    fn estimates_outcome(&self) -> bool {
        false
    }

    /// Sets `mask` to the actions of a player to move that are worth searching: legal ones only,
    /// and at least one.
    fn candidates(&mut self, game: &G, state: &G::State, player: usize, mask: &mut ActionMask) {
        game.legal(state, player, mask);
    }

    /// May resolve the chance node `state`, and those that follow, by an assumption.
    ///
    /// A state that is still a chance node afterwards is averaged over its outcomes.
    fn resolve_chance(&mut self, _game: &G, _state: &mut G::State) {}
}

/// Scores every unfinished position 0, so that only finished games count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutcomeOnly;

impl<G: Game> Heuristic<G> for OutcomeOnly {
    fn evaluate(&mut self, _game: &G, _state: &G::State, scores: &mut [f32]) {
        scores.fill(0.0);
    }
}
