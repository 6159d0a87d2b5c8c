//! Drawings of large boards for a canvas: cells as text, and marks for the ends of bodies.
//!
//! A [`Canvas`] follows a game from its first position, because a state does not tell how a body
//! runs. The first drawing holds the whole board, each later one the cells that changed since the
//! drawing before. The format of the cells is that of [`Raster`].
//!
//! Marks are a list of a cell number and a letter: `H` for the head and `T` for the tail of the
//! first seat, `h` and `t` for those of the second.

use std::any::Any;
use std::fmt::Write;

use ouro_game::maze_dash;
use ouro_game::snakgame::{self, Side};

use super::grids::{self, Trail};
use super::parts::Drawing;
use super::raster::{BLOCKED, EMPTY, Raster};

type SnakeState = snakgame::State<Box<[u64]>>;

/// Letters of head and tail, by seat.
const MARKS: [[char; 2]; 2] = [['H', 'T'], ['h', 't']];

/// The board of a game of Maze Dash, or of the class of SNAKGAME for large boards.
#[derive(Debug)]
pub(super) struct Canvas {
    raster: Raster,
}

impl Canvas {
    /// The board at the first position; `None` for states of other games.
    pub(super) fn new(first: &dyn Any) -> Option<Self> {
        let raster = if let Some(state) = first.downcast_ref::<maze_dash::State>() {
            let size = 0..state.width() * state.height();
            let is_free = |cell| state.is_free(from_top(state, cell));
            let cells = size.map(|cell| if is_free(cell) { EMPTY } else { BLOCKED }).collect();
            let mut raster = Raster::new(state.width(), cells);
            if let Some(head) = state.head() {
                raster.start(from_top(state, head), 0);
            }
            raster
        } else {
            let state = first.downcast_ref::<SnakeState>()?;
            let (rows, columns) = (state.rows(), state.columns());
            let cells = (1..=rows).flat_map(|row| {
                (1..=columns).map(move |column| {
                    let is_empty = state.is_empty(snakgame::Cell::new(row, column));
                    if is_empty { EMPTY } else { BLOCKED }
                })
            });
            Raster::new(columns.into(), cells.collect())
        };
        Some(Self { raster })
    }

    /// Follows a ply.
    pub(super) fn advance(&mut self, before: &dyn Any, now: &dyn Any) {
        if let (Some(before), Some(now)) = (before.downcast_ref(), now.downcast_ref()) {
            self.slide(before, now);
        } else if let (Some(before), Some(now)) = (before.downcast_ref(), now.downcast_ref()) {
            self.grow(before, now);
        }
    }

    /// Follows a slide of Maze Dash, or the choice of its start.
    fn slide(&mut self, before: &maze_dash::State, now: &maze_dash::State) {
        let cell = |state: &maze_dash::State| Some(from_top(state, state.head()?));
        match (cell(before), cell(now)) {
            (Some(from), Some(to)) => self.raster.extend(from, to, 0),
            (None, Some(start)) => self.raster.start(start, 0),
            (_, None) => {}
        }
    }

    /// Follows a ply of SNAKGAME, in which each side adds at most one cell.
    fn grow(&mut self, before: &SnakeState, now: &SnakeState) {
        for (seat, side) in [Side::First, Side::Second].into_iter().enumerate() {
            let (old, new) = (before.snakes(side), now.snakes(side));
            let Some(snake) = new.current() else { continue };
            match old.current() {
                Some(last) if old.count() == new.count() => {
                    for (from, to) in last.ends.into_iter().zip(snake.ends) {
                        self.raster.extend(index(now, from), index(now, to), seat);
                    }
                }
                _ => self.raster.start(index(now, snake.ends[0]), seat),
            }
        }
    }

    /// The drawing of the current position, `now`; `None` if the rules are of another game.
    pub(super) fn drawing(
        &mut self,
        rules: &dyn Any,
        now: &dyn Any,
        trail: &Trail,
    ) -> Option<Drawing> {
        let mut marks = String::new();
        // Writing to a string cannot fail.
        let mut mark = |cell: usize, letter: char| {
            let _ = write!(marks, "{cell}{letter}");
        };
        let seats = if let Some(state) = now.downcast_ref::<maze_dash::State>() {
            let [head, tail] = MARKS[0];
            if let (Some(start), Some(end)) = (trail.first(), state.head()) {
                mark(from_top(state, start), tail);
                mark(from_top(state, end), head);
            }
            vec![grids::maze_seat(state, trail)]
        } else {
            let rules = rules.downcast_ref()?;
            let state = now.downcast_ref::<SnakeState>()?;
            for (side, [head, tail]) in [Side::First, Side::Second].into_iter().zip(MARKS) {
                let Some(snake) = state.snakes(side).current() else { continue };
                if snake.length > 1 {
                    mark(index(state, snake.ends[1]), tail);
                }
                mark(index(state, snake.ends[0]), head);
            }
            grids::snake_seats(rules, state)
        };
        Some(Drawing { board: self.raster.take_text(), marks, seats })
    }
}

/// The number of a cell counted from the top row, for a cell of Maze Dash counted from the bottom
/// row, and the other way round.
fn from_top(state: &maze_dash::State, cell: usize) -> usize {
    let width = state.width();
    (state.height() - 1 - cell / width) * width + cell % width
}

/// The number of a cell of SNAKGAME, row by row from 0.
fn index(state: &SnakeState, cell: snakgame::Cell) -> usize {
    usize::from(cell.row - 1) * usize::from(state.columns()) + usize::from(cell.column - 1)
}
