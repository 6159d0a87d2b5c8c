//! The laws of chance nodes.

use super::{Checked, LawChecker, ensure};
use crate::action::{Action, ActionMask};
use crate::error::StepError;
use crate::game::{Chance, Game, Turn};
use crate::rng::Rng;

/// Consecutive chance nodes after which a game counts as hanging.
const MAX_CHANCE: usize = 10_000;

/// Outcomes applied one by one at an enumerable node; more would make large games slow to check.
const MAX_TRIED: u32 = 64;

impl<G: Game> LawChecker<'_, G> {
    /// Draws outcomes one by one until players move, and compares with `settle`.
    pub(super) fn check_settle(&mut self, state: &G::State, rng: &mut Rng) -> Checked {
        let mut settled = state.clone();
        let mut settle_rng = rng.clone();
        self.game.settle(&mut settled, &mut settle_rng);
        self.check_decided(state, &settled)?;
        let mut current = state.clone();
        for _ in 0..MAX_CHANCE {
            if self.game.turn(&current) != Turn::Chance {
                let same = current == settled && *rng == settle_rng;
                ensure!(Settle, same, "settle differs from drawing outcomes one by one");
                return Ok(());
            }
            self.check_chance(&current)?;
            let outcome = self.game.sample_chance(&current, rng);
            if let Chance::Enumerable { .. } = self.game.chance(&current) {
                let probability = self.game.chance_probability(&current, outcome);
                ensure!(Chance, probability > 0.0, "{outcome} is drawn with chance {probability}");
            }
            let result = self.game.apply_chance(&mut current, outcome);
            ensure!(Chance, result.is_ok(), "the drawn outcome {outcome} gives {result:?}");
        }
        ensure!(Settle, false, "a chance node follows after {MAX_CHANCE} outcomes");
        Ok(())
    }

    /// Checks a state and the same state after chance.
    fn check_decided(&self, state: &G::State, settled: &G::State) -> Checked {
        let game = self.game;
        let (is_over, is_decided) = (game.turn(settled) == Turn::Over, game.is_decided(state));
        let may_move = matches!(game.turn(state), Turn::Move(_));
        ensure!(Decided, !(is_decided && may_move), "a player moves in a decided state");
        ensure!(Decided, is_over || !is_decided, "a player moves after a decided state");
        let ended = game.turn(state) == Turn::Over;
        ensure!(Decided, is_decided || !ended, "the game is over and not decided");
        for player in (0..game.players()).filter(|_| is_decided) {
            let values = [state, settled]
                .map(|state| (game.returns(state, player), game.outcome(state, player)));
            let [(returns, outcome), (later, last)] = values;
            let (same, kept) = (returns.to_bits(), later.to_bits());
            ensure!(Decided, same == kept, "player {player} returns {returns}, then {later}");
            let (same, kept) = (outcome.to_bits(), last.to_bits());
            ensure!(Decided, same == kept, "the outcome of {player} is {outcome}, then {last}");
        }
        Ok(())
    }

    fn check_chance(&mut self, state: &G::State) -> Checked {
        let game = self.game;
        self.coverage.chance_nodes += 1;
        let mut after = state.clone();
        let joint = vec![Action::default(); game.players()];
        let result = game.step(&mut after, &joint);
        let kept = result == Err(StepError::ChancePending) && &after == state;
        ensure!(Refusal, kept, "a step at a chance node gives {result:?}");
        let mut mask = ActionMask::default();
        for player in 0..game.players() {
            game.legal(state, player, &mut mask);
            ensure!(Legal, mask.count() == 0, "player {player} may move at a chance node");
        }

        let Chance::Enumerable { count } = game.chance(state) else { return Ok(()) };
        ensure!(Chance, count > 0, "a chance node has no outcomes");
        let mut sum = 0.0;
        for outcome in 0..count {
            let probability = game.chance_probability(state, outcome);
            let valid = (0.0..=1.0).contains(&probability);
            ensure!(Chance, valid, "outcome {outcome} has probability {probability}");
            sum += probability;
            if probability > 0.0 && outcome < MAX_TRIED {
                let mut after = state.clone();
                let result = game.apply_chance(&mut after, outcome);
                ensure!(Chance, result.is_ok(), "possible outcome {outcome} gives {result:?}");
            }
        }
        ensure!(Chance, (sum - 1.0).abs() < 1e-9, "probabilities sum to {sum}");
        for outcome in [count, u32::MAX] {
            let probability = game.chance_probability(state, outcome);
            ensure!(Chance, probability == 0.0, "outcome {outcome} of {count} has {probability}");
            let mut after = state.clone();
            let result = game.apply_chance(&mut after, outcome);
            let kept = result == Err(StepError::ImpossibleOutcome { outcome }) && &after == state;
            ensure!(Refusal, kept, "impossible outcome {outcome} gives {result:?}");
        }
        Ok(())
    }
}
