//! The file that names the run to which the folder of a learner belongs.

use std::fs;
use std::io::ErrorKind::NotFound;
use std::path::Path;

use ouro_net::RunId;
use serde::{Deserialize, Serialize};

use crate::training_state::{TrainingStateError, replace_file};

/// Name of the file in the folder of the learner.
pub(crate) const FILE: &str = "run.json";

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RunFile {
    run: RunId,
}

/// The run of the learner in `directory`; `None` until an arena has named it. The error of a damaged
/// file names the remedy.
pub fn stored_run(directory: &Path) -> Result<Option<RunId>, TrainingStateError> {
    let path = directory.join(FILE);
    match fs::read(&path) {
        Ok(bytes) => match serde_json::from_slice::<RunFile>(&bytes) {
            Ok(file) => Ok(Some(file.run)),
            Err(error) => {
                let remedy = "run `ouro repair`; with results in Redis, or with the arena on another \
                              machine, remove the file";
                Err(TrainingStateError::Damaged { path, what: format!("{error}; {remedy}") })
            }
        },
        Err(error) if error.kind() == NotFound => Ok(None),
        Err(source) => Err(TrainingStateError::Io { path, source }),
    }
}

/// Stores the run of the learner in `directory` durably.
pub fn store_run(directory: &Path, run: RunId) -> Result<(), TrainingStateError> {
    let text = format!("{{\"run\":\"{run}\"}}\n");
    replace_file(&directory.join(FILE), text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_read_back_and_anything_else_is_named() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(stored_run(folder.path()).unwrap(), None);
        let run = RunId::of(b"run");
        store_run(folder.path(), run).unwrap();
        assert_eq!(stored_run(folder.path()).unwrap(), Some(run));
        fs::write(folder.path().join(FILE), "{\"run\":\"x\"}").unwrap();
        let error = stored_run(folder.path()).unwrap_err().to_string();
        assert!(error.contains("run.json") && error.contains("16 lower-case hex"), "{error}");
    }
}
