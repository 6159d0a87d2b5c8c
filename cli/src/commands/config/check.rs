//! Everything that is wrong with a file of settings, not the first thing alone.
//!
//! Reading stops at the first problem. So what is wrong is told, put back to what the preset
//! has, and the rest is looked at again, until nothing is wrong any more.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use ouro_service::config::{self, ConfigFileError};
use serde_json::json;
use toml::{Table, Value};

use super::Settings;
use crate::commands::train::settings::Source;
use crate::failure::Failure;
use crate::output::Output;

/// Prints one line for each problem; the file is usable if there is none.
pub(super) fn run(path: &Path, output: &mut Output) -> Result<ExitCode, Failure> {
    let Source { base, table, .. } = Source::read(path)?;
    let problems = problems(path, &base, table)?;
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

/// The problems, each with its key.
fn problems(path: &Path, base: &Table, mut table: Table) -> Result<Vec<(String, String)>, Failure> {
    let mut problems = Vec::new();
    // How often each key was found wrong.
    let mut found: BTreeMap<String, usize> = BTreeMap::new();
    // The table that lacks a key since that was taken away.
    let mut robbed: Option<String> = None;
    loop {
        let (key, text) = match config::read::<Settings>(path, table.clone()) {
            Ok(settings) => match settings.problem() {
                None => return Ok(problems),
                Some(problem) => (problem.key.clone(), problem.to_string()),
            },
            Err(ConfigFileError::Key { key, what, .. }) => (key, what),
            Err(error) => return Err(Failure::unreadable(error)),
        };
        let before = found.entry(key.clone()).or_default();
        // What that table misses now is not missing in the file, and what is wrong even as the
        // preset has it was told already.
        if robbed.take().is_none_or(|table| table != key) && *before == 0 {
            problems.push((key.clone(), text));
        }
        match put_back(&mut table, base, &key, *before) {
            PutBack::Nothing => return Ok(problems),
            PutBack::Replaced => {}
            PutBack::Removed(outer) => robbed = Some(outer),
        }
        *before += 1;
    }
}

/// What was done about a key.
enum PutBack {
    /// It, or a table around it, is what the preset has.
    Replaced,
    /// It is gone from the table of this name.
    Removed(String),
    /// There is nothing left to put back.
    Nothing,
}

/// Gives a key what the preset has, or takes it away where the preset does not have it or, as in a
/// table of another kind, it is wrong all the same. Once that was tried, the innermost table
/// around it that differs is put back whole.
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
    use super::*;
    use crate::commands::train::preset::Preset;

    fn keys_of(text: &str) -> Vec<String> {
        let base = Preset::TicTacToe.table().expect("a preset is a table");
        let mut table = base.clone();
        config::merge(&mut table, text.parse().expect("TOML"));
        let problems = problems(Path::new("my.toml"), &base, table).expect("it is looked at");
        problems.into_iter().map(|(key, _)| key).collect()
    }

    #[test]
    fn every_problem_of_a_file_is_found_whatever_kind_it_is() {
        assert!(keys_of("seed = 3\n").is_empty());
        let text = "seeds = 3\ngeneration_steps = 0\n[train]\nlerning_rate = 0.1\ngamma = 2.0\n\
                    [actor]\nbatch = 0\ncohort = 0\n[actor.search]\nsimulations = 0\n\
                    [actor.search.noise]\nshare = 3.0\n[arena.gate]\nthreshold = 0.2\n\
                    [replay]\nmin_positions = \"many\"\n";
        let mut found = keys_of(text);
        found.sort_unstable();
        let mut expected = [
            "seeds",
            "generation_steps",
            "train.lerning_rate",
            "train.gamma",
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
}
