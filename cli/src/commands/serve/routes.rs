//! Requests and replies over HTTP.
//!
//! A request that is refused gets one line of text and a status: 400 for a body that is no request, 408
//! for one that is slow, 413 for one that is too long, 503 while too many snakes are searched or an
//! earlier request of the same snake is still being searched, 500 if a search failed.

use std::num::NonZero;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, FromRequest, Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use ouro_game::battlesnake::api::{GameState, Info, MAX_REQUEST_BYTES, Reply};
use ouro_service::{Throttle, blocking};
use serde::Serialize;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{timeout, timeout_at};

use super::players::{PlayerList, allowed};
use super::refusal::Refusal;
use super::session::{Session, is_last};
use super::sessions::{Sessions, SnakeKey};

/// Time limit for the body of a request.
const BODY_TIME: Duration = Duration::from_secs(5);
/// Time between two log lines about refused requests, and between two about late replies.
const LOG_INTERVAL: Duration = Duration::from_secs(10);
/// Time between two searches for idle sessions.
const SWEEP_INTERVAL: Duration = Duration::from_secs(15);
/// Most bytes of an id.
const ID_BYTES: usize = 256;

/// State that the handlers share.
#[derive(Clone, Debug)]
pub(super) struct Server(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    players: PlayerList,
    /// A session is used by one request at a time.
    sessions: Mutex<Sessions<tokio::sync::Mutex<Session>>>,
    /// Searches at once. None is queued: a search that starts late is of no use.
    searches: Arc<Semaphore>,
    info: Info,
    refusals: Mutex<Throttle>,
    late_replies: Mutex<Throttle>,
    /// The delay that the last game with a known one had. Another game starts with it.
    delay: Mutex<Duration>,
}

/// The session that a request uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SessionUse {
    /// The session of its snake. A snake without one gets a new one.
    Continue,
    /// A new one: an earlier game may have had the same id.
    Restart,
}

/// The session of a request that may search.
struct Admission {
    session: Arc<tokio::sync::Mutex<Session>>,
    /// The session whose place a new one took, which may be large to drop.
    replaced: Option<Arc<tokio::sync::Mutex<Session>>>,
    /// The permit for the search; `None` for a session that was there already.
    permit: Option<OwnedSemaphorePermit>,
}

impl Server {
    /// A server of `players` with at most `snakes` sessions and as many searches at once.
    ///
    /// A session that made room while its player searches stays in memory until the search ends. The
    /// players of nearly twice as many sessions can therefore be in memory for a short time.
    pub(super) fn new(players: PlayerList, snakes: NonZero<u16>, info: Info) -> Self {
        let throttle = || Mutex::new(Throttle::new(LOG_INTERVAL));
        Self(Arc::new(Shared {
            players,
            sessions: Mutex::new(Sessions::new(snakes.into())),
            searches: Arc::new(Semaphore::new(usize::from(snakes.get()))),
            info,
            refusals: throttle(),
            late_replies: throttle(),
            delay: Mutex::default(),
        }))
    }

    /// The routes of the API below `path`, which is empty or starts with `/`.
    pub(super) fn routes(self, path: &str) -> Router {
        let limit = DefaultBodyLimit::max(MAX_REQUEST_BYTES);
        let mut routes = Router::new()
            .route(&format!("{path}/"), get(info))
            .route(&format!("{path}/start"), post(start))
            .route(&format!("{path}/move"), post(choose))
            .route(&format!("{path}/end"), post(end));
        if !path.is_empty() {
            routes = routes.route(path, get(info));
        }
        let unknown = || async { (StatusCode::NOT_FOUND, "see the Battlesnake API, version 1\n") };
        routes.fallback(unknown).layer(limit).with_state(self)
    }

    /// Drops idle sessions, until the future is dropped.
    pub(super) async fn drop_idle_sessions(self) {
        loop {
            tokio::time::sleep(SWEEP_INTERVAL).await;
            let idle = self.sessions().take_idle(Instant::now());
            drop_aside(Some(idle).filter(|idle| !idle.is_empty())).await;
        }
    }

