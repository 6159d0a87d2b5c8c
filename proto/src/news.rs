//! Events of an arena, as domain types.

use ouro_game::{Action, GameConfig};

use crate::arena::v1;
use crate::arena::v1::event::Kind;
use crate::arena_client::error::ArenaError;
use crate::checkpoint::Checkpoint;
use crate::matches::{AnswerError, GameId, GateStatus, MatchSummary, actions};

/// An event of the run.
#[derive(Clone, Debug, PartialEq)]
pub struct News {
    /// Unix time of the report, in seconds.
    pub at: f64,
    /// The event as a sentence.
    pub text: String,
    /// The kind of event.
    pub kind: NewsKind,
}

/// The kind of an event, with its data.
#[derive(Clone, Debug, PartialEq)]
pub enum NewsKind {
    /// A candidate arrived.
    Published(Checkpoint),
    /// A match started, or resumed after an interruption.
    MatchStarted(MatchSummary),
    /// Some games at the gate have ended.
    GateProgress(GateStatus),
    /// A candidate was promoted, rejected or dropped.
    Decided(GateStatus),
    /// The ratings were recomputed.
    RatingsChanged {
        /// Distinct games from which they were computed.
        games: u32,
    },
    /// A game is now shown.
    GameStarted {
        /// Id of the game, under which it is stored if it is kept.
        id: GameId,
        /// Rules of the game.
        config: GameConfig,
        /// Seed of the game.
        seed: u64,
        /// The players, in seat order.
        players: Vec<String>,
    },
    /// A ply of the shown game.
    MovePlayed {
        /// The game.
        id: GameId,
        /// Ply, from 0.
        ply: u32,
        /// Actions of the players that were to move, in seat order.
        actions: Vec<Action>,
    },
    /// The shown game has ended.
    GameEnded {
        /// The game.
        id: GameId,
        /// Result of each seat, 1 win to −1 loss.
        outcomes: Vec<f64>,
    },
}

impl TryFrom<v1::WatchEventsResponse> for News {
    type Error = ArenaError;

    fn try_from(wire: v1::WatchEventsResponse) -> Result<Self, ArenaError> {
        let event = wire.event.ok_or(AnswerError::Missing("event"))?;
        let id = |id: Option<v1::GameId>| id.map(GameId::from).ok_or(AnswerError::Missing("id"));
        let unread = |error: &dyn std::fmt::Display| AnswerError::Game(error.to_string());
        let kind = match event.kind.ok_or(AnswerError::Missing("kind"))? {
            Kind::Published(checkpoint) => NewsKind::Published(checkpoint.try_into()?),
            Kind::MatchStarted(row) => NewsKind::MatchStarted(row.try_into()?),
            Kind::GateProgress(gate) => NewsKind::GateProgress(gate.try_into()?),
            Kind::Decided(gate) => NewsKind::Decided(gate.try_into()?),
            Kind::RatingsChanged(changed) => NewsKind::RatingsChanged { games: changed.games },
            Kind::GameStarted(game) => NewsKind::GameStarted {
                id: id(game.id)?,
                config: serde_json::from_str(&game.config_json).map_err(|error| unread(&error))?,
                seed: game.seed.parse().map_err(|error| unread(&error))?,
                players: game.players,
            },
            Kind::MovePlayed(played) => NewsKind::MovePlayed {
                id: id(played.id)?,
                ply: played.ply,
                actions: actions(&played.actions),
            },
            Kind::GameEnded(ended) => {
                NewsKind::GameEnded { id: id(ended.id)?, outcomes: ended.outcomes }
            }
        };
        Ok(Self { at: event.at, text: event.text, kind })
    }
}
