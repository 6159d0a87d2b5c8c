//! Compares an engine with the recordings in a folder.
//!
//! Exit code 0 means that they agree. 1 means that they differ; the first difference is on standard
//! error. 2 means that a recording cannot be read.

use std::fs::File;
use std::io::BufReader;
use std::process::ExitCode;

use flate2::bufread::GzDecoder;
use ouro_game::battlesnake::conform::{ConformError, check};

fn main() -> ExitCode {
    let Some(folder) = std::env::args_os().nth(1) else { return ExitCode::from(2) };
    let mut paths: Vec<_> = match std::fs::read_dir(folder) {
        Ok(entries) => entries.filter_map(|entry| Some(entry.ok()?.path())).collect(),
        Err(_) => return ExitCode::from(2),
    };
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "gz"));
    paths.sort();
    for path in &paths {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let Ok(file) = File::open(path) else { return ExitCode::from(2) };
        let lines = BufReader::new(GzDecoder::new(BufReader::new(file)));
        if let Err(error) = check(&name, lines) {
            eprintln!("{error}");
            return ExitCode::from(if matches!(error, ConformError::Differs(_)) { 1 } else { 2 });
        }
    }
    ExitCode::from(if paths.is_empty() { 2 } else { 0 })
}
