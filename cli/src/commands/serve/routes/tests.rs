use axum::body::Body;
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

/// A time that no reply takes, which marks a session.
const MARK: Duration = Duration::from_secs(9);

/// Marks the session of the duel `id`.
async fn mark(server: &Server, id: &str) {
    let mark = |session: &mut Session, _: &GameState| {
        session.slowest = MARK;
        Ok(())
    };
    let marked = server.search(duel(id), SessionUse::Continue, Instant::now(), mark).await;
    marked.expect("no search is in progress");
}

/// Searches the duel `id`. Returns whether its session is marked.
async fn search(server: &Server, id: &str) -> Result<bool, Refusal> {
    let look = |session: &mut Session, _: &GameState| Ok(session.slowest == MARK);
    server.search(duel(id), SessionUse::Continue, Instant::now(), look).await
}

/// Posts a request to `/start` and returns the status of the reply.
async fn post_start(server: &Server, state: &GameState) -> StatusCode {
    let body = serde_json::to_vec(state).expect("requests serialise");
    start(State(server.clone()), Request::new(Body::from(body))).await.status()
}

#[tokio::test]
async fn a_request_that_is_refused_replaces_no_player() {
    let server = server();
    mark(&server, "first").await;
    let searching = server.0.searches.try_acquire().expect("the search has ended");
    for id in ["second", "first"] {
        let refused = search(&server, id).await.expect_err("another search is in progress");
        assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE, "{}", refused.text);
    }
    drop(searching);
    assert!(search(&server, "first").await.expect("no other search"), "the session is the same");
    // A search of another snake does take the place.
    assert!(!search(&server, "second").await.expect("no other search"));
    assert!(!search(&server, "first").await.expect("no other search"), "a new session");
}

#[tokio::test]
async fn a_start_that_is_refused_keeps_the_player_of_its_snake() {
    let server = server();
    mark(&server, "game").await;
    let mut empty = duel("game");
    empty.board.snakes.clear();
    assert_eq!(post_start(&server, &empty).await, StatusCode::BAD_REQUEST);
    let searching = server.0.searches.try_acquire().expect("the search has ended");
    assert_eq!(post_start(&server, &duel("game")).await, StatusCode::SERVICE_UNAVAILABLE);
    drop(searching);
    assert!(search(&server, "game").await.expect("no other search"), "the session is the same");
    assert_eq!(post_start(&server, &duel("game")).await, StatusCode::OK);
    assert!(!search(&server, "game").await.expect("no other search"), "a new session");
}

#[test]
fn the_only_snake_at_the_end_has_won_unless_it_started_alone() {
    let mut state = duel("game");
    assert_eq!(ending(&state, false), "alive at the end");
    let other = state.board.snakes.pop().expect("the second snake");
    assert_eq!(ending(&state, false), "won", "also without a session");
    assert_eq!(ending(&state, true), "alive at the end");
    state.game.ruleset.name = "solo".to_owned();
    assert_eq!(ending(&state, false), "alive at the end");
    state.board.snakes = vec![other];
    assert_eq!(ending(&state, false), "lost");
    state.board.snakes.clear();
    assert_eq!(ending(&state, false), "no snake is alive");
}
