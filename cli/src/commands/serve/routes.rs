//! Requests and replies over HTTP.
//!
//! A request that cannot be answered gets one line of text and a status: 400 for a body that the API
//! does not allow, 408 for one that is slow, 413 for one that is too long, 503 while an earlier request
//! for the same snake takes too long.

use std::fmt::Display;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use ouro_game::battlesnake::api::{ApiError, GameState, Info, MAX_REQUEST_BYTES, Reply};
use ouro_service::{Throttle, blocking};
use serde::Serialize;
use tokio::time::timeout;

use super::games::Recent;
use super::roster::Roster;
use super::seat::{Ending, Seat, SeatError};

/// Time limit for the body of a request.
const BODY_TIME: Duration = Duration::from_secs(5);
/// Time limit for the search of an earlier request of the same snake.
const SEARCH_TIME: Duration = Duration::from_secs(10);
/// Time between two log lines about refused requests.
const LOG_INTERVAL: Duration = Duration::from_secs(10);
/// Most characters of the text of a refusal.
const REFUSAL_CHARS: usize = 300;
/// Most characters of an id in a log line.
const ID_CHARS: usize = 64;

/// A seat that one request at a time uses.
type SharedSeat = Arc<tokio::sync::Mutex<Seat>>;

/// Everything that the handlers need. Clones share it.
#[derive(Clone, Debug)]
pub(super) struct Site(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    roster: Roster,
    /// Seats by the ids of their game and their snake.
    seats: Mutex<Recent<(String, String), SharedSeat>>,
    info: Info,
    refusals: Mutex<Throttle>,
}

impl Site {
    /// A server of `roster` that remembers as many snakes as `snakes`.
    pub(super) fn new(roster: Roster, snakes: usize, info: Info) -> Self {
        let seats = Mutex::new(Recent::new(snakes));
        let refusals = Mutex::new(Throttle::new(LOG_INTERVAL));
        Self(Arc::new(Shared { roster, seats, info, refusals }))
    }

    /// The seat of the requested snake.
    fn seat(&self, state: &GameState) -> SharedSeat {
        let mut seats = self.0.seats.lock().unwrap_or_else(PoisonError::into_inner);
        seats.get_or_insert(&place(state), SharedSeat::default)
    }

    /// Forgets the seat of the requested snake.
    fn forget(&self, state: &GameState) -> Option<SharedSeat> {
        let mut seats = self.0.seats.lock().unwrap_or_else(PoisonError::into_inner);
        seats.remove(&place(state))
    }

    /// Runs `work` on the seat of the requested snake, outside the threads of the runtime.
    async fn with_seat<T: Send + 'static>(
        &self,
        state: GameState,
        work: impl FnOnce(&mut Seat, &Roster, &GameState) -> Result<T, SeatError> + Send + 'static,
    ) -> Result<T, Refusal> {
        let seat = timeout(SEARCH_TIME, self.seat(&state).lock_owned()).await;
        let mut seat = seat.map_err(|_| Refusal::busy())?;
        let site = self.clone();
        let worked = blocking(move || work(&mut seat, &site.0.roster, &state)).await;
        Ok(worked.map_err(|error| Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, error))??)
    }

    /// Logs a refusal and converts it to a response.
    fn refuse(&self, path: &str, refusal: Refusal) -> Response {
        let Refusal { status, text } = refusal;
        let mut refusals = self.0.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = refusals.admit() {
            tracing::warn!(path, status = status.as_u16(), count, "request refused: {text}");
        }
        (status, format!("{text}\n")).into_response()
    }
}

/// The routes of the API.
pub(super) fn routes(site: Site) -> Router {
    Router::new()
        .route("/", get(info))
        .route("/start", post(start))
        .route("/move", post(choose))
        .route("/end", post(end))
        .fallback(|| async { (StatusCode::NOT_FOUND, "see the Battlesnake API, version 1\n") })
        .with_state(site)
}

async fn info(State(site): State<Site>) -> Response {
    json(&site.0.info)
}

