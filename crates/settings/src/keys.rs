//! The keys of a run's settings, with meanings taken from the types of the settings.
//!
//! The types derive a JSON schema. Its descriptions are the doc comments of the fields, and its
//! bounds are their declared ranges. [`Keys::find`] follows a key through the schema. A key that
//! exists in several kinds of a table has one [`Meaning`] per kind.

use std::collections::BTreeSet;

use schemars::schema_for;
use serde_json::{Map, Value};

use crate::preset::Preset;
use crate::schema::{Range, join, pointer, shortened};
use crate::settings::Settings;

/// Names of the entries that select the kind of a table.
const TAGS: [&str; 2] = ["kind", "game"];

/// All keys.
pub struct Keys {
    schema: Value,
}

/// The meaning of a key in one kind of table.
#[derive(Clone, Debug, PartialEq)]
pub struct Meaning {
    /// The kind of its table, or else of the nearest table around it, as in `kind = "conv"`; `None`
    /// where there is only one.
    pub within: Option<Tag>,
    /// The doc comment of the field.
    pub about: String,
    /// The type of a value in words, such as `whole number`.
    pub kind: String,
    /// The range of a number; `None` if the value is not a number, or any finite number is valid.
    pub range: Option<Range>,
    /// The values of an enumeration, with their doc comments; empty for other types.
    pub choices: Vec<(String, String)>,
    /// The value if neither the file nor the preset sets the key.
    pub default: Option<Value>,
    /// Whether the text `"off"` leaves the key out: in all kinds of its table it is optional and takes no
    /// text of its own.
    pub can_be_off: bool,
}

impl Meaning {
    /// The value of `key` in a preset; `None` if the preset does not set the key, or has a table
    /// of another kind.
    pub fn in_preset(&self, key: &str, preset: Preset) -> Option<Value> {
        let table = serde_json::to_value(preset.table()).ok()?;
        let mut tables =
            std::iter::successors(Some(key), |key| Some(key.rsplit_once('.')?.0)).skip(1);
        let is_of_kind = self.within.as_ref().is_none_or(|Tag { name, value }| {
            let kind = tables.find_map(|outer| table.pointer(&pointer(outer))?.get(name));
            kind.is_some_and(|known| known == value)
        });
        table.pointer(&pointer(key)).filter(|_| is_of_kind).cloned().map(shortened)
    }
}

/// The entry that selects the kind of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tag {
    /// `kind` or `game`.
    pub name: String,
    /// The kind's name.
    pub value: String,
}

/// One kind of table.
struct Table<'a> {
    tag: Option<Tag>,
    properties: &'a Map<String, Value>,
    schema: &'a Value,
}

impl Default for Keys {
    fn default() -> Self {
        Self::new()
    }
}

impl Keys {
    /// The keys of [`Settings`].
    pub fn new() -> Self {
        Self { schema: schema_for!(Settings).to_value() }
    }

    /// Every key and table, as a path of names joined by dots.
    pub fn all(&self) -> BTreeSet<String> {
        let mut keys = BTreeSet::new();
        self.gather(&self.schema, "", &mut keys);
        keys
    }

    fn gather(&self, schema: &Value, table: &str, keys: &mut BTreeSet<String>) {
        for Table { properties, .. } in self.tables(schema, None) {
            for (name, inner) in properties {
                let key = join(table, name);
                self.gather(inner, &key, keys);
                keys.insert(key);
            }
        }
    }

    /// The meanings of a key; empty if there is no such key.
    pub fn find(&self, key: &str) -> Vec<Meaning> {
        let mut found = vec![(None, &self.schema, &self.schema)];
        for name in key.split('.') {
            found = found
                .into_iter()
                .flat_map(|(tag, schema, _)| self.tables(schema, tag))
                .filter_map(|table| Some((table.tag, table.properties.get(name)?, table.schema)))
                .collect();
        }
        // The tag has a different constant in each kind: one meaning with all kinds as choices.
        if let [(Some(_), schema, _), ..] = found[..]
            && schema.get("const").is_some()
        {
            let table = key.rsplit_once('.').map_or("", |(table, _)| table);
            return vec![Meaning {
                within: None,
                about: "Chooses the kind of its table, and so its other keys.".to_owned(),
                kind: "text".to_owned(),
                range: None,
                choices: self.kinds(table),
                default: None,
                can_be_off: false,
            }];
        }
        let mut meanings: Vec<Meaning> = Vec::new();
        for (within, schema, table) in found {
            let meaning = self.meaning(within, schema, table);
            let is_new =
                |known: &Meaning| (&known.about, &known.kind) != (&meaning.about, &meaning.kind);
            if meanings.iter().all(is_new) {
                meanings.push(meaning);
            }
        }
        // A file is read before the kind of its table is known.
        let can_be_off = meanings.iter().all(|meaning| meaning.can_be_off);
        meanings.iter_mut().for_each(|meaning| meaning.can_be_off = can_be_off);
        meanings
    }