    fn sessions(&self) -> MutexGuard<'_, Sessions<tokio::sync::Mutex<Session>>> {
        lock(&self.0.sessions)
    }

    /// The session of the snake `key`, used at `now`.
    ///
    /// A new session comes with the permit for its search, because it may replace the player of another
    /// game, and a request that is refused must not do that. A known session comes without: an earlier
    /// request may have to end first, and a request that waits must not keep others from searching.
    fn admit(&self, key: SnakeKey, wanted: SessionUse, now: Instant) -> Result<Admission, Refusal> {
        let mut sessions = self.sessions();
        if wanted == SessionUse::Continue
            && let Some(session) = sessions.find(&key, now)
        {
            return Ok(Admission { session, replaced: None, permit: None });
        }
        let permit = Some(self.permit()?);
        let former = sessions.remove(&key);
        let (session, replaced) = sessions.get(key, now);
        // No other session makes room if a former one of the snake has.
        Ok(Admission { session, replaced: former.or(replaced), permit })
    }

    /// The permit for a search.
    fn permit(&self) -> Result<OwnedSemaphorePermit, Refusal> {
        let permit = Arc::clone(&self.0.searches).try_acquire_owned();
        permit.map_err(|_| busy("too many snakes are searched; raise --snakes"))
    }

    /// Chooses a player for the requested snake if needed, then runs `work` on its session, on a blocking
    /// thread.
    async fn search<T: Send + 'static>(
        &self,
        state: GameState,
        wanted: SessionUse,
        arrival: Instant,
        work: impl FnOnce(&mut Session, &GameState) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let setup = state.setup()?;
        let Admission { session, replaced, permit } = self.admit(key(&state), wanted, arrival)?;
        drop_aside(replaced).await;
        let end = tokio::time::Instant::from_std(arrival + allowed(setup.timeout_ms));
        let session = timeout_at(end, session.lock_owned()).await;
        let mut session = session.map_err(|_| {
            busy("an earlier request of this snake is being searched; give its player less time")
        })?;
        let permit = permit.map_or_else(|| self.permit(), Ok)?;
        let server = self.clone();
        let worked = blocking(move || {
            let _permit = permit;
            let former = session.player().map(str::to_owned);
            let is_new = session.prepare(&server.0.players, &state, &setup)?;
            // On a map that moves hazards, a player is built for every turn, mostly the same one.
            if is_new && session.player() != former.as_deref() {
                let (game, player) = (&state.game.id, session.player());
                tracing::info!(game, turn = state.turn, player, "player chosen");
            }
            work(&mut session, &state)
        });
        let failed = |error| Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, error);
        worked.await.map_err(failed)?
    }

    /// Logs a late reply.
    fn check_time(&self, state: &GameState, took: Duration) {
        let given = u64::try_from(state.game.timeout).ok().filter(|&ms| ms > 0);
        let allowed_ms = given.unwrap_or_else(|| milliseconds(allowed(None)));
        let took_ms = milliseconds(took);
        if took_ms <= allowed_ms {
            return;
        }
        if let Some(count) = lock(&self.0.late_replies).admit() {
            let (game, turn) = (&state.game.id, state.turn);
            tracing::warn!(game, turn, took_ms, allowed_ms, count, "reply is late; raise --margin");
        }
    }

    /// Logs a refusal.
    fn refuse(&self, path: &str, refusal: Refusal) -> Response {
        if let Some(count) = lock(&self.0.refusals).admit() {
            let (status, text) = (refusal.status.as_u16(), &refusal.text);
            tracing::warn!(path, status, count, "request refused: {text}");
        }
        refusal.into_response()
    }
}

async fn info(State(server): State<Server>) -> Response {
    json(&server.0.info)
}

async fn start(State(server): State<Server>, request: Request) -> Response {
    let arrival = Instant::now();
    let started = async {
        let state = read(request).await?;
        let [ruleset, map] = [&state.game.ruleset.name, &state.game.map].map(|text| brief(text));
        let (board, snakes) = (board(&state), state.board.snakes.len());
        let (game, timeout_ms) = (state.game.id.clone(), state.game.timeout);
        server.search(state, SessionUse::Restart, arrival, |_, _| Ok(())).await?;
        tracing::info!(game, ruleset, map, board, snakes, timeout_ms, "game started");
        Ok(StatusCode::OK.into_response())
    };
    started.await.unwrap_or_else(|refusal| server.refuse("/start", refusal))
}

