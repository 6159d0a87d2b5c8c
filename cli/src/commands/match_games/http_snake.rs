//! `http{url=URL}`: a snake that is asked over the Battlesnake HTTP API, version 1.
//!
//! A reply is invalid if it is late, if its status is not 200 or if it has no move. The snake then repeats
//! its previous move, or goes up if it has none, as with the official command line. The report of the match
//! counts invalid replies.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ouro_game::battlesnake::api::{ApiError, GameState, Host, Identity, Info, Reply};
use ouro_game::battlesnake::{self, Battlesnake, Cell, DeadBodies, State};
use ouro_game::{Action, Game};
use ouro_players::game_specific::{BuildResult, build_for_game};
use ouro_players::registry::{NameError, Options, PlayerSyntax};
use ouro_players::{Choice, Player, Request};
use ureq::Agent;
use ureq::http::{StatusCode, Uri};

use super::timed::MoveClock;
use crate::commands::entrants::ELSEWHERE;
use crate::failure::Failure;

/// Syntax of the name.
const SYNTAX: PlayerSyntax = PlayerSyntax {
    name: ELSEWHERE,
    options: &["url", "ms"],
    defaults: &[],
    usage: &["http{url=http://HOST:PORT}", "http{url=http://HOST:PORT,ms=MILLISECONDS}"],
};

/// Time of a reply unless the name gives another one: that of the official command line.
const USUAL_MS: u32 = 500;
/// Longest time of a reply.
const LONGEST_MS: u32 = 60_000;
/// Time limit of the replies to `GET /`, `/start` and `/end`.
const PATIENCE: Duration = Duration::from_secs(5);
/// Most bytes of a reply.
const REPLY_BYTES: u64 = 64 << 10;
/// Time after which a connection is not used again. Servers close idle ones.
const IDLE: Duration = Duration::from_secs(4);

/// Number of the next game of this process.
static NEXT_GAME: AtomicU64 = AtomicU64::new(0);

/// Whether a player of this name is a snake elsewhere.
pub(super) fn is_http(name: &str) -> bool {
    Options::parse(name).is_ok_and(|options| options.player() == SYNTAX.name)
}

/// Checks that a snake answers, if `name` is one elsewhere.
pub(super) fn probe(name: &str) -> Result<(), Failure> {
    if !is_http(name) {
        return Ok(());
    }
    let options = Options::parse(name).map_err(Failure::usage)?;
    let snake = HttpSnake::new(&options, &Arc::default(), &Arc::default());
    let snake = snake.map_err(Failure::usage)?;
    match snake.info() {
        Ok(info) if info.apiversion == "1" => Ok(()),
        Ok(info) => Err(Failure::unavailable(format_args!(
            "{name}: its snake has API version {:?}; version 1 is needed",
            info.apiversion
        ))),
        Err(NoSnake::Silent(problem)) => Err(Failure::unavailable(format_args!(
            "{name}: no snake answers there: {problem}; start it first"
        ))),
        Err(NoSnake::Other(problem)) => Err(Failure::unavailable(format_args!(
            "{name}: a server answers there, but no snake: {problem}; check the path of the URL"
        ))),
    }
}

/// Why no snake was found at a URL. The texts complete the messages.
enum NoSnake {
    /// No reply came.
    Silent(String),
    /// The reply is not that of a snake.
    Other(String),
}

/// Requests of one entrant that got no valid move, over all threads.
#[derive(Debug, Default)]
pub(super) struct Missing {
    count: AtomicU64,
    first: Mutex<Option<String>>,
}

impl Missing {
    fn add(&self, problem: &str) {
        self.count.fetch_add(1, Ordering::Relaxed);
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert_with(|| problem.to_owned());
    }

    /// The number of requests, and the error of the first; `None` if all got a move.
    pub(super) fn summary(&self) -> Option<(u64, String)> {
        let first = self.first.lock().unwrap_or_else(PoisonError::into_inner).clone();
        first.map(|problem| (self.count.load(Ordering::Relaxed), problem))
    }
}

/// Builds the entrant called `name`; `None` for any other player. `clock` times its moves.
///
/// # Errors
///
/// The name is invalid, or the game is not Battlesnake.
pub(super) fn build<G: Game>(
    name: &str,
    game: &G,
    missing: &Arc<Missing>,
    clock: &Arc<MoveClock>,
) -> Option<BuildResult<G>> {
    let options = Options::parse(name).ok().filter(|options| options.player() == SYNTAX.name)?;
    let snake = || HttpSnake::new(&options, missing, clock);
    let built = build_for_game(game, |_: &battlesnake::Small| Ok(Box::new(snake()?) as _))
        .or_else(|| build_for_game(game, |_: &battlesnake::Large| Ok(Box::new(snake()?) as _)));
    Some(built.unwrap_or_else(|| Err(options.other_game::<G>(battlesnake::NAME))))
}

/// See the [module](self).
struct HttpSnake {
    name: String,
    url: SnakeUrl,
    timeout_ms: u32,
    agent: Agent,
    /// Games in progress, by their number.
    games: BTreeMap<u64, GameInProgress>,
    missing: Arc<Missing>,
    clock: Arc<MoveClock>,
}

