//! `ouro show`: prints a recorded game, ply by ply.
//!
//! At a terminal the command reads a line between plies. Elsewhere, or with `--all`, it prints all
//! plies. An invalid record is shown up to the first invalid ply.

use std::fmt::Display;
use std::io::{self, BufRead, IsTerminal, Read};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use flate2::read::MultiGzDecoder;
use ouro_game::catalog::ReplayVisitor;
use ouro_game::connect_four::ConnectFour;
use ouro_game::record::{MAX_PLIES, Replay, ReplayError};
use ouro_game::tic_tac_toe::TicTacToe;
use ouro_game::{Game, GameRecord, Turn};
use serde::Serialize;

use super::input;
use super::numbers::whole;
use crate::failure::Failure;
use crate::output::Output;

/// Maximum bytes of a record, both compressed and uncompressed. A record of the most plies that are read,
/// with 16 players, has 58 MB.
const MAX_BYTES: u64 = 64 << 20;
/// What to do about a record that is too long.
const SHORTER: &str = "record the game with a smaller --max-plies";

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// A record as `ouro record` writes it, plain or compressed; `-` reads standard input.
    record: PathBuf,
    /// Start at this ply; alone, if not at a terminal.
    #[arg(long, value_parser = whole::<usize>(0..=MAX_PLIES))]
    step: Option<usize>,
    /// Print every ply without waiting.
    #[arg(long, conflicts_with = "step")]
    all: bool,
}

/// One ply as it is printed.
#[derive(Debug, Serialize)]
struct Frame {
    /// Number of plies before this state.
    ply: usize,
    /// Movers of the last ply, with the names of their actions.
    moves: Vec<(usize, String)>,
    over: bool,
    /// Outcome of each player.
    outcomes: Vec<f32>,
    #[serde(skip)]
    drawing: String,
    /// The letters of the players in the drawing.
    #[serde(skip)]
    letters: &'static str,
    state: serde_json::Value,
}

/// Plies between two checkpoints. A ply is replayed from the checkpoint before it, because the states
/// of all plies of a long game on a large board would need gigabytes.
const SPACING: usize = 256;

/// A replay to any ply of a record.
struct Frames<'g, G: Game> {
    game: &'g G,
    /// The replay at every [`SPACING`]-th ply.
    checkpoints: Vec<Replay<'g, G>>,
    /// The last ply that can be replayed.
    last: usize,
}

impl<'g, G: Game> Frames<'g, G> {
    /// Replays a record to its end. Also returns the error that stopped the replay, if any.
    fn new(game: &'g G, mut replay: Replay<'g, G>) -> (Self, Option<ReplayError>) {
        let mut checkpoints = Vec::new();
        let stopped = loop {
            if replay.ply().is_multiple_of(SPACING) {
                checkpoints.push(replay.clone());
            }
            match replay.advance() {
                Ok(true) => {}
                Ok(false) => break None,
                Err(error) => break Some(error),
            }
        };
        let last = replay.ply();
        (Self { game, checkpoints, last }, stopped)
    }

    /// The frame of a ply, at most [`last`](Self::last).
    fn get(&self, ply: usize) -> Result<Frame, ReplayError> {
        let before = ply.saturating_sub(1);
        let mut replay = self.checkpoints[before / SPACING].clone();
        while replay.ply() < before {
            replay.advance()?;
        }
        let mut moves = Vec::new();
        if before < ply {
            if let Turn::Move(movers) = self.game.turn(replay.state())
                && let Some(joint) = replay.next_actions()?
            {
                let name = |player: usize| (player, self.game.action_name(joint[player]));
                moves = movers.iter().map(name).collect();
            }
            replay.advance()?;
        }
        let (game, state) = (self.game, replay.state());
        Ok(Frame {
            ply,
            moves,
            over: game.turn(state) == Turn::Over,
            outcomes: (0..game.players()).map(|player| game.outcome(state, player)).collect(),
            drawing: game.render(state),
            letters: letters(game),
            state: serde_json::to_value(state).unwrap_or_default(),
        })
    }
}

/// Prints the plies that the arguments select.
struct Show<'a> {
    arguments: &'a Arguments,
    output: &'a mut Output,
}

impl ReplayVisitor for Show<'_> {
    type Output = Result<ExitCode, Failure>;

    fn visit<G: Game>(self, game: &G, replay: Replay<'_, G>) -> Self::Output {
        let Self { arguments, output } = self;
        let path = input::name(&arguments.record);
        let damaged = |error: ReplayError| Failure::data(format_args!("{path}: {error}"));
        let (frames, stopped) = Frames::new(game, replay);
        let last = frames.last;
        let start = arguments.step.unwrap_or(0);
        if start > last {
            let problem = format_args!("{path}: there is no ply {start}; the last is {last}");
            return Err(Failure::data(problem));
        }
        let show =
            |ply, output: &mut Output| print(&frames.get(ply).map_err(damaged)?, last, output);
        // After the record, standard input has no lines to read.
        let at_terminal = !input::is_standard(&arguments.record)
            && io::stdin().is_terminal()
            && io::stdout().is_terminal();
        if at_terminal && !arguments.all {
            walk(show, start, last, output)?;
        } else {
            let end = if arguments.step.is_some() { start } else { last };
            (start..=end).try_for_each(|ply| show(ply, output))?;
        }
        match stopped {
            Some(error) => {
                output.flush()?;
                Err(damaged(error))
            }
            None => Ok(ExitCode::SUCCESS),
        }
    }
}

