//! `ouro check`: verifies every part of a run.

use std::fmt::Display;
use std::fs::File;
use std::io::ErrorKind::{NotADirectory, NotFound};
use std::io::{BufRead, BufReader};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use ouro_learner::{FoundState, StoredState, UnfitState, training_states};
use ouro_replay::check::{ClientLine, Joined, join};
use ouro_settings::arguments::{StoreArguments, WeightsArguments};
use ouro_settings::{SETTINGS_FILE, Settings};
use serde::Serialize;

use self::results::{FoundResults, results};
use crate::failure::{Failure, answer};
use crate::output::Output;

mod identity;
mod results;

/// Verify a run: its settings, journal, training states, results and weights.
///
/// The journal is compared with the actors' logs of sent games, if they kept any, and the folder of the
/// learner with that of the arena, if both are there. The last line names the champion and the file of its
/// weights. No file is changed. The run must not be running. Exit code 1: a part is not sound.
#[derive(Debug, Args)]
pub(crate) struct Check {
    /// Folder of the run.
    run: PathBuf,
    #[command(flatten)]
    store: StoreArguments,
    #[command(flatten)]
    weights: WeightsArguments,
}

/// The verdict on one part of a run.
#[derive(Debug, Serialize)]
pub(super) struct Part {
    part: &'static str,
    /// Whether nothing is wrong with it.
    pub(super) sound: bool,
    /// What the part holds, or its first defect.
    detail: String,
}

/// What a sound part holds, or its first defect.
type Verdict = Result<String, String>;

impl Check {
    pub(crate) fn run(self, output: &mut Output) -> Result<ExitCode, Failure> {
        let run = &self.run;
        // On a machine of a cluster, a run may lack any of these.
        if ![SETTINGS_FILE, "learner", "arena"].iter().any(|part| run.join(part).exists()) {
            let run = run.display();
            return Err(Failure::no_input(format_args!(
                "{run}: no run is here; name the folder that holds its run.toml"
            )));
        }
        let parts = parts(run, &self.store, &self.weights)?;
        let code = answer(parts.iter().all(|part| part.sound));
        output.verdict(code, &parts, lines(&parts))
    }
}

/// The verdicts on the parts of the run in this folder. Fails if a part cannot be read now.
pub(super) fn parts(
    run: &Path,
    store: &StoreArguments,
    weights: &WeightsArguments,
) -> Result<Vec<Part>, Failure> {
    let compared = compare(run);
    let games = games(&compared);
    let FoundResults { results, champion, arena } = results(run, store, weights)?;
    let mut verdicts = vec![
        ("settings", settings(run)),
        ("run", identity::check(&run.join("learner"), arena)),
        ("journal", compared.and_then(journal)),
        ("states", states(run, games)),
        ("results", results),
    ];
    verdicts.extend(champion.map(|champion| ("champion", champion)));
    let part = |(part, verdict): (_, Verdict)| {
        let sound = verdict.is_ok();
        Part { part, sound, detail: verdict.unwrap_or_else(|defect| defect) }
    };
    Ok(verdicts.into_iter().map(part).collect())
}

/// The verdicts as a line each.
pub(super) fn lines(parts: &[Part]) -> String {
    let line = |Part { part, sound, detail }: &Part| {
        let verdict = if *sound { "sound" } else { "NOT SOUND" };
        format!("{part:<9} {verdict:<9}  {detail}\n")
    };
    parts.iter().map(line).collect()
}

fn settings(run: &Path) -> Verdict {
    let settings = Settings::load(&run.join(SETTINGS_FILE)).map_err(text)?;
    settings.validate().map_err(text)?;
    Ok(format!("{SETTINGS_FILE}: a run of {}", settings.game.name()))
}

/// The journal compared with the actors' logs.
struct Compared {
    logs: usize,
    /// Lines of the logs that cannot be read.
    unreadable: usize,
    joined: Joined,
}

/// Reads the journal once, for all parts that need it; `None` if the run has none yet.
fn compare(run: &Path) -> Result<Option<Compared>, String> {
    let folder = run.join("learner/journal");
    if !folder.exists() {
        return Ok(None);
    }
    let SentGames { logs, unreadable, lines } = sent_games(run)?;
    let joined = join(&folder, lines).map_err(text)?;
    Ok(Some(Compared { logs, unreadable, joined }))
}

