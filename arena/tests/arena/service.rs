//! A whole arena over loopback: publish, match, promotion, ratings, restart, refusals.

use bytes::Bytes;
use ouro_arena::config::MatchConfig;
use ouro_arena::store::{EmbeddedStore, LOG_FILE, Outcome, Store, replay};
use ouro_arena::{Arena, ArenaError, ArenaEvent};
use ouro_game::GameConfig;
use ouro_net::{ContentHash, Generation, Weights};
use ouro_proto::CheckpointStatus;
use ouro_proto::arena::v1;
use ouro_proto::arena::v1::pool_service_client::PoolServiceClient;
use ouro_proto::arena::v1::publish_checkpoint_request::Part;
use ouro_proto::arena_client::{ArenaError as ClientError, OpponentShares};
use ouro_rating::gate::Reason;
use ouro_testkit::network::net_spec;
use tonic::Code;
use tonic::transport::Channel;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tonic_reflection::pb::{v1 as reflection, v1alpha};

use super::running::{
    ARCHITECTURE, MAX_BYTES, Running, clock, config, game, strong, uniform, weights,
};

const SERVICE: &str = "ouro.arena.v1.ArenaService";
const POOL_SERVICE: &str = "ouro.arena.v1.PoolService";

#[tokio::test]
async fn a_candidate_earns_its_promotion_and_a_restart_keeps_everything() {
    let folder = tempfile::tempdir().unwrap();
    let mut arena = Running::start(folder.path()).await;
    assert_eq!(arena.client.get_pool().await.unwrap().newest, None);

    // The untrained network is a candidate like any other, and it is no better than random.
    let decision = arena.publish(0, uniform(0)).await;
    assert_eq!(decision.promotion(), None);
    // Its rating games yield to the next candidate.
    arena.idle_after(0).await;
    let decision = arena.publish(1, strong(1)).await;
    let promotion = decision.promotion().unwrap();
    assert_eq!(promotion.generation, Generation(1));
    assert!(promotion.score.superiority() > 0.95, "{promotion:?}");
    let Outcome::Ruled { report, .. } = &decision.outcome else { panic!("{decision:?}") };
    assert!(report.games < 100 && report.ruling.unwrap().reason != Reason::AllPlayed);
    // Random moves do not pass against the new champion.
    let decision = arena.publish(2, uniform(2)).await;
    assert_eq!(decision.promotion(), None);
    // Every candidate plays the anchors: random, minimax of two depths.
    arena.idle_after(2).await;

    let snapshot = arena.client.watch_pool().await.unwrap().next().await.unwrap().unwrap();
    let chance = snapshot.members[0].newest_wins.unwrap();
    assert!(chance < 0.5, "the champion is the stronger one: {chance}");
    assert_eq!(snapshot.newest.as_ref().unwrap().parent, Some(Generation(1)));
    let shares = OpponentShares { self_play: 0.5, prioritised: 0.4, uniform: 0.1 };
    let drawn = arena.client.draw_opponents(64, 7, shares).await.unwrap();
    assert_eq!(drawn, arena.client.draw_opponents(64, 7, shares).await.unwrap());
    assert!(drawn.iter().any(|one| one.self_play && one.generation == Generation(2)));
    assert!(drawn.iter().any(|one| !one.self_play && one.generation == Generation(1)));
    let none = OpponentShares { self_play: 0.0, prioritised: 0.0, uniform: 0.0 };
    let error = arena.client.draw_opponents(1, 7, none).await.unwrap_err();
    assert!(matches!(error, ClientError::Refused { code: Code::InvalidArgument, .. }), "{error}");

    let pool = arena.client.get_pool().await.unwrap();
    let champion = pool.champion.clone().unwrap();
    assert_eq!((champion.generation, champion.published_at), (Generation(1), 1_000.0));
    assert_eq!(pool.newest.as_ref().unwrap().generation, Generation(2));
    assert_eq!(pool.pool, std::slice::from_ref(&champion));
    assert_eq!(arena.client.fetch_weights(&champion).await.unwrap(), strong(1));
    // Publishing again changes nothing.
    let again = arena.client.publish(Generation(1), 10, strong(1)).await.unwrap();
    assert_eq!(again, champion);
    arena.stop().await;

    let mut arena = Running::start(folder.path()).await;
    let ratings = arena.client.get_ratings().await.unwrap();
    assert_eq!(ratings.anchor, "random");
    let elo = |name: &str| ratings.ratings.iter().find(|row| row.player == name).unwrap().elo;
    assert_eq!(elo("random"), 0.0);
    assert!(elo("generation-1") > 50.0, "{ratings:?}");
    assert!(elo("generation-1") > elo("generation-0") && elo("generation-1") > elo("generation-2"));
    let seats: u32 = ratings.ratings.iter().map(|row| row.games).sum();
    assert_eq!(seats, 2 * ratings.games);
    assert_eq!(arena.client.get_pool().await.unwrap(), {
        // The verdict on generation 2 may have arrived after the first request of the pool.
        let mut pool = pool;
        pool.newest.as_mut().unwrap().status = CheckpointStatus::Rejected;
        pool
    });
    let rows = arena.client.list_checkpoints().await.unwrap();
    let statuses: Vec<_> = rows.iter().map(|row| (row.generation.0, row.status)).collect();
    use CheckpointStatus::{Champion, Rejected};
    assert_eq!(statuses, [(0, Rejected), (1, Champion), (2, Rejected)]);
    arena.stop().await;

    // The store equals the replay of its log.
    let store = EmbeddedStore::open(folder.path()).unwrap();
    let replayed = replay(&store).unwrap();
    assert_eq!(replayed.checkpoints, store.checkpoints().unwrap());
    assert_eq!(replayed.decisions, store.decisions().unwrap());
    assert_eq!(replayed.promotions, store.promotions().unwrap());
    assert_eq!(replayed.matches, store.matches().unwrap());
    // Bit for bit, because every fit starts from the same point.
    assert_eq!(replayed.table(), ratings);
}

