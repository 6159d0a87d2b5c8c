//! Malformed and forged calls: each is refused with its code and a message.

use bytes::Bytes;
use ouro_game::{Game, GameConfig, GameVisitor};
use ouro_net::{Architecture, ContentHash, NetSpec, Weights};
use ouro_proto::arena::v1;
use ouro_proto::arena::v1::arena_service_client::ArenaServiceClient;
use ouro_proto::arena::v1::pool_service_client::PoolServiceClient;
use ouro_proto::arena::v1::publish_checkpoint_request::Part;
use tonic::transport::Channel;
use tonic::{Code, Status};

use super::running::{MAX_BYTES, Running, game, uniform, weights};

/// A network for the game whose layers and heads do not fit the rules.
struct Misfit;

impl GameVisitor for Misfit {
    type Output = NetSpec;

    fn visit<G: Game>(self, game: G) -> NetSpec {
        let architecture = Architecture::Conv { channels: 4, layers: 1, hidden: 8 };
        NetSpec { planes: game.planes(), actions: game.action_count() + 1, architecture }
    }
}

fn header(file: &[u8]) -> v1::PublishHeader {
    v1::PublishHeader {
        hash: ContentHash::of(file).to_string(),
        generation: 0,
        step: 10,
        size_bytes: file.len() as u64,
        parent: None,
    }
}

/// A file as it is published, in chunks of this size.
fn pieces(file: &[u8], size: usize) -> Vec<Part> {
    let chunks = file.chunks(size).map(|chunk| Part::Chunk(Bytes::copy_from_slice(chunk)));
    [Part::Header(header(file))].into_iter().chain(chunks).collect()
}

/// A valid publication with a changed header.
fn announced(file: &[u8], change: impl FnOnce(&mut v1::PublishHeader)) -> Vec<Part> {
    let mut parts = pieces(file, file.len());
    if let Part::Header(header) = &mut parts[0] {
        change(header);
    }
    parts
}

async fn publish(channel: &Channel, parts: Vec<Part>) -> Result<(), Status> {
    let messages: Vec<_> =
        parts.into_iter().map(|part| v1::PublishCheckpointRequest { part: Some(part) }).collect();
    let mut client = PoolServiceClient::new(channel.clone());
    client.publish_checkpoint(tokio_stream::iter(messages)).await.map(drop)
}

fn assert_refused(name: &str, answer: Result<(), Status>, code: Code, says: &str) {
    let status = answer.expect_err(name);
    assert_eq!(status.code(), code, "{name}: {status:?}");
    assert!(status.message().contains(says), "{name}: {}", status.message());
    assert_eq!(status.message().lines().count(), 1, "{name}: {}", status.message());
}

#[tokio::test]
async fn forged_publications_are_refused_with_a_message_and_leave_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut arena = Running::start(folder.path()).await;
    let channel = arena.channel().await;
    let honest = uniform(0);
    let of = |parts: &[u8]| pieces(parts, parts.len());
    let mut swapped = pieces(&honest, honest.len() / 2 + 1);
    swapped.swap(1, 2);
    let mut flipped = honest.to_vec();
    flipped[honest.len() / 2] ^= 0x40;
    let mut lying = pieces(&flipped, flipped.len());
    lying[0] = Part::Header(header(&honest));
    let mut infinite = honest.to_vec();
    let end = infinite.len();
    infinite[end - 4..].copy_from_slice(&f32::INFINITY.to_le_bytes());
    let mut headless = honest.to_vec();
    headless[..8].copy_from_slice(&u64::MAX.to_le_bytes());
    // In JSON, each line break is the two characters of an escape.
    let entry = r#":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}"#;
    let entry = format!("{{\"{}\"{entry}", "a\\n".repeat(60_000));
    let many_lines = [&(entry.len() as u64).to_le_bytes()[..], entry.as_bytes()].concat();
    let foreign = weights(&GameConfig::by_name("connect_four").unwrap(), 0).to_safetensors();
    let meta = weights(&game(), 0).meta().clone();
    let misfit = Weights::initialize(game().visit(Misfit).unwrap(), meta, 1).unwrap();
    let wrong = Code::InvalidArgument;
    let cases = [
        ("chunks in another order", swapped, wrong, "weights hash to "),
        ("a bit that flipped on the way", lying, wrong, "weights hash to "),
        (
            "a chunk before the header",
            pieces(&honest, 100).split_off(1),
            wrong,
            "the first message must be the header",
        ),
        (
            "a hash in capitals",
            announced(&honest, |h| h.hash = h.hash.to_uppercase()),
            wrong,
            "is not 64 lower-case hex digits",
        ),
        ("no hash", announced(&honest, |h| h.hash.clear()), wrong, "hash \"\" is not 64"),
        (
            "a size of 0",
            announced(&honest, |h| h.size_bytes = 0),
            wrong,
            "more than the announced 0 bytes",
        ),
        (
            "a size beyond all memory",
            announced(&honest, |h| h.size_bytes = u64::MAX),
            Code::OutOfRange,
            "weights of 18446744073709551615 bytes are over the limit of 1048576",
        ),
        (
            "one byte more than fits",
            announced(&honest, |h| h.size_bytes = MAX_BYTES + 1),
            Code::OutOfRange,
            "are over the limit of",
        ),
        (
            "a byte missing",
            announced(&honest, |h| h.size_bytes += 1),
            wrong,
            "bytes of weights arrived",
        ),
        (
            "a generation that it is not",
            announced(&honest, |h| h.generation = u32::MAX),
            wrong,
            "header says generation 4294967295, the weights say 0",
        ),
        (
            "a step that it is not",
            announced(&honest, |h| h.step = 0),
            wrong,
            "header says step 0, the weights say 10",
        ),
        (
            "its own parent",
            announced(&honest, |h| h.parent = Some(0)),
            wrong,
            "a parent has a lower number",
        ),
        (
            "no file at all",
            of(b"\0"),
            wrong,
            "weights: not a whole safetensors file: 1 bytes cannot hold the header's length",
        ),
        (
            "a header beyond the file",
            of(&headless),
            wrong,
            "weights: the header has 18446744073709551615 bytes; at most ",
        ),
        (
            "an infinite weight",
            of(&infinite),
            wrong,
            "weights: tensor value.weight holds inf at index 7; ",
        ),
        (
            "half a file",
            of(&honest[..honest.len() / 2]),
            wrong,
            "weights: not a whole safetensors file: tensor ",
        ),
        (
            "a tensor's name of many lines",
            of(&many_lines),
            wrong,
            "weights: not a whole safetensors file: tensor a\\na\\n",
        ),
        (
            "weights for another game",
            of(&foreign),
            Code::FailedPrecondition,
            "this arena plays {\"game\":\"tic_tac_toe\"",
        ),
        (
            "a head for another action space",
            of(&misfit.to_safetensors()),
            Code::FailedPrecondition,
            "it has 10 actions, the game 9",
        ),
    ];
    for (name, parts, code, says) in cases {
        assert_refused(name, publish(&channel, parts).await, code, says);
    }
    // A message over the transport's limit is refused before it is read.
    let large = vec![Part::Header(header(&honest)), Part::Chunk(vec![7; 2 << 20].into())];
    let answer = publish(&channel, large).await;
    assert_refused("a chunk of two megabytes", answer, Code::OutOfRange, "length too large");
    assert_eq!(arena.client.list_checkpoints().await.unwrap(), []);
    assert_eq!(std::fs::read_dir(folder.path().join("weights")).unwrap().count(), 0);

    publish(&channel, of(&honest)).await.unwrap();
    assert_eq!(arena.client.list_checkpoints().await.unwrap().len(), 1);
    drop(channel);
    arena.stop().await;
}

