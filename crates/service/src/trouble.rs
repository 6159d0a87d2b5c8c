//! What keeps a service from going on that a person must see to, such as a full disk.

use std::collections::BTreeMap;

/// Who waits for a person, and what each was told: words that name the thing and the remedy, as
/// they were when the wait began. Each sets and clears its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble<W>(BTreeMap<W, String>);

impl<W> Default for Trouble<W> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<W: Ord> Trouble<W> {
    /// Notes that somebody's trouble begins, or with `None` ends; whether that is news. One that
    /// goes on stays as it was told first.
    pub fn note(&mut self, who: W, words: Option<String>) -> bool {
        let Some(words) = words else { return self.0.remove(&who).is_some() };
        let is_news = !self.0.contains_key(&who);
        self.0.entry(who).or_insert(words);
        is_news
    }

    /// What somebody waits for.
    pub fn of(&self, who: W) -> Option<&str> {
        self.0.get(&who).map(String::as_str)
    }

    /// The trouble there is, in words; what two wait for is said once.
    pub fn describe(&self) -> Option<String> {
        let mut parts: Vec<&str> = Vec::new();
        for words in self.0.values() {
            if !parts.contains(&words.as_str()) {
                parts.push(words);
            }
        }
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_two_wait_for_is_said_once() {
        let said = |all: &[(u8, &str)]| {
            let mut trouble = Trouble::default();
            for &(who, words) in all {
                assert!(trouble.note(who, Some(words.to_owned())));
            }
            trouble.describe()
        };
        assert_eq!(said(&[]), None);
        assert_eq!(said(&[(2, "a")]).as_deref(), Some("a"));
        assert_eq!(said(&[(2, "b"), (1, "a")]).as_deref(), Some("a; b"));
        assert_eq!(said(&[(1, "a"), (2, "a")]).as_deref(), Some("a"));
    }

    #[test]
    fn a_trouble_that_goes_on_stays_as_it_was_told_first() {
        let mut trouble = Trouble::default();
        assert!(trouble.note("ledger", Some("1 byte is left".to_owned())));
        assert!(!trouble.note("ledger", Some("no byte is left".to_owned())));
        assert_eq!(trouble.of("ledger"), Some("1 byte is left"));
        assert!(!trouble.note("trainer", None));
        assert!(trouble.note("ledger", None));
        assert!(!trouble.note("ledger", None));
        assert_eq!(trouble, Trouble::default());
    }
}
