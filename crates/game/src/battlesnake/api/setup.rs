//! Converts a request to a game that can be searched.

use super::error::ApiError;
use super::royale;
use super::wire::GameState;
use crate::battlesnake::Large;
use crate::battlesnake::config::{Config, Map, Ruleset};
use crate::battlesnake::position::{Cause, Death, Position, Snake};
use crate::battlesnake::position::{MAX_SIDE, MAX_SNAKES, MAX_TURN, MIN_SIDE};
use crate::game::Game;

/// A game that starts at the position of a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Setup {
    /// Rules and settings; `start` holds the position.
    pub config: Config,
    /// Seat of the requested snake, an index into `ids` and the position's snakes.
    pub you: usize,
    /// Ids of the snakes by seat.
    pub ids: Vec<String>,
    /// Round trip allowed for the reply, ms; `None` if the request has no timeout.
    pub timeout_ms: Option<u32>,
}

impl GameState {
    /// The game at this position, for a snake that is alive.
    ///
    /// With one snake on the board the game counts as a solo game. It either is one, or it is
    /// already decided; then the move has no effect, but the host still expects a reply.
    pub fn setup(&self) -> Result<Setup, ApiError> {
        let position = self.position()?;
        let you = self.seat().ok_or_else(|| ApiError::NotOnBoard { id: self.you.id.clone() })?;
        let ids = self.board.snakes.iter().map(|snake| snake.id.clone()).collect();
        let timeout_ms = u32::try_from(self.game.timeout).ok().filter(|&ms| ms > 0);
        Ok(Setup { config: self.config(position)?, you, ids, timeout_ms })
    }

    /// The game at this position with a seat for each of `ids`, in their order. Snakes that are not
    /// on the board are dead, so that a player of four seats can play on when three snakes are left.
    ///
    /// Absent snakes count as dead since turn 1, so they are equal in every request. With absent snakes,
    /// turn 0 becomes turn 1.
    ///
    /// # Errors
    ///
    /// Those of [`setup`](Self::setup); a snake on the board has no seat; there are too many seats.
    pub fn setup_for(&self, ids: &[String]) -> Result<Setup, ApiError> {
        let Setup { mut config, ids: on_board, timeout_ms, .. } = self.setup()?;
        if ids.len() > MAX_SNAKES {
            return Err(ApiError::SnakeCount { count: ids.len() });
        }
        if let Some(snake) = on_board.iter().position(|id| !ids.contains(id)) {
            return Err(ApiError::NoSeat { snake, id: on_board[snake].clone() });
        }
        // Constrictor rulesets give dead snakes full health, too.
        let health = if config.ruleset.is_constrictor() { 100 } else { 0 };
        let death = Some(Death { cause: Cause::OutOfHealth, by: None, on: 1 });
        if let Some(position) = &mut config.start {
            if ids.len() > on_board.len() {
                position.turn = position.turn.max(1);
            }
            let living = std::mem::take(&mut position.snakes);
            let mut living: Vec<Option<Snake>> = living.into_iter().map(Some).collect();
            let seated = |id: &String| {
                let place = on_board.iter().position(|one| one == id);
                let snake = place.and_then(|place| living[place].take());
                snake.unwrap_or_else(|| Snake { health, body: Vec::new(), death })
            };
            position.snakes = ids.iter().map(seated).collect();
        }
        config.snakes = ids.len() as u8;
        let you = ids.iter().position(|id| *id == self.you.id).unwrap_or_default();
        Ok(Setup { config, you, ids: ids.to_vec(), timeout_ms })
    }

    /// The position on the board, checked: a game can start there.
    pub fn position(&self) -> Result<Position, ApiError> {
        let side = |field, value| in_range(field, value, MIN_SIDE, MAX_SIDE);
        let width = side("board.width", self.board.width)?;
        let height = side("board.height", self.board.height)?;
        let turn = in_range("turn", self.turn, 0, MAX_TURN)?;
        let count = self.board.snakes.len();
        if count == 0 || count > MAX_SNAKES {
            return Err(ApiError::SnakeCount { count });
        }
        let mut snakes = Vec::with_capacity(count);
        for index in 0..count {
            snakes.push(self.snake(index)?);
        }
        let position = Position {
            width,
            height,
            turn,
            snakes,
            food: self.board.food.iter().map(|&cell| cell.into()).collect(),
            hazards: self.board.hazards.iter().map(|&cell| cell.into()).collect(),
            shrunk: [0; 4],
        };
        position.validate(self.ruleset().is_wrapped())?;
        <Large as Game>::State::check_food(&position)?;
        Ok(position)
    }