async fn start(State(site): State<Site>, body: Body) -> Response {
    let started = async {
        let state = read(body).await?;
        // Another game may have had the same id.
        site.forget(&state);
        let (game, snakes) = (id(&state.game.id), state.board.snakes.len());
        let (board, timeout) = (board(&state), state.game.timeout);
        let ruleset = id(&state.game.ruleset.name);
        let player = site.with_seat(state, |seat, roster, state| {
            seat.prepare(roster, state)?;
            Ok(seat.player().unwrap_or_default().to_owned())
        });
        let player = player.await?;
        tracing::info!(game, ruleset, board, snakes, timeout, player, "game started");
        Ok(StatusCode::OK.into_response())
    };
    started.await.unwrap_or_else(|refusal| site.refuse("/start", refusal))
}

async fn choose(State(site): State<Site>, body: Body) -> Response {
    let chosen = async {
        let state = read(body).await?;
        let begun = Instant::now();
        let chosen = site.with_seat(state, move |seat, roster, state| {
            let action = seat.choose(roster, state)?;
            let took = begun.elapsed();
            seat.slowest = seat.slowest.max(took);
            let (allowed, took) = (state.game.timeout, milliseconds(took));
            if allowed > 0 && took > allowed.unsigned_abs() {
                let game = id(&state.game.id);
                tracing::warn!(
                    game,
                    turn = state.turn,
                    took,
                    allowed,
                    "reply is late; see --margin"
                );
            }
            Ok(action)
        });
        Ok(json(&Reply::new(chosen.await?)))
    };
    chosen.await.unwrap_or_else(|refusal| site.refuse("/move", refusal))
}

async fn end(State(site): State<Site>, body: Body) -> Response {
    let ended = async {
        let state = read(body).await?;
        let seat = site.forget(&state);
        let slowest = match &seat {
            Some(seat) => seat.lock().await.slowest,
            None => Duration::ZERO,
        };
        let (game, turn, slowest) = (id(&state.game.id), state.turn, milliseconds(slowest));
        let ending = Ending::of(&state);
        tracing::info!(game, turn, %ending, slowest, "game ended");
        Ok(StatusCode::OK.into_response())
    };
    ended.await.unwrap_or_else(|refusal| site.refuse("/end", refusal))
}

/// Reads the body of a request.
async fn read(body: Body) -> Result<GameState, Refusal> {
    let bytes = timeout(BODY_TIME, to_bytes(body, MAX_REQUEST_BYTES)).await;
    let bytes = bytes.map_err(|_| {
        let limit = BODY_TIME.as_secs();
        let text = format_args!("the body took longer than {limit} seconds; send it at once");
        Refusal::new(StatusCode::REQUEST_TIMEOUT, text)
    })?;
    let bytes = bytes.map_err(|error| {
        let text = format_args!("{error}; a body has at most {MAX_REQUEST_BYTES} bytes");
        Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, text)
    })?;
    Ok(GameState::parse(&bytes)?)
}

fn json(value: &impl Serialize) -> Response {
    match serde_json::to_string(value) {
        Ok(text) => ([(header::CONTENT_TYPE, "application/json")], text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")).into_response(),
    }
}

fn place(state: &GameState) -> (String, String) {
    (state.game.id.clone(), state.you.id.clone())
}

/// An id for a log line: text of someone else.
fn id(text: &str) -> String {
    text.chars().filter(|one| !one.is_control()).take(ID_CHARS).collect()
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn board(state: &GameState) -> String {
    format!("{}x{}", state.board.width, state.board.height)
}

/// Why a request has no answer.
struct Refusal {
    status: StatusCode,
    text: String,
}

impl Refusal {
    fn new(status: StatusCode, text: impl Display) -> Self {
        // The text may quote the request.
        Self { status, text: text.to_string().chars().take(REFUSAL_CHARS).collect() }
    }

    fn busy() -> Self {
        let text =
            "an earlier request of this snake is still being searched; give its player a limit";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, text)
    }
}

impl From<ApiError> for Refusal {
    fn from(error: ApiError) -> Self {
        Self::new(StatusCode::BAD_REQUEST, error)
    }
}

impl From<SeatError> for Refusal {
    fn from(error: SeatError) -> Self {
        Self::new(StatusCode::BAD_REQUEST, error)
    }
}
