//! Conformance check: compares the engine with recorded games of the official engine.
//!
//! [`check`] reads one recording and plays it in up to four ways at once: from the first turn to
//! the last, and again from every recorded position, in each size class that fits. Every state
//! must be equal in every field, order included. Every chance outcome must be one that the rules
//! allow. The first disagreement ends the check with a [`Difference`]; an unreadable recording
//! ends it with the damaged line.
//!
//! [`check_spawn`] and [`check_placement`] check new food and set-ups. They are independent of
//! the engine, so that an error of the engine is not repeated there.

mod difference;
mod engine;
mod placement;
mod recording;
mod spawn;
mod trace;

use std::io::BufRead;
use std::ops::AddAssign;

use serde::Serialize;

use self::recording::Recording;
use self::trace::{LineReader, TraceLine};
use crate::error::one_line;

pub use self::difference::Difference;
pub use self::placement::check_placement;
pub use self::spawn::{check_spawn, legal_cells};

/// Counts of what was checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Games checked to their end.
    pub games: u64,
    /// Turns checked, each from the moves to the next state.
    pub turns: u64,
    /// Official set-ups checked.
    pub placements: u64,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.games += other.games;
        self.turns += other.turns;
        self.placements += other.placements;
    }
}

/// Reason why a check stopped early.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConformError {
    /// The recording is damaged.
    #[error("{file}:{line}: {problem}")]
    Damaged {
        /// File name, as given to the checker.
        file: String,
        /// Line, from 1.
        line: usize,
        /// The problem with the line.
        problem: String,
    },
    /// The engine and the recording disagree.
    #[error("{}:{}: {}, turn {}: {}", .0.file, .0.line, .0.game, .0.turn, .0.check)]
    Differs(Box<Difference>),
}

/// Reason why a line is not accepted, before file and line number are added.
#[derive(Debug)]
enum Fault {
    Damage(String),
    Differs(Box<Difference>),
}

impl From<String> for Fault {
    fn from(problem: String) -> Self {
        Self::Damage(problem)
    }
}

impl From<&str> for Fault {
    fn from(problem: &str) -> Self {
        Self::Damage(problem.to_owned())
    }
}

/// Checks one recording. `file` is its name in messages. `reader` yields uncompressed lines.
pub fn check(file: &str, reader: impl BufRead) -> Result<Counts, ConformError> {
    let mut lines = LineReader::new(reader);
    let mut counts = Counts::default();
    let mut recording = None;
    loop {
        let line = lines.next().map_err(Fault::Damage);
        let more = line.and_then(|line| accept(line, &mut recording, &mut counts));
        let line = lines.number();
        match more {
            Ok(true) => {}
            Ok(false) => return Ok(counts),
            Err(Fault::Damage(problem)) => {
                let (file, problem) = (file.to_owned(), one_line(&problem));
                return Err(ConformError::Damaged { file, line, problem });
            }
            Err(Fault::Differs(mut difference)) => {
                file.clone_into(&mut difference.file);
                difference.line = line;
                // Names come from the recording.
                difference.game = one_line(&difference.game);
                difference.moves.iter_mut().for_each(|one| *one = one_line(one));
                return Err(ConformError::Differs(difference));
            }
        }
    }
}

/// Checks one line; `false` at the end of the file.
fn accept(
    line: Option<TraceLine>,
    recording: &mut Option<Recording>,
    counts: &mut Counts,
) -> Result<bool, Fault> {
    match (line, recording.as_mut()) {
        (None, None) => return Ok(false),
        (None, Some(open)) => {
            return Err(format!("the file ends in the middle of {}", open.name()).into());
        }
        (Some(TraceLine::Game(game)), None) => *recording = Some(Recording::new(*game)?),
        (Some(TraceLine::Game(game)), Some(open)) => {
            return Err(format!("{} begins before {} has ended", game.game, open.name()).into());
        }
        (Some(TraceLine::Turn(_) | TraceLine::End(_)), None) => {
            return Err("no game has started".into());
        }
        (Some(TraceLine::Turn(turn)), Some(open)) => {
            counts.placements += u64::from(open.turn(&turn)?);
            counts.turns += 1;
        }
        (Some(TraceLine::End(end)), Some(open)) => {
            counts.placements += u64::from(open.end(&end)?);
            counts.games += 1;
            *recording = None;
        }
    }
    Ok(true)
}
