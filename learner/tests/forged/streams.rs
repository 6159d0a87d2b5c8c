//! Streams that break the protocol. Each ends with a status, and other streams continue.

use ouro_game::{GameConfig, connect_four, maze_dash};
use ouro_learner::config::{AlgorithmConfig, ReinforceConfig};
use ouro_proto::learner::v1 as wire;
use ouro_proto::learner::v1::RefusalReason as Reason;
use ouro_proto::learner::v1::push_request::Message as Ask;
use ouro_proto::trajectory::{MAX_CONFIG_BYTES, MAX_MESSAGE_BYTES};
use tonic::Code;

use super::actor::{Actor, Running, config, hello, won_game};
use super::games::refused;

fn ask(message: Ask) -> wire::PushRequest {
    wire::PushRequest { message: Some(message) }
}

fn game(sequence: u64) -> wire::PushRequest {
    ask(Ask::Trajectory(wire::Trajectory { sequence, ..won_game() }))
}

/// A valid hello, changed by `spoil`.
fn spoilt(spoil: impl FnOnce(&mut wire::Hello)) -> Vec<wire::PushRequest> {
    let mut hello = hello("intruder", None, &config("".as_ref()).game);
    spoil(&mut hello);
    vec![ask(Ask::Hello(hello))]
}

/// A valid hello, followed by `messages`.
fn then(messages: Vec<wire::PushRequest>) -> Vec<wire::PushRequest> {
    let mut all = spoilt(|_| {});
    all.extend(messages);
    all
}

fn nothing() -> wire::PushRequest {
    wire::PushRequest { message: None }
}

/// A name, the messages sent, and the code and start of the text of the final status.
type Break = (&'static str, fn() -> Vec<wire::PushRequest>, Code, &'static str);

const BREAKS: [Break; 23] = [
    ("a game first", || vec![game(1)], Code::InvalidArgument, "the first message must be a hello"),
    (
        "nothing first",
        || vec![nothing()],
        Code::InvalidArgument,
        "the first message must be a hello",
    ),
    (
        "two hellos",
        || {
            let mut all = spoilt(|_| {});
            all.extend(spoilt(|_| {}));
            all
        },
        Code::InvalidArgument,
        "only trajectories may follow the hello",
    ),
    (
        "nothing after the hello",
        || then(vec![nothing()]),
        Code::InvalidArgument,
        "only trajectories may follow the hello",
    ),
    (
        "no name",
        || spoilt(|h| h.actor.clear()),
        Code::InvalidArgument,
        "actor is \"\"; a name has 1 to 64 letters, digits, dots, underscores or dashes",
    ),
    (
        "two words",
        || spoilt(|h| h.actor = "two words".into()),
        Code::InvalidArgument,
        "actor is \"two words\"; a name has 1 to 64 letters",
    ),
    (
        "a path",
        || spoilt(|h| h.actor = "../journal".into()),
        Code::InvalidArgument,
        "actor is \"../journal\"; a name has 1 to 64 letters",
    ),
    (
        "a line break",
        || spoilt(|h| h.actor = "a\nb".into()),
        Code::InvalidArgument,
        "actor is \"a\\nb\"; a name has 1 to 64 letters",
    ),
    (
        "a name too long",
        || spoilt(|h| h.actor = "a".repeat(65)),
        Code::InvalidArgument,
        "actor is \"aaaa",
    ),
    (
        "a name of a megabyte",
        || spoilt(|h| h.actor = "a".repeat(1_000_000)),
        Code::InvalidArgument,
        "actor is \"aaaa",
    ),
    (
        "no game",
        || spoilt(|h| h.config_json.clear()),
        Code::InvalidArgument,
        "config_json is not a game configuration: ",
    ),
    (
        "half a game",
        || spoilt(|h| h.config_json = "{\"game\":".into()),
        Code::InvalidArgument,
        "config_json is not a game configuration: ",
    ),
    (
        "a game that is not in the box",
        || spoilt(|h| h.config_json = "{\"game\":\"chess\"}".into()),
        Code::InvalidArgument,
        "config_json is not a game configuration: unknown variant `chess`",
    ),
    (
        "a configuration without end",
        || spoilt(|h| h.config_json = "[".repeat(60_000)),
        Code::InvalidArgument,
        "config_json is not a game configuration: ",
    ),
    (
        "a configuration too long",
        || spoilt(|h| h.config_json = " ".repeat(MAX_CONFIG_BYTES + 1)),
        Code::InvalidArgument,
        "config_json has 65537 bytes; at most 65536 are read",
    ),
    (
        "another game",
        || spoilt(|h| h.config_json = other_game()),
        Code::FailedPrecondition,
        "actor plays {\"game\":\"connect_four\"",
    ),
    (
        "another game with a board of 60,000 bytes",
        || spoilt(|h| h.config_json = large_game()),
        Code::FailedPrecondition,
        "actor plays {\"game\":\"maze_dash\"",
    ),
    (
        "a life that never was",
        || spoilt(|h| h.epoch = Some(9)),
        Code::FailedPrecondition,
        "epoch 9 of actor intruder is not its last one here; give every actor its own name",
    ),
    (
        "life 0",
        || spoilt(|h| h.epoch = Some(0)),
        Code::FailedPrecondition,
        "epoch 0 of actor intruder is not its last one here; give every actor its own name",
    ),
    (
        "number 0",
        || then(vec![game(0)]),
        Code::InvalidArgument,
        "trajectory 0 came where 1 was due",
    ),
    ("a gap", || then(vec![game(3)]), Code::InvalidArgument, "trajectory 3 came where 1 was due"),
    (
        "the last number of all",
        || then(vec![game(u64::MAX)]),
        Code::InvalidArgument,
        "trajectory 18446744073709551615 came where 1 was due",
    ),
    (
        "a game of more than a megabyte",
        || then(vec![huge()]),
        Code::OutOfRange,
        "Error, decoded message length too large: found ",
    ),
];

