//! Checks the results of workers by replaying their games.
//!
//! A worker is trusted with nothing but the choice of moves. Rules, seed, seats, length and legality
//! of the games are compared with the match. Outcomes and scores follow from the replay, and a
//! result that claims others is refused.

use ouro_game::record::{RECORD_VERSION, Replay, ReplayError};
use ouro_game::{ActionMask, Game, GameRecord, GameVisitor, Turn};
use ouro_players::FinishedGame;
use ouro_proto::text::brief;

use crate::matches::{MatchGames, PlayedCluster, SeededCluster, seatings};
use crate::store::StoredGame;
use crate::workers::job::JobResult;

/// Why the result of a worker is refused.
#[derive(Debug, PartialEq, thiserror::Error)]
pub(crate) enum ResultError {
    #[error("it cannot be read: {0}")]
    Unreadable(String),
    #[error("it has {got} bytes; the games of a cluster take at most {limit}")]
    Size { got: usize, limit: usize },
    #[error("it is of cluster {0}")]
    OtherCluster(u32),
    /// Also what an honest worker sends if the number of its session was given again, because the
    /// server was restored from an older copy.
    #[error("it is of match {0}")]
    OtherMatch(u32),
    #[error("it has {got} games; a cluster has {expected}")]
    GameCount { got: usize, expected: usize },
    #[error("game {game}: {problem}")]
    Game { game: usize, problem: GameProblem },
    #[error("the rules cannot be built: {0}")]
    Rules(String),
}

/// What is wrong with a game.
#[derive(Debug, PartialEq, thiserror::Error)]
pub(crate) enum GameProblem {
    #[error("{0} is not that of the match")]
    Foreign(&'static str),
    #[error(transparent)]
    Replay(#[from] ReplayError),
    #[error("ply {ply}: action {action} of seat {seat} is not legal")]
    Illegal { ply: usize, seat: usize, action: u32 },
    #[error("it has {0} plies and is not over")]
    Unfinished(usize),
    #[error("it claims another {0} than its moves lead to")]
    Claim(&'static str),
}

/// Reads and verifies the result of a cluster, as a visitor of the rules.
pub(crate) struct VerifyCluster<'a> {
    pub(crate) games: MatchGames<'a>,
    pub(crate) cluster: SeededCluster,
    pub(crate) max_plies: usize,
    /// The result as it arrived.
    pub(crate) text: &'a [u8],
}

impl GameVisitor for VerifyCluster<'_> {
    type Output = Result<PlayedCluster, ResultError>;

    fn visit<G: Game>(self, game: G) -> Self::Output {
        let seatings = seatings(self.games.shape);
        let limit = largest(self.max_plies, game.players(), seatings.len());
        if self.text.len() > limit {
            return Err(ResultError::Size { got: self.text.len(), limit });
        }
        let unreadable =
            |error: serde_json::Error| ResultError::Unreadable(brief(&error.to_string()));
        let result: JobResult = serde_json::from_slice(self.text).map_err(unreadable)?;
        let JobResult { number, cluster, games } = result;
        if cluster != self.cluster.cluster {
            return Err(ResultError::OtherCluster(cluster));
        }
        if number != self.games.number {
            return Err(ResultError::OtherMatch(number));
        }
        if games.len() != seatings.len() {
            return Err(ResultError::GameCount { got: games.len(), expected: seatings.len() });
        }
        let mut finished = Vec::with_capacity(games.len());
        for (index, (claimed, seats)) in games.into_iter().zip(seatings).enumerate() {
            let replayed = self.replay(&game, claimed, seats);
            finished.push(replayed.map_err(|problem| ResultError::Game { game: index, problem })?);
        }
        Ok(self.games.played(cluster, finished))
    }
}

impl VerifyCluster<'_> {
    /// The game as the rules say it went.
    fn replay<G: Game>(
        &self,
        game: &G,
        claimed: StoredGame,
        seats: Vec<usize>,
    ) -> Result<FinishedGame<()>, GameProblem> {
        let StoredGame { record, players, outcomes, scores, truncated } = claimed;
        for (what, is_equal) in [
            ("version", record.version == RECORD_VERSION),
            ("game", record.config == *self.games.config),
            ("seed", record.seed == self.cluster.seed),
            ("seating", players == self.games.players(&seats)),
        ] {
            if !is_equal {
                return Err(GameProblem::Foreign(what));
            }
        }
        let plies = record.plies.len();
        if plies > self.max_plies {
            return Err(GameProblem::Unfinished(plies));
        }
        let mut replay = Replay::new(game, &record)?;
        let mut legal = ActionMask::new(game.action_count());
        for (ply, actions) in record.plies.iter().enumerate() {
            // Checked here because a game may ignore an illegal action.
            if let Turn::Move(movers) = game.turn(replay.state()) {
                for (seat, action) in movers.iter().zip(actions) {
                    game.legal(replay.state(), seat, &mut legal);
                    if !legal.contains(*action) {
                        return Err(GameProblem::Illegal { ply, seat, action: action.0 });
                    }
                }
            }
            replay.advance()?;
        }
        let state = replay.state();
        let is_truncated = game.turn(state) != Turn::Over;
        if is_truncated && plies < self.max_plies {
            return Err(GameProblem::Unfinished(plies));
        }
        let of_seats =
            |value: &dyn Fn(usize) -> f32| -> Vec<f32> { (0..game.players()).map(value).collect() };
        let found_outcomes = of_seats(&|seat| game.outcome(state, seat));
        let found_scores = of_seats(&|seat| game.score(state, seat));
        for (what, is_equal) in [
            ("outcome", outcomes == found_outcomes),
            ("score", scores == found_scores),
            ("end", truncated == is_truncated),
        ] {
            if !is_equal {
                return Err(GameProblem::Claim(what));
            }
        }
        let GameRecord { version, seed, plies, digests, .. } = record;
        Ok(FinishedGame {
            record: GameRecord { version, config: (), seed, plies, digests },
            behaviour: Vec::new(),
            players: seats,
            outcomes: found_outcomes,
            scores: found_scores,
            truncated: is_truncated,
        })
    }
}

/// Largest text of a result, in bytes: a bound of what honest games can take.
fn largest(max_plies: usize, seats: usize, games: usize) -> usize {
    // Decimal digits of a u64 digest and of a u32 action, with their separators.
    const DIGEST: usize = 21;
    const ACTION: usize = 11;
    // Configuration, names of players, outcomes, scores and keys.
    const REST: usize = 64 << 10;
    let ply = DIGEST + 3 + seats.saturating_mul(ACTION);
    let game = max_plies.saturating_add(1).saturating_mul(ply).saturating_add(REST);
    game.saturating_mul(games).saturating_add(REST)
}

#[cfg(test)]
pub(crate) mod tests;
