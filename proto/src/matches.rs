//! Matches, games and decisions as domain types.

use ouro_game::{Action, GameConfig, GameRecord};

use crate::arena::v1;
use ouro_net::Generation;

/// Error in an answer of the arena.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// A required part is missing.
    #[error("the answer has no {0}")]
    Missing(&'static str),
    /// A value is unknown, perhaps from a newer protocol.
    #[error("{field} is {value}, which is not known here")]
    Unknown {
        /// The field.
        field: &'static str,
        /// Its value.
        value: i32,
    },
    /// A game record cannot be parsed.
    #[error("game does not read: {0}")]
    Game(String),
}

/// The purpose of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchKind {
    /// Decides about a candidate.
    Gate,
    /// Makes the ratings more precise.
    Rating,
}

/// Two players and the results of their games, from the first player's side.
#[derive(Clone, Debug, PartialEq)]
pub struct MatchSummary {
    /// Counts matches from 0.
    pub number: u32,
    /// Purpose of the match.
    pub kind: MatchKind,
    /// The player with these results; at the gate, the candidate.
    pub first: String,
    /// The other player; at the gate, the champion.
    pub second: String,
    /// Distinct games.
    pub games: u32,
    /// Wins, draws and losses against single opponents, over all games.
    pub wins_draws_losses: [u32; 3],
    /// Share of points with the ends of its 95 % interval.
    pub score: [f64; 3],
    /// Unix time of the start, in seconds.
    pub opened_at: f64,
}

impl TryFrom<v1::Match> for MatchSummary {
    type Error = AnswerError;

    fn try_from(wire: v1::Match) -> Result<Self, AnswerError> {
        let kind = match wire.kind() {
            v1::MatchKind::Gate => MatchKind::Gate,
            v1::MatchKind::Rating => MatchKind::Rating,
            v1::MatchKind::Unspecified => {
                return Err(AnswerError::Unknown { field: "kind", value: wire.kind });
            }
        };
        Ok(Self {
            number: wire.number,
            kind,
            first: wire.first,
            second: wire.second,
            games: wire.games,
            wins_draws_losses: [wire.wins, wire.draws, wire.losses],
            score: [wire.score, wire.score_low, wire.score_high],
            opened_at: wire.opened_at,
        })
    }
}

/// Identifies a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GameId {
    /// Number of the match.
    pub number: u32,
    /// Seed in the match, from 0.
    pub cluster: u32,
    /// Game of the seed, from 0.
    pub game: u32,
}

impl From<v1::GameId> for GameId {
    fn from(wire: v1::GameId) -> Self {
        Self { number: wire.r#match, cluster: wire.cluster, game: wire.game }
    }
}

impl From<GameId> for v1::GameId {
    fn from(id: GameId) -> Self {
        Self { r#match: id.number, cluster: id.cluster, game: id.game }
    }
}

/// A game that can be replayed.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedGame {
    /// Id of the game.
    pub id: GameId,
    /// Rules, seed and moves. They are not verified here; use [`GameRecord::verify`].
    pub record: GameRecord<GameConfig>,
    /// The players with result and score, in seat order.
    pub seats: Vec<RecordedSeat>,
    /// Whether the game was stopped before its end.
    pub truncated: bool,
}

/// One seat of a recorded game.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedSeat {
    /// The player.
    pub player: String,
    /// Result of the seat, 1 win to −1 loss.
    pub outcome: f64,
    /// Score of the seat, in the game's own unit.
    pub score: f64,
}

impl TryFrom<v1::Game> for RecordedGame {
    type Error = AnswerError;

    fn try_from(wire: v1::Game) -> Result<Self, AnswerError> {
        let unread = |error: &dyn std::fmt::Display| AnswerError::Game(error.to_string());
        let config = serde_json::from_str(&wire.config_json).map_err(|error| unread(&error))?;
        let seed = wire.seed.parse().map_err(|error| unread(&error))?;
        let digest = |text: &String| u64::from_str_radix(text, 16).map_err(|error| unread(&error));
        let digests = wire.digests.iter().map(digest).collect::<Result<_, _>>()?;
        let plies = wire.plies.iter().map(|ply| actions(&ply.actions)).collect();
        let seats = wire.seats.into_iter().map(|seat| RecordedSeat {
            player: seat.player,
            outcome: seat.outcome,
            score: seat.score,
        });
        Ok(Self {
            id: wire.id.ok_or(AnswerError::Missing("id"))?.into(),
            record: GameRecord { version: wire.record_version, config, seed, plies, digests },
            seats: seats.collect(),
            truncated: wire.truncated,
        })
    }
}