fn other_game() -> String {
    let game = GameConfig::ConnectFour(connect_four::Config::default());
    serde_json::to_string(&game).expect("plain data")
}

fn large_game() -> String {
    let board = Some(".".repeat(60_000));
    let game = GameConfig::MazeDash(maze_dash::Config { board, ..maze_dash::Config::default() });
    serde_json::to_string(&game).expect("plain data")
}

fn huge() -> wire::PushRequest {
    let digests = vec![1; MAX_MESSAGE_BYTES / 8];
    ask(Ask::Trajectory(wire::Trajectory { sequence: 1, digests, ..won_game() }))
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_that_break_the_protocol_end_alone() {
    let directory = tempfile::tempdir().expect("a scratch folder");
    let config = config(directory.path());
    let running = Running::start(config.clone()).await;
    let (mut honest, _) = Actor::welcomed(&running, hello("honest", None, &config.game)).await;
    for (name, messages, code, says) in BREAKS {
        let status = match Actor::open(&running, messages()).await {
            Ok(mut actor) => actor.end().await.unwrap_or_else(|| panic!("{name} was accepted")),
            Err(status) => status,
        };
        assert_eq!(status.code(), code, "{name}: {status:?}");
        assert!(status.message().starts_with(says), "{name}: {}", status.message());
        assert!(status.message().len() < 1_000, "{name}: {}", status.message().len());
        honest.push_honest(won_game(), name).await;
    }
    let status = running.status().await;
    assert_eq!((status.games, refused(&status).len()), (BREAKS.len() as f64, 0));
    drop(honest);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_comes_twice_counts_once_and_an_older_life_is_over() {
    let directory = tempfile::tempdir().expect("a scratch folder");
    let config = config(directory.path());
    let running = Running::start(config.clone()).await;
    let named = |epoch| hello("twin", epoch, &config.game);
    let (mut first, welcome) = Actor::welcomed(&running, named(None)).await;
    assert_eq!(welcome.epoch, 1);
    first.push_honest(won_game(), "the hello").await;
    // Another game under the same number changes nothing, because the first decision stands.
    let forged = wire::Trajectory { sequence: 1, seats: Vec::new(), ..won_game() };
    first.send(forged).await;
    let answer = first.answer().await.expect("no status").expect("an answer");
    let acknowledged =
        wire::push_response::Message::Ack(wire::Ack { watermark: 1, ..Default::default() });
    assert_eq!(answer, acknowledged);

    // Another process with that name gets a new epoch, which ends the stream of the first.
    let (mut second, welcome) = Actor::welcomed(&running, named(None)).await;
    assert_eq!((welcome.epoch, welcome.watermark), (2, 0));
    let ended = first.end().await.expect("a status");
    assert_eq!(ended.code(), Code::FailedPrecondition, "{ended:?}");
    assert!(ended.message().starts_with("epoch 1 of actor twin is not its last one here"));
    let claim = vec![ask(Ask::Hello(named(Some(1))))];
    let ended = Actor::open(&running, claim).await.expect("a stream").end().await;
    assert_eq!(ended.expect("a status").code(), Code::FailedPrecondition);
    second.push_honest(won_game(), "the end of the other").await;
    assert_eq!(running.status().await.games, 2.0);
    drop((first, second));
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn records_of_a_version_that_is_not_known_are_refused_one_by_one() {
    let directory = tempfile::tempdir().expect("a scratch folder");
    let config = config(directory.path());
    let running = Running::start(config.clone()).await;
    for version in [0, 2, u32::MAX] {
        let hello = wire::Hello { version, ..hello("stranger", None, &config.game) };
        let (mut actor, _) = Actor::welcomed(&running, hello).await;
        let refusal = actor.push(won_game()).await.expect("a refusal");
        let says = format!("record version is {version}; this program reads versions 1 to 1");
        assert_eq!((refusal.reason(), refusal.detail), (Reason::Replay, says));
    }
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_actor_more_than_are_served_is_told_so() {
    let directory = tempfile::tempdir().expect("a scratch folder");
    let mut config = config(directory.path());
    config.intake.max_streams = 1;
    let running = Running::start(config.clone()).await;
    let (mut honest, _) = Actor::welcomed(&running, hello("honest", None, &config.game)).await;
    let status = match Actor::open(&running, spoilt(|_| {})).await {
        Ok(mut actor) => actor.end().await.expect("a status"),
        Err(status) => status,
    };
    assert_eq!(status.code(), Code::ResourceExhausted);
    assert_eq!(status.message(), "all 1 streams of this learner are taken; try again later");
    honest.push_honest(won_game(), "the other").await;
    drop(honest);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn games_of_weights_that_are_too_old_are_refused_as_stale() {
    let directory = tempfile::tempdir().expect("a scratch folder");
    let mut config = config(directory.path());
    config.train.algorithm = AlgorithmConfig::Reinforce(ReinforceConfig::default());
    config.train.batch_moves = 3;
    config.training_states.every_steps = 1;
    config.intake.max_staleness = 1;
    let running = Running::start(config.clone()).await;
    let (mut actor, _) = Actor::welcomed(&running, hello("slow", None, &config.game)).await;
    // Each game has three positions, a whole batch. Each game is thus one step and one generation.
    let mut newest = 0;
    let oldest = loop {
        match actor.push(won_game()).await {
            // The game was accepted, so generation 0 is not stale yet.
            None => newest = newest.max(running.status().await.newest_generation),
            Some(refusal) => {
                assert_eq!(refusal.reason(), Reason::Stale, "{refusal:?}");
                let oldest = refusal
                    .detail
                    .strip_prefix("seat 0 played generation 0; the oldest accepted is ");
                break oldest.expect("the weights").parse::<u32>().expect("a number");
            }
        }
    };
    assert!(oldest >= newest.saturating_sub(1) && oldest > 0, "{oldest} {newest}");
    drop(actor);
    running.stop().await;
}
