//! Clusters of which some games are still in play.

use std::collections::BTreeMap;

use ouro_players::FinishedGame;

use super::games::game_number;

/// A cluster with the games that have ended.
type Unfinished<C> = (u32, Vec<Option<FinishedGame<C>>>);

/// Unfinished clusters, by seed.
pub(super) struct Pending<C>(BTreeMap<u64, Unfinished<C>>);

impl<C> Default for Pending<C> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<C> Pending<C> {
    /// Adds a cluster of `games` games with this seed.
    pub(super) fn expect(&mut self, seed: u64, cluster: u32, games: usize) {
        self.0.insert(seed, (cluster, std::iter::repeat_with(|| None).take(games).collect()));
    }

    /// The cluster with this seed.
    pub(super) fn cluster(&self, seed: u64) -> Option<u32> {
        self.0.get(&seed).map(|&(cluster, _)| cluster)
    }

    /// Adds a game and returns its cluster's games once all of them have ended.
    pub(super) fn add(&mut self, game: FinishedGame<C>) -> Option<(u32, Vec<FinishedGame<C>>)> {
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
