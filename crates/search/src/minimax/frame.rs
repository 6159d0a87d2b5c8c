//! The resolved positions on the path from the root, with the choices of their movers.

use ouro_game::{Action, ActionMask, Game, PlayerSet, Turn};

use super::query::Query;
use crate::heuristic::Heuristic;

/// Maximum number of seats of any game.
pub(super) const SEATS: usize = 16;

/// A position on the path from the root, with the choices of its movers. Frames are reused from
/// search to search.
#[derive(Debug)]
pub(super) struct Frame<G: Game> {
    pub(super) state: G::State,
    /// The movers, the searching player first.
    movers: [u8; SEATS],
    count: usize,
    /// Candidates of all movers, one mover after another.
    candidates: Vec<Action>,
    /// End of each mover's candidates.
    ends: [usize; SEATS],
    /// The chosen actions, one per player.
    pub(super) joint: Vec<Action>,
}

impl<G: Game> Frame<G> {
    fn new(game: &G, state: &G::State) -> Self {
        Self {
            state: state.clone(),
            movers: [0; SEATS],
            count: 0,
            candidates: Vec::new(),
            ends: [0; SEATS],
            joint: vec![Action::default(); game.players()],
        }
    }

    /// Number of movers.
    pub(super) fn movers(&self) -> usize {
        self.count
    }

    /// The mover that chooses at position `index` of the turn.
    pub(super) fn mover(&self, index: usize) -> usize {
        self.movers[index].into()
    }

    /// Range of the candidates of the mover at `index`.
    pub(super) fn range(&self, index: usize) -> std::ops::Range<usize> {
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        start..self.ends[index]
    }

    /// A candidate by its index in [`range`](Self::range).
    pub(super) fn candidate(&self, place: usize) -> Action {
        self.candidates[place]
    }

    /// Lists the movers, `first` first, and their candidates.
    fn prepare<E: Heuristic<G>>(
        &mut self,
        game: &G,
        heuristic: &mut E,
        movers: PlayerSet,
        first: usize,
        mask: &mut ActionMask,
    ) {
        self.candidates.clear();
        self.count = 0;
        let own = PlayerSet::one(first);
        let sequence = [PlayerSet(movers.0 & own.0), PlayerSet(movers.0 & !own.0)];
        for mover in sequence.into_iter().flat_map(PlayerSet::iter) {
            heuristic.candidates(game, &self.state, mover, mask);
            self.candidates.extend(mask.iter());
            self.movers[self.count] = mover as u8;
            self.ends[self.count] = self.candidates.len();
            self.count += 1;
        }
    }
}

/// The frames of a search by level: the root, then one for every resolved position and chance
/// outcome on the path.
#[derive(Debug)]
pub(super) struct Frames<G: Game>(Vec<Frame<G>>);

impl<G: Game> Default for Frames<G> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<G: Game> Frames<G> {
    /// Lists the movers at a level, the searching player first, and their candidates.
    pub(super) fn open<E: Heuristic<G>>(
        &mut self,
        level: usize,
        query: &Query<'_, G>,
        heuristic: &mut E,
        mask: &mut ActionMask,
    ) {
        let frame = self.get_mut(level);
        if let Turn::Move(movers) = query.game.turn(&frame.state) {
            frame.prepare(query.game, heuristic, movers, query.player, mask);
        }
    }

    /// Stores `state` at `level`, which exceeds the deepest level so far by at most one.
    pub(super) fn place(&mut self, game: &G, level: usize, state: &G::State) {
        match self.0.get_mut(level) {
            // The number of seats may differ from that of the last search.
            Some(frame) => {
                frame.state.clone_from(state);
                frame.joint.resize(game.players(), Action::default());
            }
            None => self.0.push(Frame::new(game, state)),
        }
    }

    /// Copies the state of a level to the next one and returns the copy.
    #[inline]
    pub(super) fn descend(&mut self, game: &G, level: usize) -> &mut G::State {
        if level + 1 >= self.0.len() {
            let deeper = Frame::new(game, &self.0[level].state);
            self.0.push(deeper);
        }
        let (above, below) = self.0.split_at_mut(level + 1);
        let (from, to) = (&above[level], &mut below[0]);
        to.state.clone_from(&from.state);
        to.joint.resize(game.players(), Action::default());
        &mut to.state
    }

    /// Resolves the turn at a level with its chosen actions; the next level holds the result.
    #[inline]
    pub(super) fn resolve(&mut self, game: &G, level: usize) {
        self.descend(game, level);
        let (above, below) = self.0.split_at_mut(level + 1);
        let stepped = game.step(&mut below[0].state, &above[level].joint);
        debug_assert!(stepped.is_ok(), "candidates are legal: {stepped:?}");
    }

    pub(super) fn get(&self, level: usize) -> &Frame<G> {
        &self.0[level]
    }

    pub(super) fn get_mut(&mut self, level: usize) -> &mut Frame<G> {
        &mut self.0[level]
    }
}
