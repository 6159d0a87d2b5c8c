//! Optional keys that a settings file switches off, as in `noise = "off"`.
//!
//! A file cannot leave out a key that its preset sets. The text `"off"` removes it. The caller knows which
//! keys are optional.

use toml::{Table, Value};

use crate::file::is_other;
use crate::schema::join;

/// The value of a key that is switched off.
const OFF: &str = "off";

/// Whether any value is `"off"`.
pub(crate) fn has_off(table: &Table) -> bool {
    table.values().any(|value| match value {
        Value::Table(inner) => has_off(inner),
        value => value.as_str() == Some(OFF),
    })
}

/// Removes the keys that are `"off"` in `written` and `can_be_off` from both tables. All other keys keep
/// this text as their value, so that an error names a required one.
pub(crate) fn switch_off(base: &mut Table, written: &mut Table, can_be_off: &dyn Fn(&str) -> bool) {
    remove(base, written, "", can_be_off);
}

/// Removes the keys of the table called `outer`.
fn remove(base: &mut Table, written: &mut Table, outer: &str, can_be_off: &dyn Fn(&str) -> bool) {
    written.retain(|name, value| {
        let key = join(outer, name);
        match value {
            Value::Table(inner) => {
                let mut none = Table::new();
                let counterpart = base.get_mut(name).and_then(Value::as_table_mut);
                remove(counterpart.unwrap_or(&mut none), inner, &key, can_be_off);
                true
            }
            value if value.as_str() == Some(OFF) && can_be_off(&key) => {
                base.remove(name);
                false
            }
            _ => true,
        }
    });
}

/// The keys of `base` that `table` does not have, as paths of names joined by dots. Tables of different
/// kinds are not compared.
pub(crate) fn missing(base: &Table, table: &Table) -> Vec<String> {
    let mut missing = Vec::new();
    gather_missing(base, table, "", &mut missing);
    missing
}

fn gather_missing(base: &Table, table: &Table, outer: &str, missing: &mut Vec<String>) {
    for (name, value) in base {
        let key = join(outer, name);
        match (value, table.get(name)) {
            (_, None) => missing.push(key),
            (Value::Table(base), Some(Value::Table(table))) if !is_other(base, table) => {
                gather_missing(base, table, &key, missing);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::keys::Keys;
    use crate::preset::Preset;
    use crate::settings::Source;

    #[test]
    fn optional_keys_without_a_text_are_switched_off() {
        let keys = Keys::new();
        for key in ["actor.search", "actor.search.noise", "actor.search.forced_playouts"] {
            assert!(keys.can_be_off(key), "{key}");
        }
        // The start is an optional table of one game and a text of another.
        let others =
            ["seed", "net", "deploy.metrics", "train.optimizer.kind", "game.start", "actor.x"];
        for key in others {
            assert!(!keys.can_be_off(key), "{key}");
        }
        let parse = |text: &str| text.parse::<Table>().expect("TOML");
        let rest = "simulations = 16\n[deploy]\nmetrics = \"off\"\n";
        let head = "seed = \"off\"\n[actor.search]\n";
        let mut written = parse(&format!("{head}noise = \"off\"\n{rest}"));
        let mut base = Preset::TicTacToe.table();
        assert!(has_off(&written) && base["actor"]["search"].get("noise").is_some());
        switch_off(&mut base, &mut written, &|key| keys.can_be_off(key));
        assert!(base["actor"]["search"].get("noise").is_none());
        assert_eq!(written, parse(&format!("{head}{rest}")));
    }

    #[test]
    fn a_gumbel_root_needs_a_preset_without_noise_and_forced_playouts() {
        let parse = |text: &str| {
            let path = Path::new("gumbel.toml");
            let text = format!("preset = \"tictactoe\"\n[actor.search]\ngumbel = {{}}\n{text}");
            Source::parse(path, &text).expect("TOML").into_settings(path)
        };
        let settings = parse("noise = \"off\"\nforced_playouts = \"off\"\n").expect("settings");
        settings.validate().expect("nothing excludes the Gumbel root");
        let off = ["actor.search.forced_playouts", "actor.search.noise"];
        assert_eq!(settings.keys_off(Preset::TicTacToe), off);
        assert_eq!(Preset::TicTacToe.settings().keys_off(Preset::TicTacToe), [""; 0]);
        let settings = parse("").expect("settings");
        let error = settings.validate().expect_err("the preset has noise").to_string();
        assert!(error.contains("set one of them to \"off\""), "{error}");
    }
}
