//! `ouro check`: verifies every part of a run.

use std::fmt::Display;
use std::fs::File;
use std::io::ErrorKind::{NotADirectory, NotFound};
use std::io::{BufRead, BufReader};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use ouro_arena::config::{StoreConfig, WeightsConfig};
use ouro_arena::store::{
    EmbeddedStore, LOG_FILE, RedisAddress, RedisStore, Store, StoreError, Verified, VerifyError,
    WeightsError, WeightsStore, verify,
};
use ouro_learner::{FoundState, StoredState, UnfitState, training_states};
use ouro_replay::check::{ClientLine, Joined, join};
use ouro_settings::arguments::{StoreArguments, WeightsArguments};
use ouro_settings::{Deployment, SETTINGS_FILE, Settings};
use serde::Serialize;

use crate::failure::Failure;
use crate::output::Output;

/// Verify a run: its settings, journal, training states, results and weights.
///
/// The journal is compared with the actors' logs of sent games, if they kept any. The run must not
/// be running. Exit code 1: a part is not sound.
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
        if !run.is_dir() {
            let run = run.display();
            return Err(Failure::no_input(format_args!(
                "{run}: no folder of a run is here; name the folder that holds its run.toml"
            )));
        }
        let parts = parts(run, &self.store, &self.weights)?;
        output.result(&parts, lines(&parts))?;
        let is_sound = parts.iter().all(|part| part.sound);
        Ok(if is_sound { ExitCode::SUCCESS } else { ExitCode::from(1) })
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
    let verdicts = [
        ("settings", settings(run)),
        ("journal", compared.and_then(journal)),
        ("states", states(run, games)),
        ("results", results(run, store, weights)?),
    ];
    let part = |(part, verdict): (_, Verdict)| {
        let sound = verdict.is_ok();
        Part { part, sound, detail: verdict.unwrap_or_else(|defect| defect) }
    };
    Ok(verdicts.map(part).into())
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
            // A restarted actor appends to that line, so an unreadable line is skipped.
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

/// Checks the results and the weights, which the settings or the flags locate.
fn results(
    run: &Path,
    store: &StoreArguments,
    weights: &WeightsArguments,
) -> Result<Verdict, Failure> {
    let folder = run.join("arena");
    let settings = Settings::load(&run.join(SETTINGS_FILE));
    let mut deploy = settings.map_or_else(|_| Deployment::default(), |settings| settings.deploy);
    store.apply(&mut deploy);
    weights.apply(&mut deploy);
    let weights = WeightsConfig::of(&deploy);
    match StoreConfig::of(&deploy).redis().map_err(Failure::unavailable)? {
        Some(address) => results_on_server(&address, &folder, &weights),
        None => results_in_files(&folder, &weights),
    }
}

/// Opens the weights. A failure of an object store says nothing about the run.
fn open_weights(
    weights: &WeightsConfig,
    folder: &Path,
) -> Result<Result<Box<dyn WeightsStore>, String>, Failure> {
    match (weights.open_to_read(folder), weights) {
        (Err(error @ WeightsError::NotBuilt { .. }), _) => Err(Failure::usage(error)),
        (Err(error), WeightsConfig::Objects { .. }) => Err(Failure::unavailable(error)),
        (opened, _) => Ok(opened.map_err(text)),
    }
}

/// The verdict on results and their weights. Fails if an object store does not answer.
fn verified(
    store: &dyn Store,
    weights: &WeightsConfig,
    folder: &Path,
) -> Result<Result<Verified, String>, Failure> {
    let weights = match open_weights(weights, folder)? {
        Ok(weights) => weights,
        Err(problem) => return Ok(Err(problem)),
    };
    match verify(store, weights.as_ref()) {
        Err(VerifyError::Weights(error)) if error.is_passing() => Err(Failure::unavailable(error)),
        verified => Ok(verified.map_err(text)),
    }
}

/// The results of a run whose store is in files, and its weights.
fn results_in_files(folder: &Path, weights: &WeightsConfig) -> Result<Verdict, Failure> {
    let path = folder.join(LOG_FILE);
    if !folder.exists() {
        return Ok(Ok("no candidate has been published yet".to_owned()));
    }
    if !path.exists() {
        return Ok(Err(format!("{} is missing", path.display())));
    }
    // Opening the store moves an incomplete last entry to a file beside the log.
    let before = std::fs::metadata(&path).map_or(0, |file| file.len());
    let store = match EmbeddedStore::open(folder) {
        Ok(store) => store,
        Err(error @ StoreError::Locked { .. }) => return Err(Failure::unavailable(error)),
        Err(error) => return Ok(Err(error.to_string())),
    };
    let cut = match before
        .saturating_sub(std::fs::metadata(&path).map_or(before, |file| file.len()))
    {
        0 => String::new(),
        bytes => format!("; an incomplete last entry of {bytes} bytes was moved beside the log"),
    };
    let damaged = match store.damaged_games() {
        0 => String::new(),
        count => format!("; {count} kept games cannot be shown, as after a crash"),
    };
    Ok(verified(&store, weights, folder)?.map(|found| {
        let lost = match found.lost {
            0 => String::new(),
            lost => format!("; {lost} damaged entries were taken out"),
        };
        format!(
            "{} checkpoints, {} promotions and {} matches, as in the log; {} weights \
             files{lost}{cut}{damaged}",
            found.checkpoints, found.promotions, found.matches, found.weights
        )
    }))
}

/// The results of a run whose store is in Redis, and its weights.
fn results_on_server(
    address: &RedisAddress,
    folder: &Path,
    weights: &WeightsConfig,
) -> Result<Verdict, Failure> {
    let store = match RedisStore::open_to_read_in(address, folder) {
        Ok(store) => store,
        // The server says nothing about the results.
        Err(error @ StoreError::Server { .. }) => return Err(Failure::unavailable(error)),
        Err(error) => return Ok(Err(error.to_string())),
    };
    Ok(verified(&store, weights, folder)?.map(|found| {
        format!(
            "{} checkpoints, {} promotions and {} matches, as in {}; {} weights files",
            found.checkpoints,
            found.promotions,
            found.matches,
            store.name(),
            found.weights
        )
    }))
}

fn text(error: impl Display) -> String {
    error.to_string()
}
