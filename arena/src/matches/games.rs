//! The games of a cluster: their seats, and what their outcomes mean for the match.

use ouro_game::digest::digest_serialized;
use ouro_game::{GameConfig, GameRecord};
use ouro_players::{FinishedGame, fingerprint};
use ouro_rating::{ClusterResult, ClusterShape, GameResult, Ranking};

use crate::player_id::{MatchKey, PlayerId};
use crate::store::{GameKey, StoredGame};

/// Indices of the two players in a batch.
const FIRST: usize = 0;
const SECOND: usize = 1;

/// A played cluster with its games.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PlayedCluster {
    pub(crate) result: ClusterResult,
    /// The games, by their number in the cluster.
    pub(crate) games: Vec<StoredGame>,
}

/// What all games of a match have in common.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MatchGames<'a> {
    /// The run's game.
    pub(crate) config: &'a GameConfig,
    /// The match.
    pub(crate) key: &'a MatchKey,
    /// Its number.
    pub(crate) number: u32,
    /// Size of a cluster.
    pub(crate) shape: ClusterShape,
}

impl MatchGames<'_> {
    /// The key and the players of the game with this seating.
    pub(crate) fn name(&self, cluster: u32, seats: &[usize]) -> (GameKey, Vec<PlayerId>) {
        let key = GameKey { number: self.number, cluster, game: game_number(seats) as u32 };
        (key, self.players(seats))
    }

    /// The player at each seat.
    pub(crate) fn players(&self, seats: &[usize]) -> Vec<PlayerId> {
        let player = |&seat: &usize| if seat == FIRST { &self.key.first } else { &self.key.second };
        seats.iter().map(player).cloned().collect()
    }

    /// The cluster that consists of these games, in the order of [`seatings`].
    pub(crate) fn played<C>(&self, cluster: u32, games: Vec<FinishedGame<C>>) -> PlayedCluster {
        let results = if self.shape.seats < 2 {
            vec![solo_result(&games)]
        } else {
            games.iter().map(multiplayer_result).collect()
        };
        let games = games.into_iter().map(|game| StoredGame {
            players: self.players(&game.players),
            record: GameRecord {
                version: game.record.version,
                config: self.config.clone(),
                seed: game.record.seed,
                plies: game.record.plies,
                digests: game.record.digests,
            },
            outcomes: game.outcomes,
            scores: game.scores,
            truncated: game.truncated,
        });
        let games = games.collect();
        PlayedCluster { result: ClusterResult { cluster, games: results }, games }
    }
}

/// The seating of each game of a cluster: the index of the player at each seat.
pub(crate) fn seatings(shape: ClusterShape) -> Vec<Vec<usize>> {
    let seats = shape.seats as usize;
    if seats < 2 {
        return vec![vec![FIRST], vec![SECOND]];
    }
    (0..seats)
        .map(|first| (0..seats).map(|seat| if seat == first { FIRST } else { SECOND }).collect())
        .collect()
}

/// The number, within its cluster, of the game with this seating.
pub(super) fn game_number(seats: &[usize]) -> usize {
    match seats {
        [player] => *player,
        _ => seats.iter().position(|&player| player == FIRST).unwrap_or(0),
    }
}

/// The result of a game for several players, from the first player's point of view.
fn multiplayer_result<C>(game: &FinishedGame<C>) -> GameResult {
    let own = game_number(&game.players);
    let others = |results: &[f32]| -> Vec<f32> {
        results.iter().enumerate().filter(|&(seat, _)| seat != own).map(|(_, &one)| one).collect()
    };
    let rivals = others(&game.scores);
    let mean = rivals.iter().map(|&score| f64::from(score)).sum::<f64>() / rivals.len() as f64;
    GameResult {
        ranking: Ranking::new(game.outcomes[own], &others(&game.outcomes)),
        margin: f64::from(game.scores[own]) - mean,
        fingerprint: fingerprint(&game.record, &game.players),
    }
}

/// The result of two single-player games with the same seed, compared by score.
fn solo_result<C>(games: &[FinishedGame<C>]) -> GameResult {
    let [first, second] = [FIRST, SECOND].map(|index| {
        games
            .get(index)
            .map_or((0.0, 0), |game| (game.scores[0], fingerprint(&game.record, &game.players)))
    });
    GameResult {
        ranking: Ranking::new(first.0, &[second.0]),
        margin: f64::from(first.0) - f64::from(second.0),
        fingerprint: digest_serialized(&[first.1, second.1]),
    }
}
