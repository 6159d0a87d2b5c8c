//! What holds of rollouts.

use super::{Checked, Trial, keep};
use crate::{Game, RolloutBuffer, Stream, Turn};

/// Turns of a tried rollout.
const TURNS: u32 = 12;

impl<G: Game> Trial<'_, G> {
    /// Rolls out from a settled state.
    pub(super) fn check_rollout(&self, state: &G::State, stream: &Stream) -> Checked {
        let (untouched, _) = self.rolled_out(state, 0, stream);
        keep!(Rollout, &untouched == state, "a rollout of no turns changes the state");
        let (after, spent) = self.rolled_out(state, TURNS, stream);
        let waits = self.game.turn(&after) == Turn::Chance;
        keep!(Rollout, !waits, "a rollout stops at a chance node");
        let again = self.rolled_out(state, TURNS, stream);
        keep!(Rollout, (after, spent) == again, "the same rollout ends in two states");
        Ok(())
    }

    fn rolled_out(&self, state: &G::State, limit: u32, stream: &Stream) -> (G::State, Stream) {
        let (mut after, mut stream) = (state.clone(), stream.clone());
        self.game.rollout(&mut after, limit, &mut RolloutBuffer::new(), &mut stream);
        (after, stream)
    }
}
