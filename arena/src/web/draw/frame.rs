//! Renders a position of any game as a [`Frame`].

use std::any::Any;
use std::fmt::Write;

use maud::html;
use ouro_game::{Action, Game, Turn, battlesnake, snake};

use super::board::BoardStyle;
use super::canvas::Canvas;
use super::grids::{self, Trail};
use super::parts::{Drawing, Frame, Legend, colour, result};
use super::{snakes, stones};

/// What a drawing shows of the plies so far and a state does not contain.
pub(super) struct History {
    pub(super) trail: Trail,
    /// The cells of a large board.
    pub(super) canvas: Option<Canvas>,
}

impl History {
    /// The history of a game at its first position.
    pub(super) fn new<G: Game>(game: &G, first: &G::State) -> Self {
        let is_canvas = board_style(game).is_canvas();
        let mut trail = Trail::default();
        trail.push(first);
        Self { trail, canvas: is_canvas.then(|| Canvas::new(first)).flatten() }
    }

    /// Follows a ply.
    pub(super) fn advance<S: 'static>(&mut self, before: &S, now: &S) {
        self.trail.push(now);
        if let Some(canvas) = &mut self.canvas {
            canvas.advance(before, now);
        }
    }
}

/// How the board of a game is drawn.
pub(super) fn board_style<G: Game>(game: &G) -> BoardStyle {
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
pub(super) fn legend<G: Game>(game: &G) -> Legend {
    grids::legend(game)
}

/// Renders a position; `last` is the position before it with the joint action played there, and
/// `history` has followed the game. On a canvas, the first frame has the whole board, and each
/// later one the changes since the frame before.
pub(super) fn frame<G: Game>(
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
pub(super) fn svg<G: Game>(
    game: &G,
    state: &G::State,
    before: Option<&dyn Any>,
    trail: &Trail,
) -> Drawing {
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
