//! What keeps an arena from going on that a person must see to.

/// What a person must see to, such as a full disk, by who waits for it: words that name the folder
/// and the remedy, as they were when the wait began. Each sets and clears its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trouble {
    /// The evaluator's: matches and decisions cannot be stored.
    pub matches: Option<String>,
    /// Whoever publishes: candidates cannot be taken.
    pub candidates: Option<String>,
}

impl Trouble {
    /// The trouble there is, in words; what both say is said once.
    pub fn describe(&self) -> Option<String> {
        let candidates = self.candidates.as_ref().filter(|_| self.candidates != self.matches);
        let parts: Vec<&str> = self.matches.iter().chain(candidates).map(String::as_str).collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_two_wait_for_is_said_once() {
        let said = |matches: Option<&str>, candidates: Option<&str>| {
            let [matches, candidates] = [matches, candidates].map(|said| said.map(str::to_owned));
            Trouble { matches, candidates }.describe()
        };
        assert_eq!(said(None, None), None);
        assert_eq!(said(None, Some("a")).as_deref(), Some("a"));
        assert_eq!(said(Some("a"), Some("b")).as_deref(), Some("a; b"));
        assert_eq!(said(Some("a"), Some("a")).as_deref(), Some("a"));
    }
}
