//! Observations for networks and drawings for people.
//!
//! Planes are `[channels, rows, columns]`, the top row first. "Own" is the player that observes.
//!
//! | plane | content |
//! |---|---|
//! | 0 | empty cells: 1 |
//! | 1 | cells blocked from the start: 1 |
//! | 2, 3 | cells of own snakes, of the opponent's: 1 |
//! | 4, 5 | own end 0, own end 1: 1 |
//! | 6, 7 | the opponent's end 0, end 1: 1 |
//! | 8 | empty cells: empty neighbours / 4 |
//! | 9, 10 | own length, the opponent's / cells that are not blocked, everywhere |
//! | 11, 12 | own score, the opponent's / the one-snake bound, cut at 1, everywhere |
//! | 13 | turns for which Chef does nothing / 50, everywhere |
//! | 14 | empty cells / cells that are not blocked, everywhere |
//! | 15 | 1 if the player is to move, everywhere |
//!
//! Ends are those of the current snake; a snake of one cell has both in one cell. Dead snakes differ
//! from blocked cells only in how they look, so a network need not tell them from live ones.

use std::fmt::Write;

use super::cell::Cell;
use super::cell_set::Words;
use super::chef::LONGEST_FREEZE;
use super::config::Mode;
use super::rules::{Phase, Snakgame};
use super::side::Side;
use super::state::State;

/// Planes of an observation.
pub(super) const CHANNELS: usize = 16;

/// Columns up to which a drawing has gaps between cells, which make them nearly square.
const MOST_SPACED: u16 = 40;

impl<W: Words> Snakgame<W> {
    /// Writes the planes; those of a state of another board size are all 0.
    #[expect(clippy::cast_precision_loss, reason = "counts of cells are below 2^24")]
    pub(super) fn write_planes(&self, state: &State<W>, player: usize, out: &mut [f32]) {
        out.fill(0.0);
        let cells = self.config.cells();
        if (state.rows, state.columns) != (self.config.rows, self.config.columns) {
            return;
        }
        let own = if player == 0 { Side::First } else { Side::Second };
        let sides = [own, own.other()];
        let (spatial, constant) = out.split_at_mut(9 * cells);
        let mut set = |plane: usize, cell: usize, value| spatial[plane * cells + cell] = value;
        for cell in 0..cells {
            set(1, cell, 1.0);
        }
        for cell in state.empty.iter() {
            set(0, cell, 1.0);
            set(1, cell, 0.0);
            set(8, cell, state.empty_neighbours(state.cell(cell)) as f32 / 4.0);
        }
        for (place, side) in sides.into_iter().enumerate() {
            for cell in state.occupied[side as usize].iter() {
                set(2 + place, cell, 1.0);
                set(1, cell, 0.0);
            }
            for (end, cell) in
                state.snakes(side).current().iter().flat_map(|snake| {
                    snake.ends.map(|end| state.index(end)).into_iter().enumerate()
                })
            {
                set(4 + 2 * place + end, cell, 1.0);
            }
        }
        let free = state.free.max(1) as f32;
        let [own_length, other_length] =
            sides.map(|side| state.snakes(side).current().map_or(0, |snake| snake.length));
        let [own_score, other_score] = sides.map(|side| state.share(side).min(1.0) as f32);
        let values = [
            own_length as f32 / free,
            other_length as f32 / free,
            own_score,
            other_score,
            f32::from(state.frozen) / LONGEST_FREEZE as f32,
            state.empty_count() as f32 / free,
            f32::from(u8::from(self.phase(state) == Phase::Move(own))),
        ];
        for (plane, value) in constant.chunks_exact_mut(cells).zip(values) {
            plane.fill(value);
        }
    }

    /// Draws the board, top row first: cells of the sides `a` and `b`, the ends of their current
    /// snakes `A` and `B`, blocked cells `#`.
    pub(super) fn draw_board(&self, state: &State<W>) -> String {
        let mut text = self.headline(state);
        let gap = if state.columns <= MOST_SPACED { " " } else { "" };
        for row in 1..=state.rows {
            for column in 1..=state.columns {
                let gap = if column == 1 { "" } else { gap };
                let _ = write!(text, "{gap}{}", mark(state, Cell::new(row, column)));
            }
            text.push('\n');
        }
        text
    }

    fn headline(&self, state: &State<W>) -> String {
        let [first, second] = [Side::First, Side::Second].map(|side| state.snakes(side).score());
        let [own, other] = state.counts;
        let mut text = match self.config.mode {
            Mode::Duel => format!("turn {}, score {first} to {second}", own + other),
            Mode::Official => {
                let share = 100.0 * state.share(Side::First);
                format!("turn {own}, score {first}, {share:.1} % of the one-snake bound")
            }
        };
        if state.frozen > 0 {
            let _ = write!(text, ", Chef FREEZE {}", state.frozen);
        }
        text.push_str(match (self.phase(state), state.exited, self.config.mode) {
            (_, Some(Side::First), _) => ", a has exited",
            (_, Some(Side::Second), _) => ", b has exited",
            (Phase::Over, ..) => ", over",
            (Phase::Chef, ..) => ", Chef to move",
            (Phase::Move(_), _, Mode::Official) => "",
            (Phase::Move(Side::First), ..) => ", a to move",
            (Phase::Move(Side::Second), ..) => ", b to move",
        });
        text.push('\n');
        text
    }
}

/// The character of a cell.
fn mark<W: Words>(state: &State<W>, cell: Cell) -> char {
    let is_end =
        |side: Side| state.snakes(side).current().is_some_and(|snake| snake.ends.contains(&cell));
    match state.owner(cell) {
        None if state.is_empty(cell) => '.',
        None => '#',
        Some(side @ Side::First) if is_end(side) => 'A',
        Some(side @ Side::Second) if is_end(side) => 'B',
        Some(Side::First) => 'a',
        Some(Side::Second) => 'b',
    }
}
