//! The numeric ranges that the types of the settings declare.
//!
//! A bound is declared once, as an attribute of its field: `#[schemars(range(min = 1))]`, or
//! `#[schemars(extend("exclusiveMinimum" = 0))]` for an exclusive bound. The JSON schema of the
//! type contains the bound. [`check_ranges`] refuses values outside the range, and
//! `ouro config explain` shows the same [`Range`]. For a value that cannot be read at all, `mismatch`
//! finds the key and what it takes.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::error::SettingError;

mod mismatch;

pub(crate) use mismatch::mismatch;

/// Smallest exponent at which a power of two is written as `2^n`.
const LEAST_POWER: u32 = 17;

/// A key as a JSON pointer.
pub(crate) fn pointer(key: &str) -> String {
    key.split('.').filter(|name| !name.is_empty()).map(|name| format!("/{name}")).collect()
}

/// The key `name` of a table. `table` is empty for a whole file.
pub(crate) fn join(table: &str, name: &str) -> String {
    if table.is_empty() { name.to_owned() } else { format!("{table}.{name}") }
}

/// The range of a number.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Range {
    low: Option<Bound>,
    high: Option<Bound>,
}

/// One end of a range.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Bound {
    value: f64,
    is_included: bool,
}

impl Range {
    /// The range that the schema of a number declares; `None` for other schemas.
    pub fn of(schema: &Value) -> Option<Self> {
        if !has_type(schema, "number") && !has_type(schema, "integer") {
            return None;
        }
        let bound = |included: &str, excluded: &str| {
            let value = |name| schema.get(name).and_then(Value::as_f64);
            let bound = |value, is_included| Bound { value, is_included };
            let excluded = value(excluded).map(|value| bound(value, false));
            excluded.or_else(|| value(included).map(|value| bound(value, true)))
        };
        Some(Self {
            low: bound("minimum", "exclusiveMinimum"),
            high: bound("maximum", "exclusiveMaximum"),
        })
    }

    /// Whether the range contains every finite number.
    pub fn is_unbounded(self) -> bool {
        self == Self::default()
    }

    /// Whether the range contains `value`. Infinities and NaN are never within.
    pub fn contains(self, value: f64) -> bool {
        let above = self.low.is_none_or(|Bound { value: low, is_included }| {
            value > low || (is_included && value == low)
        });
        let below = self.high.is_none_or(|Bound { value: high, is_included }| {
            value < high || (is_included && value == high)
        });
        value.is_finite() && above && below
    }

    /// The numbers in words, such as `1 to 4`.
    pub fn values(self) -> String {
        let low = self.low.map(|bound| (number(bound.value), bound.is_included));
        let high = self.high.map(|bound| (number(bound.value), bound.is_included));
        match (low, high) {
            (None, None) => "finite".to_owned(),
            (Some((low, true)), Some((high, true))) => format!("{low} to {high}"),
            (low, high) => {
                let low = low.map(|(low, is_included)| {
                    format!("{} {low}", if is_included { "at least" } else { "above" })
                });
                let high = high.map(|(high, is_included)| {
                    format!("{} {high}", if is_included { "at most" } else { "below" })
                });
                low.into_iter().chain(high).collect::<Vec<_>>().join(" and ")
            }
        }
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "it must be {}", self.values())
    }
}

/// A bound as text. Large powers of two are written as `2^n`, or `2^n - 1` for one less.
fn number(value: f64) -> String {
    let power = |value: f64| {
        let exponent = value.log2();
        (exponent.fract() == 0.0 && exponent >= f64::from(LEAST_POWER)).then_some(exponent)
    };
    match (power(value), power(value + 1.0)) {
        (Some(exponent), _) => format!("2^{exponent}"),
        (None, Some(exponent)) => format!("2^{exponent} - 1"),
        (None, None) => value.to_string(),
    }
}

/// Returns an error for the first number in `value` that is outside the range of its field.
/// `table` is the key of `value`; it is empty for a whole file.
pub fn check_ranges<T: Serialize + JsonSchema>(table: &str, value: &T) -> Result<(), SettingError> {
    let schema = schemars::schema_for!(T).to_value();
    // Settings types are plain data, so this fails only for a type that is not a settings type.
    let value = serde_json::to_value(value)
        .map_err(|error| SettingError::new(table, "not plain data", error))?;
    Walk { root: &schema }.check(&schema, &value, table)
}

/// Traverses a value together with the schema of its type.
struct Walk<'a> {
    root: &'a Value,
}

impl Walk<'_> {
    fn check(&self, schema: &Value, value: &Value, key: &str) -> Result<(), SettingError> {
        if let Some(range) = Range::of(schema) {
            check_number(range, schema, value, key)?;
        }
        if let (Some(properties), Some(table)) =
            (schema.get("properties").and_then(Value::as_object), value.as_object())
        {
            for (name, schema) in properties {
                if let Some(value) = table.get(name) {
                    let key = join(key, name);
                    self.check(schema, value, &key)?;
                }
            }
        }
        for name in ["anyOf", "oneOf", "allOf"] {
            let variants = schema.get(name).and_then(Value::as_array);
            for variant in variants.into_iter().flatten().filter(|one| fits(one, value)) {
                self.check(variant, value, key)?;
            }
        }
        let referred = schema.get("$ref").and_then(Value::as_str);
        let referred = referred.and_then(|path| self.root.pointer(path.strip_prefix('#')?));
        referred.map_or(Ok(()), |referred| self.check(referred, value, key))
    }
}

