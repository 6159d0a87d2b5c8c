//! Renders games as frames, one after each ply.
//!
//! The server renders frames from the rules, so the script contains no game-specific code. A frame
//! consists of the board, a line per seat, and a caption. Battlesnake, Snake, Connect Four,
//! tic-tac-toe, Maze Dash and SNAKGAME are rendered as SVG, every other game as text.

use std::any::Any;
use std::fmt::Write;

use maud::{Markup, PreEscaped, html};
use ouro_game::catalog::ReplayVisitor;
use ouro_game::record::{GAME_RNG, Replay, ReplayError};
use ouro_game::{
    Action, ConfigError, Game, GameConfig, GameRecord, GameVisitor, Rng, StepError, Turn,
    battlesnake, snake,
};
use serde::Serialize;

mod grids;
mod snakes;
mod stones;

use grids::Trail;

/// Maximum number of rendered plies of a game, which bounds the memory.
const MOST_PLIES: usize = 4_000;

/// Number of bytes of rendered frames after which no further ply is rendered: 64 MiB. Frames of a
/// large board reach it before [`MOST_PLIES`].
const MOST_BYTES: usize = 64 << 20;

/// Maximum number of columns and of rows of a board that is drawn with lines between its cells.
const MOST_LINED: usize = 60;

/// Side of a cell, in SVG units.
const CELL: i32 = 10;

/// Number of seat colours; further seats repeat them.
const COLOURS: usize = 8;

/// The style of the board, which is the same in all frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BoardStyle {
    /// Square cells, with lines between them on boards of at most [`MOST_LINED`] rows and columns.
    Cells {
        /// Columns.
        width: usize,
        /// Rows.
        height: usize,
    },
    /// Round holes, as on a Connect Four board.
    Holes {
        /// Columns.
        width: usize,
        /// Rows.
        height: usize,
    },
    /// Lines of text.
    Text,
}

/// The rendering of one position of a game.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Frame {
    /// SVG of the pieces on the board, or escaped text.
    pub(super) board: String,
    /// HTML list items, one per seat.
    pub(super) seats: String,
    /// The last moves in a sentence.
    pub(super) caption: String,
}

impl Frame {
    /// Bytes of its text.
    fn bytes(&self) -> usize {
        self.board.len() + self.seats.len() + self.caption.len()
    }
}

/// The rendering of a whole game.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Animation {
    /// How the board is drawn, the same in all frames.
    pub(super) board_style: BoardStyle,
    /// The frames of the first position and of the position after each ply; at least one.
    pub(super) frames: Vec<Frame>,
}

/// The game-specific part of a frame.
struct Drawing {
    board: String,
    /// Per seat, the text beside its name.
    seats: Vec<Markup>,
}

/// Renders a game while it is played.
pub(super) trait LiveRenderer: Send {
    /// How the board is drawn, the same in all frames.
    fn board_style(&self) -> BoardStyle;

    /// The frame of the current position.
    fn frame(&self) -> Frame;

    /// Plays a ply: the actions of the players to move, in seat order.
    fn play(&mut self, actions: &[Action]) -> Result<(), StepError>;
}

/// Renders the first plies of a recorded game: at most [`MOST_PLIES`], and none after
/// 64 MiB of frames. Fails if the record contradicts the rules.
pub(super) fn animate(record: &GameRecord, players: &[String]) -> Result<Animation, ReplayError> {
    animate_within(record, players, MOST_BYTES)
}

/// Renders a recorded game until its frames take `most_bytes` or more.
fn animate_within(
    record: &GameRecord,
    players: &[String],
    most_bytes: usize,
) -> Result<Animation, ReplayError> {
    struct Draw<'a>(&'a [String], usize);
    impl ReplayVisitor for Draw<'_> {
        type Output = Result<Animation, ReplayError>;

        fn visit<G: Game>(self, game: &G, mut replay: Replay<'_, G>) -> Self::Output {
            let Self(players, most_bytes) = self;
            let mut trail = Trail::default();
            trail.push(replay.state());
            let mut frames = vec![frame(game, players, replay.state(), None, 0, &trail)];
            let mut bytes = frames[0].bytes();
            while frames.len() <= MOST_PLIES && bytes < most_bytes {
                let before = replay.state().clone();
                let Some(joint) = replay.next_actions()?.map(<[Action]>::to_vec) else { break };
                replay.advance()?;
                let last = Some((&before, &*joint));
                trail.push(replay.state());
                let next = frame(game, players, replay.state(), last, replay.ply(), &trail);
                bytes += next.bytes();
                frames.push(next);
            }
            Ok(Animation { board_style: board_style(game), frames })
        }
    }
    record.replay(Draw(players, most_bytes))?
}

