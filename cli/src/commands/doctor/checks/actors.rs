//! The actors: their number, the age of their weights, what they send and who they are.

use std::collections::BTreeMap;

use ouro_net::Generation;
use ouro_proto::ConnectedActor;

use super::super::facts::{Answer, ArenaFacts, Facts};
use super::super::finding::Finding;
use super::list;

/// Most generations between the weights of an actor and the newest. The alert `OuroActorStale` has
/// the same.
const MOST_BEHIND: u32 = 5;
/// Age up to which weights are never too old, in seconds. Fast runs make several generations a second.
const YOUNG: f64 = 30.0;
/// Time after which an actor should have sent a game, in seconds.
const SILENCE: f64 = 300.0;
/// Refused games of an actor that are worth a look, and their share of its games.
const MANY_REFUSED: (u32, f64) = (10, 0.05);
/// Changes of an actor's address in ten minutes that look like two processes. A container that
/// moved changes it once.
const MOST_MOVES: u32 = 1;

pub(super) fn findings(facts: &Facts) -> Vec<Finding> {
    let Some(learner) = facts.learner() else { return Vec::new() };
    let report = &learner.facts.now;
    let actors = &report.connected[..];
    let mut found = vec![count(report.actors, report.max_actors)];
    if actors.is_empty() {
        return found;
    }
    let arena = facts.arena();
    let newest = arena.and_then(|arena| arena.facts.published.last());
    let newest = newest.map_or(report.generation, |(generation, _)| *generation);
    found.extend(stale(actors, newest, arena));
    found.push(silent(actors));
    found.push(refused(actors));
    found.push(names(actors));
    found
}

fn count(actors: u32, most: u32) -> Finding {
    let value = format!("{actors} connected, at most {most}");
    match actors {
        0 => Finding::warn(
            "actors",
            "actors",
            value,
            "start actors; if they run, their log names why they do not connect",
        ),
        _ if most > 0 && actors >= most => {
            Finding::warn("actors", "actors", value, "raise intake.max_streams: others are refused")
        }
        _ => Finding::ok("actors", "actors", value),
    }
}

fn names_of(actors: &[&ConnectedActor]) -> String {
    list(&actors.iter().map(|actor| actor.name.clone()).collect::<Vec<_>>())
}

/// The actor with the oldest weights.
fn stale(
    actors: &[ConnectedActor],
    newest: Generation,
    arena: Option<&Answer<ArenaFacts>>,
) -> Option<Finding> {
    let oldest = actors
        .iter()
        .filter_map(|actor| Some((actor.generation?, actor)))
        .min_by_key(|(generation, _)| *generation);
    let (generation, actor) = oldest?;
    let behind = newest.0.saturating_sub(generation.0);
    let age = arena.and_then(|arena| {
        let (_, at) = arena.facts.published.iter().find(|(one, _)| *one == generation)?;
        let clock = arena.facts.now.process.as_ref()?.unix_seconds;
        Some((clock - at).max(0.0))
    });
    let name = &actor.name;
    let value = format!(
        "the oldest weights are {generation} of {name}, {behind} versions behind{}",
        age.map(|age| format!(" and {age:.0} s old")).unwrap_or_default()
    );
    Some(match behind > MOST_BEHIND && age.is_none_or(|age| age > YOUNG) {
        false => Finding::ok("stale", "actors", value),
        true => Finding::warn(
            "stale",
            "actors",
            value,
            "bring the connection of this actor to the arena back, or restart it",
        ),
    })
}

fn silent(actors: &[ConnectedActor]) -> Finding {
    let is_silent = |actor: &&ConnectedActor| actor.games == 0 && actor.seconds > SILENCE;
    let silent: Vec<_> = actors.iter().filter(is_silent).collect();
    match silent.is_empty() {
        true => Finding::ok("silent", "actors", "all send games"),
        false => Finding::warn(
            "silent",
            "actors",
            format!("no accepted game for {SILENCE:.0} s from {}", names_of(&silent)),
            "look at their logs and processors",
        ),
    }
}