    /// Whether every kind of table with this key can do without it.
    pub(crate) fn can_be_off(&self, key: &str) -> bool {
        self.find(key).first().is_some_and(|meaning| meaning.can_be_off)
    }

    /// The kinds of a table with their descriptions.
    fn kinds(&self, table: &str) -> Vec<(String, String)> {
        let schemas = table.split('.').fold(vec![&self.schema], |schemas, name| {
            let tables = schemas.into_iter().flat_map(|schema| self.tables(schema, None));
            tables.filter_map(|table| table.properties.get(name)).collect()
        });
        let variants = schemas.into_iter().flat_map(|schema| self.variants(schema));
        variants.filter_map(|variant| Some((tag(variant)?.value, description(variant)))).collect()
    }

    fn meaning(&self, within: Option<Tag>, schema: &Value, table: &Value) -> Meaning {
        let plain = self.variants(schema);
        // A field without a doc comment takes the doc comment of its type, or else of the table
        // that contains it.
        let of_type = self.referred(schema).or(plain.first().copied());
        let comments = [Some(schema), of_type, Some(table)].into_iter().flatten();
        let about = comments.map(description).find(|text| !text.is_empty()).unwrap_or_default();
        let choices: Vec<(String, String)> = plain.iter().flat_map(|one| choices(one)).collect();
        let kinds: BTreeSet<String> = plain.iter().filter_map(|schema| kind(schema)).collect();
        let kinds: Vec<String> = kinds.into_iter().collect();
        // The schema of an optional number has its bounds next to `anyOf`, not inside.
        let mut ranges = plain.iter().copied().chain([schema]).filter_map(Range::of);
        let range = ranges.rfind(|range| !range.is_unbounded());
        let takes = |kind| is_a(schema, kind) || plain.iter().any(|schema| is_a(schema, kind));
        Meaning {
            within,
            about,
            kind: kinds.join(" or "),
            range,
            choices,
            default: schema.get("default").filter(|value| !value.is_null()).cloned().map(shortened),
            can_be_off: takes("null") && !takes("string"),
        }
    }

    /// The alternatives of a schema, with references resolved. A schema without alternatives is its
    /// own only one.
    fn variants<'a>(&'a self, schema: &'a Value) -> Vec<&'a Value> {
        let mut variants = Vec::new();
        for name in ["anyOf", "oneOf", "allOf"] {
            let inner = schema.get(name).and_then(Value::as_array);
            variants.extend(inner.into_iter().flatten().flat_map(|one| self.variants(one)));
        }
        let has_own = schema.get("properties").is_some();
        if let Some(inner) = self.referred(schema).filter(|_| !has_own) {
            variants.extend(self.variants(inner));
        }
        if variants.is_empty() { vec![schema] } else { variants }
    }

    /// The tables that a schema describes, each with the tag that selects it.
    fn tables<'a>(&'a self, schema: &'a Value, tag_of: Option<Tag>) -> Vec<Table<'a>> {
        let mut tables = Vec::new();
        for schema in self.variants(schema) {
            let tag = tag(schema).or_else(|| tag_of.clone());
            let properties = schema.get("properties").and_then(Value::as_object);
            tables.extend(properties.map(|properties| Table {
                tag: tag.clone(),
                properties,
                schema,
            }));
            // If a kind is a separate struct, its schema is a reference next to the tag.
            let inner = self.referred(schema);
            tables.extend(inner.into_iter().flat_map(|inner| self.tables(inner, tag.clone())));
        }
        tables
    }

    fn referred(&self, schema: &Value) -> Option<&Value> {
        let pointer = schema.get("$ref")?.as_str()?.strip_prefix('#')?;
        self.schema.pointer(pointer)
    }
}

fn tag(schema: &Value) -> Option<Tag> {
    TAGS.iter().find_map(|name| {
        let value = schema.get("properties")?.get(name)?.get("const")?.as_str()?;
        Some(Tag { name: (*name).to_owned(), value: value.to_owned() })
    })
}

fn description(schema: &Value) -> String {
    schema.get("description").and_then(Value::as_str).map(plain_text).unwrap_or_default()
}

