//! `http{url=URL}`: a snake that is asked over the Battlesnake HTTP API, version 1.
//!
//! The entrant treats the snake as the official command line does: a reply that is late, or that has no
//! move, repeats the snake's previous move, `up` if there is none. Such replies are counted, and the report
//! of the match names them. `/end` has the last position in which the snake had to move, since an entrant
//! does not see the end of a game.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ouro_game::battlesnake::api::{ApiError, GameState, Host, Identity, Info, Reply};
use ouro_game::battlesnake::{self, Battlesnake, Cell, DeadBodies};
use ouro_game::{Action, Game};
use ouro_players::game_specific::{BuildResult, build_for_game};
use ouro_players::registry::{NameError, Options, PlayerSyntax};
use ouro_players::{Choice, Player, Request};
use ureq::Agent;

/// Syntax of the name.
const SYNTAX: PlayerSyntax = PlayerSyntax {
    name: "http",
    options: &["url", "ms"],
    defaults: &[],
    usage: &["http{url=http://HOST:PORT}", "http{url=http://HOST:PORT,ms=MILLISECONDS}"],
};

/// Time of a reply unless the name gives another one: that of the official command line.
const USUAL_MS: u32 = 500;
/// Longest time of a reply.
const LONGEST_MS: u32 = 60_000;
/// Time of the replies to `GET /`, `/start` and `/end`, which no game waits for.
const PATIENCE: Duration = Duration::from_secs(5);
/// Most bytes of a reply.
const REPLY_BYTES: u64 = 64 << 10;
/// Time after which a connection is not used again. Servers close idle ones.
const IDLE: Duration = Duration::from_secs(4);

/// Number of the next game of this process.
static NEXT_GAME: AtomicU64 = AtomicU64::new(0);

/// Replies without a move of one entrant, over all threads.
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

    /// The number of replies, and the problem of the first; `None` if every reply had a move.
    pub(super) fn summary(&self) -> Option<(u64, String)> {
        let first = self.first.lock().unwrap_or_else(PoisonError::into_inner).clone();
        first.map(|problem| (self.count.load(Ordering::Relaxed), problem))
    }
}

/// Builds the entrant called `name`; `None` for any other player.
///
/// # Errors
///
/// The name is invalid, the game is not Battlesnake, or no snake answers at the URL.
pub(super) fn build<G: Game>(
    name: &str,
    game: &G,
    missing: &Arc<Missing>,
) -> Option<BuildResult<G>> {
    let options = Options::parse(name).ok().filter(|options| options.player() == SYNTAX.name)?;
    let snake = || HttpSnake::connect(&options, missing);
    let built = build_for_game(game, |_: &battlesnake::Small| Ok(Box::new(snake()?) as _))
        .or_else(|| build_for_game(game, |_: &battlesnake::Large| Ok(Box::new(snake()?) as _)));
    Some(built.unwrap_or_else(|| Err(options.other_game::<G>(battlesnake::NAME))))
}

/// See the [module](self).
struct HttpSnake {
    name: String,
    url: String,
    timeout_ms: u32,
    agent: Agent,
    /// Games in progress, by the number of the game and the seat.
    games: BTreeMap<(u64, usize), Playing>,
    /// Id and last turn of each game, by its number.
    ids: BTreeMap<u64, (String, u32)>,
    missing: Arc<Missing>,
}

/// A game in progress.
struct Playing {
    host: Host,
    turn: u32,
    previous: Option<Action>,
    /// The last request to the snake.
    last: GameState,
}

impl HttpSnake {
    fn connect(options: &Options<'_>, missing: &Arc<Missing>) -> Result<Self, NameError> {
        options.check(&SYNTAX)?;
        let url = options.text("url")?.ok_or_else(|| options.missing("url", &SYNTAX))?;
        if !url.starts_with("http://") {
            return Err(options.invalid("url", url, "it starts with http://"));
        }
        let timeout_ms = options.number("ms", 1..=LONGEST_MS)?.unwrap_or(USUAL_MS);
        let config = Agent::config_builder()
            .proxy(None)
            .max_redirects(0)
            .max_idle_age(IDLE)
            .user_agent(concat!("ouro/", env!("CARGO_PKG_VERSION")));
        let snake = Self {
            name: options.name().to_owned(),
            url: url.trim_end_matches('/').to_owned(),
            timeout_ms,
            agent: config.build().into(),
            games: BTreeMap::new(),
            ids: BTreeMap::new(),
            missing: Arc::clone(missing),
        };
        match snake.info() {
            Ok(info) if info.apiversion == "1" => Ok(snake),
            Ok(info) => {
                let version = info.apiversion;
                let remedy =
                    format_args!("its snake has API version {version}; version 1 is needed");
                Err(options.invalid("url", url, remedy))
            }
            Err(problem) => {
                let remedy = format_args!("no snake answers there: {problem}; start it first");
                Err(options.invalid("url", url, remedy))
            }
        }
    }

