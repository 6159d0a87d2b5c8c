//! The file of a path: one line of JSON with the settings of the run, then one for each iteration.
//!
//! Contract: a line counts once it is complete. What follows the last complete line, as after a crash,
//! is removed when the run continues. A file of another run is never changed.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use ouro_game::GameConfig;
use ouro_service::files::read_regular;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;

/// Version of the format.
pub(super) const VERSION: u32 = 1;
/// Largest file that is read, in bytes.
const LARGEST: u64 = 1 << 30;

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

/// An open file.
#[derive(Debug)]
pub(super) struct PathFile {
    path: PathBuf,
    file: File,
}

impl PathFile {
    /// Opens the file of a run, or starts one. Returns the last iteration in it.
    pub(super) fn open(path: &Path, header: &Header) -> Result<(Self, Option<Line>), Failure> {
        let text = match read_regular(path, LARGEST) {
            Ok(bytes) => String::from_utf8(bytes).map_err(|_| foreign(path, "it is not text"))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(Failure::read(path.display(), &error)),
        };
        let whole = &text[..text.rfind('\n').map_or(0, |end| end + 1)];
        if whole.is_empty() && !text.is_empty() {
            return Err(foreign(path, "it has no complete line"));
        }
        let mut lines = whole.lines();
        if let Some(first) = lines.next() {
            let found: Header =
                serde_json::from_str(first).map_err(|error| foreign(path, error))?;
            if found != *header {
                return Err(foreign(path, format_args!("it has {}", difference(&found, header))));
            }
        }
        let mut last: Option<Line> = None;
        for (number, text) in lines.enumerate() {
            let line: Line = serde_json::from_str(text).map_err(|error| foreign(path, error))?;
            let fits = line.values.len() == header.start.len()
                && line.iteration as usize == number + 1
                && line.iteration <= header.iterations
                && line.values.iter().all(|value| value.is_finite());
            if !fits {
                let problem = format_args!("line {} is not of this run", number + 2);
                return Err(foreign(path, problem));
            }
            last = Some(line);
        }
        let failed = |error| write_failed(path, &error);
        let mut open = OpenOptions::new();
        let file = open.append(true).create(true).open(path).map_err(failed)?;
        file.set_len(whole.len() as u64).map_err(failed)?;
        let mut opened = Self { path: path.to_owned(), file };
        if whole.is_empty() {
            opened.write(header)?;
        }
        Ok((opened, last))
    }

    /// Adds an iteration.
    pub(super) fn append(&mut self, line: &Line) -> Result<(), Failure> {
        self.write(line)
    }

    fn write<T: Serialize>(&mut self, value: &T) -> Result<(), Failure> {
        let mut text = serde_json::to_vec(value).map_err(Failure::bug)?;
        text.push(b'\n');
        self.file.write_all(&text).map_err(|error| write_failed(&self.path, &error))
    }
}

/// The first setting in which two runs differ.
fn difference(found: &Header, wanted: &Header) -> String {
    let [found, wanted] = [found, wanted].map(|header| serde_json::to_value(header).ok());
    let fields = found.as_ref().and_then(|found| found.as_object()).into_iter().flatten();
    let mut different = fields.filter_map(|(key, value)| {
        let own = wanted.as_ref()?.get(key)?;
        (own != value).then(|| format!("{key} = {value}, not {own}"))
    });
    different.next().unwrap_or_else(|| "other settings".to_owned())
}

fn foreign(path: &Path, problem: impl std::fmt::Display) -> Failure {
    Failure::usage(format_args!(
        "{} is not the path of this run: {problem}; name another file with --path",
        path.display()
    ))
}

fn write_failed(path: &Path, error: &io::Error) -> Failure {
    Failure::io(format_args!(
        "cannot write {}: {error}; free space or name another file with --path, then run the same command again",
        path.display()
    ))
}
