//! The checks: facts in, findings out.
//!
//! A check that needs an answer which did not come gives no finding; the missing answer is one
//! already.

use super::facts::Facts;
use super::finding::Finding;

mod access;
mod actors;
mod machines;
mod matches;
mod services;
mod store;
#[cfg(test)]
mod testing;
mod training;

/// All findings about a cluster, in the order in which they are shown.
pub(super) fn findings(facts: &Facts) -> Vec<Finding> {
    let checks = [
        services::findings,
        store::findings,
        machines::findings,
        training::findings,
        actors::findings,
        matches::findings,
        access::findings,
    ];
    checks.iter().flat_map(|check| check(facts)).collect()
}

/// A list of names that stays short.
fn list(names: &[String]) -> String {
    const SHOWN: usize = 5;
    let shown = names.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::Level;
    use super::testing::healthy;
    use super::*;

    #[test]
    fn a_healthy_cluster_has_no_finding_to_act_on() {
        let findings = findings(&healthy());
        let bad: Vec<_> = findings.iter().filter(|one| one.level != Level::Ok).collect();
        assert!(bad.is_empty(), "{bad:?}");
        assert!(findings.len() >= 20, "every check has a finding: {findings:#?}");
    }

    #[test]
    fn a_long_list_is_cut() {
        let names: Vec<String> = (0..7).map(|number| format!("a{number}")).collect();
        assert_eq!(list(&names[..2]), "a0, a1");
        assert_eq!(list(&names), "a0, a1, a2, a3, a4 and 2 more");
    }
}
