//! Chef's turn in the official mode, as a chance node.
//!
//! The policy is that of [`Chef`](super::Chef). Outcomes, on a board of `cells` cells:
//!
//! | outcome | Chef's move | probability |
//! |---|---|---|
//! | `0..50` | FREEZE of `outcome + 1` turns | 1/500 · 1/50 |
//! | `50 + 4 * end + direction` | extension | 499/500 · 99/100 · 1/k |
//! | `58 + cell` | NEW on the cell | 499/500 · 1/100 · 1/e |
//!
//! Here k is the number of his extensions and e that of the empty cells. If k is 0, NEW has
//! 499/500 · 1/e. A cell next to both of his ends counts once, from end 0. Moves that are not
//! possible have probability 0. The further turns of a freeze are certain and have no node.

use super::cell_set::Words;
use super::chef::{FREEZE_PERIOD, LONGEST_FREEZE, NEW_PERIOD};
use super::direction::next;
use super::rules::{EXTENSIONS, Phase, Snakgame};
use super::side::Side;
use super::state::State;
use crate::error::StepError;
use crate::rng::Rng;

/// The outcome that extends end 0 up.
const FIRST_EXTENSION: u32 = LONGEST_FREEZE;
/// The outcome that is NEW on cell 0.
const FIRST_NEW: u32 = FIRST_EXTENSION + EXTENSIONS as u32;

/// What Chef does.
enum Answer {
    Freeze(u8),
    Extend(usize),
    New(usize),
}

impl<W: Words> Snakgame<W> {
    /// Outcomes of a chance node, impossible ones included.
    pub(super) fn outcomes(&self) -> u32 {
        FIRST_NEW + self.config.cells() as u32
    }

    pub(super) fn probability(&self, state: &State<W>, outcome: u32) -> f64 {
        if self.phase(state) != Phase::Chef {
            return 0.0;
        }
        let freeze = 1.0 / f64::from(FREEZE_PERIOD);
        let count = f64::from(chef_extensions(state).count_ones());
        let new = if count > 0.0 { 1.0 / f64::from(NEW_PERIOD) } else { 1.0 };
        match answer(state, outcome) {
            None => 0.0,
            Some(Answer::Freeze(_)) => freeze / f64::from(LONGEST_FREEZE),
            Some(Answer::Extend(_)) => (1.0 - freeze) * (1.0 - new) / count,
            Some(Answer::New(_)) => (1.0 - freeze) * new / f64::from(state.empty_count()),
        }
    }

    pub(super) fn resolve(&self, state: &mut State<W>, outcome: u32) -> Result<(), StepError> {
        if self.phase(state) != Phase::Chef {
            return Err(StepError::NotAChanceNode);
        }
        match answer(state, outcome) {
            None => return Err(StepError::ImpossibleOutcome { outcome }),
            Some(Answer::Freeze(turns)) => state.frozen = turns,
            Some(Answer::Extend(extension)) => state.extend_snake(Side::Second, extension),
            Some(Answer::New(index)) => state.start_snake(Side::Second, state.cell(index)),
        }
        state.to_move = Side::First;
        Ok(())
    }
}

/// Draws an outcome, in the order of draws of [`Chef`](super::Chef).
pub(super) fn draw<W: Words>(state: &State<W>, rng: &mut Rng) -> u32 {
    if rng.below(FREEZE_PERIOD) == 0 {
        return rng.below(LONGEST_FREEZE);
    }
    let extensions = chef_extensions(state);
    let count = extensions.count_ones();
    if count > 0 && rng.below(NEW_PERIOD) != 0 {
        let skipped = rng.below(count);
        let rest = (0..skipped).fold(extensions, |rest, _| rest & (rest - 1));
        return FIRST_EXTENSION + rest.trailing_zeros();
    }
    let cell = state.empty.nth(rng.below(state.empty_count()));
    FIRST_NEW + cell.unwrap_or_default() as u32
}

/// The meaning of an outcome; `None` if Chef cannot do this.
fn answer<W: Words>(state: &State<W>, outcome: u32) -> Option<Answer> {
    if outcome < FIRST_EXTENSION {
        return Some(Answer::Freeze(outcome as u8 + 1));
    }
    if outcome < FIRST_NEW {
        let extension = (outcome - FIRST_EXTENSION) as usize;
        let is_possible = chef_extensions(state) >> extension & 1 == 1;
        return is_possible.then_some(Answer::Extend(extension));
    }
    let index = (outcome - FIRST_NEW) as usize;
    state.empty.contains(index).then_some(Answer::New(index))
}

/// Chef's extensions: a cell next to both ends is listed for end 0 only.
fn chef_extensions<W: Words>(state: &State<W>) -> u8 {
    let all = state.extensions(Side::Second);
    let Some(snake) = state.snakes(Side::Second).current() else { return 0 };
    let is_shared = |direction: &usize| snake.ends[0].is_neighbour(next(snake.ends[1], *direction));
    (0..4).filter(is_shared).fold(all, |bits, direction| bits & !(1 << (4 + direction)))
}
