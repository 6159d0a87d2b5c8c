//! Reads a TOML file into typed settings.
//!
//! Settings are read before any port is bound. Types should carry
//! `#[serde(deny_unknown_fields)]`: a misspelt key is then an error that suggests the nearest known
//! key. Every error is one line.

use std::io;
use std::path::{Path, PathBuf};

use ouro_proto::text::brief;
use ouro_service::files::read_regular;
use serde::de::DeserializeOwned;
use toml::{Table, Value};

/// Lowest similarity, 0 to 1, at which a known key is suggested in place of an unknown key.
const SIMILAR: f64 = 0.6;

/// Largest settings file, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// Why a settings file is not usable.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file cannot be read.
    #[error("cannot read config {}: {source}{}", path.display(), remedy(path, source))]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file is not TOML.
    #[error("config {} is not TOML: {what}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Line and reason.
        what: String,
    },
    /// A key is missing, unknown, or has a wrong value.
    #[error("config {}: {what}", path.display())]
    Key {
        /// The file.
        path: PathBuf,
        /// The key as a path of names joined by dots, or the innermost table known to contain the
        /// error. Empty if the error has no key.
        key: String,
        /// The message: the key and the reason.
        what: String,
    },
}

/// What helps if the settings of a run are missing.
fn remedy(path: &Path, source: &io::Error) -> &'static str {
    let is_run = path.file_name().is_some_and(|name| name == "run.toml");
    match source.kind() {
        io::ErrorKind::NotFound if is_run => {
            "; name the folder of a run: `ouro train` makes one and writes this file"
        }
        _ => "",
    }
}

/// Reads `path` as TOML.
pub fn load<T: DeserializeOwned>(path: &Path) -> Result<T, FileError> {
    read(path, parse_table(path, &read_text(path)?)?)
}

/// Reads the text of a settings file.
pub fn read_text(path: &Path) -> Result<String, FileError> {
    let read = read_regular(path, MAX_BYTES).and_then(|bytes| {
        let invalid = |error| io::Error::new(io::ErrorKind::InvalidData, error);
        String::from_utf8(bytes).map_err(invalid)
    });
    read.map_err(|source| FileError::Read { path: path.to_owned(), source })
}

/// Parses text as TOML without interpreting its keys. `path` is the file in errors.
pub fn parse_table(path: &Path, text: &str) -> Result<Table, FileError> {
    text.parse().map_err(|error: toml::de::Error| {
        let start = error.span().map_or(0, |span| span.start);
        let line = text.as_bytes().iter().take(start).filter(|byte| **byte == b'\n').count() + 1;
        let what = format!("line {line}: {}", brief(&one_line(error.message())));
        FileError::Syntax { path: path.to_owned(), what }
    })
}

/// Interprets a table that came from `path`, possibly with defaults added.
pub fn read<T: DeserializeOwned>(path: &Path, table: Table) -> Result<T, FileError> {
    serde_path_to_error::deserialize(Value::Table(table)).map_err(|error| {
        let (key, what) = explain(&error.path().to_string(), error.inner().message());
        FileError::Key { path: path.to_owned(), key, what }
    })
}

/// Overwrites `base` with the entries of `table`, key by key.
///
/// If a table and its counterpart in `base` are different variants, the table replaces its
/// counterpart as a whole. The entry `kind` or `game` names the variant. In a table whose only
/// entry is a table (`until`, `decay`), the name of that entry is the variant.
pub fn merge(base: &mut Table, table: Table) {
    for (key, value) in table {
        match (base.get_mut(&key), value) {
            (Some(Value::Table(base)), Value::Table(table)) if !is_other(base, &table) => {
                merge(base, table);
            }
            (_, value) => {
                base.insert(key, value);
            }
        }
    }
}

/// Whether `table` and `base` are different variants.
fn is_other(base: &Table, table: &Table) -> bool {
    let is_tagged = ["kind", "game"].into_iter().any(|tag| {
        let said = table.get(tag);
        said.is_some_and(Value::is_str) && said != base.get(tag)
    });
    is_tagged || matches!((variant(base), variant(table)), (Some(base), Some(said)) if base != said)
}

/// The name of a table's only entry if that entry is a table: serde's form of an enum variant with
/// fields.
fn variant(table: &Table) -> Option<&str> {
    let mut entries = table.iter();
    match (entries.next(), entries.next()) {
        (Some((name, Value::Table(_))), None) => Some(name),
        _ => None,
    }
}

/// The remedy for a key of a table that has none, such as a constant schedule.
const NO_KEYS: &str = "the `kind` or `game` of this table has no keys: remove the key, or name \
                       another";

/// The known key most similar to `unknown`; `None` if all are too different.
pub fn nearest<'a>(unknown: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let rated = known.into_iter().map(|key| (strsim::jaro_winkler(unknown, key), key));
    let (similarity, key) = rated.max_by(|one, other| one.0.total_cmp(&other.0))?;
    (similarity >= SIMILAR).then_some(key)
}