/// The URL of a snake. The names of requests go between its path and its query, as with the official
/// command line.
struct SnakeUrl {
    /// Up to the path, without a slash at the end.
    base: String,
    /// The query with its question mark. A URL without a query has an empty text here.
    query: String,
}

impl SnakeUrl {
    fn new(url: &str) -> Self {
        let (base, query) = url.split_at(url.find('?').unwrap_or(url.len()));
        Self { base: base.trim_end_matches('/').to_owned(), query: query.to_owned() }
    }

    /// The address of the snake itself.
    fn info(&self) -> String {
        // A query cannot follow a host without a path.
        let has_path = self.base.trim_start_matches("http://").contains('/');
        let slash = if has_path { "" } else { "/" };
        format!("{}{slash}{}", self.base, self.query)
    }

    /// The address of a request by its name, such as `move`.
    fn request(&self, verb: &str) -> String {
        format!("{}/{verb}{}", self.base, self.query)
    }
}

/// A game in progress.
struct GameInProgress {
    host: Host,
    /// The last request and move of the seats that the snake has.
    seats: BTreeMap<usize, (GameState, Option<Action>)>,
}

impl HttpSnake {
    fn new(
        options: &Options<'_>,
        missing: &Arc<Missing>,
        clock: &Arc<MoveClock>,
    ) -> Result<Self, NameError> {
        options.check(&SYNTAX)?;
        let url = options.text("url")?.ok_or_else(|| options.missing("url", &SYNTAX))?;
        if !url.starts_with("http://") {
            return Err(options.invalid("url", url, "it starts with http://"));
        }
        if url.contains('#') {
            return Err(options.invalid("url", url, "no request carries a #; leave it out"));
        }
        if !has_host_and_valid_port(url) {
            let remedy = "it is http://HOST:PORT, perhaps with a path; a port is at most 65535";
            return Err(options.invalid("url", url, remedy));
        }
        let timeout_ms = options.number("ms", 1..=LONGEST_MS)?.unwrap_or(USUAL_MS);
        let config = Agent::config_builder()
            .proxy(None)
            .max_idle_age(IDLE)
            .user_agent(concat!("ouro/", env!("CARGO_PKG_VERSION")));
        Ok(Self {
            name: options.name().to_owned(),
            url: SnakeUrl::new(url),
            timeout_ms,
            agent: config.build().into(),
            games: BTreeMap::new(),
            missing: Arc::clone(missing),
            clock: Arc::clone(clock),
        })
    }

    fn info(&self) -> Result<Info, NoSnake> {
        let request = self.agent.get(self.url.info());
        let reply = request.config().timeout_global(Some(PATIENCE)).build().call();
        let status = match &reply {
            Ok(reply) => Some(reply.status().as_u16()),
            Err(ureq::Error::StatusCode(status)) => Some(*status),
            Err(_) => None,
        };
        if let Some(status) = status.filter(|status| *status != StatusCode::OK.as_u16()) {
            return Err(NoSnake::Other(format!("status {status}")));
        }
        let bytes = body(reply, PATIENCE).map_err(NoSnake::Silent)?;
        Info::parse(&bytes).map_err(|error| NoSnake::Other(error.to_string()))
    }

    fn post(&self, verb: &str, state: &GameState, limit: Duration) -> Result<Vec<u8>, String> {
        let json = serde_json::to_vec(state).map_err(|error| error.to_string())?;
        let request = self.agent.post(self.url.request(verb));
        let request = request.header("content-type", "application/json");
        let request = request.config().timeout_global(Some(limit)).max_redirects(0).build();
        body(request.send(&json[..]), limit)
    }

    /// The move of the snake in the seat of a request.
    fn ask<C: Cell, const W: usize, const S: usize>(
        &mut self,
        game: &Battlesnake<C, W, S>,
        request: &Request<'_, Battlesnake<C, W, S>>,
    ) -> Result<Action, ApiError> {
        let (number, seat) = (request.game.unwrap_or_default(), request.player);
        let position = game.position(request.state, &DeadBodies::new(game.players()));
        let new = || GameInProgress::new(self.timeout_ms, game.players());
        let mut playing = self.games.remove(&number).unwrap_or_else(new);
        let state = playing.host.request(game.config(), &position, seat)?;
        let previous = match playing.seats.get(&seat) {
            Some((_, previous)) => *previous,
            None => {
                // As in the official command line, a failed start does not end the game, and its time is
                // not that of a move.
                let _ = self.clock.exclude(|| self.post("start", &state, PATIENCE));
                None
            }
        };
        let (limit, started) = (Duration::from_millis(self.timeout_ms.into()), Instant::now());
        let reply = self.post("move", &state, limit);
        let took = u32::try_from(started.elapsed().as_millis()).unwrap_or(u32::MAX);
        playing.host.snakes[seat].latency_ms = took.min(self.timeout_ms);
        let action =
            reply.and_then(|reply| Reply::read_action(&reply).map_err(|error| error.to_string()));
        let action = action.unwrap_or_else(|error| {
            self.missing.add(&error);
            previous.unwrap_or_default()
        });
        playing.seats.insert(seat, (state, Some(action)));
        self.games.insert(number, playing);
        Ok(action)
    }
}

