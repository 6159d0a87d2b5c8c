//! The floods.

use ouro_proto::arena::v1::publish_checkpoint_request::Part;
use ouro_proto::arena::v1::{ListMatchesRequest, PublishCheckpointRequest, PublishHeader};
use ouro_proto::learner::v1::push_request::Message as Ask;
use ouro_proto::learner::v1::{Hello, PushRequest, Trajectory};
use prost::Message;

use super::bytes::{
    CONTINUATION, DATA, PING, PRIORITY, RST_STREAM, SETTINGS, WINDOW_UPDATE, call, endless_call,
    frame, half_preface, message, opening, opening_without_window, stream, unary,
};

/// A port of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Port {
    Page,
    Arena,
    Learner,
    Metrics,
}

/// What a connection does after its first bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Then {
    /// Stays open.
    Hold,
    /// Stays open and reads nothing.
    HoldUnread,
    /// Sent the first bytes one by one, 0.1 s apart, and does so again and again.
    Trickle,
    /// Sends more bytes, made from the number of the connection, one each second.
    Drip(fn(u32) -> Vec<u8>),
    /// Closes.
    Close,
    /// Sends more bytes, made from their number, and reads all answers.
    Repeat(fn(u32) -> Vec<u8>),
    /// Like `Repeat`, but reads nothing.
    RepeatUnread(fn(u32) -> Vec<u8>),
}

/// A flood.
#[derive(Clone, Debug)]
pub(crate) struct Flood {
    pub(crate) name: &'static str,
    pub(crate) port: Port,
    /// Connections at once.
    pub(crate) connections: u32,
    /// First bytes of a connection, made from its number.
    pub(crate) opening: fn(u32) -> Vec<u8>,
    pub(crate) then: Then,
}

const fn flood(
    name: &'static str,
    port: Port,
    connections: u32,
    opening: fn(u32) -> Vec<u8>,
    then: Then,
) -> Flood {
    Flood { name, port, connections, opening, then }
}

const LIST_MATCHES: &str = "/ouro.arena.v1.ArenaService/ListMatches";
const RATINGS: &str = "/ouro.arena.v1.ArenaService/GetRatings";
const WATCH_POOL: &str = "/ouro.arena.v1.PoolService/WatchPool";
const PUBLISH: &str = "/ouro.arena.v1.PoolService/PublishCheckpoint";
const PUSH: &str = "/ouro.learner.v1.LearnerService/Push";
const STATUS: &str = "/ouro.learner.v1.LearnerService/GetStatus";

fn nothing(_: u32) -> Vec<u8> {
    Vec::new()
}

fn http2(_: u32) -> Vec<u8> {
    opening()
}

fn get(path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").into_bytes()
}

/// A push of an actor with its own name.
fn push(connection: u32) -> Vec<u8> {
    [opening(), hello(1, connection)].concat()
}

/// A call of `Push` with the hello of an actor.
fn hello(stream: u32, actor: u32) -> Vec<u8> {
    let hello = Hello {
        actor: format!("flood-{actor}"),
        config_json: "{\"game\":\"tic_tac_toe\"}".to_owned(),
        version: 1,
        ..Hello::default()
    };
    [call(PUSH, stream), game(stream, Ask::Hello(hello))].concat()
}

/// A message of a push.
fn game(stream: u32, ask: Ask) -> Vec<u8> {
    message(stream, &PushRequest { message: Some(ask) }.encode_to_vec(), false)
}

/// A game of nothing, which the learner refuses.
fn nothing_played(sequence: u32) -> Vec<u8> {
    let sequence = sequence.into();
    game(1, Ask::Trajectory(Trajectory { sequence, ..Trajectory::default() }))
}

/// The prefix of a message of this length.
fn announced(length: u32) -> Vec<u8> {
    [&[0][..], &length.to_be_bytes()].concat()
}

/// An upload that is announced, with its first chunk or without.
fn upload(index: u32, has_chunk: bool) -> Vec<u8> {
    let header = PublishHeader {
        hash: "ab".repeat(32),
        generation: 1_000_000,
        size_bytes: 1 << 20,
        ..PublishHeader::default()
    };
    let of = |part| PublishCheckpointRequest { part: Some(part) }.encode_to_vec();
    let id = stream(index);
    let mut bytes = [call(PUBLISH, id), message(id, &of(Part::Header(header)), false)].concat();
    if has_chunk {
        bytes.extend(message(id, &of(Part::Chunk(vec![0; 100].into())), false));
    }
    bytes
}

/// Calls on one connection until its streams are used up.
fn calls(path: &str, request: &[u8], index: u32) -> Vec<u8> {
    unary(path, stream(index), request)
}

