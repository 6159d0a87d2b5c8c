//! Prints the content of a run's journal. With logs of actors it also checks that every
//! acknowledged record is in the journal once.
//!
//! `cargo run -p ouro-replay --example journal_check -- runs/duel-7x7/journal [LOG …]`
//!
//! A log has one JSON object per line, see [`ouro_replay::check::ClientLine`]. Exit code 0: the
//! journal is sound. 1: the journal is not sound. 2: the check failed.

use std::fs::File;
use std::io::{BufRead, BufReader, Write, stderr, stdout};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow};
use ouro_replay::check::{Joined, join};

fn main() -> ExitCode {
    match check() {
        Ok(joined) if joined.is_sound() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(1),
        Err(error) => {
            // If this fails, there is no other way to report the error.
            let _ = writeln!(stderr(), "journal_check: {error}");
            ExitCode::from(2)
        }
    }
}

fn check() -> Result<Joined> {
    let mut paths = std::env::args_os().skip(1);
    let folder = paths.next().context("usage: journal_check FOLDER [LOG …]")?;
    let mut lines = Vec::new();
    for path in paths {
        let log = path.display();
        let file = File::open(&path).map_err(|error| anyhow!("cannot open {log}: {error}"))?;
        let (mut reader, mut text) = (BufReader::new(file), String::new());
        for number in 1.. {
            text.clear();
            let read = reader.read_line(&mut text);
            read.map_err(|error| anyhow!("cannot read {log}: {error}"))?;
            // The actor was killed while it wrote an incomplete last line.
            if !text.ends_with('\n') {
                break;
            }
            let line = serde_json::from_str(&text);
            lines.push(line.map_err(|error| anyhow!("{log}, line {number}: {error}"))?);
        }
    }
    let joined = join(Path::new(&folder), lines)?;
    write!(stdout(), "{joined}").context("cannot write the report")?;
    Ok(joined)
}
