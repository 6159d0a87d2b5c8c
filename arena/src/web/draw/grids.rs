//! Drawings of Maze Dash and SNAKGAME as SVG, and the texts beside their boards.
//!
//! Boards of many cells are drawn on a canvas instead: see [`canvas`](super::canvas). The cells of
//! a class are one path of horizontal runs, so a frame grows with the number of runs
//! and not with the number of cells. The paths have units of one cell.

use std::any::Any;
use std::fmt::Write;

use maud::{Markup, html};
use ouro_game::Game;
use ouro_game::maze_dash::{self, MazeDash};
use ouro_game::snakgame::{self, Mode, Side, Snakgame, Words};

use super::board::BoardStyle;
use super::parts::{CELL, Drawing, Legend, colour};

/// Maximum number of cells of a board that is drawn as SVG: 32×32. Measured with strategies of
/// SNAKGAME, the SVG of a late position takes 2 KB on 30×30 cells, 4 KB on 50×50 and 82 KB on
/// 250×250. On a canvas, a turn takes about 30 bytes at any size.
const MOST_SVG_CELLS: usize = 1_024;

/// The style of the board; `None` if the rules are of another game.
pub(super) fn board_style(rules: &dyn Any) -> Option<BoardStyle> {
    let (width, height) = size(rules)?;
    // Every board of so many cells is one of the large class, which `Canvas` knows.
    let is_large = width * height > MOST_SVG_CELLS;
    Some(if is_large {
        BoardStyle::Canvas { width, height }
    } else {
        BoardStyle::Cells { width, height }
    })
}

/// Columns and rows.
fn size(rules: &dyn Any) -> Option<(usize, usize)> {
    if let Some(rules) = rules.downcast_ref::<MazeDash>() {
        let planes = rules.planes();
        return Some((planes.width, planes.height));
    }
    let small = rules.downcast_ref::<snakgame::Small>().map(Game::config);
    let config = small.or_else(|| rules.downcast_ref::<snakgame::Large>().map(Game::config))?;
    Some((config.columns.into(), config.rows.into()))
}

/// What the colours and marks of the board mean, as a CSS class and a text each; nothing for other
/// games.
pub(super) fn legend(rules: &dyn Any) -> Legend {
    if rules.is::<MazeDash>() {
        return &[("seat0", "path"), ("wall", "obstacle"), ("tail", "start"), ("head", "head")];
    }
    let small = rules.downcast_ref::<snakgame::Small>().map(Game::config);
    let config = small.or_else(|| rules.downcast_ref::<snakgame::Large>().map(Game::config));
    match config.map(|config| config.mode) {
        None => &[],
        Some(Mode::Duel) => &[("wall", "blocked"), ("head", "first end"), ("tail", "second end")],
        // Chef has no seat, so no other text gives his colour.
        Some(Mode::Official) => &[
            ("seat0", "player"),
            ("seat1", "Chef"),
            ("wall", "blocked"),
            ("head", "first end"),
            ("tail", "second end"),
        ],
    }
}

/// The ends of the slides of Maze Dash, start first. A state contains the visited cells only, so a
/// renderer collects the ends from the first position on.
#[derive(Debug, Default)]
pub(super) struct Trail(Vec<usize>);

impl Trail {
    /// Adds the head of a state. States of other games add nothing.
    pub(super) fn push(&mut self, state: &dyn Any) {
        self.0.extend(state.downcast_ref::<maze_dash::State>().and_then(maze_dash::State::head));
    }

    /// The start; `None` before it is chosen.
    pub(super) fn first(&self) -> Option<usize> {
        self.0.first().copied()
    }
}

/// Draws a position of Maze Dash; `None` if the state is of another game.
pub(super) fn maze(now: &dyn Any, trail: &Trail) -> Option<Drawing> {
    let state = now.downcast_ref::<maze_dash::State>()?;
    let (width, height) = (state.width(), state.height());
    // SVG counts rows from the top.
    let is_obstacle = |x, row| !state.is_free((height - 1 - row) * width + x);
    let mut board = String::new();
    runs(&mut board, "wall", width, height, is_obstacle);
    let corners: Vec<(i32, i32)> =
        trail.0.iter().map(|&cell| centre(cell, width, height)).collect();
    if let (Some((x, y)), Some((head_x, head_y))) = (corners.first(), corners.last()) {
        let path = polyline(&corners);
        // Writing to a string cannot fail.
        let _ = write!(
            board,
            r#"<g class="{}"><path class="body" d="{path}"/><circle class="start" cx="{x}" cy="{y}" r="4"/><circle class="end" cx="{head_x}" cy="{head_y}" r="4"/></g>"#,
            colour(0)
        );
    }
    Some(Drawing { board, seats: vec![maze_seat(state, trail)], ..Drawing::default() })
}

