//! The laws of one step: refusals, determinism, symmetry.

use super::{Checked, Law, LawChecker, ensure};
use crate::action::{Action, ActionMask};
use crate::error::StepError;
use crate::game::{Game, Turn};
use crate::rng::Rng;

impl<G: Game> LawChecker<'_, G> {
    /// Checks that illegal variations of a legal joint action are refused.
    pub(super) fn check_refusals(&mut self, state: &G::State, joint: &[Action]) -> Checked {
        let game = self.game;
        let Turn::Move(movers) = game.turn(state) else { return Ok(()) };
        let mut mask = ActionMask::default();
        for player in movers.iter() {
            game.legal(state, player, &mut mask);
            let size = game.action_count() as u32;
            let illegal = (0..size).map(Action).filter(|&action| !mask.contains(action));
            for action in illegal.chain([Action(size), Action(u32::MAX)]) {
                let mut tried = joint.to_vec();
                tried[player] = action;
                let expected = StepError::IllegalAction { player, action: action.0 };
                self.refused(state, &tried, expected)?;
            }
        }
        let expected = joint.len();
        for got in [0, expected - 1, expected + 1] {
            let mut tried = joint.to_vec();
            tried.resize(got, Action::default());
            self.refused(state, &tried, StepError::ActionCount { got, expected })?;
        }
        let mut after = state.clone();
        let result = game.apply_chance(&mut after, 0);
        let kept = result == Err(StepError::NotAChanceNode) && &after == state;
        ensure!(Refusal, kept, "a chance outcome while players are to move gives {result:?}");
        Ok(())
    }

    /// Checks that actions which are not viable eliminate their player, whatever the others do in
    /// `joint`.
    pub(super) fn check_viable(&self, state: &G::State, joint: &[Action]) -> Checked {
        let game = self.game;
        let Turn::Move(movers) = game.turn(state) else { return Ok(()) };
        let (mut legal, mut viable) = (ActionMask::default(), ActionMask::default());
        for player in movers.iter() {
            game.legal(state, player, &mut legal);
            game.viable(state, player, &mut viable);
            let within = viable.iter().all(|action| legal.contains(action));
            ensure!(Viable, within, "player {player} has viable actions that are not legal");
            ensure!(Viable, viable.count() > 0, "player {player} has no viable action");
            for action in legal.iter().filter(|&action| !viable.contains(action)) {
                let mut tried = joint.to_vec();
                tried[player] = action;
                let after = self.stepped(state, &tried)?;
                let is_out = !game.alive(&after).contains(player);
                ensure!(Viable, is_out, "player {player} survives {action:?} in {tried:?}");
            }
        }
        Ok(())
    }

    fn refused(&mut self, state: &G::State, joint: &[Action], expected: StepError) -> Checked {
        self.coverage.refusals += 1;
        let mut after = state.clone();
        let result = self.game.step(&mut after, joint);
        ensure!(Refusal, result == Err(expected), "{joint:?} gives {result:?}, not {expected:?}");
        ensure!(Refusal, &after == state, "refusing {joint:?} changes the state");
        Ok(())
    }

    /// Steps in every equivalent way and compares the results.
    pub(super) fn check_step(
        &mut self,
        state: &G::State,
        joint: &[Action],
        chance: &mut Rng,
    ) -> Checked {
        let game = self.game;
        let before = game.digest(state);
        let after = self.stepped(state, joint)?;
        ensure!(Determinism, game.digest(state) == before, "stepping a clone changes the original");
        ensure!(Determinism, self.stepped(state, joint)? == after, "{joint:?} gives two states");

        let movers = match game.turn(state) {
            Turn::Move(movers) => movers,
            Turn::Chance | Turn::Over => return Ok(()),
        };
        let others_differ: Vec<Action> = (0..joint.len())
            .map(|player| if movers.contains(player) { joint[player] } else { Action(u32::MAX) })
            .collect();
        let same = self.stepped(state, &others_differ)? == after;
        ensure!(Determinism, same, "an action of a player that is not to move has an effect");

        let json = serde_json::to_string(state).unwrap_or_default();
        let read: G::State = serde_json::from_str(&json)
            .map_err(|error| (Law::RoundTrip, format!("{json} does not read: {error}")))?;
        let same = self.stepped(&read, joint)? == after;
        ensure!(RoundTrip, same, "{json} continues differently once read back");

        for &symmetry in game.symmetries() {
            let images: Vec<Action> =
                joint.iter().map(|&action| game.transform_action(action, symmetry)).collect();
            let image = self.stepped(&game.transform(state, symmetry), &images)?;
            let same = image == game.transform(&after, symmetry);
            ensure!(Symmetry, same, "{symmetry:?} does not commute with {joint:?}");
        }

        let mut advanced = state.clone();
        let mut rng = chance.clone();
        let result = game.advance(&mut advanced, joint, &mut rng);
        ensure!(Settle, result.is_ok(), "advance gives {result:?} where step does not");
        let mut settled = after.clone();
        let mut settle_rng = chance.clone();
        game.settle(&mut settled, &mut settle_rng);
        let same = advanced == settled && rng == settle_rng;
        ensure!(Settle, same, "advance is not step and settle after {joint:?}");
        self.check_settle(&after, chance)
    }

    fn stepped(&self, state: &G::State, joint: &[Action]) -> Checked<G::State> {
        let mut after = state.clone();
        match self.game.step(&mut after, joint) {
            Ok(()) => Ok(after),
            Err(error) => Err((Law::Legal, format!("legal {joint:?} is refused: {error}"))),
        }
    }
}