/// Creates a renderer of the game of `seed`, at its first position.
pub(super) fn live_renderer(
    config: &GameConfig,
    seed: u64,
    players: Vec<String>,
) -> Result<Box<dyn LiveRenderer>, ConfigError> {
    struct Start(u64, Vec<String>);
    impl GameVisitor for Start {
        type Output = Box<dyn LiveRenderer>;

        fn visit<G: Game>(self, game: G) -> Box<dyn LiveRenderer> {
            let Self(seed, players) = self;
            let mut rng = Rng::new(seed, GAME_RNG);
            let mut state = game.initial(&mut rng);
            game.settle(&mut state, &mut rng);
            let mut trail = Trail::default();
            trail.push(&state);
            Box::new(GameRenderer { game, players, rng, state, last: None, ply: 0, trail })
        }
    }
    config.visit(Start(seed, players))
}

struct GameRenderer<G: Game> {
    game: G,
    players: Vec<String>,
    rng: Rng,
    state: G::State,
    last: Option<(G::State, Vec<Action>)>,
    ply: usize,
    trail: Trail,
}

impl<G: Game> LiveRenderer for GameRenderer<G> {
    fn board_style(&self) -> BoardStyle {
        board_style(&self.game)
    }

    fn frame(&self) -> Frame {
        let last = self.last.as_ref().map(|(state, joint)| (state, &**joint));
        frame(&self.game, &self.players, &self.state, last, self.ply, &self.trail)
    }

    fn play(&mut self, actions: &[Action]) -> Result<(), StepError> {
        let Turn::Move(movers) = self.game.turn(&self.state) else {
            return Err(StepError::GameOver);
        };
        let mut joint = vec![Action::default(); self.game.players()];
        for (player, &action) in movers.iter().zip(actions) {
            joint[player] = action;
        }
        let before = self.state.clone();
        self.game.advance(&mut self.state, &joint, &mut self.rng)?;
        self.last = Some((before, joint));
        self.ply += 1;
        self.trail.push(&self.state);
        Ok(())
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

/// Renders a position; `last` is the position before it with the joint action played there, and
/// `trail` holds the path, which a state does not contain.
fn frame<G: Game>(
    game: &G,
    players: &[String],
    state: &G::State,
    last: Option<(&G::State, &[Action])>,
    ply: usize,
    trail: &Trail,
) -> Frame {
    let (rules, now): (&dyn Any, &dyn Any) = (game, state);
    let before = last.map(|(state, _)| state as &dyn Any);
    let drawing = snakes::drawing::<u8, 2, 8>(rules, now, before)
        .or_else(|| snakes::drawing::<u16, 10, 16>(rules, now, before))
        .or_else(|| snakes::alone::<2>(rules, now))
        .or_else(|| snakes::alone::<7>(rules, now))
        .or_else(|| stones::drawing(rules, now, before))
        .or_else(|| grids::maze(now, trail))
        .or_else(|| grids::snakes::<[u64; 16]>(rules, now))
        .or_else(|| grids::snakes::<Box<[u64]>>(rules, now))
        .unwrap_or_else(|| Drawing {
            board: html! { (game.render(state)) }.into_string(),
            seats: Vec::new(),
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
    Frame { board: drawing.board, seats: seats.into_string(), caption }
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

impl BoardStyle {
    /// The board with a frame on it. Only the element with the id `frame` changes.
    pub(super) fn with_frame(self, frame: &Frame) -> Markup {
        let content = PreEscaped(&frame.board);
        let (width, height, class) = match self {
            Self::Text => return html! { pre.board #frame { (content) } },
            Self::Cells { width, height } => (width, height, "board cells"),
            Self::Holes { width, height } => (width, height, "board holes"),
        };
        let side = |cells: usize| cells as i32 * CELL;
        let (right, bottom) = (side(width), side(height));
        html! {
            svg class=(class) viewBox=(format!("0 0 {right} {bottom}")) role="img"
                aria-labelledby="caption" {
                rect.ground width=(right) height=(bottom) {}
                @if matches!(self, Self::Cells { .. }) {
                    @if width.max(height) <= MOST_LINED {
                        path.lines d=(lines(width, height)) {}
                    }
                } @else {
                    g.hollow { @for column in 0..width { @for row in 0..height {
                        circle cx=(side(column) + CELL / 2) cy=(side(row) + CELL / 2) r="4" {}
                    } } }
                }
                g #frame { (content) }
            }
        }
    }
}

/// The lines between cells.
fn lines(width: usize, height: usize) -> String {
    let mut path = String::new();
    // Writing to a string cannot fail.
    for column in 1..width as i32 {
        let _ = write!(path, "M{} 0v{}", column * CELL, height as i32 * CELL);
    }
    for row in 1..height as i32 {
        let _ = write!(path, "M0 {}h{}", row * CELL, width as i32 * CELL);
    }
    path
}

#[cfg(test)]
mod tests;
