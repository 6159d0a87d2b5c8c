//! A session: one snake in one game, from its first request to its last.

use std::fmt::{self, Debug, Formatter};
use std::time::{Duration, Instant};

use ouro_game::battlesnake::api::{ApiError, GameState, Setup};
use ouro_game::battlesnake::{Config, Point, Small};
use ouro_game::{Action, ConfigError, Game, Rng};
use ouro_players::{Player, Request};

use super::host_delay::HostDelay;
use super::players::{Chosen, PlayerList, allowed};

/// A player for any class of board.
pub(super) trait SnakePlayer: Send {
    /// The action of `seat` at the start of `config`, where that seat is to move.
    ///
    /// # Errors
    ///
    /// The start is not a position of the class of board for which the player was built, or the player
    /// has no action.
    fn choose(&mut self, config: Config, seat: usize) -> Result<Action, SessionError>;
}

/// A player for one class of board.
pub(super) struct BuiltPlayer<G: Game> {
    player: Box<dyn Player<G>>,
    rng: Rng,
}

impl<G: Game> BuiltPlayer<G> {
    pub(super) fn new(player: Box<dyn Player<G>>, rng: Rng) -> Self {
        Self { player, rng }
    }
}

impl<G: Game<Config = Config>> SnakePlayer for BuiltPlayer<G> {
    fn choose(&mut self, config: Config, seat: usize) -> Result<Action, SessionError> {
        let game = G::new(config)?;
        let state = game.initial(&mut self.rng);
        let mut choices = Vec::new();
        // A player serves a single game.
        let request = Request { state: &state, player: seat, rng: &mut self.rng, game: Some(0) };
        self.player.choose(&game, &mut [request], &mut choices);
        choices.first().map(|choice| choice.action).ok_or(SessionError::NoAction)
    }
}

/// What a player was chosen for: the choice is made again when it changes.
#[derive(Clone, Debug, PartialEq)]
struct Table {
    /// Ids of the living snakes, sorted.
    living: Vec<String>,
    /// Rules and board, without a position.
    config: Config,
    /// Hazards that do not follow from the rules.
    hazards: Vec<Point>,
    timeout_ms: Option<u32>,
    is_small: bool,
}

impl Table {
    fn of(setup: &Setup) -> Self {
        let mut living = setup.ids.clone();
        living.sort_unstable();
        let is_small = Small::fits(&setup.config);
        let config = Config { start: None, ..setup.config.clone() };
        let start = setup.config.start.as_ref().filter(|_| !config.is_royale());
        let hazards = start.map(|start| start.hazards.clone()).unwrap_or_default();
        Self { living, config, hazards, timeout_ms: setup.timeout_ms, is_small }
    }

    /// Whether a player of `before` can continue here: at most, snakes have died.
    fn continues(&self, before: &Self) -> bool {
        let rules = |table: &Self| Config { snakes: 0, solo: false, ..table.config.clone() };
        rules(self) == rules(before)
            && self.hazards == before.hazards
            && self.timeout_ms == before.timeout_ms
            && self.is_small == before.is_small
            && self.living.iter().all(|id| before.living.contains(id))
    }
}

/// See the [module](self).
#[derive(Default)]
pub(super) struct Session {
    chosen: Option<(Table, Chosen)>,
    /// Most snakes that were alive at a request.
    most_living: usize,
    /// Turn of the last request.
    turn: i64,
    /// Whether a request was of the first turn.
    knows_start: bool,
    /// Limit of the last search, if the server chose it.
    limit: Option<Duration>,
    pub(super) delay: HostDelay,
    /// Longest time of a reply.
    pub(super) slowest: Duration,
}

impl Debug for Session {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("player", &self.player()).finish_non_exhaustive()
    }
}

impl Session {
    /// Name of the player, once there is one.
    pub(super) fn player(&self) -> Option<&str> {
        self.chosen.as_ref().map(|(_, chosen)| chosen.name.as_str())
    }

