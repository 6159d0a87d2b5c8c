//! Tic-tac-toe, 3×3: the smallest built-in game with alternating moves.
//!
//! Player 0 moves first. Cell `x + 3 y` is action `x + 3 y`; (0, 0) is bottom-left.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::action::{Action, ActionMask};
use crate::error::{ConfigError, StepError};
use crate::game::{Game, PlaneShape, Turn};
use crate::player_set::PlayerSet;
use crate::rng::Rng;
use crate::symmetry::Symmetry;

const FULL: u16 = 0b1_1111_1111;
const LINES: [u16; 8] = [0o7, 0o70, 0o700, 0o111, 0o222, 0o444, 0o421, 0o124];

/// The empty configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

/// The rules.
#[derive(Clone, Copy, Debug, Default)]
pub struct TicTacToe {
    config: Config,
}

/// Marks per player, one bit per cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "[u16; 2]", into = "[u16; 2]")]
pub struct State {
    marks: [u16; 2],
}

impl From<State> for [u16; 2] {
    fn from(state: State) -> Self {
        state.marks
    }
}

impl TryFrom<[u16; 2]> for State {
    type Error = &'static str;

    fn try_from(marks: [u16; 2]) -> Result<Self, Self::Error> {
        let (first, second) = (marks[0].count_ones(), marks[1].count_ones());
        if marks[0] | marks[1] > FULL {
            return Err("a mark lies off the 3x3 board");
        }
        if marks[0] & marks[1] != 0 {
            return Err("a cell holds marks of both players");
        }
        if first != second && first != second + 1 {
            return Err("players have not moved in turn");
        }
        let state = Self { marks };
        let (mover, last) = (state.mover(), 1 - state.mover());
        // A line ends the game, so some mark in it must have been the last one made.
        let won_by_last_mark = (0..9).any(|cell| {
            let before = marks[last] & !(1 << cell);
            before != marks[last] && !LINES.iter().any(|line| before & line == *line)
        });
        if state.has_line(mover) || state.has_line(last) && !won_by_last_mark {
            return Err("the game continued after three in a row");
        }
        Ok(state)
    }
}

impl State {
    fn taken(self) -> u16 {
        self.marks[0] | self.marks[1]
    }

    fn mover(self) -> usize {
        self.taken().count_ones() as usize % 2
    }

    fn has_line(self, player: usize) -> bool {
        LINES.iter().any(|line| self.marks[player] & line == *line)
    }

    fn is_over(self) -> bool {
        self.taken() == FULL || self.has_line(0) || self.has_line(1)
    }
}

impl Game for TicTacToe {
    type Config = Config;
    type State = State;

    const NAME: &'static str = "tic_tac_toe";

    fn new(config: Config) -> Result<Self, ConfigError> {
        Ok(Self { config })
    }

    fn config(&self) -> &Config {
        &self.config
    }

    fn players(&self) -> usize {
        2
    }

    fn action_count(&self) -> usize {
        9
    }

    fn initial(&self, _rng: &mut Rng) -> State {
        State { marks: [0; 2] }
    }

    fn turn(&self, state: &State) -> Turn {
        if state.is_over() { Turn::Over } else { Turn::Move(PlayerSet::one(state.mover())) }
    }

    fn legal(&self, state: &State, player: usize, mask: &mut ActionMask) {
        mask.reset(9);
        if state.is_over() || player != state.mover() {
            return;
        }
        for cell in (0..9).filter(|cell| state.taken() >> cell & 1 == 0) {
            mask.insert(Action(cell));
        }
    }

    fn step(&self, state: &mut State, actions: &[Action]) -> Result<(), StepError> {
        self.movers(state, actions)?;
        let player = state.mover();
        let action = actions[player].0;
        if action >= 9 || state.taken() >> action & 1 == 1 {
            return Err(StepError::IllegalAction { player, action });
        }
        state.marks[player] |= 1 << action;
        Ok(())
    }

    fn elapsed(&self, state: &State) -> u32 {
        state.taken().count_ones()
    }

    fn returns(&self, state: &State, player: usize) -> f32 {
        self.outcome(state, player)
    }

    fn outcome(&self, state: &State, player: usize) -> f32 {
        if player < 2 && state.has_line(player) {
            1.0
        } else if player < 2 && state.has_line(1 - player) {
            -1.0
        } else {
            0.0
        }
    }

    fn planes(&self) -> PlaneShape {
        PlaneShape { channels: 2, height: 3, width: 3 }
    }

    fn observe(&self, state: &State, player: usize, out: &mut [f32]) {
        for (plane, marks) in
            [state.marks[player % 2], state.marks[1 - player % 2]].iter().enumerate()
        {
            for cell in 0..9 {
                out[plane * 9 + cell] = f32::from(marks >> cell & 1);
            }
        }
    }

    fn symmetries(&self) -> &'static [Symmetry] {
        Symmetry::SQUARE
    }

    fn transform(&self, state: &State, symmetry: Symmetry) -> State {
        let image = |marks: u16| {
            (0..9)
                .filter(|cell| marks >> cell & 1 == 1)
                .fold(0, |image, cell| image | 1 << self.transform_action(Action(cell), symmetry).0)
        };
        State { marks: state.marks.map(image) }
    }

    fn transform_action(&self, action: Action, symmetry: Symmetry) -> Action {
        let (x, y) = symmetry.cell(action.index() % 3, action.index() / 3, 3, 3);
        Action((x + 3 * y) as u32)
    }

    fn render(&self, state: &State) -> String {
        let mut text = String::new();
        for y in (0..3).rev() {
            for x in 0..3 {
                let bit = x + 3 * y;
                text.push(match (state.marks[0] >> bit & 1, state.marks[1] >> bit & 1) {
                    (1, _) => 'X',
                    (_, 1) => 'O',
                    _ => '.',
                });
                text.push(if x == 2 { '\n' } else { ' ' });
            }
        }
        text
    }

    fn action_name(&self, action: Action) -> String {
        let column = char::from(b'a' + (action.0 % 3) as u8);
        format!("{column}{}", action.0 / 3 + 1)
    }
}