/// The status code of a raw upload of these parts.
#[tokio::test]
async fn a_store_that_was_removed_or_emptied_beside_its_weights_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut arena = Running::start(folder.path()).await;
    arena.publish(0, uniform(0)).await;
    arena.stop().await;
    let (store, aside) = (folder.path().join(LOG_FILE), folder.path().join("aside"));
    std::fs::rename(&store, &aside).unwrap();
    for is_empty in [false, true] {
        if is_empty {
            std::fs::write(&store, "").unwrap();
        }
        let error = Arena::bind(config(folder.path()), clock()).await.unwrap_err();
        assert!(matches!(error, ArenaError::StoreLost { .. }), "{error}");
        assert!(error.to_string().contains("put the store back"), "{error}");
    }
    std::fs::rename(&aside, &store).unwrap();
    Running::start(folder.path()).await.stop().await;
}

#[tokio::test]
async fn the_ratings_published_last_count_every_stored_game() {
    let folder = tempfile::tempdir().unwrap();
    let mut config = config(folder.path());
    // A match that is under way for long enough to be stopped in the middle.
    config.matches.anchor_games = 10_000;
    let mut arena = Running::start_with(config).await;
    arena.publish(0, strong(0)).await;
    // The first rating match, against the champion, is complete when the next one starts.
    let mut started = 0;
    while started < 2 {
        if let ArenaEvent::MatchStarted(info) = arena.events.recv().await.unwrap() {
            started += u32::from(info.rule.is_none());
        }
    }
    let ratings = arena.ratings.clone();
    arena.stop().await;

    let store = EmbeddedStore::open(folder.path()).unwrap();
    let replayed = replay(&store).unwrap();
    assert!(replayed.table().games > 0);
    assert_eq!(**ratings.borrow(), replayed.table());
}

