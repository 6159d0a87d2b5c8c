//! Trees of games in progress, kept from move to move.
//!
//! Contract: the trees together have at most the given number of nodes, or there is a single tree.
//! The tree used longest ago is dropped first, which is that of a game that has ended.

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
    nodes: usize,
    max_nodes: usize,
}

impl<G: Game> KeptTrees<G> {
    pub(super) fn new(max_nodes: usize) -> Self {
        Self { trees: VecDeque::new(), nodes: 0, max_nodes }
    }

    /// Removes and returns the tree of a place.
    pub(super) fn take(&mut self, place: Place) -> Option<Search<G>> {
        let at = self.trees.iter().position(|(kept, _)| *kept == place)?;
        let (_, search) = self.trees.remove(at)?;
        self.nodes -= search.nodes();
        Some(search)
    }

    /// Keeps the tree of a place. Returns the trees that make room for it.
    pub(super) fn put(&mut self, place: Place, search: Search<G>) -> Vec<Search<G>> {
        self.nodes += search.nodes();
        self.trees.push_back((place, search));
        let mut dropped = Vec::new();
        while self.trees.len() > 1 && (self.nodes > self.max_nodes || self.trees.len() > MOST) {
            let Some((_, search)) = self.trees.pop_front() else { break };
            self.nodes -= search.nodes();
            dropped.push(search);
        }
        dropped
    }
}

#[cfg(test)]
mod tests {
    use ouro_game::Rng;
    use ouro_game::tic_tac_toe::TicTacToe;
    use ouro_search::{Scheduler, SearchConfig, Uniform};

    use super::*;

    fn tree(simulations: u32) -> Search<TicTacToe> {
        let game = TicTacToe::default();
        let config = SearchConfig { simulations, solver: false, ..SearchConfig::default() };
        let mut search = Search::new(config, &game).expect("in range");
        search.start(&game, &game.initial(&mut Rng::new(1, "test")), Rng::new(1, "search"));
        Scheduler::new(1).run(&game, std::slice::from_mut(&mut search), &mut Uniform);
        search
    }

    #[test]
    fn the_trees_used_longest_ago_make_room() {
        let (size, mut kept) = (tree(50).nodes(), KeptTrees::new(3 * tree(50).nodes()));
        for game in 0..3 {
            assert!(kept.put((game, 0), tree(50)).is_empty());
        }
        let first = kept.take((0, 0)).expect("it is kept");
        assert!(kept.take((0, 1)).is_none(), "another seat has another tree");
        assert!(kept.put((0, 0), first).is_empty());
        assert_eq!(kept.put((3, 0), tree(50)).len(), 1);
        assert!(kept.take((1, 0)).is_none() && kept.take((2, 0)).is_some());
        // A tree larger than the limit stays alone.
        assert!(tree(400).nodes() > 3 * size);
        assert_eq!(kept.put((4, 0), tree(400)).len(), 2);
        assert!(kept.take((4, 0)).is_some() && kept.nodes == 0);
    }
}