fn choices(schema: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().map(|value| (value.to_owned(), description(schema)));
    if let Some(value) = schema.get("const") {
        return text(value).into_iter().collect();
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return values.iter().filter_map(text).collect();
    }
    // An enum variant with fields is a table with one entry, whose name is the variant.
    let properties = schema.get("properties").and_then(Value::as_object);
    let required = schema.get("required").and_then(Value::as_array).map_or(0, Vec::len);
    match properties {
        Some(properties) if properties.len() == 1 && required == 1 && tag(schema).is_none() => {
            let tables = properties.iter().filter(|(_, inner)| is_a(inner, "object"));
            tables.map(|(name, _)| (format!("{name} = {{…}}"), description(schema))).collect()
        }
        _ => Vec::new(),
    }
}

fn is_a(schema: &Value, name: &str) -> bool {
    match schema.get("type") {
        Some(Value::Array(types)) => types.iter().any(|one| one == name),
        Some(one) => one == name,
        None => false,
    }
}

/// The type in words; `None` for the absence of a value.
fn kind(schema: &Value) -> Option<String> {
    let names = [
        ("integer", "whole number"),
        ("number", "number"),
        ("boolean", "true or false"),
        ("string", "text"),
        ("array", "list"),
        ("object", "table"),
    ];
    let (_, name) = names.iter().find(|(name, _)| is_a(schema, name))?;
    Some((*name).to_owned())
}

