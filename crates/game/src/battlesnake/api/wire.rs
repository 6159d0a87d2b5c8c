//! The JSON of requests, field by field.
//!
//! Reading is lenient where servers in use differ. Fields without a sensible default (`turn`, the
//! board, ids and bodies) are required.

use serde::{Deserialize, Deserializer, Serialize};

use super::error::{ApiError, from_json};
use crate::battlesnake::config::Config;
use crate::battlesnake::position::Point;

/// Body of `/start`, `/move` and `/end`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GameState {
    /// The fixed part of the game.
    pub game: GameInfo,
    /// Turn number, 0 at the first move.
    pub turn: i64,
    /// The board.
    pub board: Board,
    /// The requested snake.
    pub you: Battlesnake,
}

/// The part of a request that does not change during a game.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GameInfo {
    /// Unique id.
    pub id: String,
    /// Ruleset and settings.
    #[serde(deserialize_with = "or_default")]
    pub ruleset: RulesetInfo,
    /// Map name; empty means `standard`.
    #[serde(deserialize_with = "or_default")]
    pub map: String,
    /// Round trip allowed for a reply, ms.
    #[serde(deserialize_with = "or_default")]
    pub timeout: i64,
    /// `tournament`, `league`, `arena`, `challenge`, `custom` or empty.
    #[serde(deserialize_with = "or_default")]
    pub source: String,
}

/// Ruleset and settings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RulesetInfo {
    /// Name; an unknown one means `standard`.
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    /// Version of the engine.
    #[serde(deserialize_with = "or_default")]
    pub version: String,
    /// Settings.
    #[serde(deserialize_with = "or_default")]
    pub settings: RulesetSettings,
}

/// Settings; missing ones have the values of a standard game.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct RulesetSettings {
    /// Food appears with probability (this − 1) % a turn.
    pub food_spawn_chance: i64,
    /// Food is topped up to this many.
    pub minimum_food: i64,
    /// Health lost in a hazard on top of the 1 of every turn.
    pub hazard_damage_per_turn: i64,
    /// No longer used.
    #[serde(deserialize_with = "or_default")]
    pub hazard_map: String,
    /// No longer used.
    #[serde(deserialize_with = "or_default")]
    pub hazard_map_author: String,
    /// Settings of royale.
    #[serde(deserialize_with = "or_default")]
    pub royale: RoyaleSettings,
    /// Settings of squad mode, which no longer exists.
    #[serde(deserialize_with = "or_default")]
    pub squad: SquadSettings,
}

impl Default for RulesetSettings {
    fn default() -> Self {
        let config = Config::default();
        Self {
            food_spawn_chance: config.food_spawn_chance.into(),
            minimum_food: config.minimum_food.into(),
            hazard_damage_per_turn: config.hazard_damage_per_turn.into(),
            hazard_map: String::new(),
            hazard_map_author: String::new(),
            royale: RoyaleSettings::default(),
            squad: SquadSettings::default(),
        }
    }
}

/// Settings of royale.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct RoyaleSettings {
    /// Turns between two shrinks.
    pub shrink_every_n_turns: i64,
}

impl Default for RoyaleSettings {
    fn default() -> Self {
        Self { shrink_every_n_turns: Config::default().shrink_every_n_turns.into() }
    }
}

/// Settings of squad mode, which no longer exists; always false.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "the API fixes the fields")]
pub struct SquadSettings {
    /// Always false.
    pub allow_body_collisions: bool,
    /// Always false.
    pub shared_elimination: bool,
    /// Always false.
    pub shared_health: bool,
    /// Always false.
    pub shared_length: bool,
}

/// The board.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Board {
    /// Rows.
    pub height: i64,
    /// Columns.
    pub width: i64,
    /// Living snakes in engine order.
    #[serde(deserialize_with = "or_default")]
    pub snakes: Vec<Battlesnake>,
    /// Food in engine order; a cell may repeat.
    #[serde(default, deserialize_with = "or_default")]
    pub food: Vec<Coord>,
    /// Hazards; a cell may repeat or lie off the board.
    #[serde(default, deserialize_with = "or_default")]
    pub hazards: Vec<Coord>,
}

/// A snake.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Battlesnake {
    /// Unique id.
    pub id: String,
    /// Display name.
    #[serde(default, deserialize_with = "or_default")]
    pub name: String,
    /// Latency of its last reply, ms, as text.
    #[serde(default, deserialize_with = "text_or_number")]
    pub latency: String,
    /// Health.
    pub health: i64,
    /// Cells, head first, stacked ones included.
    pub body: Vec<Coord>,
    /// First cell of the body.
    #[serde(default)]
    pub head: Option<Coord>,
    /// Number of cells of the body.
    #[serde(default)]
    pub length: Option<i64>,
    /// Its last shout.
    #[serde(default, deserialize_with = "or_default")]
    pub shout: String,
    /// No longer used.
    #[serde(default, deserialize_with = "or_default")]
    pub squad: String,
    /// Looks.
    #[serde(default, deserialize_with = "or_default")]
    pub customizations: Customizations,
}

/// Looks of a snake.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Customizations {
    /// `#RRGGBB`.
    #[serde(deserialize_with = "or_default")]
    pub color: String,
    /// Name of a head.
    #[serde(deserialize_with = "or_default")]
    pub head: String,
    /// Name of a tail.
    #[serde(deserialize_with = "or_default")]
    pub tail: String,
}

/// A cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coord {
    /// Column.
    pub x: i32,
    /// Row.
    pub y: i32,
}

impl From<Point> for Coord {
    fn from(Point { x, y }: Point) -> Self {
        Self { x, y }
    }
}

impl From<Coord> for Point {
    fn from(Coord { x, y }: Coord) -> Self {
        Self { x, y }
    }
}

impl GameState {
    /// Reads a request body of at most [`MAX_REQUEST_BYTES`](super::MAX_REQUEST_BYTES).
    ///
    /// Checks the JSON only; [`setup`](Self::setup) checks the game.
    pub fn parse(bytes: &[u8]) -> Result<Self, ApiError> {
        from_json(bytes)
    }

    /// Index of `you` among the snakes on the board; `None` for a dead snake, as at `/end`.
    pub fn seat(&self) -> Option<usize> {
        self.board.snakes.iter().position(|snake| snake.id == self.you.id)
    }
}

/// Reads `null` as the default: some servers write it for empty lists.
pub(super) fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// Reads text, a number or nothing as text: servers send latencies in all three forms.
fn text_or_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum TextOrNumber {
        Text(String),
        Number(serde_json::Number),
        Nothing(()),
    }
    Ok(match TextOrNumber::deserialize(deserializer)? {
        TextOrNumber::Text(text) => text,
        TextOrNumber::Number(number) => number.to_string(),
        TextOrNumber::Nothing(()) => String::new(),
    })
}
