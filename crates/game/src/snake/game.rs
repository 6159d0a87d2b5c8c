//! Snake as a [`Game`].

use super::config::{Config, NAME};
use super::observe::CHANNELS;
use super::rules::{Ending, Phase, Snake};
use super::state::State;
use crate::action::{Action, ActionMask};
use crate::error::{ConfigError, StepError};
use crate::game::{Chance, Game, PlaneShape, Turn};
use crate::grid::{DIRECTIONS, turned};
use crate::player_set::PlayerSet;
use crate::rng::Rng;
use crate::symmetry::Symmetry;

/// Cells of the snake at the start.
const START_LENGTH: u16 = 2;

impl<const W: usize> Game for Snake<W> {
    type Config = Config;
    type State = State<W>;

    const NAME: &'static str = NAME;

    fn new(config: Config) -> Result<Self, ConfigError> {
        Self::build(config)
    }

    fn config(&self) -> &Config {
        &self.config
    }

    fn players(&self) -> usize {
        1
    }

    fn action_count(&self) -> usize {
        4
    }

    /// The start, a chance node for the first apple.
    fn initial(&self, _rng: &mut Rng) -> State<W> {
        self.start
    }

    fn turn(&self, state: &State<W>) -> Turn {
        match self.phase(state) {
            Phase::Over(_) => Turn::Over,
            Phase::Apple => Turn::Chance,
            Phase::Move(_) => Turn::Move(PlayerSet::one(0)),
        }
    }

    fn legal(&self, state: &State<W>, player: usize, mask: &mut ActionMask) {
        mask.reset(4);
        if let (0, Phase::Move(moves)) = (player, self.phase(state)) {
            (0..4).filter(|action| moves >> action & 1 == 1).for_each(|action| {
                mask.insert(Action(action));
            });
        }
    }

    fn step(&self, state: &mut State<W>, actions: &[Action]) -> Result<(), StepError> {
        let &[Action(action)] = actions else {
            return Err(StepError::ActionCount { got: actions.len(), expected: 1 });
        };
        match self.phase(state) {
            Phase::Over(_) => Err(StepError::GameOver),
            Phase::Apple => Err(StepError::ChancePending),
            Phase::Move(moves) if action > 3 || moves >> action & 1 == 0 => {
                Err(StepError::IllegalAction { player: 0, action })
            }
            Phase::Move(_) => {
                self.advance_head(state, action as usize);
                Ok(())
            }
        }
    }

    fn chance(&self, state: &State<W>) -> Chance {
        Chance::Enumerable { count: (state.cells() - state.length()).max(1) as u32 }
    }

    fn apply_chance(&self, state: &mut State<W>, outcome: u32) -> Result<(), StepError> {
        if self.phase(state) != Phase::Apple {
            return Err(StepError::NotAChanceNode);
        }
        let cell = self.empty_cells(state).nth(outcome);
        state.set_apple(Some(cell.ok_or(StepError::ImpossibleOutcome { outcome })?));
        Ok(())
    }

    fn settle(&self, state: &mut State<W>, rng: &mut Rng) {
        if state.apple().is_none() && self.phase(state) == Phase::Apple {
            let drawn = rng.below((state.cells() - state.length()) as u32);
            state.set_apple(self.empty_cells(state).nth(drawn));
        }
    }

    fn collapse_forced(&self) -> bool {
        true
    }

    fn elapsed(&self, state: &State<W>) -> u32 {
        state.elapsed
    }

    fn returns(&self, state: &State<W>, _player: usize) -> f32 {
        let rewards = self.config.rewards;
        let apples = f32::from(state.length - START_LENGTH) * rewards.apple;
        match self.ending(state) {
            None | Some(Ending::OutOfTime) => apples,
            Some(Ending::Won) => apples + rewards.win,
            Some(Ending::Stuck) => apples + rewards.loss,
        }
    }

    /// 1 for a full board, −1 for a snake without a legal action, 0 otherwise.
    fn outcome(&self, state: &State<W>, _player: usize) -> f32 {
        match self.ending(state) {
            None | Some(Ending::OutOfTime) => 0.0,
            Some(Ending::Won) => 1.0,
            Some(Ending::Stuck) => -1.0,
        }
    }

    /// The length of the snake.
    fn score(&self, state: &State<W>, _player: usize) -> f32 {
        f32::from(state.length)
    }

    fn planes(&self) -> PlaneShape {
        let size = usize::from(self.config.size);
        PlaneShape { channels: CHANNELS, height: size, width: size }
    }

    fn observe(&self, state: &State<W>, _player: usize, out: &mut [f32]) {
        self.write_planes(state, out);
    }

    fn symmetries(&self) -> &'static [Symmetry] {
        Symmetry::SQUARE
    }

    fn transform(&self, state: &State<W>, symmetry: Symmetry) -> State<W> {
        state.image(symmetry)
    }

    fn transform_action(&self, action: Action, symmetry: Symmetry) -> Action {
        Action(turned(action.index(), symmetry) as u32)
    }

    fn render(&self, state: &State<W>) -> String {
        self.draw(state)
    }

    fn action_name(&self, action: Action) -> String {
        DIRECTIONS[action.index() & 3].to_owned()
    }

    fn digest(&self, state: &State<W>) -> u64 {
        state.digest()
    }
}
