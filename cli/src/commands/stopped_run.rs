//! The folder of a run that does not run.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use ouro_arena::config::WeightsConfig;
use ouro_arena::store::WEIGHTS_FOLDER;
use ouro_learner::Config;
use ouro_proto::{Checkpoint, CheckpointStatus};
use ouro_settings::{Deployment, Settings};

use crate::failure::Failure;

/// What a start does about lost weights.
pub(super) const LOST_WEIGHTS: &str = "a start gets back those that the training states or an actor's \
                                       cache still hold, and plays on without the others";

/// Most checkpoints that a message names.
const NAMED: usize = 8;

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

/// Refuses settings of the stores that cannot be used. Other settings do not matter here.
pub(super) fn check_stores(deploy: &Deployment) -> Result<(), Failure> {
    match deploy.validate() {
        Err(error)
            if ["deploy.store", "deploy.weights"].iter().any(|key| error.key.starts_with(key)) =>
        {
            Err(Failure::usage(error))
        }
        _ => Ok(()),
    }
}

/// Whether nothing is in the file.
pub(super) fn is_missing_or_empty(path: &Path) -> bool {
    fs::metadata(path).map_or(0, |file| file.len()) == 0
}

/// Whether the arena with this data folder has weights.
pub(super) fn has_weights(weights: &WeightsConfig, folder: &Path) -> Result<bool, Failure> {
    if *weights == WeightsConfig::Files {
        // Opened as a store, the folder would be created.
        let mut names = fs::read_dir(folder.join(WEIGHTS_FOLDER)).into_iter().flatten().flatten();
        return Ok(
            names.any(|name| name.path().extension().is_some_and(|end| end == "safetensors"))
        );
    }
    weights.check().map_err(Failure::usage)?;
    let hashes = weights.open_to_read(folder).and_then(|weights| weights.hashes());
    Ok(!hashes.map_err(Failure::unavailable)?.is_empty())
}

/// The configuration of the run's learner, for work on its files.
pub(super) fn learner_config(settings: &Settings, run: &Path) -> Config {
    let unused = SocketAddr::from(([127, 0, 0, 1], 0));
    Config::of_run(settings, run, unused, settings.deploy.url(&settings.deploy.arena))
}

/// Names checkpoints in a message, in their order. Of many, the last are named and the others counted.
pub(super) fn named(rows: &[&Checkpoint]) -> String {
    let older = rows.len().saturating_sub(NAMED);
    let name = |row: &&Checkpoint| match row.status {
        CheckpointStatus::Champion => format!("{} (champion)", row.generation),
        _ => row.generation.to_string(),
    };
    let names: Vec<String> = rows[older..].iter().map(name).collect();
    let names = names.join(", ");
    if older == 0 { names } else { format!("{names}, and {older} older") }
}

#[cfg(test)]
mod tests {
    use ouro_net::{ContentHash, Generation};

    use super::*;

    #[test]
    fn checkpoints_are_named_by_their_generations_and_the_oldest_of_many_are_counted() {
        let row = |generation| Checkpoint {
            hash: ContentHash::of(b"weights"),
            generation: Generation(generation),
            step: 1,
            size_bytes: 7,
            status: match generation {
                11 => CheckpointStatus::Champion,
                _ => CheckpointStatus::Pool,
            },
            published_at: 1.0,
            parent: None,
        };
        let rows: Vec<Checkpoint> = (3..12).map(row).collect();
        let rows: Vec<&Checkpoint> = rows.iter().collect();
        assert_eq!(named(&rows[7..]), "generation-10, generation-11 (champion)");
        let all = named(&rows);
        assert!(all.starts_with("generation-4, generation-5, "), "{all}");
        assert!(all.ends_with("generation-10, generation-11 (champion), and 1 older"), "{all}");
    }
}
