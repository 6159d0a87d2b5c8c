//! The served players, in order of preference.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use ouro_game::battlesnake::api::{GameState, Setup};
use ouro_game::battlesnake::{Config, Large, Small};
use ouro_game::{Game, GameConfig, Rng};
use ouro_players::registry::{KNOWN, Options};
use ouro_players::{BuildContext, NameError, by_name, check_search};

use super::arrival_clock::ArrivalClock;
use super::session::{BuiltPlayer, SessionError, SnakePlayer};
use crate::commands::entrants::{self, Engines};
use crate::failure::Failure;

/// The last player of every list; it plays every game.
const LAST: &str = "minimax{best_reply,reductions}";
/// Options that limit the search of a player, or that need such an option.
const LIMITS: [&str; 4] = ["ms", "depth", "sims", "gumbel"];
/// Time of a move if the request has none, that of the official command line.
const USUAL_TIME: Duration = Duration::from_millis(500);
/// Longest time of a move that a request can ask for.
pub(super) const LONGEST_TIME: Duration = Duration::from_secs(5);

/// See the [module](self).
#[derive(Debug)]
pub(super) struct PlayerList {
    players: Vec<ListedPlayer>,
    margin: Duration,
}

#[derive(Debug)]
struct ListedPlayer {
    /// As given, perhaps without a limit.
    name: String,
    /// The networks in the name.
    engines: Engines,
    /// The game of the networks' training. Without a network only `draw` is used, which is −1.
    trained: Config,
}

/// The time of a search that the server chooses, as a player has no limit of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SearchTime {
    /// The time with the margin of the server.
    pub(super) usual: Duration,
    /// The time that a search gets whatever the delay.
    least: Duration,
    margin: Duration,
}

impl SearchTime {
    /// The time if the part of a reply outside the search takes `delay`.
    pub(super) fn with_delay(self, delay: Duration) -> Duration {
        self.usual.saturating_sub(delay.saturating_sub(self.margin)).max(self.least)
    }
}

/// A player that was built for a game.
pub(super) struct Chosen {
    /// Index of the player in the list.
    pub(super) index: usize,
    /// Name of the player, with its limit.
    pub(super) name: String,
    /// Ids of the snakes by seat. Seats that no snake takes have ids that no snake has.
    pub(super) ids: Vec<String>,
    /// What a draw is worth to the player.
    pub(super) draw: f32,
    /// `None` for a player that has its own limit, or none.
    pub(super) time: Option<SearchTime>,
    pub(super) clock: Arc<ArrivalClock>,
    pub(super) player: Box<dyn SnakePlayer>,
}

impl PlayerList {
    /// Reads the weights of the players `names` and checks the names. A last player for every game is
    /// added. `margin` is the part of the time of a move that no player uses.
    ///
    /// # Errors
    ///
    /// A name is invalid, its weights cannot be read, or it does not play Battlesnake.
    pub(super) fn new(names: &[String], margin: Duration) -> Result<Self, Failure> {
        let mut list = Self { players: Vec::new(), margin };
        for name in names.iter().map(String::as_str).chain([LAST]) {
            list.add(name)?;
        }
        Ok(list)
    }

    fn add(&mut self, name: &str) -> Result<(), Failure> {
        let any = || GameConfig::Battlesnake(Config { snakes: 2, draw: -1.0, ..Config::default() });
        let any = (!entrants::has_weights(name)).then(any);
        let (game, engines) = entrants::load(&[name.to_owned()], any)?;
        let GameConfig::Battlesnake(trained) = game else {
            let game = game.name();
            return Err(Failure::usage(format_args!(
                "{name}: its weights were trained for {game}; name weights of battlesnake"
            )));
        };
        let player = ListedPlayer { name: name.to_owned(), engines, trained };
        let name = with_limit(name, self.time(None).usual).map_err(Failure::usage)?;
        let (config, rng) = (player.trained.clone(), Rng::new(0, "check"));
        player.build(&name, config, &Arc::default(), rng).map_err(Failure::usage)?;
        self.players.push(player);
        Ok(())
    }

