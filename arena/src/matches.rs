//! Plays the games of a match.
//!
//! The seed of the run and the key of the match determine every game. A resumed match therefore
//! plays the same games as an uninterrupted match.

use std::collections::BTreeMap;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use ouro_game::digest::digest_serialized;
use ouro_game::{Game, GameConfig, GameRecord, GameVisitor};
use ouro_players::{FinishedGame, GameBatch, GameBatchError, NameError, Player, fingerprint};
use ouro_rating::{ClusterResult, ClusterShape, GameResult, Ranking};

use crate::player_id::{MatchKey, PlayerId};
use crate::showcase::{LiveEvent, Showcase};
use crate::side::{RandomOpening, Side};
use crate::store::{GameKey, StoredGame};

/// Indices of the two players in a batch.
const FIRST: usize = 0;
const SECOND: usize = 1;

/// Why a match failed.
#[derive(Debug, thiserror::Error)]
pub enum PlayError {
    /// The rules of the game cannot be built.
    #[error(transparent)]
    Game(#[from] ouro_game::ConfigError),
    /// A player cannot be built or does not fit the game.
    #[error(transparent)]
    Player(#[from] NameError),
    /// A game failed.
    #[error(transparent)]
    Batch(#[from] GameBatchError),
}

/// A played cluster with its games.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PlayedCluster {
    pub(crate) result: ClusterResult,
    /// The games, by their number in the cluster.
    pub(crate) games: Vec<StoredGame>,
}

/// Plays some clusters of one match, as a visitor of the rules.
pub(crate) struct PlayClusters<'a> {
    /// The run's seed.
    pub(crate) seed: u64,
    /// The run's game.
    pub(crate) config: &'a GameConfig,
    /// The match.
    pub(crate) key: &'a MatchKey,
    /// Its number.
    pub(crate) number: u32,
    /// Size of a cluster.
    pub(crate) shape: ClusterShape,
    /// The first player, then the second.
    pub(crate) sides: [Side; 2],
    /// The clock of players with a time budget.
    pub(crate) clock: Arc<dyn ouro_players::Clock>,
    /// Which clusters to play.
    pub(crate) clusters: Range<u32>,
    /// Random plies at the start of each game.
    pub(crate) opening_plies: u32,
    /// Plies after which a game is truncated.
    pub(crate) max_plies: usize,
    /// Games in play at the same time.
    pub(crate) parallel: usize,
    /// Called after each ply with the clusters that have ended, in order. `Break` ends the match
    /// and drops the games in play.
    pub(crate) report: &'a mut dyn FnMut(Vec<PlayedCluster>) -> ControlFlow<()>,
    /// Called with the events of the game that is shown live.
    pub(crate) live: &'a mut dyn FnMut(LiveEvent),
}

impl GameVisitor for PlayClusters<'_> {
    type Output = Result<(), PlayError>;

    fn visit<G: Game>(mut self, game: G) -> Self::Output {
        let mut players: Vec<Box<dyn Player<G>>> = Vec::with_capacity(2);
        for side in &self.sides {
            let player = side.build(&game, &self.clock, &|| {})?;
            players.push(Box::new(RandomOpening::new(player, self.opening_plies)));
        }
        let mut batch = GameBatch::new(game, self.max_plies);
        let mut pending = Pending::default();
        let mut finished_clusters = BTreeMap::new();
        let mut next_report = self.clusters.start;
        let mut showcase = Showcase::default();
        loop {
            let mut ended = Vec::new();
            while let Some(cluster) = finished_clusters.remove(&next_report) {
                ended.push(cluster);
                next_report += 1;
            }
            // Called even without finished clusters, so that a stop takes effect within one ply.
            if (self.report)(ended).is_break() {
                return Ok(());
            }
            // All games of a cluster start together, so they end at about the same time and few
            // clusters are pending.
            while batch.len() < self.parallel.max(1) {
                let Some(cluster) = self.clusters.next() else { break };
                let seed = self.key.seed(self.seed, cluster);
                let seatings = seatings(self.shape);
                pending.expect(seed, cluster, seatings.len());
                for seats in seatings {
                    batch.start_game(seed, &seats)?;
                }
            }
            if batch.is_empty() {
                return Ok(());
            }
            // Advances every game by one ply, with one batch per player.
            let finished = batch.advance(&mut players)?;
            let name = |seed: u64, seats: &[usize]| self.name(&pending, seed, seats);
            for event in showcase.update(self.config, batch.in_progress(), &finished, &name) {
                (self.live)(event);
            }
            for game in finished {
                if let Some((cluster, games)) = pending.add(game) {
                    finished_clusters.insert(cluster, self.cluster(cluster, games));
                }
            }
        }
    }
}

impl PlayClusters<'_> {
    /// The key and the players of a game in progress.
    fn name(
        &self,
        pending: &Pending<impl Sized>,
        seed: u64,
        seats: &[usize],
    ) -> Option<(GameKey, Vec<PlayerId>)> {
        let cluster = pending.cluster(seed)?;
        let key = GameKey { number: self.number, cluster, game: game_number(seats) as u32 };
        Some((key, self.players(seats)))
    }

    fn players(&self, seats: &[usize]) -> Vec<PlayerId> {
        let player = |&seat: &usize| if seat == FIRST { &self.key.first } else { &self.key.second };
        seats.iter().map(player).cloned().collect()
    }

    /// The result of a cluster, with its games.
    fn cluster<C>(&self, cluster: u32, games: Vec<FinishedGame<C>>) -> PlayedCluster {
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
fn seatings(shape: ClusterShape) -> Vec<Vec<usize>> {
    let seats = shape.seats as usize;
    if seats < 2 {
        return vec![vec![FIRST], vec![SECOND]];
    }
    (0..seats)
        .map(|first| (0..seats).map(|seat| if seat == first { FIRST } else { SECOND }).collect())
        .collect()
}

/// The number, within its cluster, of the game with this seating.
fn game_number(seats: &[usize]) -> usize {
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

/// A cluster with the games that have ended.
type Unfinished<C> = (u32, Vec<Option<FinishedGame<C>>>);

/// Unfinished clusters, by seed.
struct Pending<C>(BTreeMap<u64, Unfinished<C>>);

impl<C> Default for Pending<C> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<C> Pending<C> {
    fn expect(&mut self, seed: u64, cluster: u32, games: usize) {
        self.0.insert(seed, (cluster, std::iter::repeat_with(|| None).take(games).collect()));
    }

    fn cluster(&self, seed: u64) -> Option<u32> {
        self.0.get(&seed).map(|&(cluster, _)| cluster)
    }

    /// Adds a game and returns its cluster's games once all of them have ended.
    fn add(&mut self, game: FinishedGame<C>) -> Option<(u32, Vec<FinishedGame<C>>)> {
        let (seed, number) = (game.record.seed, game_number(&game.players));
        let (_, games) = self.0.get_mut(&seed)?;
        *games.get_mut(number)? = Some(game);
        if games.iter().any(Option::is_none) {
            return None;
        }
        let (cluster, games) = self.0.remove(&seed)?;
        Some((cluster, games.into_iter().flatten().collect()))
    }
}

#[cfg(test)]
mod tests;
