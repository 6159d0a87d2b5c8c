//! What the files under `deploy/` name exists in the code: metrics and environment variables.
//!
//! Dashboards, alerts, queries and manifests are not compiled. A renamed series would leave an empty
//! panel or an alert that never fires, and a misspelt variable a default that nobody chose.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::programs::programs;
use ouro_service::access;
use ouro_service::metrics::{Kind, Series, process};

const FOLDER: &str = "../deploy";

/// The tables of all series.
const TABLES: [&[Series]; 5] = [
    ouro_learner::metrics::SERIES,
    ouro_arena::metrics::SERIES,
    ouro_actor::metrics::SERIES,
    access::metrics::SERIES,
    process::SERIES,
];

/// The text files below a folder. Scripts are left out: they have variables of their own.
fn texts(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut texts = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            // `check.sh` and its parts are programs, too.
            if path.file_name().is_none_or(|name| name != "check") {
                texts.extend(self::texts(&path));
            }
        } else if path.extension().is_none_or(|extension| extension != "sh")
            && let Ok(text) = fs::read_to_string(&path)
        {
            texts.push((path, text));
        }
    }
    texts
}

/// The longest words of `text` that start with `prefix` and consist of characters for which `is_part`
/// holds, each with the character before it.
fn words<'t>(
    text: &'t str,
    prefix: &str,
    is_part: impl Fn(char) -> bool + Copy,
) -> Vec<(Option<char>, &'t str)> {
    let mut words = Vec::new();
    for (start, _) in text.match_indices(prefix) {
        let before = text[..start].chars().next_back();
        if before.is_some_and(is_part) {
            continue;
        }
        let rest = &text[start..];
        let end = rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
        words.push((before, &rest[..end]));
    }
    words
}

/// The names of all samples of a series.
fn samples(series: &Series) -> Vec<String> {
    let mut names = vec![series.name.to_owned()];
    if series.kind == Kind::Histogram {
        names.extend(["_bucket", "_sum", "_count"].map(|end| format!("{}{end}", series.name)));
    }
    names
}

#[test]
fn every_metric_that_a_file_names_exists() {
    let known: BTreeSet<String> = TABLES.iter().copied().flatten().flat_map(samples).collect();
    let is_part =
        |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_';
    let mut unknown = Vec::new();
    for (path, text) in texts(Path::new(FOLDER)) {
        for prefix in ["ouro_", "process_"] {
            for (_, name) in words(&text, prefix, is_part) {
                if !known.contains(name) {
                    unknown.push(format!("{}: {name}", path.display()));
                }
            }
        }
    }
    assert!(unknown.is_empty(), "docs/metrics.md has no such series: {unknown:#?}");
}

/// The variables in the help of all programs.
fn variables() -> BTreeSet<String> {
    let folder = programs();
    let mut helps = vec![vec!["ouro", "train"], vec!["ouro"]];
    helps.extend(["ouro-arena", "ouro-learner", "ouro-actor"].map(|program| vec![program]));
    let mut variables = BTreeSet::from(["RUST_LOG".to_owned()]);
    for words in helps {
        let help = Command::new(folder.join(words[0])).args(&words[1..]).arg("--help").output();
        let help = String::from_utf8(help.expect("it runs").stdout).expect("text");
        variables.extend(ouro_words(&help).into_iter().map(|(_, name)| name.to_owned()));
    }
    variables
}

fn ouro_words(text: &str) -> Vec<(Option<char>, &str)> {
    let is_part =
        |letter: char| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == '_';
    words(text, "OURO_", is_part)
}

#[test]
fn every_variable_that_a_file_sets_is_one_of_a_program_or_declared() {
    let folder = Path::new(FOLDER);
    let programs = variables();
    assert!(programs.contains("OURO_CONFIG") && programs.contains("OURO_METRICS"), "{programs:?}");
    // Compose files declare their own variables there.
    let declared = fs::read_to_string(folder.join(".env")).expect("the file is there");
    let declared: BTreeSet<&str> =
        ouro_words(&declared).into_iter().map(|(_, name)| name).collect();
    let mut unknown = Vec::new();
    for (path, text) in texts(folder) {
        for (before, name) in ouro_words(&text) {
            // `${OURO_TAG}` is a variable of the file itself, `OURO_ARENA: …` one of a program.
            let is_known = match before {
                Some('{' | '$') => declared.contains(name),
                _ => programs.contains(name) || path.ends_with(".env"),
            };
            if !is_known {
                unknown.push(format!("{}: {name}", path.display()));
            }
        }
    }
    assert!(unknown.is_empty(), "no program reads these variables: {unknown:#?}");
}
