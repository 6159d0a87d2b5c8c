//! What a depth-limited search thinks of a position that is not decided.

use ouro_game::{ActionMask, Game};

/// Scores unfinished positions, and says what is worth searching.
///
/// An evaluation is deterministic: the same position has the same score, so that every search
/// of the minimax family finds the same value.
pub trait Heuristic<G: Game>: Send {
    /// Writes a score for each player of an unfinished state into `scores`, which has one place
    /// per player: higher is better, strictly inside (−1, 1), where −1 is a lost game and 1 a
    /// won one. Places of players that are out are ignored.
    fn evaluate(&mut self, game: &G, state: &G::State, scores: &mut [f32]);

    /// Sets `mask` to the actions of a player to move that are worth searching, at least one
    /// and only legal ones.
    fn candidates(&mut self, game: &G, state: &G::State, player: usize, mask: &mut ActionMask) {
        game.legal(state, player, mask);
    }

    /// May resolve the chance node that `state` waits at, and those that follow, by assumption.
    /// A state that still waits afterwards is averaged over its outcomes.
    fn resolve_chance(&mut self, _game: &G, _state: &mut G::State) {}
}

/// Knows finished games only: every other position is worth 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutcomeOnly;

impl<G: Game> Heuristic<G> for OutcomeOnly {
    fn evaluate(&mut self, _game: &G, _state: &G::State, scores: &mut [f32]) {
        scores.fill(0.0);
    }
}
