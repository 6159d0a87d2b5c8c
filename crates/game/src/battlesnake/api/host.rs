//! Builds the requests that a game host sends to each snake.

use super::error::ApiError;
use super::wire::{
    Battlesnake, Board, Customizations, GameInfo, GameState, RoyaleSettings, RulesetInfo,
    RulesetSettings, SquadSettings,
};
use crate::battlesnake::config::Config;
use crate::battlesnake::position::{Position, Snake};

/// A game host: the fixed part of every request of one game.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Id of the game.
    pub game_id: String,
    /// Round trip allowed for an answer, ms.
    pub timeout_ms: u32,
    /// `custom`, `arena`, … or empty.
    pub source: String,
    /// Version of the rules, free text.
    pub version: String,
    /// The snakes by seat.
    pub snakes: Vec<Identity>,
}

/// The fields of a snake in the API besides its position on the board.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// Unique id.
    pub id: String,
    /// Display name.
    pub name: String,
    /// Latency of its last reply, ms; 0 at first, and the timeout if no reply came in time.
    pub latency_ms: u32,
    /// Its last shout.
    pub shout: String,
    /// Looks.
    pub customizations: Customizations,
}

impl Host {
    /// The body of a request to the snake in `seat`, which may be dead. The board lists living
    /// snakes only. A dead snake has the body of the position, which may be empty.
    pub fn request(
        &self,
        config: &Config,
        position: &Position,
        seat: usize,
    ) -> Result<GameState, ApiError> {
        let (snakes, identities) = (position.snakes.len(), self.snakes.len());
        if seat >= snakes || snakes != identities {
            return Err(ApiError::Seat { seat, snakes, identities });
        }
        let show = |seat: usize| show(&self.snakes[seat], &position.snakes[seat]);
        let living = (0..snakes).filter(|&seat| position.snakes[seat].death.is_none());
        Ok(GameState {
            game: self.game(config),
            turn: position.turn.into(),
            board: Board {
                height: position.height.into(),
                width: position.width.into(),
                snakes: living.map(show).collect(),
                food: position.food.iter().map(|&cell| cell.into()).collect(),
                hazards: position.hazards.iter().map(|&cell| cell.into()).collect(),
            },
            you: show(seat),
        })
    }

    fn game(&self, config: &Config) -> GameInfo {
        GameInfo {
            id: self.game_id.clone(),
            ruleset: RulesetInfo {
                name: config.ruleset.name().to_owned(),
                version: self.version.clone(),
                settings: RulesetSettings {
                    food_spawn_chance: config.food_spawn_chance.into(),
                    minimum_food: config.minimum_food.into(),
                    hazard_damage_per_turn: config.hazard_damage_per_turn.into(),
                    hazard_map: String::new(),
                    hazard_map_author: String::new(),
                    royale: RoyaleSettings {
                        shrink_every_n_turns: config.shrink_every_n_turns.into(),
                    },
                    squad: SquadSettings::default(),
                },
            },
            map: config.map.name().to_owned(),
            timeout: self.timeout_ms.into(),
            source: self.source.clone(),
        }
    }
}

fn show(identity: &Identity, snake: &Snake) -> Battlesnake {
    Battlesnake {
        id: identity.id.clone(),
        name: identity.name.clone(),
        latency: identity.latency_ms.to_string(),
        health: snake.health.into(),
        body: snake.body.iter().map(|&cell| cell.into()).collect(),
        head: snake.body.first().map(|&cell| cell.into()),
        length: i64::try_from(snake.body.len()).ok(),
        shout: identity.shout.clone(),
        squad: String::new(),
        customizations: identity.customizations.clone(),
    }
}
