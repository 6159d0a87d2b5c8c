//! Drawings of a game, one frame after each ply.
//!
//! Frames are made here, from the rules; whoever shows them needs to know no game. A frame is
//! what lies on the board, what is said of each seat, and a sentence. Battlesnake, Snake,
//! Connect Four and tic-tac-toe are drawn as SVG, every other game is shown as its text.

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

mod snakes;
mod stones;

/// Plies of a game that are drawn at most, so that no game fills the memory.
pub(super) const MOST_PLIES: usize = 4_000;

/// Side of a cell, in the units of a drawing.
const CELL: i32 = 10;

/// Colours of seats; more seats repeat them.
const COLOURS: usize = 8;

/// What frames are laid upon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Square cells with lines between them.
    Cells {
        /// Columns.
        width: usize,
        /// Rows.
        height: usize,
    },
    /// A wall of holes.
    Holes {
        /// Columns.
        width: usize,
        /// Rows.
        height: usize,
    },
    /// Lines of text.
    Text,
}

/// One moment of a game.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Frame {
    /// SVG of what lies on the board, or escaped text.
    pub(super) board: String,
    /// HTML of what is said of each seat, as list items.
    pub(super) seats: String,
    /// The moment in a sentence.
    pub(super) caption: String,
}

/// A whole game.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Film {
    /// What all frames are laid upon.
    pub(super) stage: Stage,
    /// The first position and that after each ply; at least one.
    pub(super) frames: Vec<Frame>,
}

/// What is drawn of one position.
struct Scene {
    board: String,
    /// Per seat, what stands beside its name.
    seats: Vec<Markup>,
}

/// A game that is drawn while it is played.
pub(super) trait Reel: Send {
    /// What frames are laid upon.
    fn stage(&self) -> Stage;

    /// The position as it stands.
    fn frame(&self) -> Frame;

    /// Plays a ply: the actions of the players to move, in seat order.
    fn play(&mut self, actions: &[Action]) -> Result<(), StepError>;
}

/// Draws a recorded game, up to [`MOST_PLIES`], or says where the record and the rules disagree.
pub(super) fn film(record: &GameRecord, players: &[String]) -> Result<Film, ReplayError> {
    struct Draw<'a>(&'a [String]);
    impl ReplayVisitor for Draw<'_> {
        type Output = Result<Film, ReplayError>;

        fn visit<G: Game>(self, game: &G, mut replay: Replay<'_, G>) -> Self::Output {
            let mut frames = vec![frame(game, self.0, replay.state(), None, 0)];
            while frames.len() <= MOST_PLIES {
                let before = replay.state().clone();
                let Some(joint) = replay.next_actions()?.map(<[Action]>::to_vec) else { break };
                replay.advance()?;
                let last = Some((&before, &*joint));
                frames.push(frame(game, self.0, replay.state(), last, replay.ply()));
            }
            Ok(Film { stage: stage(game), frames })
        }
    }
    record.replay(Draw(players))?
}

/// Begins to draw the game of `seed`.
pub(super) fn reel(
    config: &GameConfig,
    seed: u64,
    players: Vec<String>,
) -> Result<Box<dyn Reel>, ConfigError> {
    struct Begin(u64, Vec<String>);
    impl GameVisitor for Begin {
        type Output = Box<dyn Reel>;

        fn visit<G: Game>(self, game: G) -> Box<dyn Reel> {
            let Self(seed, players) = self;
            let mut rng = Rng::new(seed, GAME_RNG);
            let mut state = game.initial(&mut rng);
            game.settle(&mut state, &mut rng);
            Box::new(Rolling { game, players, rng, state, last: None, ply: 0 })
        }
    }
    config.visit(Begin(seed, players))
}

struct Rolling<G: Game> {
    game: G,
    players: Vec<String>,
    rng: Rng,
    state: G::State,
    last: Option<(G::State, Vec<Action>)>,
    ply: usize,
}

impl<G: Game> Reel for Rolling<G> {
    fn stage(&self) -> Stage {
        stage(&self.game)
    }

    fn frame(&self) -> Frame {
        let last = self.last.as_ref().map(|(state, joint)| (state, &**joint));
        frame(&self.game, &self.players, &self.state, last, self.ply)
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
        Ok(())
    }
}

/// What a game is drawn upon.
fn stage<G: Game>(game: &G) -> Stage {
    let rules: &dyn Any = game;
    let cells = |config: &battlesnake::Config| Stage::Cells {
        width: config.width.into(),
        height: config.height.into(),
    };
    let square = |config: &snake::Config| {
        let side = config.size.into();
        Stage::Cells { width: side, height: side }
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
        stones::stage(rules).unwrap_or(Stage::Text)
    }
}

/// Draws a position; `last` is the one before it with the joint action that was played there.
fn frame<G: Game>(
    game: &G,
    players: &[String],
    state: &G::State,
    last: Option<(&G::State, &[Action])>,
    ply: usize,
) -> Frame {
    let (rules, now): (&dyn Any, &dyn Any) = (game, state);
    let before = last.map(|(state, _)| state as &dyn Any);
    let scene = snakes::scene::<u8, 2, 8>(rules, now, before)
        .or_else(|| snakes::scene::<u16, 10, 16>(rules, now, before))
        .or_else(|| snakes::alone::<2>(rules, now))
        .or_else(|| snakes::alone::<7>(rules, now))
        .or_else(|| stones::scene(rules, now, before))
        .unwrap_or_else(|| Scene {
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
                @if let Some(said) = scene.seats.get(seat) { (said) }
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
    Frame { board: scene.board, seats: seats.into_string(), caption }
}

/// The class that gives a seat its colour.
fn colour(seat: usize) -> String {
    format!("seat{}", seat % COLOURS)
}

/// The result of a seat in a word, beside those of all seats: whoever shares the best one drew,
/// whatever the game says that a draw is worth, down to a whole loss.
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

impl Stage {
    /// The stage with a frame on it. What has the id `frame` is all that changes.
    pub(super) fn with(self, frame: &Frame) -> Markup {
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
                    path.lines d=(lines(width, height)) {}
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