/// The numbers of the games in the journal; `None` if it cannot be read to its end.
fn games(compared: &Result<Option<Compared>, String>) -> Option<Range<u64>> {
    match compared.as_ref().ok()? {
        None => Some(0..0),
        Some(Compared { joined, .. }) if joined.inspection.damage.is_some() => None,
        Some(Compared { joined, .. }) => Some(joined.inspection.records.clone()),
    }
}

fn journal(compared: Option<Compared>) -> Verdict {
    let Some(Compared { logs, unreadable, joined }) = compared else {
        return Ok("no game has been accepted yet".to_owned());
    };
    if let Some(damage) = &joined.inspection.damage {
        return Err(damage.to_string());
    }
    if let Some(finding) = joined.findings.first() {
        return Err(format!("{finding}; {} findings in all", joined.findings.len()));
    }
    let records = &joined.inspection.records;
    let games = records.end - records.start;
    let acknowledged = match logs {
        0 => "no actor kept a log".to_owned(),
        _ => format!("{} acknowledged games of actors are there once", joined.acked),
    };
    let unreadable = match unreadable {
        0 => String::new(),
        lines => format!("; {lines} lines of these logs cannot be read, as after a crash"),
    };
    let cut = match joined.inspection.torn {
        0 => String::new(),
        torn => format!("; an incomplete write of {torn} bytes at the end, which a start cuts off"),
    };
    let purged = match joined.inspection.purges.iter().map(|purge| purge.records).sum() {
        0 => String::new(),
        records => format!("; {records} games were purged"),
    };
    let start = records.start;
    Ok(format!("{games} games from number {start}; {acknowledged}{purged}{unreadable}{cut}"))
}

/// The `records.log` files of actors in the folder of a run.
struct SentGames {
    logs: usize,
    /// Lines that cannot be read.
    unreadable: usize,
    lines: Vec<ClientLine>,
}

fn sent_games(run: &Path) -> Result<SentGames, String> {
    let mut found = SentGames { logs: 0, unreadable: 0, lines: Vec::new() };
    for entry in std::fs::read_dir(run).map_err(text)? {
        let path = entry.map_err(text)?.path().join("records.log");
        let file = match File::open(&path) {
            Ok(file) => file,
            // Other folders, and files, of a run have no such log.
            Err(error) if matches!(error.kind(), NotFound | NotADirectory) => continue,
            Err(error) => return Err(format!("{}: {error}", path.display())),
        };
        found.logs += 1;
        let (mut reader, mut line) = (BufReader::new(file), Vec::new());
        loop {
            line.clear();
            let at = |error| format!("{}: {error}", path.display());
            reader.read_until(b'\n', &mut line).map_err(at)?;
            // A kill in the middle of a write leaves an incomplete last line.
            if !line.ends_with(b"\n") {
                break;
            }
            // A full disk can leave an incomplete line, so an unreadable line is skipped.
            match serde_json::from_slice::<ClientLine>(&line) {
                Ok(line) => found.lines.push(line),
                Err(_) => found.unreadable += 1,
            }
        }
    }
    Ok(found)
}

/// `games` are the numbers of the games in the journal, if it can be read.
fn states(run: &Path, games: Option<Range<u64>>) -> Verdict {
    let directory = run.join("learner");
    let found = training_states(&directory).map_err(text)?;
    let count = found.len();
    let unfit = games.as_ref().and_then(|games| UnfitState::find(&directory, &found, games));
    let mut states = Vec::with_capacity(count);
    for FoundState { path, content } in found {
        let StoredState { generation, replay, .. } = content.map_err(text)?;
        states.push((generation, replay, path));
    }
    if let Some(unfit) = unfit {
        return Err(unfit.to_string());
    }
    let newest = states.into_iter().max_by_key(|(generation, ..)| *generation);
    // A run resumes from the newest state. Older ones may need records that were removed.
    if let (Some((_, replay, path)), Some(games)) = (&newest, &games) {
        let fits = replay.check(games.start, games.end);
        fits.map_err(|error| format!("{}: {error}", path.display()))?;
    }
    match newest {
        None if games.is_some_and(|games| games.end > 0) => {
            Err("there is a journal, but no training state".to_owned())
        }
        None => Ok("none yet".to_owned()),
        Some((newest, ..)) => Ok(format!("{count} training states, the newest of {newest}")),
    }
}

fn text(error: impl Display) -> String {
    error.to_string()
}