pub(super) fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode, Failure> {
    let text = read(arguments)?;
    let path = input::name(&arguments.record);
    let damaged = |error: ReplayError| Failure::data(format_args!("{path}: {error}"));
    let record: GameRecord = GameRecord::from_json(&text).map_err(damaged)?;
    record.replay(Show { arguments, output }).map_err(damaged)?
}

/// Reads the text of a record and decompresses it if it starts like a gzip file.
fn read(arguments: &Arguments) -> Result<String, Failure> {
    let path = input::name(&arguments.record);
    let damaged = |problem: &dyn Display| Failure::data(format_args!("{path}: {problem}"));
    let mut bytes =
        input::read(&arguments.record, MAX_BYTES).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidInput => damaged(&format_args!("{error}; {SHORTER}")),
            _ => Failure::read(&path, &error),
        })?;
    if bytes.starts_with(&[0x1f, 0x8b]) {
        let mut unpacked = Vec::new();
        // One byte more detects a longer record.
        let limited =
            MultiGzDecoder::new(&bytes[..]).take(MAX_BYTES + 1).read_to_end(&mut unpacked);
        limited.map_err(|error| damaged(&error))?;
        if unpacked.len() as u64 > MAX_BYTES {
            let packed = bytes.len();
            return Err(damaged(&format_args!(
                "its {packed} bytes unpack to more than {MAX_BYTES}; {SHORTER}"
            )));
        }
        bytes = unpacked;
    }
    String::from_utf8(bytes).map_err(|error| damaged(&error))
}

/// The letters by which the drawings of a game call its players, in the order of seats. A single player
/// has none.
fn letters<G: Game>(game: &G) -> &'static str {
    if game.players() == 1 {
        ""
    } else if [TicTacToe::NAME, ConnectFour::NAME].contains(&G::NAME) {
        "XO"
    } else {
        "ABCDEFGHIJKLMNOP"
    }
}

fn print(frame: &Frame, last: usize, output: &mut Output) -> Result<(), Failure> {
    let of = |player: usize, what: &dyn Display| match frame.letters.get(player..=player) {
        Some(letter) => format!("{letter} {what}"),
        None => what.to_string(),
    };
    let mut text = format!("ply {} of {last}", frame.ply);
    if !frame.moves.is_empty() {
        let moves = frame.moves.iter().map(|(player, action)| of(*player, action));
        text += &format!(": {}", moves.collect::<Vec<_>>().join(", "));
    }
    text.push('\n');
    text += &frame.drawing;
    if frame.over {
        let outcomes = frame.outcomes.iter().enumerate();
        let outcomes: Vec<String> =
            outcomes.map(|(player, outcome)| of(player, &format_args!("{outcome:+}"))).collect();
        text += &format!("over: {}\n", outcomes.join(", "));
    }
    text.push('\n');
    output.result(frame, text)
}

/// Prints plies interactively: each line of standard input selects the next one.
fn walk(
    show: impl Fn(usize, &mut Output) -> Result<(), Failure>,
    start: usize,
    last: usize,
    output: &mut Output,
) -> Result<(), Failure> {
    let mut at = start;
    let mut lines = io::stdin().lock().lines();
    loop {
        show(at, output)?;
        output.prompt("Enter next, b back, a number to go there, q to leave: ")?;
        let Some(line) = lines.next().transpose()? else { return Ok(()) };
        match follow(line.trim(), at, last) {
            Some(next) => at = next,
            None => return Ok(()),
        }
    }
}

/// Returns the ply that a line selects, or `None` to quit. An unknown line selects the current ply.
fn follow(line: &str, at: usize, last: usize) -> Option<usize> {
    match line {
        "" if at == last => None,
        "" => Some(at + 1),
        "b" => Some(at.saturating_sub(1)),
        "q" => None,
        number => Some(number.parse().unwrap_or(at).min(last)),
    }
}

#[cfg(test)]
mod tests {
    use super::follow;

    #[test]
    fn lines_lead_forward_back_anywhere_and_out() {
        assert_eq!(follow("", 0, 3), Some(1));
        assert_eq!(follow("", 3, 3), None);
        assert_eq!(follow("b", 2, 3), Some(1));
        assert_eq!(follow("b", 0, 3), Some(0));
        assert_eq!(follow("3", 0, 3), Some(3));
        assert_eq!(follow("99", 0, 3), Some(3));
        assert_eq!(follow("what", 2, 3), Some(2));
        assert_eq!(follow("q", 2, 3), None);
    }
}
