//! The laws of rollouts and of the weights that guide them.

use super::{Checked, LawChecker, ensure};
use crate::action::{Action, ActionMask};
use crate::game::{Chance, Game, Turn};
use crate::player_set::PlayerSet;
use crate::rng::Rng;
use crate::rollout::RolloutBuffer;

/// Turns of a checked rollout.
const TURNS: u32 = 12;

/// Positions that the search for a turn's result visits at most.
const POSITIONS: u32 = 1_000;

/// A rollout method of the game.
type Play<G> = fn(&G, &mut <G as Game>::State, u32, &mut RolloutBuffer, &mut Rng);

impl<G: Game> LawChecker<'_, G> {
    /// Checks both rollouts from a settled state in which players move.
    pub(super) fn check_rollouts(&self, state: &G::State, rng: &Rng) -> Checked {
        self.check_rollout(G::rollout, state, rng)?;
        self.check_rollout(G::guided_rollout, state, rng)
    }

    fn check_rollout(&self, play: Play<G>, state: &G::State, rng: &Rng) -> Checked {
        let (untouched, spent) = self.rolled_out(play, state, 0, rng);
        ensure!(Rollout, &untouched == state, "a rollout of no turns changes the state");
        ensure!(Rollout, &spent == rng, "a rollout of no turns draws");
        let (after, spent) = self.rolled_out(play, state, TURNS, rng);
        let stops_at_chance = self.game.turn(&after) == Turn::Chance;
        ensure!(Rollout, !stops_at_chance, "a rollout stops at a chance node");
        let mut one_by_one = (state.clone(), rng.clone());
        for turn in 0..TURNS {
            one_by_one = self.rolled_out(play, &one_by_one.0, 1, &one_by_one.1);
            let is_turn = turn > 0 || self.is_turn(state, &one_by_one.0);
            ensure!(Rollout, is_turn, "a rollout of one turn ends where no turn leads");
        }
        let same = (after, spent) == one_by_one;
        ensure!(Rollout, same, "a rollout of {TURNS} turns is not {TURNS} of one turn");
        Ok(())
    }

    /// Checks both rollouts from a state in which the game is over.
    pub(super) fn check_rollouts_at_the_end(&self, state: &G::State) -> Checked {
        for play in [G::rollout, G::guided_rollout] {
            let (after, _) = self.rolled_out(play, state, TURNS, &Rng::new(0, "end"));
            ensure!(Rollout, &after == state, "a rollout continues after the end of the game");
        }
        Ok(())
    }

    /// Checks the weights of the players to move.
    pub(super) fn check_weights(&self, state: &G::State) -> Checked {
        let Turn::Move(movers) = self.game.turn(state) else { return Ok(()) };
        let mut legal = ActionMask::default();
        for player in movers.iter() {
            // Filled with 1, so that a weight that is not overwritten shows.
            let mut weights = vec![1; self.game.action_count()];
            self.game.weigh(state, player, &mut legal, &mut weights);
            self.game.legal(state, player, &mut legal);
            let total: u64 = weights.iter().map(|&weight| u64::from(weight)).sum();
            ensure!(Weights, total > 0, "no action of player {player} has a weight");
            ensure!(Weights, u32::try_from(total).is_ok(), "the weights sum to {total}");
            for (action, &weight) in weights.iter().enumerate() {
                let fits = weight == 0 || legal.contains(Action(action as u32));
                ensure!(Weights, fits, "action {action} is illegal and has weight {weight}");
            }
        }
        Ok(())
    }

    fn rolled_out(
        &self,
        play: Play<G>,
        state: &G::State,
        limit: u32,
        rng: &Rng,
    ) -> (G::State, Rng) {
        let (mut after, mut rng) = (state.clone(), rng.clone());
        play(self.game, &mut after, limit, &mut RolloutBuffer::new(), &mut rng);
        (after, rng)
    }

    /// Whether some legal joint action and chance outcomes lead from `state` to `target`.
    ///
    /// After [`POSITIONS`] positions the answer is yes, so a large game passes unchecked.
    fn is_turn(&self, state: &G::State, target: &G::State) -> bool {
        let Turn::Move(movers) = self.game.turn(state) else { return state == target };
        let mut joint = vec![Action::default(); self.game.players()];
        let mut left = POSITIONS;
        self.some_joint(state, movers, &mut joint, target, &mut left)
    }

    /// Tries every action of the first of `movers`, combined with those of the other movers.
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
