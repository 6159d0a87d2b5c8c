//! Renders recorded games: one position, or the frames of a whole game.
//!
//! The frames include the first and the last position. A game with too many plies, or whose frames
//! would take too many bytes, has a frame for every k-th ply only.

use std::any::Any;

use ouro_game::catalog::ReplayVisitor;
use ouro_game::record::{Replay, ReplayError};
use ouro_game::{Action, Game, GameRecord};
use serde::Serialize;

use super::board::BoardStyle;
use super::frame::{History, board_style, frame, legend, svg};
use super::parts::{Frame, Legend};

/// Maximum number of frames of a game whose frames are whole drawings.
const MOST_DRAWINGS: usize = 4_000;

/// Maximum number of frames of a game on a canvas, whose frames are changes. Duels of SNAKGAME on
/// 250×250 cells stay below it.
const MOST_CHANGES: usize = 65_536;

/// Maximum number of bytes of the frames of a game: 64 MiB.
const MOST_BYTES: usize = 64 << 20;

/// One position of a game, for a page.
#[derive(Clone, Debug, PartialEq)]
pub(in super::super) struct Still {
    /// How the board is drawn, the same in all frames.
    pub(in super::super) board_style: BoardStyle,
    /// What the colours and marks of the board mean.
    pub(in super::super) legend: Legend,
    /// The frame.
    pub(in super::super) frame: Frame,
    /// The frame for pages without the script, if it differs.
    pub(in super::super) without_script: Option<Frame>,
}

/// Renders the position after a ply of a recorded game, or the last position if the game is shorter.
/// Fails if the record up to there contradicts the rules.
pub(in super::super) fn still(
    record: &GameRecord,
    players: &[String],
    ply: usize,
) -> Result<Still, ReplayError> {
    record.replay(At { players, ply })?
}

struct At<'a> {
    players: &'a [String],
    ply: usize,
}

impl ReplayVisitor for At<'_> {
    type Output = Result<Still, ReplayError>;

    fn visit<G: Game>(self, game: &G, mut replay: Replay<'_, G>) -> Self::Output {
        let mut history = History::new(game, replay.state());
        let mut last = None;
        while replay.ply() < self.ply {
            let Some(played) = advance(&mut replay, &mut history)? else { break };
            last = Some(played);
        }
        let (state, ply) = (replay.state(), replay.ply());
        let last = last.as_ref().map(|(before, joint)| (before, &**joint));
        let frame = frame(game, self.players, state, last, ply, &mut history);
        let board_style = board_style(game);
        let without_script = board_style.is_canvas().then(|| {
            let before = last.map(|(before, _)| before as &dyn Any);
            let drawing = svg(game, state, before, &history.trail);
            Frame { board: drawing.board, marks: String::new(), ..frame.clone() }
        });
        Ok(Still { board_style, legend: legend(game), frame, without_script })
    }
}

/// Renders the frames of a recorded game as JSON. Fails if the record contradicts the rules.
///
/// The JSON is an object with these fields.
///
/// - `frames`: the first position, then the positions after every k-th ply and after the last
/// - `every`: k
/// - `note`: a sentence about the plies that are left out; empty if there are none
pub(in super::super) fn animate(
    record: &GameRecord,
    players: &[String],
) -> Result<Vec<u8>, ReplayError> {
    animate_within(record, players, MOST_BYTES)
}

/// Renders the frames of a recorded game in at most `most_bytes`, or its first and last position.
pub(super) fn animate_within(
    record: &GameRecord,
    players: &[String],
    most_bytes: usize,
) -> Result<Vec<u8>, ReplayError> {
    let plies = record.plies.len();
    let mut thinning = 1;
    loop {
        let frames = record.replay(Frames { players, plies, thinning, most_bytes })??;
        if let Some(json) = frames {
            return Ok(json);
        }
        thinning *= 2;
    }
}

/// Renders the frames of a game; nothing if they take more bytes and can be thinned further.
struct Frames<'a> {
    players: &'a [String],
    /// The number of plies of the game.
    plies: usize,
    /// A factor for the number of plies from one frame to the next.
    thinning: usize,
    most_bytes: usize,
}

impl ReplayVisitor for Frames<'_> {
    type Output = Result<Option<Vec<u8>>, ReplayError>;

    fn visit<G: Game>(self, game: &G, mut replay: Replay<'_, G>) -> Self::Output {
        let plies = self.plies;
        let most = if board_style(game).is_canvas() { MOST_CHANGES } else { MOST_DRAWINGS };
        let every = plies.div_ceil(most).max(1) * self.thinning;
        let mut history = History::new(game, replay.state());
        let mut list = List::default();
        list.push(&frame(game, self.players, replay.state(), None, 0, &mut history));
        while let Some((before, joint)) = advance(&mut replay, &mut history)? {
            let ply = replay.ply();
            if !ply.is_multiple_of(every) && ply != plies {
                continue;
            }
            let last = Some((&before, &*joint));
            list.push(&frame(game, self.players, replay.state(), last, ply, &mut history));
            if list.json.len() > self.most_bytes && every < plies {
                return Ok(None);
            }
        }
        Ok(Some(list.finish(every, plies)))
    }
}

/// Replays a ply. Returns the position before it and the joint action, or nothing after the last
/// ply.
#[expect(clippy::type_complexity, reason = "an option of a pair")]
fn advance<G: Game>(
    replay: &mut Replay<'_, G>,
    history: &mut History,
) -> Result<Option<(G::State, Vec<Action>)>, ReplayError> {
    let before = replay.state().clone();
    let Some(joint) = replay.next_actions()?.map(<[Action]>::to_vec) else { return Ok(None) };
    replay.advance()?;
    history.advance(&before, replay.state());
    Ok(Some((before, joint)))
}

/// A list of frames that is written as JSON while it grows, so that no second copy is held.
#[derive(Debug, Default)]
struct List {
    json: Vec<u8>,
}

impl List {
    fn push(&mut self, frame: &Frame) {
        self.json.extend(if self.json.is_empty() { &b"{\"frames\":["[..] } else { b"," });
        self.write(frame);
    }

    fn finish(mut self, every: usize, plies: usize) -> Vec<u8> {
        let note = match every {
            1 => String::new(),
            _ => format!("Of {plies} turns, 1 in {every} is shown, and the last."),
        };
        self.json.extend(b"],\"every\":");
        self.write(&every);
        self.json.extend(b",\"note\":");
        self.write(&note);
        self.json.push(b'}');
        self.json
    }

    fn write(&mut self, value: &impl Serialize) {
        // Strings and numbers are written to memory, which cannot fail.
        let _ = serde_json::to_writer(&mut self.json, value);
    }
}
