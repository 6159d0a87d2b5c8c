//! Renders games as frames.
//!
//! The server renders frames from the rules, so the script contains no game-specific code. A frame
//! consists of the board, a line per seat, and a caption. Battlesnake, Snake, Connect Four,
//! tic-tac-toe, Maze Dash and SNAKGAME are rendered as SVG, every other game as text. Large boards
//! of Maze Dash and SNAKGAME are cells that the script draws on a canvas: see [`raster`].
//! [`recorded`] renders games of the store, [`live`] the game in play.

use std::any::Any;
use std::fmt::Write;

use maud::{Markup, html};
use ouro_game::{Action, Game, Turn, battlesnake, snake};
use serde::Serialize;

mod board;
mod canvas;
mod grids;
mod live;
mod raster;
mod recorded;
mod snakes;
mod stones;

pub(super) use board::BoardStyle;
use canvas::Canvas;
use grids::Trail;
pub(super) use live::{LiveRenderer, live_renderer};
pub(super) use recorded::{Still, animate, still};

/// Side of a cell, in SVG units.
const CELL: i32 = 10;

/// Number of seat colours; further seats repeat them.
const COLOURS: usize = 8;

/// What the colours and marks of a board mean, as a CSS class and a text each.
pub(super) type Legend = &'static [(&'static str, &'static str)];

/// The rendering of one position of a game.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize))]
pub(super) struct Frame {
    /// SVG of the pieces on the board, escaped text, or the cells of a canvas.
    pub(super) board: String,
    /// Marks on the cells of a canvas.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) marks: String,
    /// HTML list items, one per seat.
    pub(super) seats: String,
    /// The last moves in a sentence.
    pub(super) caption: String,
}

/// The game-specific part of a frame.
#[derive(Default)]
struct Drawing {
    board: String,
    marks: String,
    /// Per seat, the text beside its name.
    seats: Vec<Markup>,
}

/// What a drawing shows of the plies so far and a state does not contain.
struct History {
    trail: Trail,
    /// The cells of a large board.
    canvas: Option<Canvas>,
}

impl History {
    /// The history of a game at its first position.
    fn new<G: Game>(game: &G, first: &G::State) -> Self {
        let is_canvas = board_style(game).is_canvas();
        let mut trail = Trail::default();
        trail.push(first);
        Self { trail, canvas: is_canvas.then(|| Canvas::new(first)).flatten() }
    }

    /// Follows a ply.
    fn advance<S: 'static>(&mut self, before: &S, now: &S) {
        self.trail.push(now);
        if let Some(canvas) = &mut self.canvas {
            canvas.advance(before, now);
        }
    }
}

/// How the board of a game is drawn.
fn board_style<G: Game>(game: &G) -> BoardStyle {
    let rules: &dyn Any = game;
    let cells = |config: &battlesnake::Config| BoardStyle::Cells {
        width: config.width.into(),
        height: config.height.into(),
    };
    let square = |config: &snake::Config| {
        let side = config.size.into();
        BoardStyle::Cells { width: side, height: side }
    };
    if let Some(rules) = rules.downcast_ref::<battlesnake::Small>() {
        cells(rules.config())
    } else if let Some(rules) = rules.downcast_ref::<battlesnake::Large>() {
        cells(rules.config())
    } else if let Some(rules) = rules.downcast_ref::<snake::Small>() {
        square(rules.config())
    } else if let Some(rules) = rules.downcast_ref::<snake::Large>() {
        square(rules.config())
    } else {
        let style = stones::board_style(rules).or_else(|| grids::board_style(rules));
        style.unwrap_or(BoardStyle::Text)
    }
}

/// What the colours and marks of a game's board mean.
fn legend<G: Game>(game: &G) -> Legend {
    grids::legend(game)
}

/// Renders a position; `last` is the position before it with the joint action played there, and
/// `history` has followed the game. On a canvas, the first frame has the whole board, and each
/// later one the changes since the frame before.
fn frame<G: Game>(
    game: &G,
    players: &[String],
    state: &G::State,
    last: Option<(&G::State, &[Action])>,
    ply: usize,
    history: &mut History,
) -> Frame {
    let canvas = history.canvas.as_mut();
    let drawing = canvas
        .and_then(|canvas| canvas.drawing(game, state, &history.trail))
        .unwrap_or_else(|| {
            let before = last.map(|(before, _)| before as &dyn Any);
            svg(game, state, before, &history.trail)
        });
    let over = game.turn(state) == Turn::Over;
    let name = |seat: usize| players.get(seat).map_or("", String::as_str);
    let outcomes: Vec<f32> = (0..game.players()).map(|seat| game.outcome(state, seat)).collect();
    let seats = html! {
        @for seat in 0..game.players() {
            li class=(colour(seat)) {
                span.swatch {}
                span.name { (name(seat)) }
                @if let Some(text) = drawing.seats.get(seat) { (text) }
                @if over { span.result { (result(outcomes[seat], &outcomes)) } }
            }
        }
    };
    let mut caption = format!("Turn {ply}");
    if let Some((before, joint)) = last
        && let Turn::Move(movers) = game.turn(before)
    {
        let moves: Vec<String> = movers.iter().map(|seat| game.action_name(joint[seat])).collect();
        // Writing to a string cannot fail.
        let _ = write!(caption, ": {}", moves.join(", "));
    }
    caption.push_str(if over { ". The game is over." } else { "." });
    Frame { board: drawing.board, marks: drawing.marks, seats: seats.into_string(), caption }
}

/// Draws a position as SVG, or as text if the game has no drawing.
fn svg<G: Game>(game: &G, state: &G::State, before: Option<&dyn Any>, trail: &Trail) -> Drawing {
    let (rules, now): (&dyn Any, &dyn Any) = (game, state);
    snakes::drawing::<u8, 2, 8>(rules, now, before)
        .or_else(|| snakes::drawing::<u16, 10, 16>(rules, now, before))
        .or_else(|| snakes::alone::<2>(rules, now))
        .or_else(|| snakes::alone::<7>(rules, now))
        .or_else(|| stones::drawing(rules, now, before))
        .or_else(|| grids::maze(now, trail))
        .or_else(|| grids::snakes::<[u64; 16]>(rules, now))
        .or_else(|| grids::snakes::<Box<[u64]>>(rules, now))
        .unwrap_or_else(|| Drawing {
            board: html! { (game.render(state)) }.into_string(),
            ..Drawing::default()
        })
}

/// The class that gives a seat its colour.
fn colour(seat: usize) -> String {
    format!("seat{}", seat % COLOURS)
}

/// The result of a seat in a word. Seats that share the best outcome drew, whatever value the game
/// assigns to a draw.
pub(super) fn result(outcome: f32, all: &[f32]) -> &'static str {
    let shared = all.iter().filter(|&&other| other == outcome).count() > 1;
    let best = all.iter().all(|&other| other <= outcome);
    match outcome {
        outcome if outcome >= 1.0 => "won",
        _ if shared && best => "drew",
        outcome if outcome <= -1.0 => "lost",
        0.0 => "drew",
        outcome if outcome > 0.0 => "came out ahead",
        _ => "came out behind",
    }
}

#[cfg(test)]
pub(super) mod tests;
