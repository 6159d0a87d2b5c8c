//! What a number may be, as those who check it say.
//!
//! Ranges are written in the checks alone. So a key is given values that hardly anything
//! accepts, and what is answered is the range in the words of the check.

use std::path::Path;

use clap::ValueEnum;
use ouro_service::config;
use toml::{Table, Value};

use super::Settings;
use super::keys::{Meaning, Tag};
use crate::commands::train::preset::Preset;
use crate::failure::Failure;

/// The remedies that are offered for values which are too large and too small.
pub(super) fn of(key: &str, meaning: &Meaning) -> Result<Vec<String>, Failure> {
    let probes = match meaning.real {
        None => return Ok(Vec::new()),
        Some(true) => [Value::Float(1e30), Value::Float(-1e30), Value::Float(0.0)],
        Some(false) => [Value::Integer(i64::MAX), Value::Integer(u32::MAX.into()), 0.into()],
    };
    let mut remedies = Vec::new();
    for &preset in Preset::value_variants() {
        for probe in &probes {
            let mut table = preset.table()?;
            if !set(&mut table, key, meaning.within.as_ref(), probe.clone()) {
                continue;
            }
            let Ok(settings) = config::read::<Settings>(Path::new(""), table) else { continue };
            let Some(problem) = settings.problem().filter(|problem| problem.key == key) else {
                continue;
            };
            let remedy = problem.remedy().to_owned();
            if !remedies.contains(&remedy) {
                remedies.push(remedy);
            }
        }
        if !remedies.is_empty() {
            break;
        }
    }
    Ok(remedies)
}

/// Writes a value, in a table of the kind that has it; `false` if something else is there.
fn set(table: &mut Table, key: &str, within: Option<&Tag>, value: Value) -> bool {
    let Some((outer, last)) = key.rsplit_once('.') else {
        table.insert(key.to_owned(), value);
        return true;
    };
    let mut inner = table;
    for name in outer.split('.') {
        let entry = inner.entry(name.to_owned()).or_insert_with(|| Value::Table(Table::new()));
        let Some(entry) = entry.as_table_mut() else { return false };
        inner = entry;
    }
    if let Some(Tag { name, value }) = within
        && inner.get(name).and_then(Value::as_str) != Some(value)
    {
        *inner = Table::from_iter([(name.clone(), Value::String(value.clone()))]);
    }
    inner.insert(last.to_owned(), value);
    true
}