    /// Chooses a player for the position of a request, and keeps the present one while it is the first
    /// that can play or if the game is decided. Returns whether there is a new one.
    ///
    /// If the request is of another game with the same ids, nothing is kept.
    pub(super) fn prepare(
        &mut self,
        players: &PlayerList,
        state: &GameState,
        setup: &Setup,
    ) -> Result<bool, SessionError> {
        if self.is_of_another_game(state) {
            *self = Self::default();
        }
        self.turn = state.turn;
        self.knows_start |= state.turn == 0;
        self.most_living = self.most_living.max(state.board.snakes.len());
        if self.chosen.is_some() && self.is_won(state) {
            return Ok(false);
        }
        let table = Table::of(setup);
        let kept = match &self.chosen {
            Some((before, _)) if *before == table => return Ok(false),
            Some((before, chosen)) => table.continues(before).then_some(chosen.index),
            None => None,
        };
        if let Some(chosen) = players.choose(state, setup, kept)? {
            self.chosen = Some((table, chosen));
            return Ok(true);
        }
        if let Some((before, _)) = &mut self.chosen {
            *before = table;
        }
        Ok(false)
    }

    /// The move of the requested snake. Its time counts from `arrival`, and is shorter if the host reports
    /// delays beyond the margin. `before` is the delay of the game before.
    pub(super) fn choose(
        &mut self,
        state: &GameState,
        arrival: Instant,
        before: Duration,
    ) -> Result<Action, SessionError> {
        if self.chosen.is_some() && self.is_won(state) {
            return Ok(Action::default());
        }
        // A player whose search panics is not used again.
        let (table, mut chosen) = self.chosen.take().ok_or(SessionError::NoAction)?;
        let Setup { config, you, timeout_ms, .. } = state.setup_for(&chosen.ids)?;
        self.delay.add_latency(state.turn, latency(state), allowed(timeout_ms));
        self.limit = chosen.time.map(|time| time.with_delay(self.delay.expected(before)));
        let shorter = chosen.time.zip(self.limit).map(|(time, limit)| time.usual - limit);
        let start = arrival.checked_sub(shorter.unwrap_or_default()).unwrap_or(arrival);
        chosen.clock.start_at(start);
        let action = chosen.player.choose(Config { draw: chosen.draw, ..config }, you);
        self.chosen = Some((table, chosen));
        action
    }

    /// Adds a reply to a request of `turn` after the time `took`.
    pub(super) fn add_reply(&mut self, turn: i64, took: Duration) {
        self.slowest = self.slowest.max(took);
        self.delay.add_reply(turn, self.limit.map_or(took, |limit| took.min(limit)));
    }

    /// Whether the snake is known to have been alone from the first turn on.
    pub(super) fn started_alone(&self) -> bool {
        self.knows_start && self.most_living == 1
    }

    /// Whether the snake is the last of several. A host asks it once more and ignores the reply.
    fn is_won(&self, state: &GameState) -> bool {
        is_last(state) && self.most_living > 1
    }

    /// Whether a request is not of the game of the last one. Its turn is then earlier, or snakes are missing
    /// although none has moved.
    fn is_of_another_game(&self, state: &GameState) -> bool {
        let living = state.board.snakes.len();
        state.turn < self.turn || state.turn == 0 && living < self.most_living
    }
}

/// Whether the requested snake is the only one on the board, in a ruleset in which the last snake wins.
pub(super) fn is_last(state: &GameState) -> bool {
    let is_only = state.board.snakes.len() == 1 && state.seat().is_some();
    is_only && state.game.ruleset.name != "solo"
}

/// The latency of the snake's previous reply that a request reports; 0 if it has none.
///
/// The official command line writes 0 at `you`, and the measured latency in the list of snakes.
fn latency(state: &GameState) -> Duration {
    let listed = state.seat().map(|seat| &state.board.snakes[seat].latency);
    let texts = listed.into_iter().chain([&state.you.latency]);
    let ms = texts.filter_map(|text| text.parse::<u32>().ok()).max();
    Duration::from_millis(ms.unwrap_or_default().into())
}

/// Why a request gets no move.
#[derive(Debug, thiserror::Error)]
pub(super) enum SessionError {
    /// The request is not a position of a game.
    #[error(transparent)]
    Request(#[from] ApiError),
    /// The position does not fit its board.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The player has no action.
    #[error("the player has no move; see the log of the server")]
    NoAction,
    /// No player plays the position.
    #[error("no player plays this position: {0}")]
    NoPlayer(String),
}

#[cfg(test)]
mod tests;
