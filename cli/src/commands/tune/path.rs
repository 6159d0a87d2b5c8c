//! The file of a path: a [`LineFile`] with one line for each iteration. The match at the end of the path
//! has a file of its own next to it.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ouro_game::GameConfig;
use serde::{Deserialize, Serialize};

use crate::commands::build::Builds;
use crate::commands::line_file::{FirstLine, LineFile, Purpose};
use crate::failure::Failure;

/// Version of the format.
pub(super) const VERSION: u32 = 1;

/// What the file of the match at the end is for.
pub(super) const CHECK: Purpose =
    Purpose { is: "the match at the end of this path", remedy: "remove it to play the match anew" };

/// The settings of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Header {
    /// Version of the format, which also says what the file is.
    pub(super) tune: u32,
    pub(super) player: String,
    pub(super) game: GameConfig,
    /// The tuned options with their bounds.
    pub(super) options: Vec<String>,
    /// Their values at the start.
    pub(super) start: Vec<f64>,
    pub(super) iterations: u32,
    pub(super) games: usize,
    pub(super) rate: f64,
    pub(super) seed: u64,
    pub(super) max_plies: usize,
    /// Hash of each weights file. Earlier versions of the program wrote none.
    #[serde(default)]
    pub(super) weights: BTreeMap<String, String>,
    /// The [build](crate::commands::build) that started the file. Earlier versions wrote none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) build: Option<String>,
}

impl FirstLine for Header {
    fn allowing(&self, found: &Self) -> Self {
        // Without hashes, the weights of the file are unknown, and any are accepted.
        let is_known = !found.weights.is_empty();
        let weights = if is_known { self.weights.clone() } else { BTreeMap::new() };
        Self { weights, build: found.build.clone(), ..self.clone() }
    }
}

/// One iteration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Line {
    /// Its number, from 1.
    pub(super) iteration: u32,
    /// Games that the first variant won, less those that it lost.
    pub(super) result: f64,
    /// The values after it, not rounded, in the order of the header.
    pub(super) values: Vec<f64>,
    /// The build that played the iteration, if it did not start the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) build: Option<String>,
}

/// The open file of a run.
pub(super) struct Opened {
    pub(super) file: LineFile,
    /// The last iteration in it.
    pub(super) last: Option<Line>,
    /// The build that new lines name.
    pub(super) build: Option<String>,
}

/// Opens the file of a run, or starts one. Prints a warning if another build played some iterations.
pub(super) fn open(path: &Path, header: &Header) -> Result<Opened, Failure> {
    let purpose = Purpose { is: "the path of this run", remedy: "name another file with --path" };
    let (file, first, mut lines) = LineFile::open(path, header, purpose, |number, line: &Line| {
        let fits = line.values.len() == header.start.len()
            && line.iteration as usize == number + 1
            && line.iteration <= header.iterations
            && line.values.iter().all(|value| value.is_finite());
        if fits { Ok(()) } else { Err("is not of this run".to_owned()) }
    })?;
    let builds = Builds { own: header.build.clone(), first: first.build };
    builds.warn(path, purpose, "iterations", lines.iter().map(|line| line.build.as_ref()))?;
    Ok(Opened { file, last: lines.pop(), build: builds.of_new_line() })
}

/// The file of the match at the end of the path in `path`.
pub(super) fn check_file(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".check");
    name.into()
}

/// Renames FILE.check to FILE.check.old if it exists. Further iterations change the last values, so
/// its games are not those of the next match.
pub(super) fn set_check_aside(path: &Path) -> Result<(), Failure> {
    let file = check_file(path);
    let mut aside = file.clone().into_os_string();
    aside.push(".old");
    match fs::rename(&file, &aside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Failure::io(format_args!(
            "cannot rename {} to {}: {error}; remove it or name another file with --path",
            file.display(),
            aside.display()
        ))),
        _ => Ok(()),
    }
}
