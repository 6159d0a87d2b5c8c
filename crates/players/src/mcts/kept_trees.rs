//! Trees of games in progress, kept from move to move.
//!
//! Contract: the trees together have at most the given [size](Search::size), or there is a single
//! tree. The tree used longest ago is dropped first.

use std::collections::VecDeque;

use ouro_game::Game;
use ouro_search::Search;

/// Most trees. A player in a batch of games needs one per game and seat.
const MOST: usize = 1 << 12;

/// A seat of a game.
pub(super) type Place = (u64, usize);

/// The trees, the one used last at the end.
#[derive(Debug)]
pub(super) struct KeptTrees<G: Game> {
    trees: VecDeque<(Place, Search<G>)>,
    size: usize,
    max_size: usize,
}

impl<G: Game> KeptTrees<G> {
    pub(super) fn new(max_size: usize) -> Self {
        Self { trees: VecDeque::new(), size: 0, max_size }
    }

    /// Removes and returns the tree of a place.
    pub(super) fn take(&mut self, place: Place) -> Option<Search<G>> {
        let at = self.trees.iter().position(|(kept, _)| *kept == place)?;
        let (_, search) = self.trees.remove(at)?;
        self.size -= search.size();
        Some(search)
    }

    /// Removes and returns the trees of a game.
    pub(super) fn take_game(&mut self, number: u64) -> Vec<Search<G>> {
        let ended: Vec<Place> =
            self.trees.iter().map(|&(place, _)| place).filter(|place| place.0 == number).collect();
        ended.into_iter().filter_map(|place| self.take(place)).collect()
    }

    /// Keeps the tree of a place. Returns the trees that make room for it.
    pub(super) fn put(&mut self, place: Place, search: Search<G>) -> Vec<Search<G>> {
        self.size += search.size();
        self.trees.push_back((place, search));
        let mut dropped = Vec::new();
        while self.trees.len() > 1 && (self.size > self.max_size || self.trees.len() > MOST) {
            let Some((_, search)) = self.trees.pop_front() else { break };
            self.size -= search.size();
            dropped.push(search);
        }
        dropped
    }
}

#[cfg(test)]
mod tests {
    use ouro_game::tic_tac_toe::TicTacToe;
    use ouro_game::{Rng, snakgame};
    use ouro_search::{Scheduler, SearchConfig, Uniform};

    use super::*;

    fn searched<G: Game>(game: &G, simulations: u32) -> Search<G> {
        let config = SearchConfig { simulations, solver: false, ..SearchConfig::default() };
        let mut search = Search::new(config, game).expect("in range");
        search.start(game, &game.initial(&mut Rng::new(1, "test")), Rng::new(1, "search"));
        Scheduler::new(1).run(game, std::slice::from_mut(&mut search), &mut Uniform);
        search
    }

    fn tree(simulations: u32) -> Search<TicTacToe> {
        searched(&TicTacToe::default(), simulations)
    }

    #[test]
    fn the_trees_used_longest_ago_make_room() {
        let (size, mut kept) = (tree(50).size(), KeptTrees::new(3 * tree(50).size()));
        for game in 0..3 {
            assert!(kept.put((game, 0), tree(50)).is_empty());
        }
        let first = kept.take((0, 0)).expect("it is kept");
        assert!(kept.take((0, 1)).is_none(), "another seat has another tree");
        assert!(kept.put((0, 0), first).is_empty());
        assert_eq!(kept.put((3, 0), tree(50)).len(), 1);
        assert!(kept.take((1, 0)).is_none() && kept.take((2, 0)).is_some());
        // A tree larger than the limit stays alone.
        assert!(tree(400).size() > 3 * size);
        assert_eq!(kept.put((4, 0), tree(400)).len(), 2);
        assert!(kept.take((4, 0)).is_some() && kept.size == 0);
    }

    #[test]
    fn all_trees_of_a_game_are_taken_at_once() {
        let mut kept = KeptTrees::new(usize::MAX);
        for place in [(1, 0), (2, 0), (1, 1)] {
            assert!(kept.put(place, tree(5)).is_empty());
        }
        assert_eq!((kept.take_game(1).len(), kept.take_game(1).len()), (2, 0));
        assert!(kept.take((2, 0)).is_some() && kept.size == 0);
    }

    #[test]
    fn trees_with_many_actions_count_by_their_edges() {
        // Every empty cell is an action.
        let game = snakgame::Small::new(snakgame::Config::default()).expect("in range");
        let search = searched(&game, 20);
        let (size, nodes) = (search.size(), search.nodes());
        assert!(size > 5 * nodes, "{nodes} nodes of size {size}");
        let mut kept = KeptTrees::new(2 * size - 1);
        assert!(kept.put((1, 0), search).is_empty());
        assert_eq!(kept.put((2, 0), searched(&game, 20)).len(), 1);
    }
}
