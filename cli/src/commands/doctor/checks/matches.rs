//! The arena's work: candidates that wait, and members without weights.

use super::super::facts::{ArenaFacts, Facts};
use super::super::finding::Finding;
use super::list;

pub(super) fn findings(facts: &Facts) -> Vec<Finding> {
    let Some(arena) = facts.arena() else { return Vec::new() };
    vec![candidates(&arena.facts), weights(&arena.facts)]
}

fn candidates(facts: &ArenaFacts) -> Finding {
    let waiting = facts.now.candidates_waiting;
    if let Some((generation, games, most)) = facts.at_gate {
        let value = format!(
            "{waiting} candidates without a decision; {generation} has played {games} of at most \
             {most} games"
        );
        return Finding::ok("matches", "arena", value);
    }
    // A candidate may arrive, or be decided, between two samples.
    match facts.before.candidates_waiting.min(waiting) {
        0 => Finding::ok("matches", "arena", "no candidate waits"),
        waiting => Finding::warn(
            "matches",
            "arena",
            format!("{waiting} candidates wait, and no match decides about one"),
            "read the log of the arena; arena.match_share and arena.catch_up_share limit its share of \
             a processor",
        ),
    }
}

fn weights(facts: &ArenaFacts) -> Finding {
    let missing: Vec<String> = facts.missing.iter().map(ToString::to_string).collect();
    match missing.is_empty() {
        true => Finding::ok("weights", "arena", "the weights of all members can be read"),
        false => Finding::warn(
            "weights",
            "arena",
            format!("the arena cannot read the weights of {}", list(&missing)),
            "copy them back from a backup to arena/weights or deploy.weights, and restart the arena",
        ),
    }
}

#[cfg(test)]
mod tests {
    use ouro_net::Generation;

    use super::super::super::finding::Level::Warn;
    use super::super::testing::{after, assert_one, of_arena};
    use super::*;

    #[test]
    fn candidates_that_wait_without_a_match_are_found() {
        assert_one(Warn, "matches", "arena", &["1 candidates wait", "log"], |facts| {
            of_arena(facts).facts.at_gate = None;
        });
        let new = |facts: &mut Facts| {
            let arena = &mut of_arena(facts).facts;
            (arena.at_gate, arena.before.candidates_waiting) = (None, 0);
        };
        assert!(after(new).is_empty());
    }

    #[test]
    fn members_without_weights_are_named() {
        assert_one(Warn, "weights", "arena", &["generation-3", "backup"], |facts| {
            of_arena(facts).facts.missing.push(Generation(3));
        });
    }
}
