//! Whether training goes on, and what limits it.

use ouro_proto::LearnerReport;

use super::super::facts::{Answer, Facts, LearnerFacts};
use super::super::finding::Finding;

/// Share of the time from which waiting is worth a warning. The alerts have the same.
const MOST_WAITING: f64 = 0.5;

/// Most generations that the arena may lack. The learner pauses before it makes another.
const MOST_UNPUBLISHED: u32 = 1;

pub(super) fn findings(facts: &Facts) -> Vec<Finding> {
    let Some(learner) = facts.learner() else { return Vec::new() };
    let report = &learner.facts.now;
    let mut found = vec![blocked("learner", report.is_blocked, &report.condition)];
    if let Some(arena) = facts.arena() {
        let condition = &arena.facts.now.condition;
        found.push(blocked("arena", !condition.is_empty(), condition));
    }
    found.push(throughput(learner));
    found.extend(published(report));
    found.push(starved(learner));
    found.push(backlog(learner));
    found
}

fn blocked(name: &'static str, is_blocked: bool, condition: &str) -> Finding {
    match is_blocked {
        false => Finding::ok("blocked", name, "waits for no operator"),
        true => Finding::fail(
            "blocked",
            name,
            condition,
            "remove the cause; the service then continues by itself",
        ),
    }
}

/// The growth of a count per second.
fn rate(learner: &Answer<LearnerFacts>, count: impl Fn(&LearnerReport) -> f64) -> f64 {
    let LearnerFacts { before, now } = &learner.facts;
    (count(now) - count(before)).max(0.0) / learner.seconds.max(1e-3)
}

fn throughput(learner: &Answer<LearnerFacts>) -> Finding {
    let report = &learner.facts.now;
    let steps = rate(learner, |report| f64::from(report.step));
    let accepted = rate(learner, |report| report.positions);
    let sampled = rate(learner, |report| report.sampled);
    let value = format!(
        "{accepted:.1} positions/s accepted, {sampled:.1} sampled/s, {steps:.2} steps/s at step {}, \
         {}",
        report.step, report.generation
    );
    Finding::ok("throughput", "learner", value)
}

/// Whether the arena has the generations of the learner.
fn published(report: &LearnerReport) -> Option<Finding> {
    let (newest, published) = (report.generation, report.published?);
    let value = format!("the arena has {published} of {newest}");
    Some(match newest.0.saturating_sub(published.0) > MOST_UNPUBLISHED {
        false => Finding::ok("published", "learner", value),
        true => Finding::warn(
            "published",
            "learner",
            value,
            "read the log of the learner: it names why the arena takes no weights",
        ),
    })
}

/// The share of the last seconds spent waiting for `reason`.
fn share(
    learner: &Answer<LearnerFacts>,
    times: impl Fn(&LearnerReport) -> &[(String, f64)],
    reason: &str,
) -> f64 {
    let seconds = |report: &LearnerReport| {
        let time = times(report).iter().find(|(name, _)| name == reason);
        time.map_or(0.0, |(_, seconds)| *seconds)
    };
    rate(learner, seconds).min(1.0)
}

fn starved(learner: &Answer<LearnerFacts>) -> Finding {
    let share = share(learner, |report| &report.training_waited, "games");
    let value = format!("training waits for games {:.0} % of the time", 100.0 * share);
    match share > MOST_WAITING {
        false => Finding::ok("starved", "learner", value),
        true => Finding::warn(
            "starved",
            "learner",
            value,
            "add actors, raise replay.samples_per_insert, or accept the pace",
        ),
    }
}

fn backlog(learner: &Answer<LearnerFacts>) -> Finding {
    let share = share(learner, |report| &report.intake_waited, "training");
    let value = format!("games wait for training {:.0} % of the time", 100.0 * share);
    match share > MOST_WAITING {
        false => Finding::ok("backlog", "learner", value),
        true => Finding::warn(
            "backlog",
            "learner",
            value,
            "use fewer actors, or give the learner more cores or a GPU",
        ),
    }
}

#[cfg(test)]
mod tests {
    use ouro_net::Generation;

    use super::super::super::finding::Level::{Fail, Warn};
    use super::super::testing::{after, assert_one, healthy, of_arena, of_learner};
    use super::*;

    #[test]
    fn a_condition_fails_and_waiting_for_games_is_none() {
        assert_one(Fail, "blocked", "learner", &["disk is full", "by itself"], |facts| {
            let report = &mut of_learner(facts).facts.now;
            (report.is_blocked, report.condition) = (true, "disk is full".to_owned());
        });
        assert_one(Fail, "blocked", "arena", &["no space"], |facts| {
            of_arena(facts).facts.now.condition = "no space".to_owned();
        });
        let waits = |facts: &mut Facts| {
            of_learner(facts).facts.now.condition = "12 positions are too few".to_owned();
        };
        assert!(after(waits).is_empty());
    }

    #[test]
    fn rates_are_those_between_the_two_samples() {
        let facts = healthy();
        let learner = facts.learner().expect("it answered");
        let value = throughput(learner).value;
        assert!(
            value.starts_with(
                "30.0 positions/s accepted, 120.0 sampled/s, 4.00 steps/s at step 120"
            )
        );
        // A learner that was started anew counts from a lower number.
        let mut facts = facts.clone();
        of_learner(&mut facts).facts.now.positions = 0.0;
        let learner = facts.learner().expect("it answered");
        assert!(throughput(learner).value.starts_with("0.0 positions/s"));
    }

    #[test]
    fn long_waits_of_either_side_are_found() {
        assert_one(Warn, "starved", "learner", &["80 %", "add actors"], |facts| {
            of_learner(facts).facts.now.training_waited[0].1 = 14.0;
        });
        assert_one(Warn, "backlog", "learner", &["100 %", "fewer actors"], |facts| {
            of_learner(facts).facts.now.intake_waited[0].1 = 6.5;
        });
    }

    #[test]
    fn generations_that_the_arena_lacks_are_found() {
        let lacks = |generation: u32| {
            move |facts: &mut Facts| {
                of_learner(facts).facts.now.published = Some(Generation(generation));
            }
        };
        assert_one(Warn, "published", "learner", &["generation-5 of generation-7"], lacks(5));
        assert!(after(lacks(6)).is_empty());
    }
}
