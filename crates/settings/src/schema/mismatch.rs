//! Finds the value that cannot be read as the type of its key.
//!
//! serde reads a table with a `kind` or `game` as a whole, so its errors do not name the key inside
//! the table. For a number they name a type of this program instead of a range. The schema has both.

use schemars::JsonSchema;
use serde_json::Value;

use super::{Bound, Range, fits, has_type, join, shown};
use crate::error::SettingError;

/// A type of a schema, what messages call it, and whether a value has it.
type Type = (&'static str, &'static str, fn(&Value) -> bool);

const TYPES: [Type; 6] = [
    ("integer", "a whole number", |value| value.is_i64() || value.is_u64()),
    ("number", "a number", Value::is_number),
    ("boolean", "true or false", Value::is_boolean),
    ("string", "text", Value::is_string),
    ("array", "a list", Value::is_array),
    ("object", "a table", Value::is_object),
];

/// The first value that does not have the type of its key, or is outside its range. `None` if the
/// schema of `T` accepts all values that it describes.
pub(crate) fn mismatch<T: JsonSchema>(value: &Value) -> Option<SettingError> {
    let schema = schemars::schema_for!(T).to_value();
    Finder { root: &schema }.find(&schema, value, "")
}

/// Traverses a value together with a schema.
struct Finder<'a> {
    root: &'a Value,
}

impl Finder<'_> {
    fn find(&self, schema: &Value, value: &Value, key: &str) -> Option<SettingError> {
        // TOML has no null. Its infinities and NaN become null in JSON, and some numbers may be these.
        if value.is_null() {
            return None;
        }
        of_value(schema, value, key)
            .or_else(|| self.of_properties(schema, value, key))
            .or_else(|| self.of_variants(schema, value, key))
            .or_else(|| {
                let path = schema.get("$ref")?.as_str()?.strip_prefix('#')?;
                self.find(self.root.pointer(path)?, value, key)
            })
    }

    fn of_properties(&self, schema: &Value, value: &Value, key: &str) -> Option<SettingError> {
        let (properties, table) = (schema.get("properties")?.as_object()?, value.as_object()?);
        properties.iter().find_map(|(name, schema)| {
            let key = join(key, name);
            self.find(schema, table.get(name)?, &key)
        })
    }

    /// The error in the variants of a type, if none of them accepts the value. The variant that
    /// is meant is the one whose error is deepest inside.
    fn of_variants(&self, schema: &Value, value: &Value, key: &str) -> Option<SettingError> {
        let variants = ["anyOf", "oneOf"].into_iter().find_map(|name| schema.get(name)?.as_array());
        let meant = variants?.iter().filter(|one| fits(one, value) && !is_null(one));
        let errors: Option<Vec<SettingError>> =
            meant.map(|variant| self.find(variant, value, key)).collect();
        errors?.into_iter().max_by_key(|error| error.key.len())
    }
}

/// Whether the schema is that of a key that is left out.
fn is_null(schema: &Value) -> bool {
    schema.get("type").is_some_and(|name| name == "null")
}

/// The error of the value itself, without those inside it.
fn of_value(schema: &Value, value: &Value, key: &str) -> Option<SettingError> {
    let types: Vec<_> = TYPES.iter().filter(|(name, ..)| has_type(schema, name)).collect();
    if types.is_empty() {
        return None;
    }
    let range = range(schema);
    if !types.iter().any(|(_, _, is_of_type)| is_of_type(value)) {
        let names: Vec<&str> = types.iter().map(|(_, name, _)| *name).collect();
        let mut remedy = format!("it must be {}", names.join(" or "));
        if let Some(range) = range.filter(|range| !range.is_unbounded()) {
            remedy += &format!(", {}", range.values());
        }
        return Some(SettingError::new(key, text(value), remedy));
    }
    let (range, number) = (range?, value.as_f64()?);
    (!range.contains(number)).then(|| SettingError::new(key, text(value), range))
}

/// The range of a number: the declared one, within that of its type.
fn range(schema: &Value) -> Option<Range> {
    let declared = Range::of(schema)?;
    // The schemas of other types have their bounds, or their values never exceed those of TOML.
    let is_u32 = schema.get("format").is_some_and(|name| name == "uint32");
    let most = is_u32.then(|| Bound { value: u32::MAX.into(), is_included: true });
    Some(Range { high: declared.high.or(most), ..declared })
}

fn text(value: &Value) -> String {
    match value {
        Value::Number(number) => {
            number.as_f64().map_or_else(|| number.to_string(), |float| shown(number, float))
        }
        value => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preset::Preset;
    use crate::settings::Settings;

    fn found(table: &toml::Table) -> Option<String> {
        let value = serde_json::to_value(table).expect("plain data");
        mismatch::<Settings>(&value).map(|error| error.to_string())
    }

    #[test]
    fn a_value_of_another_type_is_named_with_its_key_and_what_the_key_takes() {
        for (text, message) in [
            (
                "[game]\ngame = \"battlesnake\"\nwidth = -1\n",
                "game.width is -1; it must be 3 to 25",
            ),
            (
                "[game]\ngame = \"battlesnake\"\nsnakes = \"two\"\n",
                "game.snakes is \"two\"; it must be a whole number, 1 to 16",
            ),
            (
                "[actor]\nopening_plies = 5000000000\n",
                "actor.opening_plies is 5000000000; it must be 0 to 2^32 - 1",
            ),
            ("seed = -1\n", "seed is -1; it must be at least 0"),
            (
                "[train.schedule]\nkind = \"cosine\"\nsteps = \"a\"\nfloor = 0.1\n",
                "train.schedule.steps is \"a\"; it must be a whole number, at least 1",
            ),
            ("[actor]\nfresh_trees = 1\n", "actor.fresh_trees is 1; it must be true or false"),
            (
                "[actor.search]\nsimulations = 1.5\n",
                "actor.search.simulations is 1.5; it must be a whole number, 1 to 2^28",
            ),
            (
                "[actor.search.first_play.constant]\nvalue = \"low\"\n",
                "actor.search.first_play.constant.value is \"low\"; it must be a number",
            ),
            ("[actor]\nsearch = true\n", "actor.search is true; it must be a table"),
            ("[deploy]\ncache = 3\n", "deploy.cache is 3; it must be text"),
        ] {
            let table = text.parse().expect("TOML");
            assert_eq!(found(&table).as_deref(), Some(message));
        }
    }

    #[test]
    fn values_that_can_be_read_are_no_mismatch() {
        for preset in Preset::ALL {
            assert_eq!(found(&preset.table()), None, "{}", preset.name());
        }
        let cosine = "[train.schedule]\nkind = \"cosine\"\nsteps = 3\nfloor = 1\n";
        assert_eq!(found(&cosine.parse().expect("TOML")), None, "a whole number is a number");
    }
}
