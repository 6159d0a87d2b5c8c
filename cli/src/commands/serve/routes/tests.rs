use ouro_game::battlesnake::Config;
use ouro_game::battlesnake::api::Customizations;

use super::super::testing::request;
use super::*;

/// A server for one snake at a time.
fn server() -> Server {
    let players = PlayerList::new(&["greedy".to_owned()], Duration::ZERO).expect("it is known");
    let info = Info {
        apiversion: "1".to_owned(),
        author: String::new(),
        customizations: Customizations::default(),
        version: String::new(),
    };
    Server::new(players, NonZero::<u16>::MIN, info)
}

/// The first request of the duel `id`.
fn duel(id: &str) -> GameState {
    let mut state = request(&Config { snakes: 2, ..Config::default() }, 0);
    state.game.id = id.to_owned();
    state
}

#[tokio::test]
async fn a_request_that_is_refused_replaces_no_player() {
    let server = server();
    let mark = Duration::from_secs(9);
    let first = server.search(duel("first"), Instant::now(), move |session, _| {
        session.slowest = mark;
        Ok(())
    });
    first.await.expect("no other search is in progress");
    let searching = server.0.searches.try_acquire().expect("the search has ended");
    for id in ["second", "first"] {
        let refused = server.search(duel(id), Instant::now(), |_, _| Ok(())).await;
        let refused = refused.expect_err("another search is in progress");
        assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE, "{}", refused.text);
    }
    drop(searching);
    let again = server.search(duel("first"), Instant::now(), |session, _| Ok(session.slowest));
    assert_eq!(again.await.expect("no search is in progress"), mark, "the session is the same");
    // A search of another snake does take the place.
    let other = server.search(duel("second"), Instant::now(), |session, _| Ok(session.slowest));
    assert_eq!(other.await.expect("no search is in progress"), Duration::ZERO);
    let again = server.search(duel("first"), Instant::now(), |session, _| Ok(session.slowest));
    assert_eq!(again.await.expect("no search is in progress"), Duration::ZERO, "a new session");
}