/// The key and the message of an error. For an unknown key, the message suggests the nearest known
/// key.
fn explain(path: &str, message: &str) -> (String, String) {
    // A quoted key may contain line breaks, in the path as in the message.
    let (path, message) = (one_line(path), one_line(message));
    let path = if path == "." { "" } else { &path };
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let is_unknown = message.starts_with("unknown field") || message.starts_with("unknown variant");
    let parent = path.rsplit_once('.').map_or("", |(parent, _)| parent);
    match quoted.split_first() {
        Some((unknown, known)) if is_unknown => {
            // The path ends in the unknown key itself, or in the table that contains the key.
            let table = if path.rsplit('.').next() == Some(unknown) { parent } else { path };
            let full = |key: &str| match table {
                "" => key.to_owned(),
                table => format!("{table}.{key}"),
            };
            let remedy = match nearest(unknown, known.iter().copied()) {
                Some(key) => format!("did you mean `{}`?", full(key)),
                None if known.is_empty() => NO_KEYS.to_owned(),
                None => format!("known are {}", known.join(", ")),
            };
            (full(unknown), format!("`{}` is unknown; {remedy}", brief(&full(unknown))))
        }
        _ if path.is_empty() => (String::new(), brief(&message)),
        _ => (path.to_owned(), format!("`{}`: {}", brief(path), brief(&message))),
    }
}

fn one_line(text: &str) -> String {
    text.lines().map(str::trim).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Example {
        games: u32,
        inner: Option<Inner>,
        empty: Option<Empty>,
    }

    #[derive(Debug, PartialEq, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Inner {
        learning_rate: f64,
    }

    #[derive(Debug, PartialEq, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Empty {}

    fn load_text(text: &str) -> Result<Example, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ouro.toml");
        std::fs::write(&path, text).unwrap();
        load(&path).map_err(|error| {
            let message = error.to_string();
            assert_eq!(message.lines().count(), 1, "{message}");
            message.split_once("ouro.toml").expect("the file is named").1.to_owned()
        })
    }

    #[test]
    fn a_misspelt_key_is_named_with_the_one_that_was_meant() {
        assert_eq!(load_text("games = 3\n"), Ok(Example { games: 3, inner: None, empty: None }));
        let cases = [
            ("games = 3\ngame = 4\n", ": `game` is unknown; did you mean `games`?"),
            (
                "games = 3\n[inner]\nlearning_rat = 1.0\n",
                ": `inner.learning_rat` is unknown; did you mean `inner.learning_rate`?",
            ),
            ("games = 3\n[inner]\nzz = 1\n", ": `inner.zz` is unknown; known are learning_rate"),
            (
                "games = 3\n[empty]\nzz = 1\n",
                ": `empty.zz` is unknown; the `kind` or `game` of this table has no keys: remove the \
                 key, or name another",
            ),
            ("games = 3\n\"\\ngame\" = 4\n", ": `; game` is unknown; did you mean `games`?"),
        ];
        for (text, message) in cases {
            assert_eq!(load_text(text), Err(message.to_owned()));
        }
    }

    #[test]
    fn a_wrong_value_is_named_with_its_key_and_bad_syntax_with_its_line() {
        let error = load_text("games = \"many\"\n").unwrap_err();
        assert!(error.starts_with(": `games`: invalid type"), "{error}");
        let error = load_text("games = 3\n\n[inner\n").unwrap_err();
        assert!(error.starts_with(" is not TOML: line 3: "), "{error}");
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = load::<Example>(Path::new("no/such/ouro.toml")).unwrap_err();
        assert!(error.to_string().starts_with("cannot read config no/such/ouro.toml: "));
        assert!(!error.to_string().contains("ouro train"), "{error}");
        let error = load::<Example>(Path::new("no/such/run.toml")).unwrap_err();
        assert!(
            error.to_string().ends_with("`ouro train` makes one and writes this file"),
            "{error}"
        );
    }

    #[test]
    fn what_a_file_says_replaces_a_default_and_another_kind_replaces_all_of_its_table() {
        let parse = |text: &str| text.parse::<Table>().expect("TOML");
        let mut base = parse("a = 1\nb = 2\n[net]\nkind = \"x\"\nsize = 3\n[deep.er]\nc = 4\n");
        merge(&mut base, parse("b = 5\n[net]\nsize = 6\n[deep.er]\nd = 7\n"));
        let merged = "a = 1\nb = 5\n[net]\nkind = \"x\"\nsize = 6\n[deep.er]\nc = 4\nd = 7\n";
        assert_eq!(base, parse(merged));
        merge(&mut base, parse("[net]\nkind = \"y\"\nwidth = 8\n"));
        assert_eq!(base["net"], Value::Table(parse("kind = \"y\"\nwidth = 8\n")));
        let mut base = parse("[heat.until]\ntime = 1\nafter = 2\n");
        merge(&mut base, parse("[heat.until]\ntime = 3\n"));
        assert_eq!(base, parse("[heat.until]\ntime = 3\nafter = 2\n"));
        merge(&mut base, parse("[heat.decay]\nend = 4\n"));
        assert_eq!(base, parse("[heat.decay]\nend = 4\n"));
    }
}
