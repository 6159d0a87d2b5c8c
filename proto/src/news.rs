//! What happens in an arena, as domain types.

use ouro_game::{Action, GameConfig};

use crate::arena::v1;
use crate::arena::v1::event::Kind;
use crate::arena_client::ArenaError;
use crate::checkpoint::Checkpoint;
use crate::matches::{AnswerError, GameId, GateStatus, MatchSummary, actions};

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
pub struct News {
    /// Unix time at which it was told, in seconds.
    pub at: f64,
    /// The same in a sentence.
    pub text: String,
    /// What it was.
    pub kind: NewsKind,
}

/// What happened.
#[derive(Clone, Debug, PartialEq)]
pub enum NewsKind {
    /// A candidate arrived.
    Published(Checkpoint),
    /// A match begins, or goes on after a break.
    MatchStarted(MatchSummary),
    /// Some games at the gate have ended.
    GateProgress(GateStatus),
    /// A candidate was promoted, rejected or dropped.
    Decided(GateStatus),
    /// Ratings were computed anew, from so many games.
    RatingsChanged {
        /// Distinct games behind them.
        games: u32,
    },
    /// A game begins to be shown.
    GameStarted {
        /// What it is called, should it be kept.
        id: GameId,
        /// Its rules.
        config: GameConfig,
        /// Its seed.
        seed: u64,
        /// Who sits at each seat.
        players: Vec<String>,
    },
    /// A ply of the game that is being shown.
    MovePlayed {
        /// The game.
        id: GameId,
        /// Ply, from 0.
        ply: u32,
        /// Actions of the players that were to move, in seat order.
        actions: Vec<Action>,
    },
    /// The game that was being shown is over.
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