impl GameInProgress {
    fn new(timeout_ms: u32, snakes: usize) -> Self {
        static STARTED: OnceLock<u128> = OnceLock::new();
        let since = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let (started, next) =
            (STARTED.get_or_init(since), NEXT_GAME.fetch_add(1, Ordering::Relaxed));
        let identity = |seat: usize| Identity {
            id: format!("seat-{seat}"),
            name: format!("seat {seat}"),
            ..Identity::default()
        };
        let host = Host {
            game_id: format!("ouro-{started:x}-{next}"),
            timeout_ms,
            source: "custom".to_owned(),
            version: String::new(),
            snakes: (0..snakes).map(identity).collect(),
        };
        Self { host, seats: BTreeMap::new() }
    }
}

impl Drop for HttpSnake {
    /// Ends the games that were given up, as far as the snake answers in time.
    fn drop(&mut self) {
        let end = Instant::now() + PATIENCE;
        for game in std::mem::take(&mut self.games).into_values() {
            for (state, _) in game.seats.into_values() {
                let left = end.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return;
                }
                let _ = self.post("end", &state, left);
            }
        }
    }
}

impl<C: Cell, const W: usize, const S: usize> Player<Battlesnake<C, W, S>> for HttpSnake {
    fn name(&self) -> &str {
        &self.name
    }

    fn game_ended(&mut self, game: &Battlesnake<C, W, S>, number: u64, state: &State<C, W, S>) {
        let Some(GameInProgress { host, seats }) = self.games.remove(&number) else { return };
        let position = game.position(state, &DeadBodies::new(game.players()));
        for (seat, (before, _)) in seats {
            if let Ok(mut last) = host.request(game.config(), &position, seat) {
                if last.seat().is_none() {
                    // The state has no body for a dead snake, and servers expect one with a head.
                    last.you = before.you;
                }
                let _ = self.post("end", &last, PATIENCE);
            }
        }
    }

    fn choose(
        &mut self,
        game: &Battlesnake<C, W, S>,
        requests: &mut [Request<'_, Battlesnake<C, W, S>>],
        choices: &mut Vec<Choice>,
    ) {
        for request in requests {
            // The seat exists, so a request can be made.
            let action = self.ask(game, request).unwrap_or_default();
            choices.push(Choice { action, probability: 1.0 });
        }
    }
}

/// Whether a text is a URL with a host and, if it has a port, with a valid one.
fn has_host_and_valid_port(url: &str) -> bool {
    let Ok(uri) = url.parse::<Uri>() else { return false };
    let Some(authority) = uri.authority() else { return false };
    let host = authority.host();
    let host_and_port = authority.as_str().rsplit('@').next().unwrap_or_default();
    let Some(port) = host_and_port.strip_prefix(host) else { return false };
    // `Uri` accepts any text as a port, and its number is then `None`, as without a port.
    let is_number = |port: &str| port.parse::<u16>().is_ok();
    !host.is_empty() && (port.is_empty() || port.strip_prefix(':').is_some_and(is_number))
}

/// The body of a reply with status 200, which came within `limit`.
fn body(
    reply: Result<ureq::http::Response<ureq::Body>, ureq::Error>,
    limit: Duration,
) -> Result<Vec<u8>, String> {
    let problem = |error| match error {
        ureq::Error::Timeout(_) => format!("no reply within {} ms", limit.as_millis()),
        error => error.to_string(),
    };
    let mut reply = reply.map_err(problem)?;
    if reply.status() != StatusCode::OK {
        return Err(format!("status {}", reply.status()));
    }
    reply.body_mut().with_config().limit(REPLY_BYTES).read_to_vec().map_err(problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_has_a_host_and_a_valid_port() {
        for url in [
            "http://127.0.0.1:8000",
            "http://127.0.0.1:0",
            "http://localhost/snake/",
            "http://[::1]:65535/snake",
            "http://me:secret@snake.example.org:80",
            "http://127.0.0.1:8000?key=1",
            "http://localhost/snake/?key=1&other=a:b",
        ] {
            assert!(has_host_and_valid_port(url), "{url}");
        }
        for url in [
            "http://",
            "http:///snake",
            "http://a b",
            "http://:8000",
            "http://127.0.0.1:",
            "http://127.0.0.1:99999",
            "http://127.0.0.1:port",
            "http://[::1",
        ] {
            assert!(!has_host_and_valid_port(url), "{url}");
        }
    }

    #[test]
    fn the_name_of_a_request_goes_before_the_query() {
        for (url, info, start) in [
            ("http://host:1", "http://host:1/", "http://host:1/start"),
            ("http://host/snake/", "http://host/snake", "http://host/snake/start"),
            ("http://host?key=a/b", "http://host/?key=a/b", "http://host/start?key=a/b"),
            ("http://host/snake/?key", "http://host/snake?key", "http://host/snake/start?key"),
        ] {
            let address = SnakeUrl::new(url);
            assert_eq!([address.info(), address.request("start")], [info, start], "{url}");
        }
    }
}
