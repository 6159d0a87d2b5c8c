//! Whether the services answer, are of one version, of one run and of one time.

use std::collections::BTreeSet;

use super::super::facts::{Answer, Facts, Service, Unanswered};
use super::super::finding::Finding;
use super::list;

/// Difference of clocks that is worth a warning, in seconds. Times of events then mislead.
const MOST_SKEW: f64 = 1.0;

/// Start of the name of an actor's program.
const ACTOR: &str = "ouro-actor/";

pub(super) fn findings(facts: &Facts) -> Vec<Finding> {
    let mut found = vec![reach("arena", &facts.arena), reach("learner", &facts.learner)];
    found.extend(versions(facts));
    found.extend(run(facts));
    found.extend(game(facts));
    found.extend(facts.arena().map(|arena| clock("arena", arena)));
    found.extend(facts.learner().map(|learner| clock("learner", learner)));
    found.extend(facts.arena().map(|arena| match &*arena.facts.now.learner_problem {
        "" => Finding::ok("link", "arena", "the arena sees the learner"),
        problem => Finding::warn(
            "link",
            "arena",
            format!("the learner does not answer the arena: {problem}"),
            "give the arena the address of the learner (deploy.learner), and a token of role reader",
        ),
    }));
    found
}

fn reach<T>(name: &'static str, service: &Service<T>) -> Finding {
    let address = &service.address;
    match &service.answer {
        Ok(_) => Finding::ok("reach", name, format!("answers at {address}")),
        Err(Unanswered::Unreachable(problem)) => Finding::fail(
            "reach",
            name,
            format!("does not answer at {address}: {problem}"),
            format!("start ouro-{name}, or correct its address (deploy.{name}, --{name})"),
        ),
        Err(Unanswered::Refused(problem)) => Finding::fail(
            "reach",
            name,
            format!("refuses at {address}: {problem}"),
            "give a token of role reader (--token-file); `ouro token create NAME --role reader` makes \
             one",
        ),
    }
}

fn versions(facts: &Facts) -> Option<Finding> {
    let mut seen: Vec<(String, String)> = vec![("doctor".to_owned(), facts.version.clone())];
    for (name, process) in facts.processes() {
        seen.push((name.to_owned(), process.version.clone()));
    }
    if seen.len() == 1 {
        return None;
    }
    let actors = facts.learner().map(|learner| &learner.facts.now.connected[..]);
    let unknown = |program: &str| match program {
        "" => "of an unknown program".to_owned(),
        program => format!("of program {program}"),
    };
    for actor in actors.unwrap_or_default() {
        let version = actor.program.strip_prefix(ACTOR).map(str::to_owned);
        let version = version.unwrap_or_else(|| unknown(&actor.program));
        seen.push((actor.name.clone(), version));
    }
    let versions: BTreeSet<&str> = seen.iter().map(|(_, version)| &**version).collect();
    if versions.len() == 1 {
        return Some(Finding::ok("version", "cluster", format!("all {}", facts.version)));
    }
    let others: Vec<String> = seen
        .iter()
        .filter(|(_, version)| *version != facts.version)
        .map(|(name, version)| format!("{name} {version}"))
        .collect();
    let value = format!("{} here; {}", facts.version, list(&others));
    let remedy = "finish the upgrade: run the same version everywhere";
    Some(Finding::warn("version", "cluster", value, remedy))
}

fn run(facts: &Facts) -> Option<Finding> {
    let arena = &facts.arena()?.facts.run;
    let learner = &facts.learner()?.facts.now.process.as_ref()?.run;
    if learner.is_empty() {
        let value = "the learner has not joined a run yet";
        let remedy = "it waits for its arena; give it the address in deploy.arena";
        return Some(Finding::warn("run", "cluster", value, remedy));
    }
    if arena == learner {
        return Some(Finding::ok("run", "cluster", arena.clone()));
    }
    let value = format!("the arena is of run {arena}, the learner of run {learner}");
    let remedy = "give the addresses of one run (--arena, --learner, or run.toml)";
    Some(Finding::fail("run", "cluster", value, remedy))
}

