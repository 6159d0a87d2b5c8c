//! The checks of games: how long they wait, and the report of invalid games.

use ouro_service::access::{Accepts, CredentialLimits, TokenFile};

use super::*;
use crate::testing::fifo;

#[tokio::test]
async fn games_that_wait_for_their_check_end_with_their_connection() {
    let served = Served::start(fifo(100, 1, 9), None).await;
    let shared = &served.intake.shared;
    let before = Arc::strong_count(shared);
    // No check starts while the test holds the permits.
    let permits = shared.replays.available_permits() as u32;
    let _permits = shared.replays.acquire_many(permits).await.expect("the semaphore is open");
    let mut stream = PushStream::open(served.url.clone(), hello()).await;
    assert!(matches!(stream.answer().await, Ok(Answer::Welcome(_))));
    // The last number skips some, which ends the connection.
    for sequence in [1, 2, 3, 9] {
        let message = Some(Ask::Trajectory(to_wire(sequence, &random_game(sequence))));
        let sent = stream.requests.send(wire::PushRequest { message }).await;
        sent.expect("the stream is open");
    }
    let status = stream.answer().await.expect_err("a number was skipped");
    assert_eq!(status.code(), Code::InvalidArgument, "{status}");
    // Each game that waits holds the state of the service.
    let ended = async {
        while Arc::strong_count(shared) > before {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), ended).await.expect("no game waits");
}

#[tokio::test]
async fn a_check_reports_a_game_that_no_actor_sends_and_no_other() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let path = folder.path().join("tokens.toml");
    let mut file = TokenFile::default();
    let token = file.create("abuser", Role::Actor, None).expect("a new name").reveal();
    file.save(&path).expect("it is written");
    let limits = CredentialLimits { invalid_per_minute: 1, ..CredentialLimits::default() };
    let accepts = Accepts { tokens: Some(&path), limits, ..Accepts::default() };
    let guard = Guard::new(accepts).expect("a valid file");
    let mut headers = tonic::metadata::MetadataMap::new();
    headers.insert("authorization", format!("Bearer {token}").parse().expect("plain text"));
    let identity = guard.visitor(&headers.into_headers(), None, &[Role::Actor]);
    assert!(identity.is_some(), "the token is valid");

    let served = Served::start(fifo(100, 1, 9), None).await;
    let hello = hello();
    let mut reports = Vec::new();
    for is_forged in [false, true, false, true] {
        let mut message = to_wire(1, &random_game(1));
        message.digests[1] ^= u64::from(is_forged);
        let examined = stream::examine(&served.intake.shared, &hello, identity.clone(), message);
        reports.push(examined.await.report.is_ok());
    }
    // The second forged game is one too many.
    assert_eq!(reports, [true, true, true, false]);
}
