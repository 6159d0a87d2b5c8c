//! The rules of one configured game: tables, the end of a game, the step.

use super::config::{Config, config_error};
use super::state::State;
use crate::error::ConfigError;
use crate::grid::{Bits, STEPS};

/// Snake on boards of at most `64 * W` cells.
///
/// [`Small`](super::Small) and [`Large`](super::Large) are the two size classes in use. Both run
/// the same code.
#[derive(Clone, Debug)]
pub struct Snake<const W: usize> {
    pub(super) config: Config,
    pub(super) limit: u32,
    /// The cell ahead per cell and direction. Beyond an edge it is the cell itself, which the
    /// head occupies, so a test for occupied cells covers walls too.
    ahead: [[[u16; 4]; 64]; W],
    board: Bits<W>,
    /// The snake of the start, before its first apple.
    pub(super) start: State<W>,
}

/// How a game ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The snake fills the board.
    Won,
    /// The time limit is reached.
    OutOfTime,
    /// No action is legal.
    Stuck,
}

/// What happens next in a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Over(Ending),
    /// The next apple.
    Apple,
    /// A move, with the set of legal directions.
    Move(u8),
}

impl<const W: usize> Snake<W> {
    /// Whether the configuration's board fits this class.
    pub fn fits(config: &Config) -> bool {
        config.cells() <= 64 * W
    }

    /// Checks a configuration and computes its tables.
    pub(super) fn build(config: Config) -> Result<Self, ConfigError> {
        config.check()?;
        if !Self::fits(&config) {
            let remedy = format!("this class of board holds {} cells", 64 * W);
            return Err(config_error("size", &config.size, remedy));
        }
        let size = i32::from(config.size);
        let mut ahead = [[[0; 4]; 64]; W];
        for (cell, ahead) in ahead.as_flattened_mut()[..config.cells()].iter_mut().enumerate() {
            let (x, y) = (cell as i32 % size, cell as i32 / size);
            *ahead = STEPS.map(|(dx, dy)| {
                let (x_next, y_next) = (x + dx, y + dy);
                let inside = (0..size).contains(&x_next) && (0..size).contains(&y_next);
                if inside { (y_next * size + x_next) as u16 } else { cell as u16 }
            });
        }
        let board = Bits::first(config.cells());
        let start = start(config.size);
        Ok(Self { limit: config.limit(), config, ahead, board, start })
    }

    /// How the game ended; `None` before its end.
    pub fn ending(&self, state: &State<W>) -> Option<Ending> {
        match self.phase(state) {
            Phase::Over(ending) => Some(ending),
            Phase::Apple | Phase::Move(_) => None,
        }
    }

    /// The directions into free cells as a set of four bits, in any phase of the game.
    #[inline]
    pub fn free_moves(&self, state: &State<W>) -> u8 {
        (0..4).fold(0, |moves, direction| {
            let free = !state.occupied.contains(self.ahead(state.head(), direction));
            moves | u8::from(free) << direction
        })
    }

    /// The cell ahead of `cell`, or `cell` itself if that would be off the board.
    #[inline]
    pub fn ahead(&self, cell: usize, direction: usize) -> usize {
        self.ahead.as_flattened()[cell][direction & 3].into()
    }

    /// Cells where the next apple may appear.
    pub fn empty_cells(&self, state: &State<W>) -> Bits<W> {
        self.board & !state.occupied
    }

    /// The phase of a state. A state of a board of another size counts as over, since the tables
    /// of these rules do not fit it.
    #[inline]
    pub(super) fn phase(&self, state: &State<W>) -> Phase {
        if state.size != self.config.size {
            return Phase::Over(Ending::OutOfTime);
        }
        if state.length() == state.cells() {
            return Phase::Over(Ending::Won);
        }
        if state.elapsed >= self.limit {
            return Phase::Over(Ending::OutOfTime);
        }
        match (self.free_moves(state), state.apple()) {
            (0, _) => Phase::Over(Ending::Stuck),
            (_, None) => Phase::Apple,
            (moves, Some(_)) => Phase::Move(moves),
        }
    }

    /// Moves the head in one of the [`free_moves`](Self::free_moves), which is one step of the
    /// game. A search may also step in this way while there is no apple.
    #[inline]
    pub fn advance_head(&self, state: &mut State<W>, direction: usize) {
        let next = self.ahead(state.head(), direction);
        debug_assert!(!state.occupied.contains(next), "the direction is legal");
        state.push_head(direction, next);
        state.elapsed = state.elapsed.saturating_add(1);
        if state.apple() == Some(next) {
            state.set_apple(None);
            state.length += 1;
        } else {
            state.pop_tail();
        }
    }
}

/// The snake of the start: two cells in the middle row, heading right from the left edge. On
/// 10×10 that is the paper's, head (2, 5) and tail (1, 5).
fn start<const W: usize>(size: u8) -> State<W> {
    let row = usize::from(size) * usize::from(size / 2);
    let head = row + usize::from(size - 1).min(2);
    let mut state = State::single_cell(size, head - 1);
    state.push_head(RIGHT, head);
    state.length = 2;
    state
}

/// The direction to larger x.
const RIGHT: usize = 3;