/// Actions of one ply.
pub(crate) fn actions(wire: &[u32]) -> Vec<Action> {
    wire.iter().map(|&action| Action(action)).collect()
}

/// State of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateState {
    /// Games are being played.
    InProgress,
    /// The candidate is in the pool.
    Promoted,
    /// The candidate is not in the pool.
    Rejected,
    /// The candidate was discarded without a verdict.
    Dropped,
}

/// A decision about a candidate.
#[derive(Clone, Debug, PartialEq)]
pub struct GateStatus {
    /// The candidate.
    pub candidate: Generation,
    /// State of the decision.
    pub state: GateState,
    /// The champion and the number of the match; `None` if the candidate was dropped.
    pub champion: Option<(String, u32)>,
    /// The decision in a few sentences.
    pub explanation: String,
    /// Games that count, and their maximum.
    pub games: (u32, u32),
    /// Share of points with the ends of its 95 % interval; `None` if the candidate was dropped.
    pub score: Option<[f64; 3]>,
    /// Log-likelihood ratio of the sequential test, and its bounds for rejection and promotion;
    /// `None` without a test.
    pub test: Option<[f64; 3]>,
}

impl TryFrom<v1::Gate> for GateStatus {
    type Error = AnswerError;

    fn try_from(wire: v1::Gate) -> Result<Self, AnswerError> {
        let state = match wire.state() {
            v1::GateState::InProgress => GateState::InProgress,
            v1::GateState::Promoted => GateState::Promoted,
            v1::GateState::Rejected => GateState::Rejected,
            v1::GateState::Dropped => GateState::Dropped,
            v1::GateState::Unspecified => {
                return Err(AnswerError::Unknown { field: "state", value: wire.state });
            }
        };
        let score = wire.score.as_ref();
        Ok(Self {
            candidate: Generation(wire.candidate),
            state,
            champion: wire.r#match.map(|number| (wire.champion, number)),
            explanation: wire.explanation,
            games: score.map_or((0, 0), |score| (score.games, score.max_games)),
            score: score.map(|score| [score.score, score.score_low, score.score_high]),
            test: score
                .and_then(|score| score.test.as_ref())
                .map(|test| [test.log_likelihood_ratio, test.lower, test.upper]),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn game() -> v1::Game {
        v1::Game {
            id: Some(v1::GameId { r#match: 1, cluster: 2, game: 0 }),
            name: "tic_tac_toe".into(),
            config_json: r#"{"game":"tic_tac_toe"}"#.into(),
            record_version: 1,
            seed: u64::MAX.to_string(),
            seats: vec![v1::GameSeat { player: "random".into(), outcome: 1.0, score: 0.5 }],
            plies: vec![v1::Ply { actions: vec![4] }],
            digests: vec!["00000000000000ff".into(), "ffffffffffffffff".into()],
            truncated: true,
        }
    }

    #[test]
    fn a_game_reads_with_all_64_bits_of_its_numbers() {
        let read = RecordedGame::try_from(game()).unwrap();
        assert_eq!(read.id, GameId { number: 1, cluster: 2, game: 0 });
        assert_eq!((read.record.seed, &read.record.digests[..]), (u64::MAX, &[255, u64::MAX][..]));
        assert_eq!(read.record.plies, [[Action(4)]]);
    }

    #[test]
    fn answers_that_make_no_sense_are_refused() {
        type Spoil = fn(&mut v1::Game);
        let cases: [Spoil; 4] = [
            |game| game.config_json = "{}".into(),
            |game| game.seed = "-1".into(),
            |game| game.digests[0] = "xyz".into(),
            |game| game.id = None,
        ];
        for spoil in cases {
            let mut wire = game();
            spoil(&mut wire);
            assert!(RecordedGame::try_from(wire).is_err());
        }
        assert!(MatchSummary::try_from(v1::Match::default()).is_err());
        let unknown = v1::Gate { state: 9, ..v1::Gate::default() };
        let refused = AnswerError::Unknown { field: "state", value: 9 };
        assert_eq!(GateStatus::try_from(unknown), Err(refused));
    }
}
