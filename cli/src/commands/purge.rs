//! `ouro purge`: takes the games of an actor out of training.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use ouro_learner::StoppedJournal;
use ouro_replay::{JournalError, Purge as Note, RecordCount};
use serde::Serialize;

use super::stopped_run;
use crate::failure::Failure;
use crate::output::Output;

/// Take the games of an actor out of training, or list the actors with games in the journal.
///
/// All games that the learner has accepted from the actor become void. No later start uses them,
/// whatever training state it resumes from. They stay in the journal with a note of who purged them,
/// and an actor that sends them again gets them acknowledged as before. Weights that were trained on
/// them stay as they are: `ouro states --resume-from` goes back to older ones. A purge cannot be
/// undone. The run must not be running. New games of the actor are accepted until its token is revoked
/// (`ouro token revoke`).
#[derive(Debug, Args)]
pub(crate) struct Purge {
    /// Folder of the run.
    run: PathBuf,
    /// Name of the actor. Without it, the actors and earlier purges are listed.
    actor: Option<String>,
    /// ACTOR is the name of a token: purge also the actors ACTOR.REST, which share it.
    #[arg(long, requires = "actor")]
    token: bool,
    /// Who purges the games, for the note [default: the user's name].
    #[arg(long, value_name = "NAME", requires = "actor", value_parser = name)]
    by: Option<String>,
}

/// An actor with games in the journal.
#[derive(Debug, Serialize)]
struct Actor<'a> {
    actor: &'a str,
    /// Games that may be trained on.
    games: u64,
    /// Purged games.
    purged: u64,
}

/// The note of a purge.
#[derive(Debug, Serialize)]
struct Purged<'a> {
    actor: &'a str,
    /// Games that became void.
    games: u64,
    /// Games of the actor below this number are void.
    before: u64,
    by: &'a str,
    /// Seconds since 1970.
    at: u64,
}

/// The journal's actors and purges.
#[derive(Debug, Serialize)]
struct Listed<'a> {
    actors: Vec<Actor<'a>>,
    purges: Vec<Purged<'a>>,
}

impl Purge {
    pub(crate) fn run(self, output: &mut Output) -> Result<ExitCode, Failure> {
        let directory = stopped_run::journal_owner(&self.run)?;
        let mut journal = StoppedJournal::open(&directory).map_err(failure)?;
        let Some(name) = &self.actor else {
            list(&journal, output)?;
            return Ok(ExitCode::SUCCESS);
        };
        let is_named = |actor: &str| {
            let rest = actor.strip_prefix(name.as_str());
            rest.is_some_and(|rest| rest.is_empty() || (self.token && rest.starts_with('.')))
        };
        let actors: Vec<String> =
            journal.games().keys().filter(|actor| is_named(actor)).cloned().collect();
        if actors.is_empty() {
            let known: Vec<&str> = journal.games().keys().map(String::as_str).collect();
            return Err(Failure::usage(format_args!(
                "the journal of {} has no game of {name}; it has games of: {}",
                self.run.display(),
                if known.is_empty() { "nobody".to_owned() } else { known.join(", ") }
            )));
        }
        let by = self.by.clone().unwrap_or_else(user);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let names: Vec<&str> = actors.iter().map(String::as_str).collect();
        let purges = journal.purge(&names, &by, now).map_err(failure)?;
        let mut text: String = purges.iter().map(|purge| format!("purged: {purge}\n")).collect();
        if purges.is_empty() {
            text.push_str("all games of these actors were purged before\n");
        }
        text.push_str("no start uses these games; weights that were trained on them stay\n");
        // The token of `a.b` has the name `a.b` or `a`.
        let (token, list) = match self.token || !name.contains('.') {
            true => (name.as_str(), ""),
            false => ("NAME", "; ouro token list shows the names"),
        };
        text.push_str(&format!(
            "new games are accepted until the token is revoked: ouro token revoke {token}{list}\n"
        ));
        output.result(&purges.iter().map(purged).collect::<Vec<_>>(), text)?;
        Ok(ExitCode::SUCCESS)
    }
}

fn purged(purge: &Note) -> Purged<'_> {
    let Note { actor, before, records, at, by } = purge;
    Purged { actor, games: *records, before: *before, by, at: *at }
}

/// Prints the actors with their games, and the purges.
fn list(journal: &StoppedJournal, output: &mut Output) -> Result<(), Failure> {
    let actor = |(actor, count): (&String, &RecordCount)| {
        format!("{actor}  {} games, {} purged\n", count.valid, count.void)
    };
    let mut text: String = journal.games().iter().map(actor).collect();
    text.extend(journal.purges().iter().map(|purge| format!("purged: {purge}\n")));
    let actors = journal.games().iter();
    let actors =
        actors.map(|(actor, count)| Actor { actor, games: count.valid, purged: count.void });
    let purges = journal.purges().iter().map(purged).collect();
    output.result(&Listed { actors: actors.collect(), purges }, text)
}

/// The name of the user, as the environment gives it.
fn user() -> String {
    let mut names = ["USER", "LOGNAME", "USERNAME"].into_iter();
    let user = names.find_map(|variable| name(&std::env::var(variable).ok()?).ok());
    user.unwrap_or_else(|| "an unnamed user".to_owned())
}

/// A name for a note that stays in the journal.
fn name(text: &str) -> Result<String, &'static str> {
    if text.trim().is_empty() || text.chars().any(char::is_control) {
        return Err("give a name of one line");
    }
    Ok(text.to_owned())
}

fn failure(error: JournalError) -> Failure {
    match error {
        JournalError::Size { .. } => Failure::usage(error),
        _ => Failure::unavailable(error),
    }
}
