//! `ouro config explain`: explains a key of the settings.

use std::fmt::Write;
use std::process::ExitCode;

use ouro_players::nearest as nearest_name;
use ouro_settings::Preset;
use ouro_settings::keys::{Keys, Meaning, Tag};
use serde::Serialize;
use serde_json::Value;

use crate::failure::Failure;
use crate::output::Output;

/// Maximum columns of the text.
const WIDTH: usize = 88;

/// The explanation of a key in one kind of table.
#[derive(Debug, Serialize)]
struct Explanation {
    key: String,
    /// The kind of table, such as `kind = "conv"`; `None` if there is only one.
    within: Option<String>,
    about: String,
    #[serde(rename = "type")]
    kind: String,
    choices: Vec<Choice>,
    /// The accepted numbers, as declared by the type of the key.
    range: Option<String>,
    default: Option<Value>,
    /// Whether the text `"off"` leaves the key out.
    can_be_off: bool,
    presets: Vec<InPreset>,
    /// Keys of the table, if the key is a table.
    keys: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Choice {
    value: String,
    about: String,
}

#[derive(Debug, Serialize)]
struct InPreset {
    preset: &'static str,
    value: Option<Value>,
}

/// Explains a key, or lists all keys.
pub(super) fn run(key: Option<&str>, output: &mut Output) -> Result<ExitCode, Failure> {
    let keys = Keys::new();
    let all = keys.all();
    let Some(key) = key else {
        let text: String = all.iter().map(|key| format!("{key}\n")).collect();
        output.result(&all, text)?;
        return Ok(ExitCode::SUCCESS);
    };
    let meanings = keys.find(key);
    if meanings.is_empty() {
        let remedy = match nearest(key, all.iter().map(String::as_str)) {
            Some(meant) => format!("did you mean {meant}?"),
            None => "`ouro config explain` lists all".to_owned(),
        };
        return Err(Failure::usage(format_args!("{key} is no key of a run; {remedy}")));
    }
    let below = format!("{key}.");
    let inner: Vec<String> =
        all.into_iter().filter(|key| key.strip_prefix(&below).is_some_and(is_name)).collect();
    let mut explanations = Vec::with_capacity(meanings.len());
    for meaning in meanings {
        explanations.push(explanation(key, &inner, meaning));
    }
    let text: Vec<String> = explanations.iter().map(describe).collect();
    output.result(&explanations, text.join("\n"))?;
    Ok(ExitCode::SUCCESS)
}

fn is_name(key: &str) -> bool {
    !key.contains('.')
}

/// The most similar key: one with the same last name, otherwise the nearest whole path.
fn nearest<'a>(key: &str, all: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    let ends_alike = |known: &&str| known.rsplit('.').next() == Some(key);
    all.clone().find(ends_alike).or_else(|| nearest_name(key, all))
}

fn explanation(key: &str, inner: &[String], meaning: Meaning) -> Explanation {
    let presets = Preset::ALL.map(|preset| {
        let value = meaning.in_preset(key, preset);
        InPreset { preset: preset.name(), value }
    });
    let choices = meaning.choices.into_iter();
    Explanation {
        key: key.to_owned(),
        within: meaning.within.map(|Tag { name, value }| format!("{name} = {value:?}")),
        about: meaning.about,
        kind: meaning.kind,
        choices: choices.map(|(value, about)| Choice { value, about }).collect(),
        range: meaning.range.map(|range| range.to_string()),
        default: meaning.default,
        can_be_off: meaning.can_be_off,
        presets: presets.into(),
        keys: inner.to_vec(),
    }
}

fn describe(explanation: &Explanation) -> String {
    let mut text = explanation.key.clone();
    if let Some(within) = &explanation.within {
        text += &format!(" (in a table of {within})");
    }
    text.push('\n');
    for paragraph in explanation.about.split("\n\n") {
        wrap(&mut text, "  ", paragraph);
    }
    text.push('\n');
    let mut row = |name: &str, what: &str| wrap(&mut text, &format!("  {name:<9}"), what);
    row("type", &explanation.kind);
    for Choice { value, about } in &explanation.choices {
        row("choice", &format!("{value}: {about}"));
    }
    if let Some(range) = &explanation.range {
        row("range", range);
    }
    if explanation.can_be_off {
        row("off", "\"off\" leaves it out");
    }
    if explanation.keys.is_empty() {
        if let Some(default) = &explanation.default {
            row("default", &format!("{default}, where no preset says otherwise"));
        }
        row("presets", &in_presets(&explanation.presets));
    } else {
        row("keys", &explanation.keys.join(", "));
    }
    text
}

/// Groups presets by their value, in the order of the presets.
fn in_presets(presets: &[InPreset]) -> String {
    let mut groups: Vec<(&Option<Value>, Vec<&str>)> = Vec::new();
    for InPreset { preset, value } in presets {
        match groups.iter_mut().find(|(known, _)| *known == value) {
            Some((_, names)) => names.push(preset),
            None => groups.push((value, vec![preset])),
        }
    }
    let groups: Vec<String> = groups
        .into_iter()
        .map(|(value, names)| {
            let value = value.as_ref().map_or_else(|| "not set".to_owned(), Value::to_string);
            format!("{value} in {}", names.join(", "))
        })
        .collect();
    groups.join("; ")
}

/// Appends a paragraph, wrapped at [`WIDTH`]. The first line starts with `head`; the others are
/// indented by its width.
fn wrap(text: &mut String, head: &str, paragraph: &str) {
    let mut line = head.to_owned();
    let indent = head.chars().count();
    let mut is_empty = true;
    for word in paragraph.split_whitespace() {
        if !is_empty && line.chars().count() + 1 + word.chars().count() > WIDTH {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{line}");
            line = " ".repeat(indent);
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(word);
        is_empty = false;
    }
    let _ = writeln!(text, "{}", line.trim_end());
}