fn game(facts: &Facts) -> Option<Finding> {
    let (expected, processes) = (facts.game.as_ref()?, facts.processes());
    let others: Vec<String> = processes
        .iter()
        .filter(|(_, process)| process.game != *expected)
        .map(|(name, process)| format!("the {name} of {}", process.game))
        .collect();
    if processes.is_empty() {
        return None;
    }
    if others.is_empty() {
        return Some(Finding::ok("game", "cluster", expected.clone()));
    }
    let value = format!("run.toml is of {expected}, {}", list(&others));
    let remedy = "give the run.toml of this run (--config)";
    Some(Finding::fail("game", "cluster", value, remedy))
}

fn clock<T>(name: &'static str, answer: &Answer<T>) -> Finding {
    let Answer { ahead, error, .. } = answer;
    let direction = if *ahead < 0.0 { "behind" } else { "ahead" };
    let value = format!("{:.2} s {direction}, give or take {error:.2} s", ahead.abs());
    match ahead.abs() - error > MOST_SKEW {
        false => Finding::ok("clock", name, value),
        true => {
            let remedy = "set the clocks of both machines by NTP, for example with chrony";
            Finding::warn("clock", name, value, remedy)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::finding::Level::{Fail, Warn};
    use super::super::testing::{after, assert_one, of_arena, of_learner};
    use super::*;

    #[test]
    fn a_service_that_does_not_answer_is_one_finding_with_its_address() {
        assert_one(Fail, "reach", "arena", &["10.0.0.1:50061", "refused", "ouro-arena"], |facts| {
            facts.arena.answer = Err(Unanswered::Unreachable("refused".to_owned()));
        });
        assert_one(Fail, "reach", "learner", &["no token", "--role reader"], |facts| {
            facts.learner.answer = Err(Unanswered::Refused("no token".to_owned()));
        });
    }

    #[test]
    fn without_any_answer_only_that_is_found() {
        let found = after(|facts| {
            facts.arena.answer = Err(Unanswered::Unreachable("gone".to_owned()));
            facts.learner.answer = Err(Unanswered::Unreachable("gone".to_owned()));
        });
        assert_eq!(found.iter().map(|one| one.check).collect::<Vec<_>>(), ["reach", "reach"]);
    }

    #[test]
    fn another_version_of_a_service_or_an_actor_is_named() {
        assert_one(Warn, "version", "cluster", &["1.2.3 here; arena 1.2.2; "], |facts| {
            let arena = of_arena(facts).facts.now.process.as_mut();
            arena.expect("it reports").version = "1.2.2".to_owned();
        });
        for (program, shown) in [
            ("ouro-actor/9", "fleet.b 9"),
            ("curl/8", "program curl/8"),
            ("", "an unknown program"),
        ] {
            assert_one(Warn, "version", "cluster", &[shown, "upgrade"], |facts| {
                of_learner(facts).facts.now.connected[1].program = program.to_owned();
            });
        }
    }

    #[test]
    fn a_learner_of_another_run_or_of_none_is_found() {
        let run = |run: &'static str| {
            move |facts: &mut Facts| {
                let learner = of_learner(facts).facts.now.process.as_mut();
                learner.expect("it reports").run = run.to_owned();
            }
        };
        let parts = ["00112233aabbccdd", "ffff", "one run"];
        assert_one(Fail, "run", "cluster", &parts, run("ffff"));
        assert_one(Warn, "run", "cluster", &["not joined", "deploy.arena"], run(""));
    }

    #[test]
    fn settings_of_another_game_are_found() {
        assert_one(Fail, "game", "cluster", &["of snake", "tic_tac_toe", "--config"], |facts| {
            facts.game = Some("snake".to_owned());
        });
        assert!(after(|facts| facts.game = None).is_empty());
    }

    #[test]
    fn a_clock_warns_only_beyond_a_second_and_the_error_of_the_measurement() {
        assert_one(Warn, "clock", "learner", &["3.00 s behind", "NTP"], |facts| {
            of_learner(facts).ahead = -3.0;
        });
        assert!(after(|facts| of_arena(facts).ahead = 0.9).is_empty());
        let slow = |facts: &mut Facts| {
            let arena = of_arena(facts);
            (arena.ahead, arena.error) = (2.0, 1.5);
        };
        assert!(after(slow).is_empty());
    }

    #[test]
    fn an_arena_that_does_not_see_the_learner_is_found() {
        assert_one(Warn, "link", "arena", &["no route", "deploy.learner"], |facts| {
            of_arena(facts).facts.now.learner_problem = "no route".to_owned();
        });
    }
}
