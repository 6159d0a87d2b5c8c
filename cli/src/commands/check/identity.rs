//! The verdict on the run of a folder: whether the learner and the arena in it belong together.

use std::path::Path;

use ouro_learner::{check_arena_fits, stored_run};

use super::results::FoundArena;
use super::{Verdict, text};

/// Compares the folder of the learner with sound results, as a start does.
pub(super) fn check(learner: &Path, arena: Option<FoundArena>) -> Verdict {
    let stored = stored_run(learner).map_err(text)?;
    let Some(FoundArena { run, newest }) = arena else {
        return Ok(match stored {
            None => "the folder names no run".to_owned(),
            Some(run) => format!("{run}, as the learner says; no sound results to compare with"),
        });
    };
    if !learner.exists() {
        return Ok(format!("{run}, as the results say; there is no learner/ here"));
    }
    Ok(match check_arena_fits(learner, run, newest).map_err(text)? {
        None => format!("{run}, as the results say; the learner names no run yet"),
        Some(_) => format!("{run}; learner and results belong together"),
    })
}
