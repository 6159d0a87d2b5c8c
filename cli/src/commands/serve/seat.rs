//! One snake in one game, from its first request to its last.

use std::collections::BTreeSet;
use std::fmt::{self, Debug, Display, Formatter};
use std::time::Duration;

use ouro_game::battlesnake::api::{ApiError, GameState, Setup};
use ouro_game::battlesnake::{Config, Small};
use ouro_game::{Action, ConfigError, Game, Rng, Turn};
use ouro_players::{Player, Request};

use super::roster::{Fit, Roster};

/// A player for any class of board.
pub(super) trait Mover: Send {
    /// The action of the snake in `seat` at the start of `config`.
    fn choose(&mut self, config: Config, seat: usize) -> Result<Action, ConfigError>;
}

/// A player for one class of board.
pub(super) struct Seated<G: Game> {
    player: Box<dyn Player<G>>,
    rng: Rng,
}

impl<G: Game> Seated<G> {
    pub(super) fn new(player: Box<dyn Player<G>>) -> Self {
        Self { player, rng: Rng::new(1, "serve") }
    }
}

impl<G: Game<Config = Config>> Mover for Seated<G> {
    fn choose(&mut self, config: Config, seat: usize) -> Result<Action, ConfigError> {
        let game = G::new(config)?;
        let state = game.initial(&mut self.rng);
        let is_to_move = matches!(game.turn(&state), Turn::Move(movers) if movers.contains(seat));
        if !is_to_move {
            return Ok(Action::default());
        }
        let mut choices = Vec::new();
        // The player has this game alone.
        let request = Request { state: &state, player: seat, rng: &mut self.rng, game: Some(0) };
        self.player.choose(&game, &mut [request], &mut choices);
        Ok(choices.first().map(|choice| choice.action).unwrap_or_default())
    }
}

/// How a game ended for a snake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// It is the only one alive.
    Won,
    /// No snake is alive.
    NoneAlive,
    /// Others are alive.
    Lost,
    /// It is alive, and so are others: the host ended the game early.
    CutShort,
}

impl Ending {
    /// The ending that a request to `/end` reports.
    pub(super) fn of(state: &GameState) -> Self {
        match (state.seat(), state.board.snakes.len()) {
            (Some(_), 1) => Self::Won,
            (Some(_), _) => Self::CutShort,
            (None, 0) => Self::NoneAlive,
            (None, _) => Self::Lost,
        }
    }
}

impl Display for Ending {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Won => "won",
            Self::NoneAlive => "no snake is alive",
            Self::Lost => "lost",
            Self::CutShort => "ended by the host",
        })
    }
}

/// See the [module](self).
#[derive(Default)]
pub(super) struct Seat {
    fit: Option<Fit>,
    /// Ids of the living snakes at the last request, and whether the board is of the small class.
    table: (BTreeSet<String>, bool),
    /// Longest time of a reply.
    pub(super) slowest: Duration,
}

impl Debug for Seat {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seat").field("player", &self.player()).finish_non_exhaustive()
    }
}

impl Seat {
    /// Name of the player, once there is one.
    pub(super) fn player(&self) -> Option<&str> {
        self.fit.as_ref().map(|fit| fit.name.as_str())
    }

    /// Chooses a player for the position of a request. Keeps the present one if it is still the first
    /// that can play.
    pub(super) fn prepare(&mut self, roster: &Roster, state: &GameState) -> Result<(), ApiError> {
        let setup = state.setup()?;
        let table = (setup.ids.iter().cloned().collect(), Small::fits(&setup.config));
        if self.fit.is_some() && self.table == table {
            return Ok(());
        }
        let new = roster.fit(state)?;
        let is_kept = self.fit.as_ref().is_some_and(|kept| {
            let has_seats = setup.ids.iter().all(|id| kept.ids.contains(id));
            kept.place == new.place && has_seats && self.table.1 == table.1
        });
        if !is_kept {
            self.fit = Some(new);
        }
        self.table = table;
        Ok(())
    }

    /// The move of the requested snake.
    pub(super) fn choose(
        &mut self,
        roster: &Roster,
        state: &GameState,
    ) -> Result<Action, SeatError> {
        self.prepare(roster, state)?;
        let Some(fit) = &mut self.fit else { return Ok(Action::default()) };
        let Setup { config, you, .. } = state.setup_for(&fit.ids)?;
        Ok(fit.mover.choose(Config { draw: fit.draw, ..config }, you)?)
    }
}

/// Why a request gets no move.
#[derive(Debug, thiserror::Error)]
pub(super) enum SeatError {
    #[error(transparent)]
    Request(#[from] ApiError),
    #[error(transparent)]
    Config(#[from] ConfigError),
}
