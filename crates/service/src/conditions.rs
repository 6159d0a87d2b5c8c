//! Conditions that block a service until an operator acts, such as a full disk.

use std::collections::BTreeMap;

/// The active conditions by key, each with a message that names the cause and the remedy.
///
/// Each part of a service sets and clears its own key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conditions<K>(BTreeMap<K, String>);

impl<K> Default for Conditions<K> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<K: Ord> Conditions<K> {
    /// Sets a condition, or clears it with `None`. Returns whether it became active or inactive.
    ///
    /// A condition that is set again keeps its first message, so callers can report it once.
    pub fn set(&mut self, key: K, message: Option<String>) -> bool {
        let Some(message) = message else { return self.0.remove(&key).is_some() };
        let is_new = !self.0.contains_key(&key);
        self.0.entry(key).or_insert(message);
        is_new
    }

    /// The message of a condition, if it is active.
    pub fn get(&self, key: K) -> Option<&str> {
        self.0.get(&key).map(String::as_str)
    }

    /// All messages in one line, each once; `None` without active conditions.
    pub fn describe(&self) -> Option<String> {
        let mut parts: Vec<&str> = Vec::new();
        for message in self.0.values() {
            if !parts.contains(&message.as_str()) {
                parts.push(message);
            }
        }
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_of_two_conditions_is_described_once() {
        let described = |all: &[(u8, &str)]| {
            let mut conditions = Conditions::default();
            for &(key, message) in all {
                assert!(conditions.set(key, Some(message.to_owned())));
            }
            conditions.describe()
        };
        assert_eq!(described(&[]), None);
        assert_eq!(described(&[(2, "a")]).as_deref(), Some("a"));
        assert_eq!(described(&[(2, "b"), (1, "a")]).as_deref(), Some("a; b"));
        assert_eq!(described(&[(1, "a"), (2, "a")]).as_deref(), Some("a"));
    }

    #[test]
    fn an_active_condition_keeps_its_first_message() {
        let mut conditions = Conditions::default();
        assert!(conditions.set("journal", Some("1 byte is left".to_owned())));
        assert!(!conditions.set("journal", Some("no byte is left".to_owned())));
        assert_eq!(conditions.get("journal"), Some("1 byte is left"));
        assert!(!conditions.set("trainer", None));
        assert!(conditions.set("journal", None));
        assert!(!conditions.set("journal", None));
        assert_eq!(conditions, Conditions::default());
    }
}
