//! `ouro config check`: reports every problem of a settings file, not only the first.
//!
//! The reader stops at the first problem. Each problem is reported, its key is reset to the value
//! of the preset, and the file is read again until no problem is left.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use ouro_settings::{FileError, Settings, Source, file};
use serde_json::json;
use toml::{Table, Value};

use crate::commands::settings;
use crate::failure::Failure;
use crate::output::Output;

/// Prints one line per problem. Returns an error if there is at least one.
pub(super) fn run(path: &Path, output: &mut Output) -> Result<ExitCode, Failure> {
    let Source { base, table, incomplete, .. } = Source::read(path).map_err(Failure::unreadable)?;
    let mut problems = problems(path, &base, table)?;
    problems.extend(incomplete.map(|error| (error.key.clone(), error.to_string())));
    let file = path.display();
    for (key, text) in &problems {
        let value = json!({ "file": path, "key": key, "problem": text });
        output.result(&value, format_args!("config {file}: {text}\n"))?;
    }
    match problems.len() {
        0 => {
            output.result(
                &json!({ "file": path, "problem": null }),
                format_args!("config {file}: nothing is wrong\n"),
            )?;
            Ok(ExitCode::SUCCESS)
        }
        count => {
            let noun = if count == 1 { "problem" } else { "problems" };
            Err(Failure::usage(format_args!(
                "config {file} has {count} {noun}; `ouro config explain KEY` says what a key takes"
            )))
        }
    }
}

/// Returns all problems as pairs of key and message.
fn problems(path: &Path, base: &Table, mut table: Table) -> Result<Vec<(String, String)>, Failure> {
    let mut problems = Vec::new();
    // How many times each key was invalid.
    let mut found: BTreeMap<String, usize> = BTreeMap::new();
    // The table from which this loop removed a key.
    let mut incomplete: Option<String> = None;
    loop {
        let (key, text) = match file::read::<Settings>(path, table.clone()) {
            Ok(settings) => match settings::problem(&settings) {
                None => return Ok(problems),
                Some(problem) => (problem.key, problem.text),
            },
            Err(FileError::Key { key, what, .. }) => (key, what),
            Err(error) => return Err(Failure::unreadable(error)),
        };
        let before = found.entry(key.clone()).or_default();
        // A key that this loop removed is not missing in the file. A key that is invalid even
        // with the value of the preset was reported already.
        if incomplete.take().is_none_or(|table| table != key) && *before == 0 {
            problems.push((key.clone(), text));
        }
        match put_back(&mut table, base, &key, *before) {
            PutBack::Nothing => return Ok(problems),
            PutBack::Replaced => {}
            PutBack::Removed(outer) => incomplete = Some(outer),
        }
        *before += 1;
    }
}

/// The result of resetting a key.
enum PutBack {
    /// The key, or a table around it, now has the value of the preset.
    Replaced,
    /// The key was removed from the table of this name.
    Removed(String),
    /// The whole table already equals the preset.
    Nothing,
}

/// Resets a key to the value of the preset.
///
/// Removes the key if the preset does not have it, or if that value is invalid too, as in a table
/// of another kind. After both attempts, resets the innermost table around the key that differs.
/// `before` is the number of earlier attempts.
fn put_back(table: &mut Table, base: &Table, key: &str, before: usize) -> PutBack {
    let names: Vec<&str> = key.split('.').filter(|name| !name.is_empty()).collect();
    for depth in (1..=names.len()).rev() {
        let Some((last, outer)) = names[..depth].split_last() else { break };
        let known = outer.iter().try_fold(base, |table, name| table.get(*name)?.as_table());
        let known = known.and_then(|table| table.get(*last)).cloned();
        let inner = outer.iter().try_fold(&mut *table, |table, name| {
            table.get_mut(*name).and_then(Value::as_table_mut)
        });
        let Some(inner) = inner else { continue };
        let is_itself = depth == names.len();
        match known {
            Some(known) if inner.get(*last) != Some(&known) && !(is_itself && before > 0) => {
                inner.insert((*last).to_owned(), known);
                return PutBack::Replaced;
            }
            Some(_) if !is_itself || before > 1 => {}
            Some(_) | None => {
                if inner.remove(*last).is_some() {
                    return PutBack::Removed(outer.join("."));
                }
            }
        }
    }
    if *table == *base {
        return PutBack::Nothing;
    }
    table.clone_from(base);
    PutBack::Replaced
}

#[cfg(test)]
mod tests {
    use ouro_settings::Preset;

    use super::*;

    fn keys_of(text: &str) -> Vec<String> {
        let base = Preset::TicTacToe.table();
        let mut table = base.clone();
        file::merge(&mut table, text.parse().expect("TOML"));
        let problems = problems(Path::new("my.toml"), &base, table).expect("it is looked at");
        problems.into_iter().map(|(key, _)| key).collect()
    }

    #[test]
    fn every_problem_of_a_file_is_found_whatever_kind_it_is() {
        assert!(keys_of("seed = 3\n").is_empty());
        let text = "seeds = 3\ngeneration_steps = 0\ndiscount = 2.0\n[deploy]\nthreads = 0\n[train]\nlerning_rate = 0.1\nbatch_moves = 0\n\
                    [actor]\nbatch = 0\ncohort = 0\n[actor.search]\nsimulations = 0\n\
                    [actor.search.noise]\nshare = 3.0\n[arena.gate]\nthreshold = 0.2\n\
                    [replay]\nmin_positions = \"many\"\n";
        let mut found = keys_of(text);
        found.sort_unstable();
        let mut expected = [
            "seeds",
            "generation_steps",
            "train.lerning_rate",
            "train.batch_moves",
            "discount",
            "deploy.threads",
            "actor.batch",
            "actor.cohort",
            "actor.search.simulations",
            "actor.search.noise.share",
            "arena.gate.threshold",
            "replay.min_positions",
        ];
        expected.sort_unstable();
        assert_eq!(found, expected);
    }

    #[test]
    fn what_is_wrong_in_another_kind_of_table_does_not_hide_the_rest() {
        let found = keys_of("[net]\nkind = \"conv\"\nchanels = 3\n[train]\nbatch_moves = 0\n");
        assert_eq!(found, ["net.chanels", "train.batch_moves"]);
        let found = keys_of(
            "[net]\nkind = \"conv\"\nchannels = 3\nlayers = 1\nhidden = 0\nvalue = \"tan\"\n",
        );
        assert_eq!(found, ["net.value", "net.hidden"]);
    }

    #[test]
    fn players_of_training_games_are_built() {
        let found = keys_of("[actor.scripted]\nplayers = [\"minimax{ms=5}\"]\n");
        assert_eq!(found, ["actor.scripted.players"]);
    }
}
