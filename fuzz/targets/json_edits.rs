//! Edits of a JSON document, four bytes each: node (two bytes), operation and operand.
//!
//! The document stays JSON, and what is not edited stays valid. Edits therefore reach the checks
//! behind the syntax and behind digests, which random text hardly ever passes.

use serde_json::{Value, json};

/// Most edits of an input.
const MOST: usize = 16;
/// Nodes of a document that is edited no further.
const MOST_NODES: usize = 4 << 10;

/// Applies the edits in `input`.
pub(crate) fn apply(document: &mut Value, input: &[u8]) {
    for four in input.as_chunks::<4>().0.iter().take(MOST) {
        let nodes = count(document);
        if nodes > MOST_NODES {
            return;
        }
        let [low, high, what, with] = *four;
        let at = usize::from(u16::from_le_bytes([low, high])) % nodes;
        let other = nth(document, &mut (usize::from(with) % nodes)).cloned();
        if let (Some(node), Some(other)) = (nth(document, &mut { at }), other) {
            edit(node, what, with, other);
        }
    }
}

/// Nodes of a document.
fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(fields) => fields.values().map(count).sum(),
        _ => 0,
    }
}

/// A node by its position in the text.
fn nth<'a>(value: &'a mut Value, index: &mut usize) -> Option<&'a mut Value> {
    if *index == 0 {
        return Some(value);
    }
    *index -= 1;
    match value {
        Value::Array(items) => items.iter_mut().find_map(|item| nth(item, index)),
        Value::Object(fields) => fields.values_mut().find_map(|field| nth(field, index)),
        _ => None,
    }
}

fn edit(node: &mut Value, what: u8, with: u8, other: Value) {
    let pick = usize::from(with);
    match (what % 12, node) {
        (0, node) => *node = Value::Null,
        (1, node) => *node = number(with),
        (2, Value::Bool(value)) => *value = !*value,
        (2, node) => {
            // A digest has 64 bits, so other numbers are tried as floats only if they are no u64.
            let step = i64::from(with.cast_signed());
            *node = match (node.as_u64(), node.as_f64()) {
                (Some(number), _) => json!(number.wrapping_add_signed(step)),
                (None, Some(number)) => json!(number + step as f64),
                (None, None) => other,
            };
        }
        (3, node) => *node = other,
        (4, Value::Array(items)) if !items.is_empty() => drop(items.remove(pick % items.len())),
        (4, Value::Object(fields)) => {
            let name = fields.keys().nth(pick % fields.len().max(1)).cloned();
            name.map(|name| fields.remove(&name));
        }
        (5, Value::Array(items)) => items.insert(pick % (items.len() + 1), other),
        (6, Value::Array(items)) if !items.is_empty() => {
            let length = items.len();
            items.swap(pick / 16 % length, pick % 16 % length);
        }
        (7, Value::Array(items)) => items.truncate(pick),
        (8, Value::Array(items)) => {
            let last = items.last().cloned().unwrap_or(Value::Null);
            items.extend(std::iter::repeat_n(last, 1 << (pick % 5)));
        }
        (9, Value::Object(fields)) => {
            fields.insert("a\nb".to_owned(), other);
        }
        (10, Value::String(text)) => text.push(char::from(with)),
        (10, node) => *node = json!([node.clone()]),
        (11, Value::String(text)) => text.truncate(text.floor_char_boundary(pick)),
        (11, node) => *node = json!("a\nb"),
        _ => {}
    }
}

/// A number at the end of a range.
fn number(with: u8) -> Value {
    match with % 16 {
        0 => json!(0),
        1 => json!(1),
        2 => json!(2),
        3 => json!(-1),
        4 => json!(u8::MAX),
        5 => json!(i16::MAX),
        6 => json!(u16::MAX),
        7 => json!(i32::MIN),
        8 => json!(i32::MAX),
        9 => json!(u32::MAX),
        10 => json!(u64::MAX),
        11 => json!(0.5),
        12 => json!(1e39),
        13 => json!(-1e-40),
        14 => json!(1e308),
        _ => json!(3),
    }
}