async fn upload(channel: &Channel, parts: Vec<Part>) -> Code {
    let messages: Vec<_> =
        parts.into_iter().map(|part| v1::PublishCheckpointRequest { part: Some(part) }).collect();
    let mut client = PoolServiceClient::new(channel.clone());
    match client.publish_checkpoint(tokio_stream::iter(messages)).await {
        Ok(_) => Code::Ok,
        Err(status) => status.code(),
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

#[tokio::test]
async fn an_upload_that_differs_from_its_header_is_refused_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut arena = Running::start(folder.path()).await;
    let channel = arena.channel().await;
    let file = uniform(0);
    let chunk = || Part::Chunk(file.clone());
    let good = header(&file);
    let changed = |change: &dyn Fn(&mut v1::PublishHeader)| {
        let mut header = good.clone();
        change(&mut header);
        vec![Part::Header(header), chunk()]
    };
    let two_headers = vec![Part::Header(good.clone()), Part::Header(good.clone())];
    let wrong = Code::InvalidArgument;
    for (name, parts, code) in [
        ("no header", vec![chunk()], wrong),
        ("nothing", vec![], wrong),
        ("two headers", two_headers, wrong),
        ("a malformed hash", changed(&|header| header.hash = "x".into()), wrong),
        ("another hash", changed(&|header| header.hash = "0".repeat(64)), wrong),
        ("too few bytes", changed(&|header| header.size_bytes += 1), wrong),
        ("too many bytes", changed(&|header| header.size_bytes -= 1), wrong),
        (
            "an empty chunk",
            vec![Part::Header(good.clone()), Part::Chunk(Bytes::new()), chunk()],
            wrong,
        ),
        ("oversized", changed(&|header| header.size_bytes = MAX_BYTES + 1), Code::OutOfRange),
        ("another generation", changed(&|header| header.generation = 4), wrong),
        ("another step", changed(&|header| header.step = 11), wrong),
        ("a parent that is no older", changed(&|header| header.parent = Some(0)), wrong),
    ] {
        assert_eq!(upload(&channel, parts).await, code, "{name}");
    }
    assert_eq!(arena.client.list_checkpoints().await.unwrap(), []);
    assert_eq!(std::fs::read_dir(folder.path().join("weights")).unwrap().count(), 0);

    // The arena still works, and a generation keeps its weights.
    assert_eq!(upload(&channel, changed(&|_| {})).await, Code::Ok);
    let error = arena.client.publish(Generation(0), 10, strong(0)).await.unwrap_err();
    assert!(matches!(error, ClientError::Refused { code: Code::AlreadyExists, .. }), "{error}");
    assert_eq!(std::fs::read_dir(folder.path().join("weights")).unwrap().count(), 1);
    drop(channel);
    arena.stop().await;
}

#[tokio::test]
async fn weights_that_do_not_fit_the_game_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut arena = Running::start(folder.path()).await;
    let file = uniform(0);
    let mut poisoned = file.to_vec();
    let end = poisoned.len();
    poisoned[end - 4..].copy_from_slice(&f32::NAN.to_le_bytes());
    let foreign = weights(&GameConfig::by_name("connect_four").unwrap(), 0).to_safetensors();
    let mut shape = net_spec(&game(), ARCHITECTURE);
    shape.actions += 1;
    let meta = weights(&game(), 0).meta().clone();
    let misfit = Weights::initialize(shape, meta, 1).unwrap().to_safetensors();
    for (name, file, expected) in [
        ("garbage", b"not a safetensors file".to_vec(), Code::InvalidArgument),
        ("truncated", file[..end - 1].to_vec(), Code::InvalidArgument),
        ("NaN", poisoned, Code::InvalidArgument),
        ("a foreign game", foreign, Code::FailedPrecondition),
        ("a network that does not fit", misfit, Code::FailedPrecondition),
    ] {
        let error = arena.client.publish(Generation(0), 10, file.into()).await.unwrap_err();
        let ClientError::Refused { code, message } = error else { panic!("{name}: {error}") };
        assert_eq!(code, expected, "{name}: {message}");
    }
    let mut raw = PoolServiceClient::new(arena.channel().await);
    for (hash, code) in
        [("0".repeat(64), Code::NotFound), ("../results.log".into(), Code::InvalidArgument)]
    {
        let request = v1::FetchCheckpointRequest { hash };
        assert_eq!(raw.fetch_checkpoint(request).await.unwrap_err().code(), code);
    }
    drop(raw);
    arena.stop().await;
}