/// The text beside the player of Maze Dash.
pub(super) fn maze_seat(state: &maze_dash::State, trail: &Trail) -> Markup {
    let (visited, cells) = (state.visited(), state.cells());
    // Only a finished board shows 100 %.
    let share = 100 * visited / cells.max(1);
    html! {
        span.length { (visited) " of " (cells) " cells, " (share) " %" }
        span { "slides " (trail.0.len().saturating_sub(1)) }
    }
}

/// Draws a position of SNAKGAME; `None` if the rules are of another game.
pub(super) fn snakes<W: Words>(rules: &dyn Any, now: &dyn Any) -> Option<Drawing>
where
    Snakgame<W>: Game<Config = snakgame::Config>,
{
    let rules = rules.downcast_ref::<Snakgame<W>>()?;
    let state = now.downcast_ref::<snakgame::State<W>>()?;
    let (width, height) = (usize::from(state.columns()), usize::from(state.rows()));
    // Rows and columns of the game count from 1.
    let cell = |x: usize, row: usize| snakgame::Cell::new(row as u16 + 1, x as u16 + 1);
    let owner = |x, row| state.owner(cell(x, row));
    let mut board = String::new();
    let is_blocked = |x, row| !state.is_empty(cell(x, row)) && owner(x, row).is_none();
    runs(&mut board, "wall", width, height, is_blocked);
    let sides = [Side::First, Side::Second];
    for (seat, side) in sides.into_iter().enumerate() {
        runs(&mut board, &colour(seat), width, height, |x, row| owner(x, row) == Some(side));
    }
    for (seat, side) in sides.into_iter().enumerate() {
        let Some(snake) = state.snakes(side).current() else { continue };
        let count = if snake.length > 1 { 2 } else { 1 };
        for (end, class) in snake.ends[..count].iter().zip(["end", "start"]) {
            let middle = |number: u16| i32::from(number) * CELL - CELL / 2;
            let (x, y) = (middle(end.column), middle(end.row));
            // Writing to a string cannot fail.
            let _ = write!(
                board,
                r#"<circle class="{class} {}" cx="{x}" cy="{y}" r="4"/>"#,
                colour(seat)
            );
        }
    }
    Some(Drawing { board, seats: snake_seats(rules, state), ..Drawing::default() })
}

/// The texts beside the players of SNAKGAME.
pub(super) fn snake_seats<W: Words>(rules: &Snakgame<W>, state: &snakgame::State<W>) -> Vec<Markup>
where
    Snakgame<W>: Game<Config = snakgame::Config>,
{
    let mut seats = [Side::First, Side::Second].map(|side| beside(state, side));
    if rules.config().mode == Mode::Official {
        // Chef has no seat.
        let [first, chef] = &seats;
        seats[0] = html! { (first) span { "Chef:" } (chef) };
    }
    seats.to_vec()
}

/// The text beside a side.
fn beside<W: Words>(state: &snakgame::State<W>, side: Side) -> Markup {
    let snakes = state.snakes(side);
    html! {
        span { "score " (snakes.score()) }
        span { "snakes " (snakes.count()) }
        span.length { "length " (snakes.current().map_or(0, |snake| snake.length)) }
    }
}

/// Draws the cells of a class as one path, `M` to the first run of a row and `m` between its runs.
pub(super) fn runs(
    svg: &mut String,
    class: &str,
    width: usize,
    height: usize,
    is_in: impl Fn(usize, usize) -> bool,
) {
    let mut path = String::new();
    for row in 0..height {
        let mut last_end = None;
        let mut x = 0;
        while x < width {
            let start = x;
            while x < width && is_in(x, row) {
                x += 1;
            }
            if x == start {
                x += 1;
                continue;
            }
            let length = x - start;
            // Writing to a string cannot fail.
            let _ = match last_end.replace(x) {
                None => write!(path, "M{start} {row}h{length}"),
                Some(end) => write!(path, "m{} 0h{length}", start - end),
            };
        }
    }
    if !path.is_empty() {
        let middle = CELL / 2;
        // Writing to a string cannot fail.
        let _ = write!(
            svg,
            r#"<path class="runs {class}" transform="translate(0 {middle}) scale({CELL})" d="{path}"/>"#
        );
    }
}

/// The centre of a cell of Maze Dash, whose row 0 is at the bottom.
fn centre(cell: usize, width: usize, height: usize) -> (i32, i32) {
    let middle = |cells: usize| cells as i32 * CELL + CELL / 2;
    (middle(cell % width), middle(height - 1 - cell / width))
}

/// The path through corners; neighbours share their row or column.
fn polyline(corners: &[(i32, i32)]) -> String {
    let Some((x, y)) = corners.first() else { return String::new() };
    // A line of length 0, which round caps draw as a dot.
    let mut path = format!("M{x} {y}h0");
    for pair in corners.windows(2) {
        let (dx, dy) = (pair[1].0 - pair[0].0, pair[1].1 - pair[0].1);
        // Writing to a string cannot fail.
        let _ = if dy == 0 { write!(path, "h{dx}") } else { write!(path, "v{dy}") };
    }
    path
}
