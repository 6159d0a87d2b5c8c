//! Connect Four, 7×6 unless configured otherwise, with a perfect solver.
//!
//! Player 0 moves first. Action `c` drops a stone into column `c`, counted from 0 at the left;
//! its display name is `column 1` to `column 7`. Four in a row in any direction win, and a full
//! board is a draw. [`solver`] computes the exact value of any position.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::action::{Action, ActionMask};
use crate::error::{ConfigError, StepError};
use crate::game::{Game, PlaneShape, Turn};
use crate::player_set::PlayerSet;
use crate::rng::Rng;
use crate::rollout::RolloutBuffer;
use crate::symmetry::Symmetry;

mod board;
mod guided;
mod rollout;
pub mod solver;
mod state;

pub use board::Board;
pub use solver::{Outcome, Score, Solver};
pub use state::{State, StateError};

/// Planes before those of completing cells and of rows were added.
const EARLIER_CHANNELS: [usize; 1] = [3];

/// The size of the board.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Columns, 4 to 12.
    #[schemars(range(min = 4, max = 12))]
    pub width: u8,
    /// Rows, 4 to 15; `width * (height + 1)` is at most 64.
    #[schemars(range(min = 4, max = 15))]
    pub height: u8,
}

impl Default for Config {
    fn default() -> Self {
        Self { width: 7, height: 6 }
    }
}

/// The rules.
#[derive(Clone, Copy, Debug)]
pub struct ConnectFour {
    config: Config,
    board: Board,
}

impl ConnectFour {
    /// The position after dropping stones into `columns`, counted from 1: `"4453"`. `None` if
    /// that is not a legal sequence of moves.
    pub fn position(&self, columns: &str) -> Option<State> {
        let mut state = State::empty(self.board);
        for digit in columns.chars() {
            let column = digit.to_digit(36)?.checked_sub(1)?;
            if state.is_over() || !state.drop_stone(column as usize) {
                return None;
            }
        }
        Some(state)
    }

    /// A random position that is not over: a uniformly drawn ply of a uniformly random game.
    pub fn random_position(&self, rng: &mut Rng) -> State {
        // Plays a game to its end to learn its length, then replays it up to the drawn ply.
        let mut again = rng.clone();
        let [mut state, mut end] = [State::empty(self.board); 2];
        rollout::play(&mut end, u32::MAX, rng);
        rollout::play(&mut state, rng.below(end.plies()), &mut again);
        state
    }
}

impl Game for ConnectFour {
    type Config = Config;
    type State = State;

    const NAME: &'static str = "connect_four";

    fn new(config: Config) -> Result<Self, ConfigError> {
        let refuse = |field, value: u8, remedy: &str| {
            Err(ConfigError::new(Self::NAME, field, &value, remedy))
        };
        match Board::new(config.width, config.height) {
            Some(board) => Ok(Self { config, board }),
            None if config.width < 4 => refuse("width", config.width, "it must be at least 4"),
            None if config.height < 4 => refuse("height", config.height, "it must be at least 4"),
            None => refuse("width", config.width, "width * (height + 1) must be at most 64"),
        }
    }

    fn config(&self) -> &Config {
        &self.config
    }

    fn players(&self) -> usize {
        2
    }

    fn action_count(&self) -> usize {
        self.board.width()
    }

    fn initial(&self, _rng: &mut Rng) -> State {
        State::empty(self.board)
    }

    fn turn(&self, state: &State) -> Turn {
        if state.is_over() { Turn::Over } else { Turn::Move(PlayerSet::one(state.mover())) }
    }

    fn legal(&self, state: &State, player: usize, mask: &mut ActionMask) {
        mask.reset(self.action_count());
        if player != state.mover() || state.is_over() {
            return;
        }
        let playable = state.board.playable(state.taken());
        for column in 0..state.board.width() {
            if playable & state.board.column(column) != 0 {
                mask.insert(Action(column as u32));
            }
        }
    }

    fn step(&self, state: &mut State, actions: &[Action]) -> Result<(), StepError> {
        self.movers(state, actions)?;
        let player = state.mover();
        if !state.drop_stone(actions[player].index()) {
            return Err(StepError::IllegalAction { player, action: actions[player].0 });
        }
        Ok(())
    }