fn refused(actors: &[ConnectedActor]) -> Finding {
    let (least, most) = MANY_REFUSED;
    let is_refused = |actor: &&ConnectedActor| {
        let all = f64::from(actor.games.saturating_add(actor.refused));
        actor.refused >= least && f64::from(actor.refused) > most * all
    };
    let bad: Vec<_> = actors.iter().filter(is_refused).collect();
    let total: u32 = actors.iter().map(|actor| actor.refused).fold(0, u32::saturating_add);
    match bad.is_empty() {
        true => {
            Finding::ok("refused", "actors", format!("{total} games refused of those connected"))
        }
        false => Finding::warn(
            "refused",
            "actors",
            format!(
                "more than {:.0} % of the games are refused of {}",
                100.0 * most,
                names_of(&bad)
            ),
            "their logs name the reasons; if they are of another version, upgrade them",
        ),
    }
}

/// Whether each name stands for one process.
fn names(actors: &[ConnectedActor]) -> Finding {
    let mut addresses: BTreeMap<&str, &str> = BTreeMap::new();
    let mut doubled: Vec<_> = actors.iter().filter(|actor| actor.moves > MOST_MOVES).collect();
    for actor in actors {
        let known = addresses.insert(&actor.name, &actor.address);
        if known.is_some_and(|known| known != actor.address) {
            doubled.push(actor);
        }
    }
    match doubled.is_empty() {
        true => Finding::ok("names", "actors", "each name has one address"),
        false => Finding::warn(
            "names",
            "actors",
            format!("connected from several addresses: {}", names_of(&doubled)),
            "give every actor a name of its own (deploy.name), such as fleet.{hostname}",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::finding::Level::Warn;
    use super::super::testing::{actor, after, assert_one, healthy, of_arena, of_learner};
    use super::*;

    /// Changes the first actor of the healthy cluster.
    fn first(change: impl FnOnce(&mut ConnectedActor)) -> impl FnOnce(&mut Facts) {
        |facts| change(&mut of_learner(facts).facts.now.connected[0])
    }

    #[test]
    fn no_actor_and_too_many_are_found() {
        assert_one(Warn, "actors", "actors", &["0 connected", "start actors"], |facts| {
            let report = &mut of_learner(facts).facts.now;
            (report.actors, report.connected) = (0, Vec::new());
        });
        assert_one(Warn, "actors", "actors", &["64 connected", "intake.max_streams"], |facts| {
            of_learner(facts).facts.now.actors = 64;
        });
    }

    #[test]
    fn old_weights_are_found_with_their_age() {
        let facts = healthy();
        let age = findings(&facts)[1].value.clone();
        assert!(age.ends_with("generation-7 of fleet.a, 0 versions behind and 73 s old"), "{age}");
        let parts = ["generation-1 of fleet.a, 6 versions behind and 79 s old", "restart it"];
        assert_one(
            Warn,
            "stale",
            "actors",
            &parts,
            first(|actor| {
                actor.generation = Some(Generation(1));
            }),
        );
        assert!(after(first(|actor| actor.generation = Some(Generation(2)))).is_empty());
        // Fast generations make no old weights.
        let fast = |facts: &mut Facts| {
            of_arena(facts).facts.published.iter_mut().for_each(|(_, at)| *at += 70.0);
            of_learner(facts).facts.now.connected[0].generation = Some(Generation(1));
        };
        assert!(after(fast).is_empty());
        // An arena that has newer weights than the learner counts.
        let parts = ["7 versions behind"];
        assert_one(Warn, "stale", "actors", &parts, |facts| {
            of_arena(facts).facts.published.push((Generation(14), 0.0));
        });
    }

    #[test]
    fn an_actor_that_sends_nothing_or_wrong_games_is_named() {
        assert_one(
            Warn,
            "silent",
            "actors",
            &["300 s from fleet.a"],
            first(|actor| actor.games = 0),
        );
        let young = |actor: &mut ConnectedActor| (actor.games, actor.seconds) = (0, 10.0);
        assert!(after(first(young)).is_empty());
        assert_one(
            Warn,
            "refused",
            "actors",
            &["5 %", "fleet.a"],
            first(|actor| {
                actor.refused = 100;
            }),
        );
        assert!(after(first(|actor| actor.refused = 40)).is_empty());
    }

    #[test]
    fn two_processes_of_one_name_are_found() {
        assert_one(
            Warn,
            "names",
            "actors",
            &["fleet.a", "deploy.name"],
            first(|actor| {
                actor.moves = 2;
            }),
        );
        assert!(after(first(|actor| actor.moves = 1)).is_empty());
        assert_one(Warn, "names", "actors", &["fleet.a"], |facts| {
            let other = ConnectedActor { address: "10.0.0.9".to_owned(), ..actor("fleet.a") };
            of_learner(facts).facts.now.connected.push(other);
        });
    }
}
