//! The reference of all keys, `docs/settings.md`.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::Value;

use crate::keys::{Keys, Meaning};
use crate::preset::Preset;

const HEAD: &str = "\
# Settings

Every key of `run.toml`, the one file that `ouro train`, `ouro-arena`, `ouro-learner` and
`ouro-actor` read. This page is generated from the types by `cargo xtask settings`; CI fails if it
is stale. `ouro config explain KEY` says the same in the terminal, with the value in each preset.

- A file may name a preset, `preset = \"duel\"`, which fills its gaps. A `run.toml` without a preset is
  complete: optional keys that it leaves out are not set. A file that names another game than its preset
  takes no demonstrations from it.
- Flags `--KEY` and variables `OURO_KEY` override the keys of [`deploy`](#deploy), with the same names
  in all programs. See [running.md](running.md).
- An unknown key anywhere in the file, or a value outside its range, stops every program before it
  opens a port or a file.
- The column of values shows the default preset, `duel-7x7`, or the default of the type where that
  preset does not set the key.
";

/// The page, in Markdown.
pub fn settings_page() -> String {
    let keys = Keys::new();
    let all = keys.all();
    let mut tables: BTreeMap<&str, String> = BTreeMap::new();
    let mut abouts: BTreeMap<&str, String> = BTreeMap::new();
    for key in &all {
        let prefix = format!("{key}.");
        let is_table = all.iter().any(|other| other.starts_with(&prefix));
        for meaning in keys.find(key) {
            if is_table {
                abouts.entry(key).or_insert(meaning.about);
            } else {
                let (table, name) = key.rsplit_once('.').unwrap_or(("", key));
                *tables.entry(table).or_default() += &row(key, name, &meaning);
            }
        }
    }
    let mut text = HEAD.to_owned();
    for (table, rows) in tables {
        let title = if table.is_empty() { "Top level" } else { table };
        // Writing to a string cannot fail.
        let _ = write!(text, "\n## {title}\n\n");
        if let Some(about) = abouts.get(table) {
            let _ = write!(text, "{}\n\n", one_line(about));
        }
        text += "| key | values | default | meaning |\n|---|---|---|---|\n";
        text += &rows;
    }
    text
}

fn row(key: &str, name: &str, meaning: &Meaning) -> String {
    let within = meaning.within.as_ref();
    let within = within.map(|tag| format!(" ({} = {:?})", tag.name, tag.value));
    let choices: Vec<String> =
        meaning.choices.iter().map(|(value, _)| format!("`{value}`")).collect();
    let values = match (meaning.range, choices.is_empty()) {
        (Some(range), _) => {
            format!("{}, {}", meaning.kind, range.to_string().replace("it must be ", ""))
        }
        (None, false) => choices.join(", "),
        (None, true) => meaning.kind.clone(),
    };
    let value = meaning.in_preset(key, Preset::default());
    let value = value.as_ref().or(meaning.default.as_ref());
    let value = value.map_or_else(|| "not set".to_owned(), |value: &Value| format!("`{value}`"));
    format!(
        "| `{name}`{} | {} | {} | {} |\n",
        cell(&within.unwrap_or_default()),
        cell(&values),
        cell(&value),
        cell(&meaning.about)
    )
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A text for a table cell: on one line, with `|` escaped.
fn cell(text: &str) -> String {
    one_line(text).replace('|', "\\|")
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn the_page_has_a_row_for_every_key_that_is_not_a_table() {
        let page = settings_page();
        let keys = Keys::new().all();
        for key in &keys {
            let prefix = format!("{key}.");
            let name = key.rsplit('.').next().expect("a name");
            if !keys.iter().any(|other| other.starts_with(&prefix)) {
                assert!(page.contains(&format!("| `{name}`")), "{key} is missing");
            }
        }
        assert!(page.lines().all(|line| !line.starts_with('|') || line.ends_with('|')));
    }

    #[test]
    fn the_page_in_the_documentation_is_up_to_date() {
        let page = std::fs::read_to_string("../../docs/settings.md").expect("the page is there");
        assert!(page == settings_page(), "docs/settings.md is stale; run cargo xtask settings");
    }
}