    fn info(&self) -> Result<Info, String> {
        let request = self.agent.get(format!("{}/", self.url));
        let reply = request.config().timeout_global(Some(PATIENCE)).build().call();
        Info::parse(&body(reply)?).map_err(|error| error.to_string())
    }

    fn post(&self, verb: &str, state: &GameState, limit: Duration) -> Result<Vec<u8>, String> {
        let json = serde_json::to_vec(state).map_err(|error| error.to_string())?;
        let request = self.agent.post(format!("{}/{verb}", self.url));
        let request = request.header("content-type", "application/json");
        body(request.config().timeout_global(Some(limit)).build().send(&json[..]))
    }

    /// Reports the start of a game, and the end of the one whose number it has.
    fn start(&mut self, place: (u64, usize), host: Host, state: GameState) {
        self.end(place);
        // As on the official host, a failed start is no reason to end the game.
        let _ = self.post("start", &state, PATIENCE);
        self.games.insert(place, Playing { host, turn: 0, previous: None, last: state });
    }

    fn end(&mut self, place: (u64, usize)) {
        if let Some(game) = self.games.remove(&place) {
            let _ = self.post("end", &game.last, PATIENCE);
        }
    }

    /// The move of the snake in `seat` of a game.
    fn ask<C: Cell, const W: usize, const S: usize>(
        &mut self,
        game: &Battlesnake<C, W, S>,
        request: &Request<'_, Battlesnake<C, W, S>>,
    ) -> Result<Action, ApiError> {
        let (seat, turn) = (request.player, game.elapsed(request.state));
        let place = (request.game.unwrap_or_default(), seat);
        let position = game.position(request.state, &DeadBodies::new(game.players()));
        let known = self.games.get(&place).filter(|known| known.turn < turn);
        if known.is_none() {
            let host = self.host(place.0, turn, game.players());
            let state = host.request(game.config(), &position, seat)?;
            self.start(place, host, state);
        }
        let Some(mut playing) = self.games.remove(&place) else { return Ok(Action::default()) };
        let state = playing.host.request(game.config(), &position, seat)?;
        let started = Instant::now();
        let reply = self.post("move", &state, Duration::from_millis(self.timeout_ms.into()));
        let took = u32::try_from(started.elapsed().as_millis()).unwrap_or(u32::MAX);
        playing.host.snakes[seat].latency_ms = took.min(self.timeout_ms);
        let action = reply.and_then(|reply| {
            let reply = Reply::parse(&reply).and_then(|reply| reply.action());
            reply.map_err(|error| error.to_string())
        });
        let action = action.unwrap_or_else(|problem| {
            self.missing.add(&problem);
            playing.previous.unwrap_or_default()
        });
        if let Some((_, last)) = self.ids.get_mut(&place.0) {
            *last = turn;
        }
        (playing.turn, playing.previous, playing.last) = (turn, Some(action), state);
        self.games.insert(place, playing);
        Ok(action)
    }

    /// The fixed part of the requests of a game that starts for a seat. Other seats of it may have
    /// started before, on the same turn.
    fn host(&mut self, number: u64, turn: u32, snakes: usize) -> Host {
        let known = self.ids.get(&number).filter(|(_, last)| *last <= turn);
        let game_id = known.map(|(id, _)| id.clone()).unwrap_or_else(|| {
            let next = NEXT_GAME.fetch_add(1, Ordering::Relaxed);
            format!("ouro-{}-{next}", std::process::id())
        });
        self.ids.insert(number, (game_id.clone(), turn));
        let identity = |seat: usize| Identity {
            id: format!("seat-{seat}"),
            name: format!("seat {seat}"),
            ..Identity::default()
        };
        Host {
            game_id,
            timeout_ms: self.timeout_ms,
            source: "custom".to_owned(),
            version: String::new(),
            snakes: (0..snakes).map(identity).collect(),
        }
    }
}

impl Drop for HttpSnake {
    fn drop(&mut self) {
        for place in self.games.keys().copied().collect::<Vec<_>>() {
            self.end(place);
        }
    }
}

impl<C: Cell, const W: usize, const S: usize> Player<Battlesnake<C, W, S>> for HttpSnake {
    fn name(&self) -> &str {
        &self.name
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

/// The body of a reply.
fn body(reply: Result<ureq::http::Response<ureq::Body>, ureq::Error>) -> Result<Vec<u8>, String> {
    let mut reply = reply.map_err(|error| error.to_string())?;
    let body = reply.body_mut().with_config().limit(REPLY_BYTES).read_to_vec();
    body.map_err(|error| error.to_string())
}
