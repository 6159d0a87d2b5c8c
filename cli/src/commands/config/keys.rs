//! The keys of a run's settings and what their types say about them.
//!
//! Nothing is written down here: the settings' structs know their JSON schema, whose
//! descriptions are the comments of their fields. [`Keys::find`] follows a key through it; a
//! key of tables of several kinds has a [`Meaning`] in each.

use std::collections::BTreeSet;

use schemars::schema_for;
use serde_json::{Map, Value};

use super::Settings;

/// Names that choose between the kinds of a table.
const TAGS: [&str; 2] = ["kind", "game"];

/// All keys.
pub(super) struct Keys {
    schema: Value,
}

/// What a key means in one kind of table.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Meaning {
    /// The kind, as in `kind = "conv"`; `None` where there is only one.
    pub(super) within: Option<Tag>,
    /// The comment of the field.
    pub(super) about: String,
    /// What a value is, such as `whole number`.
    pub(super) kind: String,
    /// Whether values are numbers with a fraction; `None` if they are no numbers.
    pub(super) real: Option<bool>,
    /// Values that can be chosen, with what they say of themselves.
    pub(super) choices: Vec<(String, String)>,
    /// What it is where nobody says anything.
    pub(super) default: Option<Value>,
}

/// The entry that chooses the kind of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tag {
    /// `kind` or `game`.
    pub(super) name: String,
    /// The kind's name.
    pub(super) value: String,
}

/// One kind of table.
struct Table<'a> {
    tag: Option<Tag>,
    properties: &'a Map<String, Value>,
    schema: &'a Value,
}

impl Keys {
    /// The keys of [`Settings`].
    pub(super) fn new() -> Self {
        Self { schema: schema_for!(Settings).to_value() }
    }

    /// Every key and table, as a path of names joined by dots.
    pub(super) fn all(&self) -> BTreeSet<String> {
        let mut keys = BTreeSet::new();
        self.gather(&self.schema, "", &mut keys);
        keys
    }

    fn gather(&self, schema: &Value, table: &str, keys: &mut BTreeSet<String>) {
        for Table { properties, .. } in self.tables(schema, None) {
            for (name, inner) in properties {
                let key = if table.is_empty() { name.clone() } else { format!("{table}.{name}") };
                self.gather(inner, &key, keys);
                keys.insert(key);
            }
        }
    }

    /// What a key means; nothing if there is no such key.
    pub(super) fn find(&self, key: &str) -> Vec<Meaning> {
        let mut found = vec![(None, &self.schema, &self.schema)];
        for name in key.split('.') {
            found = found
                .into_iter()
                .flat_map(|(_, schema, _)| self.tables(schema, None))
                .filter_map(|table| Some((table.tag, table.properties.get(name)?, table.schema)))
                .collect();
        }
        // The entry that chooses a kind is one key with a choice in each.
        if let [(Some(_), schema, _), ..] = found[..]
            && schema.get("const").is_some()
        {
            let table = key.rsplit_once('.').map_or("", |(table, _)| table);
            return vec![Meaning {
                within: None,
                about: "Chooses what the other keys of its table are.".to_owned(),
                kind: "text".to_owned(),
                real: None,
                choices: self.kinds(table),
                default: None,
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
        meanings
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
        // A field without a comment has that of its type. One that is named for a variant has
        // none of its own: the variant does.
        let of_type = self.referred(schema).or(plain.first().copied());
        let comments = [Some(schema), of_type, Some(table)].into_iter().flatten();
        let about = comments.map(description).find(|text| !text.is_empty()).unwrap_or_default();
        let choices: Vec<(String, String)> = plain.iter().flat_map(|one| choices(one)).collect();
        let kinds: BTreeSet<String> = plain.iter().filter_map(|schema| kind(schema)).collect();
        let kinds: Vec<String> = kinds.into_iter().collect();
        let has = |name| plain.iter().any(|schema| is_a(schema, name));
        let real = if has("number") { Some(true) } else { has("integer").then_some(false) };
        Meaning {
            within,
            about,
            kind: kinds.join(" or "),
            real,
            choices,
            default: schema.get("default").filter(|value| !value.is_null()).cloned(),
        }
    }

    /// A schema without references, one for each alternative.
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

    /// The tables that a schema describes, each with the tag that chooses it.
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
            // A kind that is a struct of its own stands beside its tag.
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
    // A variant with fields is a table of one entry that is named for it.
    let properties = schema.get("properties").and_then(Value::as_object);
    let required = schema.get("required").and_then(Value::as_array).map_or(0, Vec::len);
    match properties {
        Some(properties) if properties.len() == 1 && required == 1 && tag(schema).is_none() => {
            properties.keys().map(|name| (format!("{name} = {{…}}"), description(schema))).collect()
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
    let bound = |name| schema.get(name).map(|bound| bound.to_string());
    Some(match (bound("minimum"), bound("maximum")) {
        (Some(low), Some(high)) => format!("{name}, {low} to {high}"),
        (Some(low), None) => format!("{name}, at least {low}"),
        _ => (*name).to_owned(),
    })
}

/// A comment without the links that only its HTML form can follow.
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
    use clap::ValueEnum;

    use super::*;
    use crate::commands::train::preset::Preset;

    fn leaves(table: &toml::Table, prefix: &str, keys: &mut BTreeSet<String>) {
        for (name, value) in table {
            let key = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
            if let Some(inner) = value.as_table() {
                leaves(inner, &key, keys);
            }
            keys.insert(key);
        }
    }

    #[test]
    fn every_key_of_every_preset_has_an_explanation() {
        let keys = Keys::new();
        for preset in Preset::value_variants() {
            let mut used = BTreeSet::new();
            leaves(&preset.table().expect("a table"), "", &mut used);
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
    fn a_key_of_several_kinds_of_tables_is_told_for_each() {
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
    fn links_become_plain_text() {
        for (comment, plain) in [
            ("See [`a::b`](crate::a) and [`c`].", "See `a::b` and `c`."),
            ("Shape [rows, 2]; [text](there) [open", "Shape [rows, 2]; text [open"),
        ] {
            assert_eq!(plain_text(comment), plain);
        }
    }
}