#[tokio::test]
async fn health_and_both_reflections_name_the_service() {
    let folder = tempfile::tempdir().unwrap();
    let arena = Running::start(folder.path()).await;
    let channel = arena.channel().await;

    use reflection::server_reflection_request::MessageRequest;
    use reflection::server_reflection_response::MessageResponse;
    let request = reflection::ServerReflectionRequest {
        host: String::new(),
        message_request: Some(MessageRequest::FileContainingSymbol(SERVICE.into())),
    };
    let answers =
        reflection::server_reflection_client::ServerReflectionClient::new(channel.clone())
            .server_reflection_info(tokio_stream::once(request))
            .await;
    let answer = answers.unwrap().into_inner().message().await.unwrap().unwrap();
    let answer = answer.message_response.unwrap();
    assert!(matches!(answer, MessageResponse::FileDescriptorResponse(_)), "{answer:?}");

    let list = v1alpha::server_reflection_request::MessageRequest::ListServices(String::new());
    let request =
        v1alpha::ServerReflectionRequest { host: String::new(), message_request: Some(list) };
    let answers = v1alpha::server_reflection_client::ServerReflectionClient::new(channel.clone())
        .server_reflection_info(tokio_stream::once(request))
        .await;
    let answer = answers.unwrap().into_inner().message().await.unwrap().unwrap();
    let answer = answer.message_response.unwrap();
    use v1alpha::server_reflection_response::MessageResponse::ListServicesResponse;
    let ListServicesResponse(list) = answer else { panic!("not a list: {answer:?}") };
    let mut names: Vec<&str> = list.service.iter().map(|service| service.name.as_str()).collect();
    names.sort_unstable();
    // Only the services of this port, although the descriptors include the learner's.
    let reflection = "grpc.reflection.v1alpha.ServerReflection";
    assert_eq!(names, ["grpc.health.v1.Health", reflection, SERVICE, POOL_SERVICE]);

    let mut health = HealthClient::new(channel);
    let request = HealthCheckRequest { service: SERVICE.into() };
    let mut watch = health.watch(request).await.unwrap().into_inner();
    let mut statuses = vec![watch.message().await.unwrap().unwrap().status()];
    arena.stop.cancel();
    while let Some(message) = watch.message().await.unwrap() {
        statuses.push(message.status());
    }
    assert_eq!(statuses, [ServingStatus::Serving, ServingStatus::NotServing]);
    drop(health);
    arena.stop().await;
}

#[tokio::test]
async fn a_wrong_configuration_or_a_store_of_another_run_is_refused_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    drop(Arena::bind(config(folder.path()), clock()).await.unwrap());
    let mut other = config(folder.path());
    other.run.seed = 12;
    let error = Arena::bind(other, clock()).await.unwrap_err();
    assert!(error.to_string().contains("choose another data folder"), "{error}");

    type Spoil = fn(&mut MatchConfig);
    let cases: [(Spoil, &str); 11] = [
        (|m| m.gate.games = 1, "arena.gate.games is 1; it must be at least 2"),
        (|m| m.max_plies = 0, "arena.max_plies is 0; it must be 1 to 2^20"),
        (|m| m.parallel = 0, "arena.parallel is 0; it must be 1 to"),
        (|m| m.spare_share = 1.5, "arena.spare_share is 1.5; it must be 0 to 1"),
        (|m| m.match_share = 0.0, "arena.match_share is 0; it must be above 0 and at most 1"),
        (|m| m.catch_up_share = 1.5, "arena.catch_up_share is 1.5; it must be 0 to 1"),
        (
            |m| m.opening_plies = Some(1_000),
            "arena.opening_plies is 1000; it must be less than arena.max_plies",
        ),
        (|m| m.player = "nett{weights=self}".into(), "arena.player names a player that cannot"),
        (|m| m.player = "net{weights=other}".into(), "no weights are called \"other\""),
        (|m| m.player = "random".into(), "plays without the candidate's weights"),
        (|m| m.anchors = Some(vec!["hamiltonian".into()]), "arena.anchors names a player that"),
    ];
    for (spoil, part) in cases {
        let mut wrong = config(folder.path());
        spoil(&mut wrong.matches);
        let error = Arena::bind(wrong, clock()).await.unwrap_err();
        assert!(
            matches!(error, ArenaError::Config(_)) && error.to_string().contains(part),
            "{error}"
        );
    }
}