pub(crate) const FLOODS: [Flood; 35] = [
    flood("connections that send nothing", Port::Page, 1_100, nothing, Then::Hold),
    flood("half a request", Port::Page, 1_100, |_| b"GET / HT".to_vec(), Then::Hold),
    flood("requests byte by byte", Port::Page, 200, |_| get("/"), Then::Trickle),
    flood("connections opened and closed", Port::Page, 100, nothing, Then::Close),
    flood(
        "heads without end",
        Port::Page,
        20,
        |_| b"GET / HTTP/1.1\r\n".to_vec(),
        Then::Repeat(|number| format!("x-{number}: {}\r\n", "y".repeat(1_000)).into_bytes()),
    ),
    flood("requests one after the other", Port::Page, 20, nothing, Then::Repeat(|_| get("/"))),
    flood(
        "requests whose answers are not read",
        Port::Page,
        100,
        nothing,
        Then::RepeatUnread(|_| get("/assets/ouro.js")),
    ),
    flood("event streams that are not read", Port::Page, 200, |_| get("/events"), Then::HoldUnread),
    flood(
        "bodies without end",
        Port::Page,
        20,
        |_| b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n".to_vec(),
        Then::Repeat(|_| vec![0; 1 << 16]),
    ),
    flood("connections that send nothing", Port::Arena, 1_100, nothing, Then::Hold),
    flood("half a preface", Port::Arena, 1_100, |_| half_preface(), Then::Hold),
    flood(
        "settings",
        Port::Arena,
        20,
        http2,
        Then::RepeatUnread(|_| frame(SETTINGS, 0, 0, &[0, 4, 0, 1, 0, 0]).repeat(100)),
    ),
    flood(
        "pings",
        Port::Arena,
        20,
        http2,
        Then::RepeatUnread(|_| frame(PING, 0, 0, &[7; 8]).repeat(100)),
    ),
    flood(
        "calls that are reset at once",
        Port::Arena,
        20,
        http2,
        Then::Repeat(|number| {
            let id = stream(number);
            [call(RATINGS, id), frame(RST_STREAM, 0, id, &[0, 0, 0, 8])].concat()
        }),
    ),
    flood(
        "header blocks without end",
        Port::Arena,
        20,
        |_| [opening(), endless_call(RATINGS)].concat(),
        Then::Repeat(|_| frame(CONTINUATION, 0, 1, &[0, 1, b'x', 1, b'y'].repeat(1_000))),
    ),
    flood(
        "priorities and windows",
        Port::Arena,
        20,
        http2,
        Then::Repeat(|number| {
            let priority = frame(PRIORITY, 0, stream(number % 1_000), &[0, 0, 0, 0, 1]);
            [priority, frame(WINDOW_UPDATE, 0, 0, &[0, 0, 0, 1])].concat().repeat(50)
        }),
    ),
    flood(
        "calls of ListMatches",
        Port::Arena,
        20,
        http2,
        Then::Repeat(|number| {
            let request =
                ListMatchesRequest { player: "nobody".to_owned(), limit: 1_000, before: None };
            calls(LIST_MATCHES, &request.encode_to_vec(), number)
        }),
    ),
    flood(
        "answers that are not read",
        Port::Arena,
        100,
        |_| opening_without_window(),
        Then::RepeatUnread(|number| calls(RATINGS, b"", number)),
    ),
    flood(
        "watchers of the pool that read nothing",
        Port::Arena,
        100,
        |_| {
            let calls = (0..16).flat_map(|index| calls(WATCH_POOL, b"", index));
            [opening_without_window(), calls.collect()].concat()
        },
        Then::HoldUnread,
    ),
    flood(
        "uploads without a chunk",
        Port::Arena,
        50,
        |_| [opening(), (0..16).flat_map(|index| upload(index, false)).collect()].concat(),
        Then::Hold,
    ),
    flood(
        "uploads that stall",
        Port::Arena,
        50,
        |_| [opening(), (0..16).flat_map(|index| upload(index, true)).collect()].concat(),
        Then::Hold,
    ),
    flood(
        "messages of 4 GiB",
        Port::Arena,
        100,
        |_| {
            let length = frame(DATA, 0, 1, &[0, 255, 255, 255, 255]);
            [opening(), call(PUBLISH, 1), length].concat()
        },
        Then::Repeat(|_| frame(DATA, 0, 1, &[0; 1 << 14])),
    ),
    flood("connections that send nothing", Port::Learner, 1_100, nothing, Then::Hold),
    flood("actors without a game", Port::Learner, 200, push, Then::Hold),
    flood(
        "actors with games of nothing",
        Port::Learner,
        50,
        |index| [push(index), nothing_played(1)].concat(),
        Then::Repeat(|number| nothing_played(number + 2)),
    ),
    flood(
        "pushes that are reset at once",
        Port::Learner,
        20,
        http2,
        Then::Repeat(|number| {
            let id = stream(number);
            [hello(id, number % 50), frame(RST_STREAM, 0, id, &[0, 0, 0, 8])].concat()
        }),
    ),
    flood(
        "games of 1 MiB, a byte each second",
        Port::Learner,
        50,
        push,
        Then::Drip(|_| frame(DATA, 0, 1, &[announced(1 << 20), vec![0; 4_096]].concat())),
    ),
    flood(
        "acknowledgements that are not read",
        Port::Learner,
        50,
        |index| [opening_without_window(), hello(1, index)].concat(),
        Then::RepeatUnread(|number| nothing_played(number + 1)),
    ),
    flood(
        "games of 16 MiB",
        Port::Learner,
        20,
        |index| [push(index), frame(DATA, 0, 1, &announced(16 << 20))].concat(),
        Then::Repeat(|_| frame(DATA, 0, 1, &[0; 1 << 14])),
    ),
    flood(
        "frames without content",
        Port::Learner,
        20,
        push,
        Then::Repeat(|_| frame(DATA, 0, 1, b"").repeat(100)),
    ),
    flood(
        "calls of GetStatus",
        Port::Learner,
        20,
        http2,
        Then::Repeat(|number| calls(STATUS, b"", number)),
    ),
    flood("connections that send nothing", Port::Metrics, 1_100, nothing, Then::Hold),
    flood("requests byte by byte", Port::Metrics, 200, |_| get("/metrics"), Then::Trickle),
    flood(
        "requests one after the other",
        Port::Metrics,
        20,
        nothing,
        Then::Repeat(|_| get("/metrics")),
    ),
    flood(
        "requests whose answers are not read",
        Port::Metrics,
        100,
        nothing,
        Then::RepeatUnread(|_| get("/metrics")),
    ),
];
