//! Maze Dash as a [`Game`].

use std::sync::Arc;

use super::board::Board;
use super::config::{Config, NAME, Start};
use super::direction::Direction;
use super::generator::generate_in_style;
use super::observe::{CHANNELS, draw, share, write_planes};
use super::state::{Field, State};
use crate::action::{Action, ActionMask};
use crate::error::{ConfigError, StepError};
use crate::game::{Game, PlaneShape, Turn};
use crate::grid::{DIRECTIONS, turned};
use crate::player_set::PlayerSet;
use crate::rng::Rng;
use crate::symmetry::Symmetry;

/// Actions of a game with a given start: the four directions.
const DIRECTION_ACTIONS: usize = 4;

/// The rules of one configured game.
#[derive(Clone, Debug)]
pub struct MazeDash {
    config: Config,
    width: usize,
    height: usize,
    /// The first state of a fixed board.
    fixed: Option<State>,
    /// Whether the first action chooses the start.
    chooses_start: bool,
}

impl MazeDash {
    /// Whether the board of a state has the size of these rules. States of other rules count as over.
    fn fits(&self, state: &State) -> bool {
        (state.width(), state.height()) == (self.width, self.height)
    }

    /// Whether `action` is legal in a state that is not over.
    fn allows(state: &State, action: Action) -> bool {
        match (state.head(), action.index().checked_sub(DIRECTION_ACTIONS)) {
            (Some(_), None) => state.options() >> action.0 & 1 == 1,
            (None, Some(cell)) => state.is_left(cell),
            _ => false,
        }
    }
}

/// The state in which a game on `board` begins.
fn first_state(board: &Board) -> State {
    let mut state = State::new(Arc::new(Field::from(board)));
    if let Some(start) = board.start() {
        state.visit(start);
    }
    state
}

impl Game for MazeDash {
    type Config = Config;
    type State = State;

    const NAME: &'static str = NAME;

    fn new(config: Config) -> Result<Self, ConfigError> {
        let board = config.check()?;
        let (width, height) = match &board {
            Some(board) => (board.width(), board.height()),
            None => (config.width.into(), config.height.into()),
        };
        let chooses_start = match &board {
            Some(board) => board.start().is_none(),
            None => config.start == Start::Free,
        };
        Ok(Self { config, width, height, fixed: board.as_ref().map(first_state), chooses_start })
    }

    fn config(&self) -> &Config {
        &self.config
    }

    fn players(&self) -> usize {
        1
    }

    /// The four directions. If the start is free, one more action for each cell of the board.
    fn action_count(&self) -> usize {
        DIRECTION_ACTIONS + if self.chooses_start { self.width * self.height } else { 0 }
    }

    /// The fixed board, or a board generated from a seed that `rng` draws.
    fn initial(&self, rng: &mut Rng) -> State {
        if let Some(state) = &self.fixed {
            return state.clone();
        }
        let Config { obstacles, style, .. } = self.config;
        let (board, _) =
            generate_in_style(self.width, self.height, obstacles as usize, rng.bits(), style)
                .expect("the sides are in range and some cells are free: `new` has checked that");
        let mut state = State::new(Arc::new(Field::from(&board)));
        if let Some(start) = board.start().filter(|_| !self.chooses_start) {
            state.visit(start);
        }
        state
    }

    fn turn(&self, state: &State) -> Turn {
        let is_stuck = state.head().is_some() && state.options() == 0;
        // A solved board needs no test of its own: no slide is left there either.
        if is_stuck || !self.fits(state) || state.head().is_none() && !self.chooses_start {
            return Turn::Over;
        }
        Turn::Move(PlayerSet::one(0))
    }

    fn legal(&self, state: &State, player: usize, mask: &mut ActionMask) {
        mask.reset(self.action_count());
        if player == 0 && self.turn(state) != Turn::Over {
            (0..self.action_count() as u32)
                .map(Action)
                .filter(|&action| Self::allows(state, action))
                .for_each(|action| mask.insert(action));
        }
    }

    fn step(&self, state: &mut State, actions: &[Action]) -> Result<(), StepError> {
        self.movers(state, actions)?;
        let action = actions[0];
        if action.index() >= self.action_count() || !Self::allows(state, action) {
            return Err(StepError::IllegalAction { player: 0, action: action.0 });
        }
        match Direction::ALL.get(action.index()) {
            Some(&direction) => state.slide(direction),
            None => state.visit(action.index() - DIRECTION_ACTIONS),
        }
        state.elapsed = state.elapsed.saturating_add(1);
        Ok(())
    }

    fn collapse_forced(&self) -> bool {
        true
    }

    fn state_bytes(&self) -> usize {
        State::bytes(self.width * self.height)
    }

    /// Actions since the start: slides, and the choice of the start if it is free.
    fn elapsed(&self, state: &State) -> u32 {
        state.elapsed
    }

    /// The share of the free cells that is visited, 0 to 1.
    fn returns(&self, state: &State, _player: usize) -> f32 {
        share(state)
    }

    /// 1 for a solved board. Otherwise a loss, from −1 to just below 0: the visited share less 1.
    fn outcome(&self, state: &State, _player: usize) -> f32 {
        if state.left_count == 0 { 1.0 } else { share(state) - 1.0 }
    }

    fn planes(&self) -> PlaneShape {
        PlaneShape { channels: CHANNELS, height: self.height, width: self.width }
    }

    /// The planes of the state; all 0 if its board has another size.
    fn observe(&self, state: &State, _player: usize, out: &mut [f32]) {
        if self.fits(state) {
            write_planes(state, out);
        } else {
            out.fill(0.0);
        }
    }

    fn symmetries(&self) -> &'static [Symmetry] {
        if self.width == self.height { Symmetry::SQUARE } else { Symmetry::OBLONG }
    }

    fn transform(&self, state: &State, symmetry: Symmetry) -> State {
        state.image(symmetry)
    }

    fn transform_action(&self, action: Action, symmetry: Symmetry) -> Action {
        let Some(cell) = action.index().checked_sub(DIRECTION_ACTIONS) else {
            return Action(turned(action.index(), symmetry) as u32);
        };
        let (x, y) = (cell % self.width, cell / self.width);
        let (x, y) = symmetry.cell(x, y.min(self.height - 1), self.width, self.height);
        Action((DIRECTION_ACTIONS + y * self.width + x) as u32)
    }

    fn render(&self, state: &State) -> String {
        draw(state)
    }

    /// A direction, or `start x,y` with (0, 0) bottom-left.
    fn action_name(&self, action: Action) -> String {
        match action.index().checked_sub(DIRECTION_ACTIONS) {
            None => DIRECTIONS[action.index()].to_owned(),
            Some(cell) => format!("start {},{}", cell % self.width, cell / self.width),
        }
    }

    fn digest(&self, state: &State) -> u64 {
        state.digest()
    }
}
