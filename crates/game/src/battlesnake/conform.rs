//! Holds the engine against recorded games of the official one.
//!
//! [`check`] reads one recording and plays it in four ways at once: carried on from the first
//! turn to the last and anew from every recorded position, in each class of board that fits.
//! Every state must be equal in every field and order; what chance decided must be something
//! the rules allow. The first disagreement ends the check as a [`Difference`], a recording
//! that cannot be followed as damage with its line.
//!
//! New food and set-ups are judged by [`check_spawn`] and [`check_placement`], which know
//! nothing of the engine.

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

pub use self::difference::Difference;
pub use self::placement::check_placement;
pub use self::spawn::{check_spawn, legal_cells};

/// How much was checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Games, all of them to their end.
    pub games: u64,
    /// Turns, each from the moves to the next state.
    pub turns: u64,
    /// Official set-ups.
    pub placements: u64,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.games += other.games;
        self.turns += other.turns;
        self.placements += other.placements;
    }
}

/// Why a check stopped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConformError {
    /// The recording cannot be followed.
    #[error("{file}:{line}: {problem}")]
    Damaged {
        /// File name, as given to the checker.
        file: String,
        /// Line, from 1.
        line: usize,
        /// What is wrong with it.
        problem: String,
    },
    /// The engine and the recording part.
    #[error("{}:{}: {}, turn {}: {}", .0.file, .0.line, .0.game, .0.turn, .0.check)]
    Differs(Box<Difference>),
}

/// Why a line was not accepted, before the place is known.
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

/// Checks one recording. `file` names it in messages; the caller unpacks it.
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
                return Err(ConformError::Damaged { file: file.to_owned(), line, problem });
            }
            Err(Fault::Differs(mut difference)) => {
                file.clone_into(&mut difference.file);
                difference.line = line;
                return Err(ConformError::Differs(difference));
            }
        }
    }
}

/// Takes in one line; `false` at the end of the file.
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
            return Err("no game has begun".into());
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