    /// The names of the players, as given.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.players.iter().map(|player| player.name.as_str())
    }

    /// The first player that plays the position of a request. `kept` is the index of the player that has
    /// played so far; if that is still the first one, it is not built anew and the result is `None`.
    pub(super) fn choose(
        &self,
        state: &GameState,
        setup: &Setup,
        kept: Option<usize>,
    ) -> Result<Option<Chosen>, SessionError> {
        let (time, is_royale) = (self.time(setup.timeout_ms), setup.config.is_royale());
        let mut problem = String::new();
        for (index, listed) in self.players.iter().enumerate() {
            let Some(seats) = listed.seats(&setup.config) else { continue };
            if kept == Some(index) {
                return Ok(None);
            }
            let name = with_limit(&listed.name, time.usual).map_err(|error| error.to_string());
            let name = name.map_err(SessionError::NoPlayer)?;
            let time = (name != listed.name).then_some(time);
            let mut ids = setup.ids.clone();
            ids.extend((ids.len()..seats.into()).map(|seat| unused(seat, &setup.ids)));
            let (draw, clock) = (listed.trained.draw, Arc::default());
            let mut config = state.setup_for(&ids)?.config;
            if let Some(start) = config.start.as_mut().filter(|_| is_royale) {
                // Royale hazards follow from the rules. A game with listed ones has no duel.
                start.hazards.clear();
            }
            match listed.build(&name, config, &clock, generator(state)) {
                Ok(player) => {
                    return Ok(Some(Chosen { index, name, ids, draw, time, clock, player }));
                }
                Err(error) => {
                    let (game, turn) = (&state.game.id, state.turn);
                    tracing::info!(game, turn, player = name, reason = error, "player skipped");
                    problem = error;
                }
            }
        }
        Err(SessionError::NoPlayer(problem))
    }

    /// Time limit of a player without its own: the [allowed] time less the margin, at least a quarter of
    /// the allowed time and at least 1 ms.
    pub(super) fn time(&self, timeout_ms: Option<u32>) -> SearchTime {
        let (allowed, margin) = (allowed(timeout_ms), self.margin);
        let least = (allowed / 4).max(Duration::from_millis(1));
        SearchTime { usual: allowed.saturating_sub(margin).max(least), least, margin }
    }
}

/// Time that a host allows for a reply: 500 ms if the request has none, at most 5 s.
pub(super) fn allowed(timeout_ms: Option<u32>) -> Duration {
    timeout_ms.map_or(USUAL_TIME, |ms| Duration::from_millis(ms.into())).min(LONGEST_TIME)
}

impl ListedPlayer {
    /// Number of seats with which the player plays a position; `None` if it does not play it.
    ///
    /// A network plays the ruleset, map and board of its training, up to as many snakes, and with the
    /// hazards that the ruleset or the map makes. It does not play a snake that is alone.
    fn seats(&self, config: &Config) -> Option<u8> {
        if self.engines.is_empty() {
            return Some(config.snakes);
        }
        let board = |config: &Config| (config.ruleset, config.map, config.width, config.height);
        let hazards = config.start.as_ref().is_some_and(|start| !start.hazards.is_empty());
        let plays = board(&self.trained) == board(config)
            && (!hazards || config.is_royale())
            && config.snakes <= self.trained.snakes
            && (config.snakes > 1 || self.trained.snakes == 1);
        plays.then_some(self.trained.snakes)
    }

    fn build(
        &self,
        name: &str,
        config: Config,
        clock: &Arc<ArrivalClock>,
        rng: Rng,
    ) -> Result<Box<dyn SnakePlayer>, String> {
        if Small::fits(&config) {
            let game = Small::new(config).map_err(|error| error.to_string())?;
            self.build_for(name, game, clock, rng)
        } else {
            let game = Large::new(config).map_err(|error| error.to_string())?;
            self.build_for(name, game, clock, rng)
        }
    }

    fn build_for<G: Game<Config = Config>>(
        &self,
        name: &str,
        game: G,
        clock: &Arc<ArrivalClock>,
        rng: Rng,
    ) -> Result<Box<dyn SnakePlayer>, String> {
        let built = move || -> Result<Box<dyn SnakePlayer>, NameError> {
            let network = |weights: &str| Some(self.engines.get(weights)?.spec().clone());
            check_search(&game, name, &network)?;
            let mut engine = |weights: &str| self.engines.get(weights).cloned();
            let clock = Arc::clone(clock);
            let mut context = BuildContext { game: &game, engines: &mut engine, clock };
            Ok(Box::new(BuiltPlayer::new(by_name(name, &mut context)?, rng)))
        };
        built().map_err(|error| error.to_string())
    }
}

/// The generator of a player that is built for a request. Other games, snakes and turns have others.
fn generator(state: &GameState) -> Rng {
    let mut hasher = DefaultHasher::new();
    (&state.game.id, &state.you.id).hash(&mut hasher);
    Rng::indexed(hasher.finish(), "serve", state.turn.unsigned_abs())
}

/// An id that no snake on the board has.
fn unused(seat: usize, on_board: &[String]) -> String {
    let mut id = format!("seat {seat}");
    while on_board.contains(&id) {
        id.push('+');
    }
    id
}

/// Adds `ms` to a name that accepts it and has no limit.
fn with_limit(name: &str, time: Duration) -> Result<String, NameError> {
    let options = Options::parse(name)?;
    let syntax = KNOWN.iter().find(|syntax| syntax.name == options.player());
    let takes_time = syntax.is_some_and(|syntax| syntax.options.contains(&"ms"));
    if !takes_time || LIMITS.iter().any(|limit| options.has(limit)) {
        return Ok(name.to_owned());
    }
    let (player, ms) = (options.player(), time.as_millis());
    let given = name[player.len()..].strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    Ok(match given {
        None | Some("") => format!("{player}{{ms={ms}}}"),
        Some(given) => format!("{player}{{ms={ms},{given}}}"),
    })
}

#[cfg(test)]
mod tests;