    fn ruleset(&self) -> Ruleset {
        Ruleset::from_name(&self.game.ruleset.name)
    }

    fn snake(&self, index: usize) -> Result<Snake, ApiError> {
        let snake = &self.board.snakes[index];
        let twin = self.board.snakes[..index].iter().position(|other| other.id == snake.id);
        if let Some(other) = twin {
            return Err(ApiError::DuplicateId { snake: index, other, id: snake.id.clone() });
        }
        if let Some(head) = snake.head.filter(|&head| snake.body.first() != Some(&head)) {
            return Err(ApiError::Head { snake: index, head });
        }
        let cells = snake.body.len();
        if let Some(length) = snake.length.filter(|&length| usize::try_from(length) != Ok(cells)) {
            return Err(ApiError::Length { snake: index, length, cells });
        }
        let field = format!("board.snakes[{index}].health");
        let health = in_range(&field, snake.health, 1, 100)?;
        Ok(Snake {
            health,
            body: snake.body.iter().map(|&cell| cell.into()).collect(),
            death: None,
        })
    }

    fn config(&self, mut position: Position) -> Result<Config, ApiError> {
        let settings = &self.game.ruleset.settings;
        let (mut ruleset, mut map) = (self.ruleset(), Map::from_name(&self.game.map));
        let shrinks = settings.royale.shrink_every_n_turns;
        let royale = ruleset == Ruleset::Royale || map == Map::Royale;
        let shrink_every_n_turns = if royale {
            let name = "game.ruleset.settings.royale.shrinkEveryNTurns";
            in_range(name, shrinks, 1, u32::MAX)?
        } else {
            // Other games often send 0 here, where the value has no meaning.
            Config::default().shrink_every_n_turns
        };
        match royale.then(|| royale::shrunk(&position)) {
            Some(Some(counts)) => position.shrunk = counts,
            // Hazards of another origin: a royale game would replace them.
            Some(None) if map == Map::Royale => (ruleset, map) = (still(ruleset), Map::Standard),
            Some(None) => ruleset = still(ruleset),
            None => {}
        }
        Ok(Config {
            ruleset,
            map,
            solo: ruleset == Ruleset::Solo || position.snakes.len() < 2,
            width: position.width,
            height: position.height,
            snakes: position.snakes.len() as u8,
            // Below 0 means never and above 100 means always, so clamping keeps the meaning.
            food_spawn_chance: clamped(settings.food_spawn_chance, 0, 100),
            minimum_food: clamped(settings.minimum_food, 0, u16::MAX),
            // Health is 0 to 100, so greater damage has the same effect.
            hazard_damage_per_turn: clamped(settings.hazard_damage_per_turn, -100, 100),
            shrink_every_n_turns,
            start: Some(position),
            ..Config::default()
        })
    }
}

/// The ruleset without moving hazards.
fn still(ruleset: Ruleset) -> Ruleset {
    if ruleset == Ruleset::Royale { Ruleset::Standard } else { ruleset }
}

/// The number in its narrow type, if it lies within the bounds.
fn in_range<T>(field: &str, value: i64, least: T, most: T) -> Result<T, ApiError>
where
    T: TryFrom<i64> + Into<i64> + PartialOrd + Copy,
{
    T::try_from(value).ok().filter(|value| (least..=most).contains(value)).ok_or_else(|| {
        let (least, most) = (least.into(), most.into());
        ApiError::OutOfRange { field: field.to_owned(), value, least, most }
    })
}

/// The nearest number within the bounds.
fn clamped<T: TryFrom<i64> + Into<i64> + Copy>(value: i64, least: T, most: T) -> T {
    T::try_from(value.clamp(least.into(), most.into())).unwrap_or(least)
}
