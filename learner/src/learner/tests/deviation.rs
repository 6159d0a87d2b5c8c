//! An actor whose games deviate, from the first game to the purge.

use std::collections::BTreeSet;

use ouro_net::Generation;
use ouro_replay::check::inspect;
use ouro_replay::journal::Kind;
use ouro_replay::{RecordCount, Trajectory};

use super::arena::until;
use super::*;
use crate::purge::StoppedJournal;
use crate::testing::won_game;
use crate::training_state::StoppedLearner;

/// Games of each actor: enough for a comparison.
const GAMES: u64 = 210;
const HONEST: [&str; 3] = ["a", "b", "c"];

async fn connect(address: SocketAddr, actor: &str) -> Actor {
    let config = Arc::new(config().game);
    let hello =
        Hello { actor: actor.to_owned(), epoch: None, answered: 0, config, version: 1, run: None };
    let mut actor = Actor::connect(address, Ask::Hello(hello.into())).await.expect("a stream");
    actor.answer().await.expect("a welcome");
    actor
}

/// Pushes all games of an actor and returns its connection.
async fn play(address: SocketAddr, name: &'static str, game: fn(u64) -> Trajectory) -> Actor {
    let mut actor = connect(address, name).await;
    for sequence in 1..=GAMES {
        let seed = sequence * 16 + u64::from(name.as_bytes()[0] % 16);
        assert_eq!(actor.push(to_wire(sequence, &game(seed))).await, accepted(sequence));
    }
    actor
}

/// The numbers of the games of the actors in the journal.
fn numbers(directory: &std::path::Path, is_of: impl Fn(&str) -> bool) -> BTreeSet<u64> {
    let mut numbers = BTreeSet::new();
    let inspection = inspect(&directory.join("journal"), |number, entry| {
        if entry.kind == Kind::Record && is_of(entry.actor) {
            numbers.insert(number);
        }
    });
    assert!(inspection.expect("readable").damage.is_none());
    numbers
}

/// The games that a learner would train on, in the journal's order, until it needs more.
async fn drawn(config: &Config) -> BTreeSet<u64> {
    let learner = Learner::bind(config.clone()).await.expect("it resumes");
    let (replay, count) = (learner.replay(), config.train.batch_moves);
    let mut drawn = BTreeSet::new();
    while replay.holds(1, count) {
        let batch = replay.draw(count).expect("it is open").batch;
        drawn.extend(batch.draws.iter().map(|draw| draw.number));
    }
    close(learner).await;
    drawn
}

/// Ends a learner that never ran, so that its folder is free.
async fn close(learner: Learner) {
    let Learner { journal_writer, journal_thread, .. } = learner;
    journal_writer.close().await;
    journal_thread.join().await.expect("no panic").expect("the journal is sound");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_actor_that_sends_only_wins_is_flagged_purged_and_never_trained_on_again() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = config();
    config.training_states.directory = directory.path().into();
    // No game becomes stale, and all states and games stay.
    config.intake.max_staleness = 1_000_000;
    config.training_states.kept = 65_536;
    config.training_states.every_steps = 20;
    let running = Running::start(config.clone()).await;
    let address = running.address;
    let honest = HONEST.map(|name| tokio::spawn(play(address, name, random_game)));
    let eve = tokio::spawn(play(address, "eve", |_| won_game()));
    let mut connections = Vec::new();
    for actor in honest {
        connections.push(actor.await.expect("its games are accepted"));
    }
    let eve = eve.await.expect("its games are valid");

    // Nothing is compared before the games of the generation have arrived.
    assert!(running.progress.figures().deviations.list().is_empty());
    until(&running, |status| status.generation >= Generation(2)).await;
    let mut later = random_game(1);
    later.seats.iter_mut().for_each(|seat| seat.generation = Some(Generation(2)));
    connections[0].push(to_wire(GAMES + 1, &later)).await;
    let url = format!("http://{address}");
    let mut client = LearnerServiceClient::connect(url).await.expect("the port is open");
    // The comparison follows the acknowledgement.
    let status = loop {
        let answer = client.get_status(wire::GetStatusRequest {}).await.expect("an answer");
        let status = answer.into_inner();
        if !status.deviating.is_empty() {
            break status;
        }
    };
    let [found] = &status.deviating[..] else { panic!("{:?}", status.deviating) };
    assert_eq!((&*found.name, found.games), ("eve", GAMES as u32));
    assert!(found.residual > 10.0, "{found:?}");
    assert_eq!(running.progress.figures().deviations.counts(), (4, 1));
    drop((connections, eve));
    running.stop().await;

    // The flag comes back with the journal.
    let learner = Learner::bind(config.clone()).await.expect("it resumes");
    assert_eq!(learner.status().figures().deviations.counts(), (4, 1));
    close(learner).await;

    // From the first training state, training would use every game again.
    let stopped = StoppedLearner::open(directory.path()).expect("it is stopped");
    stopped.resume_from(Generation(0)).expect("it fits");
    let before = drawn(&config).await;
    let of_eve = numbers(directory.path(), |actor| actor == "eve");
    // The last games are too few for another batch.
    assert!(before.intersection(&of_eve).count() > GAMES as usize - 60);

    let mut journal = StoppedJournal::open(directory.path()).expect("it is stopped");
    assert_eq!(journal.games()["eve"], RecordCount { valid: GAMES, void: 0 });
    let purges = journal.purge(&["eve"], "a test", 1).expect("there is space");
    assert_eq!((purges.len(), purges[0].records), (1, GAMES));
    drop(journal);
    let after = drawn(&config).await;
    let last = *after.last().expect("games");
    let mut expected = numbers(directory.path(), |actor| HONEST.contains(&actor));
    assert!(last + 60 > *expected.last().expect("games"));
    expected.retain(|&number| number <= last);
    assert_eq!(after, expected, "not one purged game, and all others");
    let learner = Learner::bind(config.clone()).await.expect("it resumes");
    assert_eq!(learner.status().figures().deviations.counts(), (3, 0));
    close(learner).await;

    // Games that are sent again do not come back.
    let running = Running::start(config.clone()).await;
    let hello = Hello {
        actor: "eve".to_owned(),
        epoch: epoch(directory.path(), "eve"),
        answered: 0,
        config: Arc::new(config.game.clone()),
        version: 1,
        run: None,
    };
    let mut eve = Actor::connect(running.address, Ask::Hello(hello.into())).await.unwrap();
    match eve.answer().await.expect("no status") {
        Some(Answer::Welcome(welcome)) => assert_eq!(welcome.watermark, GAMES),
        other => panic!("{other:?}"),
    }
    assert_eq!(eve.push(to_wire(1, &won_game())).await, accepted(GAMES));
    drop(eve);
    running.stop().await;
    assert_eq!(numbers(directory.path(), |actor| actor == "eve"), of_eve);
}

/// The epoch of an actor in the journal.
fn epoch(directory: &std::path::Path, name: &str) -> Option<u64> {
    let inspection = inspect(&directory.join("journal"), |_, _| {}).expect("readable");
    let found = inspection.watermarks.iter().find(|(actor, ..)| actor == name);
    found.map(|(_, epoch, _)| *epoch)
}
