//! Plays the games of a match.
//!
//! The seed of the run and the key of the match determine every game. A resumed match therefore
//! plays the same games as an uninterrupted match, and it does not matter which process plays them.

use std::ops::ControlFlow;
use std::sync::Arc;

use ouro_game::{Game, GameVisitor};
use ouro_players::{GameBatch, GameBatchError, NameError, Player};

use crate::opening::RandomOpening;
use crate::showcase::{LiveEvent, Showcase};
use crate::side::Side;
use pending::Pending;

mod games;
mod pending;

pub(crate) use games::{MatchGames, PlayedCluster, seatings};

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

/// A cluster to play.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SeededCluster {
    /// Its number in the match.
    pub(crate) cluster: u32,
    /// The seed of its games.
    pub(crate) seed: u64,
}

/// Where the clusters to play come from, and where the played ones go.
pub(crate) trait ClusterSource {
    /// Receives the clusters that ended with the last ply, in any order. Called before each ply,
    /// also without clusters. `Break` ends the match and drops the games in play.
    fn report(&mut self, ended: Vec<PlayedCluster>) -> ControlFlow<()>;

    /// The clusters to start now, of which there is room for `room`.
    fn take(&mut self, room: usize) -> Vec<SeededCluster>;

    /// Called while nothing is in play. Waits for clusters, or breaks if there will be none.
    fn wait(&mut self) -> ControlFlow<()>;
}

/// Plays clusters of one match, as a visitor of the rules.
pub(crate) struct PlayClusters<'a> {
    /// The match.
    pub(crate) games: MatchGames<'a>,
    /// The first player, then the second.
    pub(crate) sides: [Side; 2],
    /// The clock of players with a time budget.
    pub(crate) clock: Arc<dyn ouro_players::Clock>,
    /// Random plies at the start of each game.
    pub(crate) opening_plies: u32,
    /// Plies after which a game is truncated.
    pub(crate) max_plies: usize,
    /// Games in play at the same time.
    pub(crate) parallel: usize,
    /// The clusters.
    pub(crate) source: &'a mut dyn ClusterSource,
    /// Called with the events of the game that is shown live.
    pub(crate) live: &'a mut dyn FnMut(LiveEvent),
}

impl GameVisitor for PlayClusters<'_> {
    type Output = Result<(), PlayError>;

    fn visit<G: Game>(self, game: G) -> Self::Output {
        let mut players: Vec<Box<dyn Player<G>>> = Vec::with_capacity(2);
        for side in &self.sides {
            let player = side.build(&game, &self.clock, &|| {})?;
            players.push(Box::new(RandomOpening::new(player, &game, self.opening_plies)));
        }
        let mut batch = GameBatch::new(game, self.max_plies);
        let mut pending = Pending::default();
        let mut ended = Vec::new();
        let mut showcase = Showcase::default();
        let seatings = seatings(self.games.shape);
        loop {
            // Called even without ended clusters, so that a stop takes effect within one ply.
            if self.source.report(std::mem::take(&mut ended)).is_break() {
                return Ok(());
            }
            // All games of a cluster start together, so they end at about the same time and few
            // clusters are pending.
            let room = self.parallel.max(1).saturating_sub(batch.len());
            for SeededCluster { cluster, seed } in self.source.take(room.div_ceil(seatings.len())) {
                pending.expect(seed, cluster, seatings.len());
                for seats in &seatings {
                    batch.start_game(seed, seats)?;
                }
            }
            if batch.is_empty() {
                match self.source.wait() {
                    ControlFlow::Continue(()) => continue,
                    ControlFlow::Break(()) => return Ok(()),
                }
            }
            // Advances every game by one ply, with one batch per player.
            let finished = batch.advance(&mut players)?;
            let name = |seed: u64, seats: &[usize]| {
                pending.cluster(seed).map(|cluster| self.games.name(cluster, seats))
            };
            let in_progress = batch.in_progress();
            for event in showcase.update(self.games.config, in_progress, &finished, &name) {
                (self.live)(event);
            }
            for game in finished {
                if let Some((cluster, games)) = pending.add(game) {
                    ended.push(self.games.played(cluster, games));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
