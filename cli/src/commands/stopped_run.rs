//! The folder of a run that does not run.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use ouro_learner::Config;
use ouro_settings::Settings;

use crate::failure::Failure;

/// The folder of the learner in the folder of a run. It holds a journal.
pub(super) fn journal_owner(run: &Path) -> Result<PathBuf, Failure> {
    let directory = run.join("learner");
    if directory.join("journal").is_dir() {
        return Ok(directory);
    }
    Err(Failure::no_input(format_args!(
        "{}: no journal of a learner is here; name the folder of the run, which holds it",
        directory.display()
    )))
}

/// The configuration of the run's learner, for work on its files.
pub(super) fn learner_config(settings: &Settings, run: &Path) -> Config {
    let unused = SocketAddr::from(([127, 0, 0, 1], 0));
    Config::of_run(settings, run, unused, settings.deploy.url(&settings.deploy.arena))
}
