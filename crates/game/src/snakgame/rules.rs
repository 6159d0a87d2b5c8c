//! The rules of one configured game: phases, actions and steps.
//!
//! Actions, on a board of `cells` cells:
//!
//! | action | move |
//! |---|---|
//! | `0..cells` | NEW on the cell with this number, row by row |
//! | `cells + 4 * end + direction` | extend an end up, left, right or down |
//! | `cells + 8` | EXIT |
//!
//! **Ends are numbered in the order of [`Snake::ends`](super::Snake::ends)**, so the number of an
//! end depends on nothing that a symmetry changes. A cell next to both ends is the target of two
//! actions. A snake of one cell has end 0 only.
//!
//! NEW comes first because the legal cells are then the words of a set of the state: a mask of
//! 600×600 cells is one copy of 45 kB. NEW in two stages, row and then column, would need fewer
//! actions, but a turn would become two plies.

use super::cell::Cell;
use super::cell_set::Words;
use super::config::{Config, Mode, NewSnakes, config_error};
use super::generator::blocked;
use super::moves::Move;
use super::side::{Side, Snake};
use super::state::State;
use crate::action::{Action, ActionMask};
use crate::error::ConfigError;
use crate::rng::Rng;

/// Actions that extend a snake: four directions for each of two ends.
pub(super) const EXTENSIONS: usize = 8;

/// SNAKGAME on boards of at most [`Words::MOST_CELLS`] cells.
///
/// [`Small`](super::Small) and [`Large`](super::Large) are the two classes in use. Both run the
/// same code.
#[derive(Clone, Debug)]
pub struct Snakgame<W: Words> {
    pub(super) config: Config,
    /// The start, unless each game draws its own.
    start: Option<State<W>>,
}

/// What happens next in a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Over,
    /// Chef's turn.
    Chef,
    Move(Side),
}

/// The meaning of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    New(Cell),
    /// `4 * end + direction`.
    Extend(usize),
    Exit,
}

impl<W: Words> Snakgame<W> {
    /// Whether the configuration's board fits this class.
    pub fn fits(config: &Config) -> bool {
        config.cells() <= W::MOST_CELLS
    }

    /// Checks a configuration and prepares a board that all games share.
    pub(super) fn build(config: Config) -> Result<Self, ConfigError> {
        config.check()?;
        if !Self::fits(&config) {
            let remedy = format!("this class of board holds {} cells", W::MOST_CELLS);
            return Err(config_error("rows", &config.rows, remedy));
        }
        let (rows, columns) = (config.rows, config.columns);
        let start = match (&config.board, config.board_seed) {
            (Some(board), _) => Some(State::start(rows, columns, Config::fixed_cells(board))),
            (None, Some(seed)) => Some(drawn(&config, seed)),
            (None, None) => None,
        };
        Ok(Self { config, start })
    }

    /// The start of a game; boards that differ from game to game are drawn from `rng`.
    pub(super) fn first_state(&self, rng: &mut Rng) -> State<W> {
        self.start.clone().unwrap_or_else(|| drawn(&self.config, rng.bits()))
    }

    /// The phase of a state. A state of a board of another size counts as over.
    pub(super) fn phase(&self, state: &State<W>) -> Phase {
        let is_foreign = (state.rows, state.columns) != (self.config.rows, self.config.columns);
        if is_foreign || state.is_over() {
            return Phase::Over;
        }
        match (self.config.mode, state.to_move) {
            (Mode::Official, Side::Second) => Phase::Chef,
            (_, side) => Phase::Move(side),
        }
    }

    /// The move of an action by the side to move, legal or not; `None` outside of the action space
    /// or without a snake to extend.
    pub fn action_move(&self, state: &State<W>, action: Action) -> Option<Move> {
        let meaning = self.meaning(state, action)?;
        Some(match meaning {
            Meaning::New(cell) => Move::New(cell),
            Meaning::Exit => Move::Exit,
            Meaning::Extend(extension) => {
                let snake = state.snakes(state.to_move).current()?;
                let to = state.target(state.to_move, extension)?;
                Move::Extend { from: snake.ends[extension / 4], to }
            }
        })
    }

