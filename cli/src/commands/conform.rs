//! `ouro conform`: replays recorded games of the official Battlesnake engine.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use flate2::bufread::MultiGzDecoder;
use ouro_game::battlesnake::conform::{ConformError, Counts, Difference, check};
use serde::Serialize;

use crate::failure::{Failure, answer};
use crate::output::Output;

/// Compare the Battlesnake engine with recorded games of the official one.
#[derive(Debug, Args)]
pub(crate) struct Conform {
    /// Folder with recordings, `*.jsonl` or `*.jsonl.gz`.
    folder: PathBuf,
}

/// The output of `--json`.
#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    counts: Counts,
    differences: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    first: Option<Box<Difference>>,
}

impl Conform {
    /// Checks every recording in order of name. Stops at the first difference.
    pub(crate) fn run(self, output: &mut Output) -> Result<ExitCode, Failure> {
        let mut counts = Counts::default();
        for path in recordings(&self.folder)? {
            match check(&path.display().to_string(), open(&path)?) {
                // A recording that was cut off before its first turn confirms nothing.
                Ok(Counts { turns: 0, .. }) => {
                    return Err(Failure::data(format_args!(
                        "{}: it records no turn; remove it, or record it again",
                        path.display()
                    )));
                }
                Ok(checked) => counts += checked,
                Err(error @ ConformError::Damaged { .. }) => return Err(Failure::data(error)),
                Err(ConformError::Differs(first)) => {
                    let text = first.to_string();
                    let report = Report { counts, differences: 1, first: Some(first) };
                    return output.verdict(answer(false), &report, text);
                }
            }
        }
        let Counts { turns, placements, .. } = counts;
        let text = format!("{turns} turns, {placements} placements, 0 differences\n");
        output.result(&Report { counts, differences: 0, first: None }, text)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// The recordings in a folder, sorted by name. An empty folder is an error.
fn recordings(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let unreadable = |error: &std::io::Error| Failure::read(folder.display(), error);
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(|error| unreadable(&error))? {
        let path = entry.map_err(|error| unreadable(&error))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if !name.ends_with(".jsonl") && !name.ends_with(".jsonl.gz") {
            continue;
        }
        // `metadata` follows links, so a dangling link is an error instead of being skipped.
        let found = std::fs::metadata(&path);
        if found.map_err(|error| Failure::read(path.display(), &error))?.is_file() {
            paths.push(path);
        }
    }
    if paths.is_empty() {
        let folder = folder.display();
        return Err(Failure::no_input(format_args!(
            "{folder}: no recordings here; they are named *.jsonl or *.jsonl.gz"
        )));
    }
    paths.sort();
    Ok(paths)
}

fn open(path: &Path) -> Result<Box<dyn BufRead>, Failure> {
    let file = File::open(path).map_err(|error| Failure::read(path.display(), &error))?;
    let file = BufReader::new(file);
    Ok(if path.extension().is_some_and(|extension| extension == "gz") {
        Box::new(BufReader::new(MultiGzDecoder::new(file)))
    } else {
        Box::new(file)
    })
}