    /// Draws the same numbers and plays the same moves as the default, on bitboards.
    fn rollout(&self, state: &mut State, limit: u32, _buffer: &mut RolloutBuffer, rng: &mut Rng) {
        rollout::play(state, limit, rng);
    }

    /// Weights that complete and block lines and prefer threats: see the module `guided`.
    fn weigh(&self, state: &State, player: usize, _legal: &mut ActionMask, weights: &mut [u32]) {
        if player == state.mover() {
            guided::weigh(state, weights);
        } else {
            weights.fill(0);
        }
    }

    /// Draws the same numbers and plays the same moves as
    /// [`rollout::guided`](crate::rollout::guided), on bitboards.
    fn guided_rollout(
        &self,
        state: &mut State,
        limit: u32,
        _buffer: &mut RolloutBuffer,
        rng: &mut Rng,
    ) {
        guided::play(state, limit, rng);
    }

    fn elapsed(&self, state: &State) -> u32 {
        state.plies()
    }

    fn returns(&self, state: &State, player: usize) -> f32 {
        self.outcome(state, player)
    }

    fn outcome(&self, state: &State, player: usize) -> f32 {
        match player {
            0 | 1 if state.has_line(player) => 1.0,
            0 | 1 if state.has_line(1 - player) => -1.0,
            _ => 0.0,
        }
    }

    /// Planes: own stones, the opponent's stones, cells where a stone can land now, empty cells that
    /// complete a line of the player's and of the opponent's stones, and every second row from the
    /// top. On boards of even height, the second player gets the cells of these rows if both only
    /// fill columns.
    fn planes(&self) -> PlaneShape {
        PlaneShape { channels: 6, height: self.board.height(), width: self.board.width() }
    }

    fn earlier_channels(&self) -> &'static [usize] {
        &EARLIER_CHANNELS
    }

    fn observe(&self, state: &State, player: usize, out: &mut [f32]) {
        let (own, other) = (state.stones[player % 2], state.stones[1 - player % 2]);
        let sets = [
            own,
            other,
            state.board.playable(state.taken()),
            state.board.completing(own, state.taken()),
            state.board.completing(other, state.taken()),
            state.board.upper_rows(),
        ];
        let cells = sets.iter().flat_map(|set| {
            (0..self.board.height()).flat_map(move |row| {
                (0..self.board.width()).map(move |column| set & self.board.cell(column, row) != 0)
            })
        });
        for (value, set) in out.iter_mut().zip(cells) {
            *value = f32::from(u8::from(set));
        }
    }

    fn symmetries(&self) -> &'static [Symmetry] {
        Symmetry::MIRROR
    }

    fn transform(&self, state: &State, symmetry: Symmetry) -> State {
        match symmetry {
            Symmetry::FlipX => {
                State { stones: state.stones.map(|set| state.board.mirror(set)), ..*state }
            }
            _ => *state,
        }
    }

    fn transform_action(&self, action: Action, symmetry: Symmetry) -> Action {
        match symmetry {
            Symmetry::FlipX => Action((self.board.width() as u32 - 1).saturating_sub(action.0)),
            _ => action,
        }
    }

    fn render(&self, state: &State) -> String {
        let mut text = String::new();
        for row in (0..state.board.height()).rev() {
            for column in 0..state.board.width() {
                let cell = state.board.cell(column, row);
                let sign = match state.stones.map(|set| set & cell != 0) {
                    [true, _] => 'X',
                    [_, true] => 'O',
                    _ => '.',
                };
                text.extend([' ', ' ', sign]);
            }
            text.push('\n');
        }
        text.extend((1..=state.board.width()).map(|column| format!("{column:3}")));
        text.push('\n');
        text
    }

    fn action_name(&self, action: Action) -> String {
        format!("column {}", action.index() + 1)
    }

    fn digest(&self, state: &State) -> u64 {
        // The stones determine the position; the constants are the finaliser of SplitMix64.
        let mut hash = u64::from(state.board.cells());
        for set in state.stones {
            hash = (hash ^ set).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            hash = (hash ^ hash >> 29).wrapping_mul(0x94d0_49bb_1331_11eb);
            hash ^= hash >> 32;
        }
        hash
    }
}