    /// The action that makes a legal move of the side to move; `None` for any other move.
    pub fn move_action(&self, state: &State<W>, action: Move) -> Option<Action> {
        let Phase::Move(side) = self.phase(state) else { return None };
        let cells = self.config.cells();
        let index = match action {
            Move::New(cell) if state.contains(cell) => state.index(cell),
            Move::Exit => cells + EXTENSIONS,
            Move::Extend { from, to } => {
                let Snake { ends, .. } = state.snakes(side).current()?;
                let is_it = |&extension: &usize| {
                    ends[extension / 4] == from && state.target(side, extension) == Some(to)
                };
                cells + (0..EXTENSIONS).find(is_it)?
            }
            Move::New(_) | Move::Freeze(_) => return None,
        };
        let action = Action(index as u32);
        let meaning = self.meaning(state, action)?;
        self.is_legal(state, side, meaning).then_some(action)
    }

    pub(super) fn meaning(&self, state: &State<W>, action: Action) -> Option<Meaning> {
        let (cells, index) = (self.config.cells(), action.index());
        if index < cells {
            return Some(Meaning::New(state.cell(index)));
        }
        match index - cells {
            extension if extension < EXTENSIONS => Some(Meaning::Extend(extension)),
            EXTENSIONS => Some(Meaning::Exit),
            _ => None,
        }
    }

    /// Whether the side to move may do this.
    pub(super) fn is_legal(&self, state: &State<W>, side: Side, meaning: Meaning) -> bool {
        match meaning {
            Meaning::New(cell) => state.is_empty(cell) && self.may_start(state.extensions(side)),
            Meaning::Extend(extension) => state.extensions(side) >> extension & 1 == 1,
            Meaning::Exit => self.config.exit,
        }
    }

    /// Whether a side with these extensions may start a snake.
    fn may_start(&self, extensions: u8) -> bool {
        extensions == 0 || self.config.new_snakes == NewSnakes::AnyTime
    }

    /// Sets `mask` to the legal actions of a player, with or without EXIT.
    pub(super) fn list(
        &self,
        state: &State<W>,
        player: usize,
        with_exit: bool,
        mask: &mut ActionMask,
    ) {
        let cells = self.config.cells();
        mask.reset(cells + EXTENSIONS + 1);
        let side = match self.phase(state) {
            Phase::Move(side) if side as usize == player => side,
            _ => return,
        };
        let extensions = state.extensions(side);
        if self.may_start(extensions) {
            mask.insert_words(state.empty.words());
        }
        for extension in (0..EXTENSIONS).filter(|bit| extensions >> bit & 1 == 1) {
            mask.insert(Action((cells + extension) as u32));
        }
        if self.config.exit && with_exit {
            mask.insert(Action((cells + EXTENSIONS) as u32));
        }
    }

    /// Makes a legal move of the side to move and passes the turn on.
    pub(super) fn make(&self, state: &mut State<W>, side: Side, meaning: Meaning) {
        match meaning {
            Meaning::New(cell) => state.start_snake(side, cell),
            Meaning::Extend(extension) => state.extend_snake(side, extension),
            Meaning::Exit => {
                state.exited = Some(side);
                return;
            }
        }
        if self.config.mode == Mode::Official && state.frozen > 1 {
            // A freeze that continues is certain, so it needs no chance node.
            state.frozen -= 1;
        } else {
            state.frozen = 0;
            state.to_move = side.other();
        }
    }
}

/// The start on the board of a seed.
fn drawn<W: Words>(config: &Config, seed: u64) -> State<W> {
    let (rows, columns) = (config.rows, config.columns);
    State::start(rows, columns, blocked(rows, columns, config.blocked_millionths(), seed))
}