fn check_number(
    range: Range,
    schema: &Value,
    value: &Value,
    key: &str,
) -> Result<(), SettingError> {
    match value {
        // JSON has neither infinities nor NaN; serialisation writes them as null.
        Value::Null if !has_type(schema, "null") => {
            Err(SettingError::new(key, "infinite or not a number", range))
        }
        Value::Number(number) => match number.as_f64() {
            Some(value) if !range.contains(value) => {
                Err(SettingError::new(key, shown(number, value), range))
            }
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

/// A number as text. A value that fits `f32` exactly has the shortest text of that `f32`.
fn shown(number: &serde_json::Number, value: f64) -> String {
    let short = value as f32;
    match number.is_f64() {
        true if f64::from(short) == value => short.to_string(),
        true => value.to_string(),
        false => number.to_string(),
    }
}

/// A value with its `f32` numbers replaced by the nearest short decimals: 0.97 instead of
/// 0.9700000286102295.
pub fn shortened(value: Value) -> Value {
    match value {
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(value) => shown(&number, value).parse::<f64>().map_or(Value::Null, Value::from),
            None => Value::Number(number),
        },
        Value::Array(values) => values.into_iter().map(shortened).collect(),
        Value::Object(table) => {
            table.into_iter().map(|(name, value)| (name, shortened(value))).collect()
        }
        value => value,
    }
}

/// Whether a value can be of this variant: its constants match, and it has all required keys.
fn fits(variant: &Value, value: &Value) -> bool {
    let properties = variant.get("properties").and_then(Value::as_object);
    let agrees = properties.into_iter().flatten().all(|(name, schema)| {
        schema.get("const").is_none_or(|constant| value.get(name) == Some(constant))
    });
    let required = variant.get("required").and_then(Value::as_array);
    agrees
        && required
            .into_iter()
            .flatten()
            .all(|name| name.as_str().is_some_and(|name| value.get(name).is_some()))
        && (!value.is_null() || has_type(variant, "null"))
}

fn has_type(schema: &Value, name: &str) -> bool {
    match schema.get("type") {
        Some(Value::Array(types)) => types.iter().any(|one| one == name),
        Some(one) => one == name,
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(Serialize, JsonSchema)]
    struct Example {
        #[schemars(range(min = 1, max = 1_024))]
        count: u32,
        #[schemars(extend("exclusiveMinimum" = 0), range(max = 1))]
        share: f32,
        #[schemars(range(min = 2))]
        most: Option<u64>,
        kind: Kind,
    }

    #[derive(Serialize, JsonSchema)]
    #[serde(tag = "kind", rename_all = "snake_case")]
    enum Kind {
        Plain,
        Scaled {
            #[schemars(range(min = 0))]
            factor: f64,
        },
    }

    fn example() -> Example {
        Example { count: 1, share: 0.5, most: None, kind: Kind::Plain }
    }

    #[test]
    fn a_number_outside_its_range_is_named_with_its_value_and_its_range() {
        assert_eq!(check_ranges("a", &example()), Ok(()));
        let scaled = |factor| Example { kind: Kind::Scaled { factor }, ..example() };
        assert_eq!(check_ranges("a", &scaled(0.0)), Ok(()));
        let cases = [
            (Example { count: 0, ..example() }, "a.count is 0; it must be 1 to 1024"),
            (Example { count: 1_025, ..example() }, "a.count is 1025; it must be 1 to 1024"),
            (Example { share: 0.0, ..example() }, "a.share is 0; it must be above 0 and at most 1"),
            (
                Example { share: 1.1, ..example() },
                "a.share is 1.1; it must be above 0 and at most 1",
            ),
            (
                Example { share: f32::NAN, ..example() },
                "a.share is infinite or not a number; it must be above 0 and at most 1",
            ),
            (Example { most: Some(1), ..example() }, "a.most is 1; it must be at least 2"),
            (scaled(-0.5), "a.kind.factor is -0.5; it must be at least 0"),
        ];
        for (example, message) in cases {
            let error = check_ranges("a", &example).expect_err(message);
            assert_eq!(error.to_string(), message);
        }
    }

    #[test]
    fn numbers_of_32_bits_are_written_short() {
        let long = json!({ "a": [f64::from(0.97_f32), 0.1, 3, "x"], "b": null });
        assert_eq!(shortened(long), json!({ "a": [0.97, 0.1, 3, "x"], "b": null }));
    }

    #[test]
    fn a_range_reads_as_people_write_it() {
        for (schema, text) in [
            (json!({ "type": "number" }), "it must be finite"),
            (
                json!({ "type": "integer", "minimum": 1, "maximum": 1 << 28 }),
                "it must be 1 to 2^28",
            ),
            (
                json!({ "type": "integer", "minimum": 16, "maximum": 0x7fff_ffff }),
                "it must be 16 to 2^31 - 1",
            ),
            (
                json!({ "type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 0.5 }),
                "it must be above 0 and below 0.5",
            ),
            (json!({ "type": ["number", "null"], "maximum": 3 }), "it must be at most 3"),
        ] {
            assert_eq!(Range::of(&schema).expect("a number").to_string(), text);
        }
        assert_eq!(Range::of(&json!({ "type": "string" })), None);
    }
}
