//! The players that take seats, in order of preference.

use std::sync::Arc;
use std::time::Duration;

use ouro_game::battlesnake::api::{ApiError, GameState, Setup};
use ouro_game::battlesnake::{Config, Large, Small};
use ouro_game::{Game, GameConfig};
use ouro_players::registry::{KNOWN, Options};
use ouro_players::{BuildContext, NameError, Player, by_name};

use super::seat::{Mover, Seated};
use crate::clock::WallClock;
use crate::commands::entrants::{self, Engines};
use crate::failure::Failure;

/// The player of games that no other player plays. It plays every game.
pub(super) const LAST: &str = "minimax";
/// Options that limit a player's thinking.
const LIMITS: [&str; 3] = ["ms", "depth", "sims"];
/// Time of a move if the request has none, that of the official command line.
const USUAL_TIME: Duration = Duration::from_millis(500);
/// Longest time of a move that a request can ask for.
const LONGEST_TIME: Duration = Duration::from_secs(10);

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Roster {
    entries: Vec<Entry>,
    margin: Duration,
    clock: Arc<WallClock>,
}

#[derive(Debug)]
struct Entry {
    /// As given, perhaps without a limit.
    name: String,
    /// The networks in the name.
    engines: Engines,
    /// The game for which the networks were trained. Without a network only the worth of a draw counts,
    /// which is that of a loss.
    trained: Config,
}

impl Entry {
    /// Seats with which the player plays a position of `config`; `None` if it does not play it.
    fn seats(&self, config: &Config) -> Option<u8> {
        if self.engines.is_empty() {
            return Some(config.snakes);
        }
        let board = |config: &Config| (config.ruleset, config.width, config.height);
        let trained = &self.trained;
        let plays = board(trained) == board(config)
            && config.snakes <= trained.snakes
            // A single snake is alone, or has won.
            && (config.snakes > 1 || trained.snakes == 1);
        plays.then_some(trained.snakes)
    }
}

/// A player with the seats that it plays with.
pub(super) struct Fit {
    /// Place of the player in the roster.
    pub(super) place: usize,
    /// Name of the player, with its limit.
    pub(super) name: String,
    /// Ids of the snakes by seat; absent snakes have ids that no snake has.
    pub(super) ids: Vec<String>,
    /// What a draw is worth to the player.
    pub(super) draw: f32,
    pub(super) mover: Box<dyn Mover>,
}

impl Roster {
    /// The players called `names`, checked, and [`LAST`] at the end. `margin` is the part of the time of
    /// a move that no player uses.
    pub(super) fn new(names: &[String], margin: Duration) -> Result<Self, Failure> {
        let mut roster = Self { entries: Vec::new(), margin, clock: Arc::default() };
        for name in names {
            roster.add(name)?;
        }
        if names.last().is_none_or(|last| last != LAST) {
            roster.add(LAST)?;
        }
        Ok(roster)
    }

    fn add(&mut self, name: &str) -> Result<(), Failure> {
        let any = || GameConfig::Battlesnake(Config { draw: -1.0, ..Config::default() });
        let any = (!entrants::has_weights(name)).then(any);
        let (game, engines) = entrants::load(&[name.to_owned()], any)?;
        let GameConfig::Battlesnake(config) = game else {
            let game = game.name();
            return Err(Failure::usage(format_args!(
                "{name}: its weights were trained for {game}; name weights of battlesnake"
            )));
        };
        let entry = Entry { name: name.to_owned(), engines, trained: config };
        // An invalid name is reported before the first game.
        let name = with_limit(name, self.time(None)).map_err(Failure::usage)?;
        self.mover(&entry, &name, entry.trained.clone()).map_err(Failure::usage)?;
        self.entries.push(entry);
        Ok(())
    }

    /// The names of the players as they were given.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.name.as_str())
    }

    /// The first player that can take the requested seat. A network gets as many seats as in its training.
    pub(super) fn fit(&self, state: &GameState) -> Result<Fit, ApiError> {
        let setup = state.setup()?;
        let time = self.time(setup.timeout_ms);
        for (place, entry) in self.entries.iter().enumerate() {
            let Some(seats) = entry.seats(&setup.config) else { continue };
            let Ok(name) = with_limit(&entry.name, time) else { continue };
            let mut ids = setup.ids.clone();
            ids.extend((ids.len()..seats.into()).map(|seat| absent(seat, &setup.ids)));
            let Setup { config, .. } = state.setup_for(&ids)?;
            if let Ok(mover) = self.mover(entry, &name, config) {
                return Ok(Fit { place, name, ids, draw: entry.trained.draw, mover });
            }
        }
        Err(ApiError::SnakeCount { count: setup.ids.len() })
    }

    /// Time of a move of a player without a limit.
    fn time(&self, timeout_ms: Option<u32>) -> Duration {
        let allowed = timeout_ms.map_or(USUAL_TIME, |ms| Duration::from_millis(ms.into()));
        let allowed = allowed.min(LONGEST_TIME);
        allowed.saturating_sub(self.margin).max(allowed / 4).max(Duration::from_millis(1))
    }

    fn mover(&self, entry: &Entry, name: &str, config: Config) -> Result<Box<dyn Mover>, String> {
        if Small::fits(&config) {
            let game = Small::new(config).map_err(|error| error.to_string())?;
            self.seated(entry, name, game).map_err(|error| error.to_string())
        } else {
            let game = Large::new(config).map_err(|error| error.to_string())?;
            self.seated(entry, name, game).map_err(|error| error.to_string())
        }
    }

    fn seated<G: Game<Config = Config>>(
        &self,
        entry: &Entry,
        name: &str,
        game: G,
    ) -> Result<Box<dyn Mover>, NameError> {
        let mut engine = |weights: &str| entry.engines.get(weights).cloned();
        let clock = Arc::clone(&self.clock);
        let mut context = BuildContext { game: &game, engines: &mut engine, clock };
        let player: Box<dyn Player<G>> = by_name(name, &mut context)?;
        Ok(Box::new(Seated::new(player)))
    }
}

/// An id that no snake on the board has.
fn absent(seat: usize, living: &[String]) -> String {
    let mut id = format!("absent {seat}");
    while living.contains(&id) {
        id.push('+');
    }
    id
}

/// The name with `time` per move, if the player needs a limit and has none.
fn with_limit(name: &str, time: Duration) -> Result<String, NameError> {
    let options = Options::parse(name)?;
    let syntax = KNOWN.iter().find(|syntax| syntax.name == options.player());
    let takes_time = syntax.is_some_and(|syntax| syntax.options.contains(&"ms"));
    if !takes_time || LIMITS.iter().any(|limit| options.has(limit)) {
        return Ok(name.to_owned());
    }
    let player = options.player();
    let (ms, rest) = (time.as_millis(), name[player.len()..].trim_matches(['{', '}']));
    let comma = if rest.is_empty() { "" } else { "," };
    Ok(format!("{player}{{ms={ms}{comma}{rest}}}"))
}

#[cfg(test)]
mod tests;
