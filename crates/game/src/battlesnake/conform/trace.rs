//! Reads recorded games line by line.
//!
//! A recording is JSON lines: for every game a `game` line, its `turn` lines in order and an
//! `end` line. A line that is damaged, missing or out of place is reported by its number.

use std::io::{self, BufRead, Read};

use serde::Deserialize;

use crate::battlesnake::config::{Config, Map, Ruleset};
use crate::battlesnake::position::{Cause, Death, Point, Position, Snake};

/// Longest line that is read, bytes.
const MAX_LINE_BYTES: u64 = 4 << 20;

/// One line of a recording.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(super) enum TraceLine {
    /// The start of a game.
    Game(Box<GameLine>),
    /// One turn of the game.
    Turn(Box<TurnLine>),
    /// The end of the game.
    End(EndLine),
}

/// Rules and set-up of a game.
#[derive(Debug, Deserialize)]
pub(super) struct GameLine {
    /// Unique name.
    pub(super) game: String,
    /// How the game began.
    pub(super) mode: Mode,
    ruleset: Ruleset,
    map: Map,
    solo: bool,
    width: u8,
    height: u8,
    settings: Settings,
    /// Royale: the side of every shrink in order: left, right, bottom, top.
    #[serde(default)]
    shrink_sides: Vec<u8>,
    setup: RecordedState,
}

/// How a recorded game began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Mode {
    /// With the official set-up.
    Full,
    /// From a position in the middle of a game.
    Scenario,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Settings {
    food_spawn_chance: u8,
    minimum_food: u16,
    hazard_damage_per_turn: i16,
    shrink_every_n_turns: u32,
}

/// One turn.
#[derive(Debug, Deserialize)]
pub(super) struct TurnLine {
    /// Number of the state before the moves.
    pub(super) turn: u32,
    /// The state shown to the snakes.
    pub(super) before: RecordedState,
    /// Id and reply of every living snake.
    pub(super) moves: Vec<(String, String)>,
    /// The state after the rules, before new food.
    pub(super) after: RecordedState,
    /// New food in order.
    pub(super) spawned: Vec<Point>,
    /// Whether the game is over after this turn.
    pub(super) over: bool,
}

/// Result of a game.
#[derive(Debug, Deserialize)]
pub(super) struct EndLine {
    /// Name of the game.
    pub(super) game: String,
    /// Number of turn lines.
    pub(super) turns: usize,
    /// Whether the game is over.
    pub(super) over: bool,
    /// Ids of the living snakes.
    pub(super) alive: Vec<String>,
}

/// A state as recorded.
#[derive(Debug, Deserialize)]
pub(super) struct RecordedState {
    food: Vec<Point>,
    hazards: Vec<Point>,
    snakes: Vec<RecordedSnake>,
}

#[derive(Debug, Deserialize)]
struct RecordedSnake {
    id: String,
    health: i32,
    body: Vec<Point>,
    cause: Option<Cause>,
    by: Option<String>,
    on: Option<u32>,
}

impl GameLine {
    /// Ids of the snakes in engine order.
    pub(super) fn ids(&self) -> Vec<String> {
        self.setup.snakes.iter().map(|snake| snake.id.clone()).collect()
    }

    /// The rules of this game, without a position to start from.
    pub(super) fn config(&self) -> Result<Config, String> {
        let snakes = u8::try_from(self.setup.snakes.len())
            .map_err(|_| format!("setup has {} snakes", self.setup.snakes.len()))?;
        Ok(Config {
            ruleset: self.ruleset,
            map: self.map,
            solo: self.solo,
            width: self.width,
            height: self.height,
            snakes,
            food_spawn_chance: self.settings.food_spawn_chance,
            minimum_food: self.settings.minimum_food,
            hazard_damage_per_turn: self.settings.hazard_damage_per_turn,
            shrink_every_n_turns: self.settings.shrink_every_n_turns,
            ..Config::default()
        })
    }

    /// The state before the ruleset's first pass. Its turn number is not recorded; the least
    /// possible number is used.
    pub(super) fn setup(&self) -> Result<Position, String> {
        let turn = self.setup.snakes.iter().filter_map(|snake| snake.on).max();
        self.position(&self.setup, turn.unwrap_or(0))
    }