/// A doc comment with its links replaced by their text.
fn plain_text(comment: &str) -> String {
    let mut plain = String::with_capacity(comment.len());
    let mut rest = comment;
    while let Some((before, after)) = rest.split_once('[') {
        plain.push_str(before);
        let Some((inner, behind)) = after.split_once(']') else {
            rest = &rest[before.len()..];
            break;
        };
        let target = behind.strip_prefix('(').and_then(|behind| behind.split_once(')'));
        match target {
            Some((_, behind)) => {
                plain.push_str(inner);
                rest = behind;
            }
            None if inner.starts_with('`') => {
                plain.push_str(inner);
                rest = behind;
            }
            None => {
                plain.push('[');
                rest = after;
            }
        }
    }
    plain.push_str(rest);
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaves(table: &toml::Table, prefix: &str, keys: &mut BTreeSet<String>) {
        for (name, value) in table {
            let key = join(prefix, name);
            if let Some(inner) = value.as_table() {
                leaves(inner, &key, keys);
            }
            keys.insert(key);
        }
    }

    #[test]
    fn every_key_of_every_preset_has_an_explanation() {
        let keys = Keys::new();
        for preset in Preset::ALL {
            let mut used = BTreeSet::new();
            leaves(&preset.table(), "", &mut used);
            assert!(used.len() > 40, "{used:?}");
            for key in used {
                let meanings = keys.find(&key);
                assert!(!meanings.is_empty(), "{} has {key}, unexplained", preset.name());
                for Meaning { about, kind, .. } in meanings {
                    assert!(about.ends_with(['.', ':']) && !kind.is_empty(), "{key}: {about:?}");
                    assert!(!about.contains("]("), "{key}: {about:?}");
                }
            }
        }
    }

    #[test]
    fn every_key_that_is_listed_is_found() {
        let keys = Keys::new();
        let all = keys.all();
        for key in ["train.optimizer.momentum", "actor.search.gumbel.considered", "net.hidden"] {
            assert!(all.contains(key), "{key}");
        }
        for key in all {
            let meanings = keys.find(&key);
            assert!(
                meanings.iter().any(|meaning| !meaning.about.is_empty()),
                "{key}: {meanings:?}"
            );
        }
    }

    #[test]
    fn a_key_of_several_kinds_of_tables_has_a_meaning_in_each() {
        let meanings = Keys::new().find("net.hidden");
        let kinds: Vec<String> =
            meanings.iter().filter_map(|one| Some(one.within.clone()?.value)).collect();
        assert!(kinds.contains(&"conv".to_owned()) && kinds.contains(&"mlp".to_owned()));
        let kinds = Keys::new().find("net.kind");
        let [Meaning { choices, .. }] = &kinds[..] else { panic!("one meaning: {kinds:?}") };
        let names: Vec<&str> = choices.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["conv", "residual", "two_conv", "mlp"]);
    }

    #[test]
    fn a_key_of_an_inner_table_has_the_kind_of_the_table_around_it() {
        let meanings = Keys::new().find("game.rewards.win");
        let of = |game: &str| {
            let within = Some(Tag { name: "game".to_owned(), value: game.to_owned() });
            meanings.iter().find(|meaning| meaning.within == within).expect("a meaning")
        };
        assert_eq!(of("battlesnake").in_preset("game.rewards.win", Preset::Duel), Some(5.0.into()));
        assert_eq!(of("snake").in_preset("game.rewards.win", Preset::Duel), None);
    }

    #[test]
    fn explanations_use_the_words_of_settings_files() {
        // `Game::skip_chance`, `None` and `Board` are words of the program.
        fn is_code(word: &str) -> bool {
            let mut letters = word.chars();
            let [first, second] = [letters.next(), letters.next()].map(Option::unwrap_or_default);
            word.contains("::") || (first.is_ascii_uppercase() && second.is_ascii_lowercase())
        }
        let keys = Keys::new();
        for key in keys.all() {
            for Meaning { about, choices, .. } in keys.find(&key) {
                for text in choices.into_iter().map(|(_, about)| about).chain([about]) {
                    let mut words = text.split('`').skip(1).step_by(2);
                    assert_eq!(words.find(|word| is_code(word)), None, "{key}: {text}");
                }
            }
        }
    }

    #[test]
    fn only_variants_are_choices_of_a_table() {
        let keys = Keys::new();
        let choices = |key: &str| -> Vec<String> {
            let meanings = keys.find(key).into_iter();
            meanings.flat_map(|meaning| meaning.choices).map(|(choice, _)| choice).collect()
        };
        let temperature = ["constant = {…}", "until = {…}", "decay = {…}"];
        assert_eq!(choices("actor.search.temperature"), temperature);
        assert!(choices("actor.search.temperature.constant").is_empty());
    }

    /// Sets a key of a preset and validates the search, the opponent shares and the network by
    /// their own checks. Returns their error, if any.
    fn refusal(mut table: toml::Table, key: &str, value: f64, is_whole: bool) -> Option<String> {
        let (outer, name) = key.rsplit_once('.').expect("a key in a table");
        let inner = outer.split('.').fold(&mut table, |table, name| {
            table.get_mut(name).and_then(toml::Value::as_table_mut).expect("the preset has it")
        });
        let value = if is_whole { (value as i64).into() } else { toml::Value::Float(value) };
        inner.insert(name.to_owned(), value);
        // Deserialisation refuses some numbers, such as a negative count.
        let settings: Settings = match table.try_into() {
            Ok(settings) => settings,
            Err(error) => return Some(error.to_string()),
        };
        let search = settings.actor.search.as_ref().and_then(|search| search.validate().err());
        let search = search.map(|error| error.to_string());
        let shares = settings.actor.opponents.validate().err().map(|error| error.to_string());
        let net = settings.net_spec().err().map(|error| error.to_string());
        search.or(shares).or(net)
    }

    #[test]
    fn declared_ranges_are_those_that_the_types_check_themselves() {
        const PROBES: [f64; 16] = [
            -1.0,
            0.0,
            0.5,
            1.0,
            2.0,
            15.0,
            16.0,
            100.0,
            101.0,
            1_024.0,
            1_025.0,
            4_097.0,
            65_537.0,
            1_048_577.0,
            268_435_457.0,
            4_294_967_295.0,
        ];
        let keys = Keys::new();
        let mut probed = 0;
        for preset in Preset::ALL {
            let table = preset.table();
            let mut used = BTreeSet::new();
            leaves(&table, "", &mut used);
            for key in used {
                let parts = ["actor.search.", "actor.opponents.", "net."];
                let [Meaning { range: Some(range), kind, .. }, ..] = &keys.find(&key)[..] else {
                    continue;
                };
                // A size within its range can still make the whole network too large.
                let is_size = |value: f64| key.starts_with("net.") && value > 64.0;
                if !parts.iter().any(|part| key.starts_with(part)) {
                    continue;
                }
                let is_whole = kind.starts_with("whole");
                for value in PROBES.into_iter().filter(|value| !is_whole || value.fract() == 0.0) {
                    let refusal = refusal(table.clone(), &key, value, is_whole);
                    let is_refused = refusal.is_some();
                    if !(range.contains(value) && is_size(value)) {
                        assert_eq!(
                            is_refused,
                            !range.contains(value),
                            "{key} = {value}: {refusal:?}"
                        );
                    }
                    probed += 1;
                }
            }
        }
        assert!(probed > 500, "{probed}");
    }

    #[test]
    fn links_become_plain_text() {
        for (comment, plain) in [
            ("See [`a::b`](crate::a) and [`c`].", "See `a::b` and `c`."),
            ("Shape [rows, 2]; [text](there) [open", "Shape [rows, 2]; text [open"),
        ] {
            assert_eq!(plain_text(comment), plain);
        }
    }
}
