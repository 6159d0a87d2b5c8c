//! Calls for people and web pages: comparisons, matches, games, decisions and events.

use tonic::Streaming;

use super::error::ArenaError;
use super::{ArenaClient, timed};
use crate::arena::v1;
use crate::matches::{AnswerError, GameId, GateStatus, MatchSummary, RecordedGame};
use crate::news::News;
use crate::status::ArenaReport;
use ouro_net::Generation;

/// The strength of one player relative to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlayerComparison {
    /// Elo difference with the ends of its 95 % interval.
    pub elo: [f64; 3],
    /// Probability that the first player is stronger.
    pub superiority: f64,
    /// Expected share of points of the first player. With more than two seats it is the probability of
    /// being ranked ahead of the second player, among games that rank the two.
    pub expected_score: f64,
}

impl ArenaClient {
    /// Compares the strength of two players by their ratings.
    pub async fn compare_players(
        &mut self,
        first: &str,
        second: &str,
    ) -> Result<PlayerComparison, ArenaError> {
        let (first, second) = (first.to_owned(), second.to_owned());
        let request = timed(v1::ComparePlayersRequest { first, second });
        let answer = self.arena.compare_players(request).await?.into_inner();
        Ok(PlayerComparison {
            elo: [answer.elo, answer.elo_low, answer.elo_high],
            superiority: answer.superiority,
            expected_score: answer.expected_score,
        })
    }

    /// Lists matches, newest first, optionally of one player and before a number.
    pub async fn list_matches(
        &mut self,
        player: Option<&str>,
        before: Option<u32>,
        limit: u32,
    ) -> Result<Vec<MatchSummary>, ArenaError> {
        let player = player.unwrap_or_default().to_owned();
        let request = timed(v1::ListMatchesRequest { player, before, limit });
        let answer = self.arena.list_matches(request).await?.into_inner();
        answer.matches.into_iter().map(|row| Ok(row.try_into()?)).collect()
    }

    /// Returns one match and its kept games.
    pub async fn get_match(
        &mut self,
        number: u32,
    ) -> Result<(MatchSummary, Vec<GameId>), ArenaError> {
        let answer = self.arena.get_match(timed(v1::GetMatchRequest { number })).await?;
        let answer = answer.into_inner();
        let row = answer.r#match.ok_or(AnswerError::Missing("match"))?.try_into()?;
        Ok((row, answer.games.into_iter().map(Into::into).collect()))
    }

    /// Returns a recorded game.
    pub async fn get_game(&mut self, id: GameId) -> Result<RecordedGame, ArenaError> {
        let request = timed(v1::GetGameRequest { id: Some(id.into()) });
        let game = self.arena.get_game(request).await?.into_inner().game;
        Ok(game.ok_or(AnswerError::Missing("game"))?.try_into()?)
    }

    /// Returns the decision about a generation; `None` asks for the one in progress, otherwise
    /// for the last one.
    pub async fn get_gate(
        &mut self,
        generation: Option<Generation>,
    ) -> Result<GateStatus, ArenaError> {
        let generation = generation.map(|generation| generation.0);
        let request = timed(v1::GetGateRequest { generation });
        let gate = self.arena.get_gate(request).await?.into_inner().gate;
        Ok(gate.ok_or(AnswerError::Missing("gate"))?.try_into()?)
    }

    /// Returns the state of the arena's process.
    pub async fn get_status(&mut self) -> Result<ArenaReport, ArenaError> {
        let answer = self.arena.get_status(timed(v1::GetStatusRequest {})).await?;
        Ok(answer.into_inner().into())
    }

    /// Streams events from now on, optionally with the moves of one game.
    pub async fn watch_events(&mut self, moves: bool) -> Result<EventWatch, ArenaError> {
        let request = v1::WatchEventsRequest { moves };
        Ok(EventWatch(self.arena.watch_events(request).await?.into_inner()))
    }
}

/// A stream of events.
#[derive(Debug)]
pub struct EventWatch(Streaming<v1::WatchEventsResponse>);

impl EventWatch {
    /// Returns the next event; `None` when the arena stops.
    pub async fn next(&mut self) -> Result<Option<News>, ArenaError> {
        self.0.message().await?.map(TryInto::try_into).transpose()
    }
}
