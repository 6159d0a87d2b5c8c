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

- A file may name a preset, `preset = \"duel\"`, which fills its gaps. A file that names another game
  than its preset takes no demonstrations from it.
- A `run.toml` without a preset is complete: it needs `seed`, `generation_steps`, `discount` and the tables
  `game`, `net`, `actor`, `train`, `replay`, `intake`, `arena` and `deploy`. Keys that its tables leave out
  have the default that `ouro config explain KEY` shows, or are not set.
- The text `\"off\"` leaves an optional key out that the preset sets, as in `noise = \"off\"`. Such keys have *or `off`* among
  their values, and optional tables say so.
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
            // A table may be one of several choices, some of which are texts.
            if !is_table || !meaning.choices.is_empty() {
                let (table, name) = key.rsplit_once('.').unwrap_or(("", key));
                *tables.entry(table).or_default() += &row(key, name, &meaning);
            }
            if is_table && meaning.kind.contains("table") {
                let off = if meaning.can_be_off { " It can be `\"off\"`." } else { "" };
                abouts.entry(key).or_insert(meaning.about + off);
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
    let within = within.map(|tag| cell(&format!("({} = {:?})", tag.name, tag.value)));
    let choices: Vec<String> =
        meaning.choices.iter().map(|(value, _)| format!("`{value}`")).collect();
    let values = match (meaning.range, choices.is_empty()) {
        (Some(range), _) => format!("{}, {}", meaning.kind, range.values()),
        (None, false) => choices.join(", "),
        (None, true) => meaning.kind.clone(),
    };
    let values = if meaning.can_be_off { values + ", or `off`" } else { values };
    let about = meaning
        .choices
        .iter()
        .filter(|(_, about)| !about.is_empty())
        .fold(meaning.about.clone(), |text, (value, about)| text + &format!(" `{value}`: {about}"));
    let value = meaning.in_preset(key, Preset::default());
    let value = value.as_ref().or(meaning.default.as_ref());
    let value = value.map_or_else(|| "not set".to_owned(), |value| format!("`{}`", written(value)));
    format!(
        "| `{name}`{} | {} | {} | {} |\n",
        within.map_or_else(String::new, |within| format!(" {within}")),
        cell(&values),
        cell(&value),
        cell(&about)
    )
}

/// A value as a settings file has it.
fn written(value: &Value) -> String {
    let Value::Object(table) = value else { return value.to_string() };
    let keys: Vec<String> =
        table.iter().map(|(name, value)| format!("{name} = {}", written(value))).collect();
    format!("{{ {} }}", keys.join(", "))
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
    use std::collections::BTreeSet;

    use super::*;

    /// The tables and keys of a page: its headings, and the names in the rows below them.
    fn keys_of(page: &str) -> BTreeSet<String> {
        let (mut keys, mut table) = (BTreeSet::new(), "");
        for line in page.lines() {
            if let Some(title) = line.strip_prefix("## ") {
                table = if title == "Top level" { "" } else { title };
                keys.insert(table.to_owned());
            }
            let row = line.strip_prefix("| `").and_then(|row| row.split_once('`'));
            keys.extend(row.map(|(name, _)| match table {
                "" => name.to_owned(),
                table => format!("{table}.{name}"),
            }));
        }
        keys
    }

    #[test]
    fn the_page_has_every_key_that_config_explain_lists_and_no_other() {
        let page = settings_page();
        let mut named = keys_of(&page);
        assert!(named.remove(""), "the top level has a heading");
        let all = Keys::new().all();
        assert_eq!(all.difference(&named).collect::<Vec<_>>(), Vec::<&String>::new());
        assert_eq!(named.difference(&all).collect::<Vec<_>>(), Vec::<&String>::new());
        assert!(page.lines().all(|line| !line.starts_with('|') || line.ends_with('|')));
    }

    #[test]
    fn a_choice_between_texts_and_tables_has_a_row_with_its_values_and_its_default() {
        let page = settings_page();
        for row in [
            "| `first_play` | `parent`, `parent_reduced = {…}`, `constant = {…}` | `\"parent\"` | ",
            "| `simultaneous` | `decoupled`, `regret_matching = {…}` | `\"decoupled\"` | ",
            "| `value_scale` | `raw`, `bounds = {…}`, `running` | `\"raw\"` | ",
            "| `temperature` | `constant = {…}`, `until = {…}`, `decay = {…}` | \
             `{ until = { after = 0.3, before = 0.8, time = 10 } }` | ",
            "| `start` (game = \"maze_dash\") | `given`, `free` | `\"given\"` | ",
        ] {
            assert!(page.contains(&format!("\n{row}")), "{row}");
        }
        let start =
            "\n## game.start\n\nStart from this position instead of the official placement.\n";
        assert!(page.contains(start), "the section of a table has its meaning");
    }

    #[test]
    fn the_page_in_the_documentation_is_up_to_date() {
        let page = std::fs::read_to_string("../../docs/settings.md").expect("the page is there");
        assert!(page == settings_page(), "docs/settings.md is stale; run cargo xtask settings");
    }
}