    /// The side that shrinks at the end of a turn, if any.
    pub(super) fn closing_side(&self, turn: u32) -> Result<Option<u8>, String> {
        let (before, after) = (self.shrinks(turn), self.shrinks(turn.saturating_add(1)));
        if before == after {
            return Ok(None);
        }
        let side = self.shrink_sides.get(after - 1).copied();
        side.map(Some).ok_or_else(|| format!("shrink_sides lacks the side of shrink {after}"))
    }

    /// A recorded state as a position.
    pub(super) fn position(&self, state: &RecordedState, turn: u32) -> Result<Position, String> {
        let ids = &self.setup.snakes;
        let seat = |id: &str| ids.iter().position(|snake| snake.id == id);
        if state.snakes.len() != ids.len() {
            return Err(format!(
                "{} snakes are listed, the setup has {}",
                state.snakes.len(),
                ids.len()
            ));
        }
        let mut snakes = Vec::with_capacity(ids.len());
        for (index, snake) in state.snakes.iter().enumerate() {
            if snake.id != ids[index].id {
                return Err(format!(
                    "snakes[{index}].id is {:?}, the setup says {:?}",
                    snake.id, ids[index].id
                ));
            }
            let by = match &snake.by {
                Some(id) => {
                    Some(seat(id).and_then(|seat| u8::try_from(seat).ok()).ok_or_else(|| {
                        format!("snakes[{index}].by is {id:?}, which is not a snake")
                    })?)
                }
                None => None,
            };
            let death = match (snake.cause, snake.on) {
                (Some(cause), Some(on)) => Some(Death { cause, by, on }),
                (None, None) => None,
                _ => {
                    return Err(format!(
                        "snakes[{index}] has one of cause and on without the other"
                    ));
                }
            };
            snakes.push(Snake { health: snake.health, body: snake.body.clone(), death });
        }
        let mut shrunk = [0; 4];
        for &side in self.shrink_sides.iter().take(self.shrinks(turn)) {
            let lost: &mut u16 = shrunk
                .get_mut(usize::from(side))
                .ok_or_else(|| format!("shrink_sides holds {side}; sides are 0 to 3"))?;
            *lost = lost.saturating_add(1);
        }
        Ok(Position {
            width: self.width,
            height: self.height,
            turn,
            snakes,
            food: state.food.clone(),
            hazards: state.hazards.clone(),
            shrunk,
        })
    }

    /// Number of shrinks before the state of turn `turn`.
    fn shrinks(&self, turn: u32) -> usize {
        let royale = self.ruleset == Ruleset::Royale || self.map == Map::Royale;
        let shrinks = turn.checked_div(self.settings.shrink_every_n_turns).filter(|_| royale);
        shrinks.unwrap_or(0) as usize
    }
}

/// Reads lines and counts them from 1. Lines are bounded in length; blank lines are counted and
/// skipped.
#[derive(Debug)]
pub(super) struct LineReader<R> {
    reader: R,
    number: usize,
}

impl<R: BufRead> LineReader<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { reader, number: 0 }
    }

    /// Number of the line read last.
    pub(super) fn number(&self) -> usize {
        self.number
    }

    /// The next line that is not blank, or `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<TraceLine>, String> {
        let mut text = Vec::new();
        while text.trim_ascii().is_empty() {
            text.clear();
            self.number += 1;
            let read = self
                .reader
                .by_ref()
                .take(MAX_LINE_BYTES)
                .read_until(b'\n', &mut text)
                .map_err(|error| unreadable(&error))?;
            if read == 0 {
                return Ok(None);
            }
            if text.last() != Some(&b'\n') && read as u64 == MAX_LINE_BYTES {
                return Err(format!("the line is longer than {MAX_LINE_BYTES} bytes"));
            }
        }
        let line = serde_json::from_slice(&text).map_err(|error| {
            use serde_json::error::Category;
            match error.classify() {
                Category::Eof => format!("the line ends early, at column {}", error.column()),
                _ => format!("not a line of a recording: {error}"),
            }
        })?;
        Ok(Some(line))
    }
}

fn unreadable(error: &io::Error) -> String {
    format!("the file cannot be read further: {error}")
}
