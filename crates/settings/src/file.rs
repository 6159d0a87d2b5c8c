//! Reads a TOML file, or JSON from the command line, into typed settings.
//!
//! Settings are read before any port is bound. Types should carry
//! `#[serde(deny_unknown_fields)]`: a misspelt key is then an error that suggests the nearest known
//! key. Every error is one line.

use std::io;
use std::path::{Path, PathBuf};

use ouro_players::nearest;
use ouro_proto::text::brief;
use ouro_service::files::read_regular;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use toml::{Table, Value};

use crate::schema::{join, mismatch, pointer};

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
pub fn load<T: DeserializeOwned + JsonSchema>(path: &Path) -> Result<T, FileError> {
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
pub fn read<T: DeserializeOwned + JsonSchema>(path: &Path, table: Table) -> Result<T, FileError> {
    let value = Value::Table(table);
    serde_path_to_error::deserialize(value.clone()).map_err(|error| {
        let json = serde_json::to_value(&value).unwrap_or_default();
        let (key, what) = problem::<T>(&json, error.path(), error.inner().message());
        FileError::Key { path: path.to_owned(), key, what }
    })
}

/// Interprets JSON from the command line. The error is one line; it names the key if there is one.
pub fn read_json<T: DeserializeOwned + JsonSchema>(text: &str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| {
        let json = serde_json::from_str::<serde_json::Value>(text).unwrap_or_default();
        match serde_path_to_error::deserialize::<_, T>(&json) {
            Err(inner) if !json.is_null() => {
                problem::<T>(&json, inner.path(), &inner.inner().to_string()).1
            }
            // The text is not JSON, or it has a key twice.
            _ => brief(&one_line(&error.to_string())),
        }
    })
}

/// The key and the message of an error in `json`. A value that its key does not take is named with
/// the values that the key takes.
fn problem<T: JsonSchema>(
    json: &serde_json::Value,
    path: &serde_path_to_error::Path,
    message: &str,
) -> (String, String) {
    let is_value = message.starts_with("invalid type") || message.starts_with("invalid value");
    match is_value.then(|| mismatch::<T>(json)).flatten() {
        Some(error) => (error.key.clone(), error.to_string()),
        None => explain(json, &path.to_string(), message),
    }
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
pub(crate) fn is_other(base: &Table, table: &Table) -> bool {
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

/// The key and the message of an error. For an unknown key or choice, the message suggests the nearest
/// known one.
fn explain(json: &serde_json::Value, path: &str, message: &str) -> (String, String) {
    // A quoted key may contain line breaks, in the path as in the message.
    let (path, message) = (one_line(path), one_line(message));
    let path = if path == "." { "" } else { &path };
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    match quoted.split_first() {
        Some((unknown, known)) if message.starts_with("unknown field") => {
            unknown_key(path, unknown, known)
        }
        Some((unknown, known)) if message.starts_with("unknown variant") => {
            let table = json.pointer(&pointer(path));
            let key = table.and_then(|table| key_of(unknown, table, path));
            let key = key.unwrap_or_else(|| path.to_owned());
            let remedy = match nearest(unknown, known.iter().copied()) {
                Some(choice) => format!("did you mean {choice:?}?"),
                None => format!("known are {}", known.join(", ")),
            };
            let what = format!("{} is {:?}; {remedy}", brief(&key), brief(unknown));
            (key, what)
        }
        _ if path.is_empty() => (String::new(), brief(&message)),
        _ => (path.to_owned(), format!("`{}`: {}", brief(path), brief(&message))),
    }
}

/// The key and the message of an unknown key. `path` is the key or the table that contains it.
fn unknown_key(path: &str, unknown: &str, known: &[&str]) -> (String, String) {
    let parent = path.rsplit_once('.').map_or("", |(parent, _)| parent);
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

/// The first key with this text as its value, in `value` at `key`. serde names only the table around
/// a choice if the table has a `kind` or `game`.
fn key_of(text: &str, value: &serde_json::Value, key: &str) -> Option<String> {
    if value.as_str() == Some(text) {
        return Some(key.to_owned());
    }
    value.as_object()?.iter().find_map(|(name, value)| {
        let key = join(key, name);
        key_of(text, value, &key)
    })
}

fn one_line(text: &str) -> String {
    text.lines().map(str::trim).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, serde::Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Example {
        games: u32,
        inner: Option<Inner>,
        empty: Option<Empty>,
    }

    #[derive(Debug, PartialEq, serde::Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Inner {
        learning_rate: f64,
    }

    #[derive(Debug, PartialEq, serde::Deserialize, JsonSchema)]
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
            ("games = 3\n\"\\ngames\" = 4\n", ": `; games` is unknown; did you mean `games`?"),
        ];
        for (text, message) in cases {
            assert_eq!(load_text(text), Err(message.to_owned()));
        }
    }

    #[test]
    fn a_wrong_value_is_named_with_its_key_and_bad_syntax_with_its_line() {
        let error = load_text("games = \"many\"\n").unwrap_err();
        assert_eq!(error, ": games is \"many\"; it must be a whole number, 0 to 2^32 - 1");
        let error = load_text("games = 3\n\n[inner\n").unwrap_err();
        assert!(error.starts_with(" is not TOML: line 3: "), "{error}");
    }

    #[test]
    fn json_from_the_command_line_is_refused_by_key() {
        type Game = ouro_game::GameConfig;
        let game = read_json::<Game>(r#"{"game":"battlesnake","width":9}"#).expect("a game");
        assert_eq!(game.name(), "battlesnake");
        for (text, message) in [
            (r#"{"game":"battlesnake","width":-1}"#, "width is -1; it must be 3 to 25"),
            (
                r#"{"game":"battlesnake","snakes":"two"}"#,
                "snakes is \"two\"; it must be a whole number, 1 to 16",
            ),
            (r#"{"game":"battlesnake","snaks":2}"#, "`snaks` is unknown; did you mean `snakes`?"),
            (r#"{"game":"snakes"}"#, "game is \"snakes\"; did you mean \"snake\"?"),
            (
                r#"{"game":"battlesnake","map":"foo"}"#,
                "map is \"foo\"; known are standard, empty, royale",
            ),
        ] {
            assert_eq!(read_json::<Game>(text), Err(message.to_owned()));
        }
        let error = read_json::<Game>(r#"{"game":"#).expect_err("it is not JSON");
        assert!(error.contains("column"), "{error}");
    }

    #[test]
    fn a_key_is_suggested_only_if_a_few_letters_differ() {
        let known = ["learner", "name", "net"];
        for (unknown, suggested) in [
            ("lernr", Some("learner")),
            ("nmae", Some("name")),
            ("foo", None),
            ("nothing", None),
            (&*"n".repeat(1 << 20), None),
        ] {
            assert_eq!(nearest(unknown, known), suggested, "{unknown:.20}");
        }
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