#[tokio::test]
async fn requests_for_missing_things_are_answered_with_a_message() {
    let folder = tempfile::tempdir().unwrap();
    let arena = Running::start(folder.path()).await;
    let channel = arena.channel().await;
    let mut pool = PoolServiceClient::new(channel.clone());
    let mut asked = ArenaServiceClient::new(channel.clone());
    let shares = |self_play, prioritised, uniform| {
        Some(v1::OpponentShares { self_play, prioritised, uniform })
    };
    let even = shares(0.5, 0.25, 0.25);
    let wrong = Code::InvalidArgument;
    let draws = [
        ("no draw", 0, even, Code::OutOfRange, "count is 0; draw 1 to 4096 opponents at once"),
        ("too many draws", 4_097, even, Code::OutOfRange, "count is 4097; draw 1 to 4096"),
        ("no shares", 1, None, wrong, "shares are missing; set self_play, prioritised and uniform"),
        (
            "shares of nothing",
            1,
            shares(0.0, 0.0, 0.0),
            wrong,
            "self_play, prioritised and uniform are all 0; give one of them at least",
        ),
        ("a negative share", 1, shares(1.0, -0.5, 0.5), wrong, "prioritised is -0.5; a share is"),
        ("a share that is no number", 1, shares(f64::NAN, 0.5, 0.5), wrong, "self_play is NaN; a"),
        ("an infinite share", 1, shares(0.0, 0.5, f64::INFINITY), wrong, "uniform is inf; a share"),
        (
            "an empty pool",
            1,
            even,
            Code::FailedPrecondition,
            "no checkpoint was published yet; publish one first",
        ),
    ];
    for (name, count, shares, code, says) in draws {
        let answer = pool.draw_opponents(v1::DrawOpponentsRequest { count, seed: 1, shares }).await;
        assert_refused(name, answer.map(drop), code, says);
    }
    let stranger = "f".repeat(64);
    let says = format!("weights {stranger} are not held here; only pool members, candidates");
    let request = v1::FetchCheckpointRequest { hash: stranger };
    let answer = pool.fetch_checkpoint(request).await;
    assert_refused("a stranger's hash", answer.map(drop), Code::NotFound, &says);
    for hash in ["f".repeat(63), "../../etc/passwd".to_owned(), String::new(), "é".repeat(32)] {
        let says = format!("hash {hash:?} is not 64 lower-case hex digits");
        let answer = pool.fetch_checkpoint(v1::FetchCheckpointRequest { hash: hash.clone() }).await;
        assert_refused(&hash, answer.map(drop), wrong, &says);
    }
    let game = v1::GameId { r#match: 7, cluster: 1, game: 2 };
    let answer = asked.get_game(v1::GetGameRequest { id: Some(game) }).await;
    let says = "game 2 of cluster 1 of match 7 is not kept; GetMatch lists the kept games";
    assert_refused("a game", answer.map(drop), Code::NotFound, says);
    let answer = asked.get_game(v1::GetGameRequest { id: None }).await;
    assert_refused("no game", answer.map(drop), wrong, "id is missing");
    let answer = asked.get_match(v1::GetMatchRequest { number: u32::MAX }).await;
    let says = "match 4294967295 does not exist; ListMatches lists all matches";
    assert_refused("a match", answer.map(drop), Code::NotFound, says);
    drop((pool, asked, channel));
    arena.stop().await;
}
