//! What holds of rollouts.

use super::{Checked, Trial, keep};
use crate::{Action, ActionMask, Chance, Game, PlayerSet, RolloutBuffer, Stream, Turn};

/// Turns of a tried rollout.
const TURNS: u32 = 12;

/// Positions that are gone through in search of the one that a turn has led to.
const POSITIONS: u32 = 1_000;

impl<G: Game> Trial<'_, G> {
    /// Rolls out from a settled state where players move.
    pub(super) fn check_rollout(&self, state: &G::State, stream: &Stream) -> Checked {
        let (untouched, spent) = self.rolled_out(state, 0, stream);
        keep!(Rollout, &untouched == state, "a rollout of no turns changes the state");
        keep!(Rollout, &spent == stream, "a rollout of no turns draws");
        let (after, spent) = self.rolled_out(state, TURNS, stream);
        let waits = self.game.turn(&after) == Turn::Chance;
        keep!(Rollout, !waits, "a rollout stops at a chance node");
        let mut one_by_one = (state.clone(), stream.clone());
        for turn in 0..TURNS {
            one_by_one = self.rolled_out(&one_by_one.0, 1, &one_by_one.1);
            let is_turn = turn > 0 || self.is_turn(state, &one_by_one.0);
            keep!(Rollout, is_turn, "a rollout of one turn ends where no turn leads");
        }
        let same = (after, spent) == one_by_one;
        keep!(Rollout, same, "a rollout of {TURNS} turns is not {TURNS} of one turn");
        Ok(())
    }

    /// Rolls out from a state where the game is over.
    pub(super) fn check_rollout_at_the_end(&self, state: &G::State) -> Checked {
        let (after, _) = self.rolled_out(state, TURNS, &Stream::new(0, "end"));
        keep!(Rollout, &after == state, "a rollout goes on after the end of the game");
        Ok(())
    }

    fn rolled_out(&self, state: &G::State, limit: u32, stream: &Stream) -> (G::State, Stream) {
        let (mut after, mut stream) = (state.clone(), stream.clone());
        self.game.rollout(&mut after, limit, &mut RolloutBuffer::new(), &mut stream);
        (after, stream)
    }

    /// Whether some legal joint action leads from `state` to `target`, with some luck. Where
    /// that is too much to go through, it is taken to.
    fn is_turn(&self, state: &G::State, target: &G::State) -> bool {
        let Turn::Move(movers) = self.game.turn(state) else { return state == target };
        let mut joint = vec![Action::default(); self.game.players()];
        let mut left = POSITIONS;
        self.some_joint(state, movers, &mut joint, target, &mut left)
    }

    /// Tries the actions of the first of `movers`, and those of the others after it.
    fn some_joint(
        &self,
        state: &G::State,
        movers: PlayerSet,
        joint: &mut [Action],
        target: &G::State,
        left: &mut u32,
    ) -> bool {
        let Some(player) = movers.iter().next() else {
            let mut next = state.clone();
            return self.game.step(&mut next, joint).is_ok() && self.settles(&next, target, left);
        };
        let others = PlayerSet(movers.0 & !(1 << player));
        let mut legal = ActionMask::default();
        self.game.legal(state, player, &mut legal);
        legal.iter().any(|action| {
            joint[player] = action;
            self.some_joint(state, others, joint, target, left)
        })
    }

    /// Whether chance can lead from `state` to the settled `target`.
    fn settles(&self, state: &G::State, target: &G::State, left: &mut u32) -> bool {
        *left = left.saturating_sub(1);
        if *left == 0 {
            return true;
        }
        if self.game.turn(state) != Turn::Chance {
            return state == target;
        }
        let Chance::Enumerable { count } = self.game.chance(state) else { return true };
        (0..count).any(|outcome| {
            let mut next = state.clone();
            let possible = self.game.chance_probability(state, outcome) > 0.0;
            possible
                && self.game.apply_chance(&mut next, outcome).is_ok()
                && self.settles(&next, target, left)
        })
    }
}
