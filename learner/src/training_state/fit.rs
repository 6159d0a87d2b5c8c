//! Whether the journal still holds the games that a training state needs.
//!
//! A journal that lost its end, or whose oldest segments were removed, cannot restore every state.
//! A start never falls back to an older state in silence, because training and published
//! generations would be repeated. It is refused with an [`UnfitState`], which names the newest
//! state that fits.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use ouro_net::Generation;
use ouro_replay::StateError;

use super::verify::{FoundState, StoredState};

/// The newest training state needs games that the journal does not hold.
#[derive(Debug)]
pub struct UnfitState {
    /// The folder of the state.
    path: PathBuf,
    generation: Generation,
    /// The games that the state needs, and those that the journal holds.
    needs: Range<u64>,
    games: Range<u64>,
    /// The newest state that fits.
    fitting: Option<(PathBuf, Generation)>,
    /// The folder of the learner.
    directory: PathBuf,
}

impl FoundState {
    /// Whether the state is whole and a journal with these games can restore it.
    pub fn fits(&self, games: &Range<u64>) -> bool {
        let content = self.content.as_ref();
        content.is_ok_and(|state| state.replay.check(games.start, games.end).is_ok())
    }
}

impl UnfitState {
    /// Compares the newest whole state of the learner in `directory` with the games in its journal.
    /// Returns `None` if the state does not lack games. `states` are all states, oldest first.
    pub fn find(directory: &Path, states: &[FoundState], games: &Range<u64>) -> Option<Self> {
        let whole = |state: &&FoundState| state.content.is_ok();
        let newest = states.iter().rfind(whole)?;
        let StoredState { generation, replay } = newest.content.as_ref().ok()?;
        let Err(StateError::Journal { first, next, .. }) = replay.check(games.start, games.end)
        else {
            return None;
        };
        let fitting = states.iter().rfind(|state| state.fits(games)).and_then(|state| {
            let generation = state.content.as_ref().ok()?.generation;
            Some((state.path.clone(), generation))
        });
        Some(Self {
            path: newest.path.clone(),
            generation: *generation,
            needs: first..next,
            games: games.clone(),
            fitting,
            directory: directory.to_owned(),
        })
    }
}

impl fmt::Display for UnfitState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, generation, needs, games, fitting, directory } = self;
        write!(
            f,
            "{} ({generation}) needs games {} to {} (the last not included), and the journal holds {} to {}; restore the journal from a copy, or ",
            path.display(),
            needs.start,
            needs.end,
            games.start,
            games.end,
        )?;
        match fitting {
            Some((path, generation)) => write!(
                f,
                "resume from {} ({generation}), the newest that fits: ouro states {} --resume-from {}",
                path.display(),
                quoted(run_folder(directory)),
                generation.0
            ),
            None => write!(
                f,
                "move {} away to start anew: no older training state fits",
                directory.display()
            ),
        }
    }
}

impl std::error::Error for UnfitState {}

/// The folder of the run whose learner keeps its files in `directory`.
fn run_folder(directory: &Path) -> &Path {
    match directory.parent() {
        Some(run) if run != Path::new("") => run,
        _ => Path::new("."),
    }
}

/// Quotes a path for a shell if it contains white space.
fn quoted(path: &Path) -> String {
    let path = path.display().to_string();
    if path.contains(char::is_whitespace) { format!("\"{path}\"") } else { path }
}
