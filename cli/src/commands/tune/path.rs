//! The file of a path: a [`LineFile`] with one line for each iteration. The match at the end of the path
//! has a file of its own next to it.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ouro_game::GameConfig;
use serde::{Deserialize, Serialize};

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
}

impl FirstLine for Header {
    fn accepts(&self, found: &Self) -> bool {
        // Without hashes, the weights of the file are unknown, and any are accepted.
        let is_known = !found.weights.is_empty();
        let weights = if is_known { self.weights.clone() } else { BTreeMap::new() };
        Self { weights, ..self.clone() } == *found
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
}

/// Opens the file of a run, or starts one. Returns the last iteration in it.
pub(super) fn open(path: &Path, header: &Header) -> Result<(LineFile, Option<Line>), Failure> {
    let purpose = Purpose { is: "the path of this run", remedy: "name another file with --path" };
    let (file, mut lines) = LineFile::open(path, header, purpose, |number, line: &Line| {
        let fits = line.values.len() == header.start.len()
            && line.iteration as usize == number + 1
            && line.iteration <= header.iterations
            && line.values.iter().all(|value| value.is_finite());
        if fits { Ok(()) } else { Err("is not of this run".to_owned()) }
    })?;
    Ok((file, lines.pop()))
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