async fn choose(State(server): State<Server>, request: Request) -> Response {
    let arrival = Instant::now();
    let chosen = async {
        let state = read(request).await?;
        let shared = server.clone();
        let action = server.search(state, SessionUse::Continue, arrival, move |session, state| {
            let before = *lock(&shared.0.delay);
            let action = session.choose(state, arrival, before)?;
            if let Some(known) = session.delay.known() {
                *lock(&shared.0.delay) = known;
            }
            let took = arrival.elapsed();
            session.add_reply(state.turn, took);
            shared.check_time(state, took);
            Ok(action)
        });
        Ok(json(&Reply::new(action.await?)))
    };
    chosen.await.unwrap_or_else(|refusal| server.refuse("/move", refusal))
}

async fn end(State(server): State<Server>, request: Request) -> Response {
    let ended = async {
        let state = read(request).await?;
        let session = server.sessions().remove(&key(&state));
        // The session may have been dropped, and a search may still run.
        let known = session.as_ref().and_then(|session| session.try_lock().ok());
        let slowest_ms = known.as_ref().map(|known| milliseconds(known.slowest));
        let delay_ms = known.as_ref().and_then(|known| known.delay.longest()).map(milliseconds);
        let started_alone = known.as_ref().is_some_and(|known| known.started_alone());
        drop(known);
        let ending = ending(&state, started_alone);
        let (game, turn) = (&state.game.id, state.turn);
        tracing::info!(game, turn, ending, slowest_ms, delay_ms, "game ended");
        drop_aside(session).await;
        Ok(StatusCode::OK.into_response())
    };
    ended.await.unwrap_or_else(|refusal| server.refuse("/end", refusal))
}

/// Reads the body of a request.
async fn read(request: Request) -> Result<GameState, Refusal> {
    let body = timeout(BODY_TIME, Bytes::from_request(request, &())).await.map_err(|_| {
        let limit = BODY_TIME.as_secs();
        let text = format!("the body took longer than {limit} seconds; send it at once");
        Refusal::new(StatusCode::REQUEST_TIMEOUT, text)
    })?;
    let body = body.map_err(|error| {
        let text = format!("{}; at most {MAX_REQUEST_BYTES} bytes are read", error.body_text());
        Refusal::new(error.status(), text)
    })?;
    let state = GameState::parse(&body)?;
    for (field, id) in [("game.id", &state.game.id), ("you.id", &state.you.id)] {
        if id.len() > ID_BYTES || id.chars().any(char::is_control) {
            let text =
                format!("{field} has {} bytes; an id is a line of at most {ID_BYTES}", id.len());
            return Err(Refusal::new(StatusCode::BAD_REQUEST, text));
        }
    }
    Ok(state)
}

fn json(value: &impl Serialize) -> Response {
    match serde_json::to_string(value) {
        Ok(text) => ([(header::CONTENT_TYPE, "application/json")], text).into_response(),
        Err(error) => Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, error).into_response(),
    }
}

fn busy(text: &str) -> Refusal {
    Refusal::new(StatusCode::SERVICE_UNAVAILABLE, text)
}

fn key(state: &GameState) -> SnakeKey {
    (state.game.id.clone(), state.you.id.clone())
}

fn board(state: &GameState) -> String {
    format!("{}x{}", state.board.width, state.board.height)
}

/// The start of a text of a request, for a log line.
fn brief(text: &str) -> String {
    text.chars().filter(|one| !one.is_control()).take(64).collect()
}

/// How a game ended for the snake of a request to `/end`. `started_alone` says whether the snake is known
/// to have had no opponent.
fn ending(state: &GameState, started_alone: bool) -> &'static str {
    match (state.seat(), state.board.snakes.len()) {
        (Some(_), _) if is_last(state) && !started_alone => "won",
        (Some(_), _) => "alive at the end",
        (None, 0) => "no snake is alive",
        (None, _) => "lost",
    }
}

/// Drops a value, if there is one, on a blocking thread. The tree of a player can have hundreds of
/// megabytes.
async fn drop_aside<T: Send + 'static>(value: Option<T>) {
    let Some(value) = value else { return };
    if let Err(error) = blocking(move || drop(value)).await {
        tracing::error!("a player could not be dropped: {error}");
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
