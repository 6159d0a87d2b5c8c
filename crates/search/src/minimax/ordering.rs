//! Move ordering. It affects the number of nodes, never the value.

use ouro_game::{Action, Game};

use super::frame::{Frame, SEATS};

/// Bonus of the action from the transposition table.
const TABLE_MOVE: i32 = i32::MAX;
/// Bonus of the killer: the action that last caused a cut-off at the same level.
const KILLER: i32 = 1 << 28;
/// History count above which all counts are halved, so that they stay below the killer's bonus.
const FULL: i32 = 1 << 26;

/// Statistics of earlier nodes for the order of actions.
#[derive(Debug, Default)]
pub(super) struct Ordering {
    /// The action of the last cut-off, by level and mover.
    killers: Vec<[Option<Action>; SEATS]>,
    /// History heuristic: weight of the cut-offs of each action, `[players, actions]`.
    history: Vec<i32>,
    actions: usize,
    /// Actions to try with their scores, one range per node of the current path.
    queue: Vec<(i32, Action)>,
}

impl Ordering {
    /// Starts a search of a game.
    pub(super) fn start_search(&mut self, players: usize, actions: usize) {
        self.actions = actions;
        self.killers.clear();
        self.history.clear();
        self.history.resize(players * actions, 0);
        self.queue.clear();
    }

    /// Queues the candidates of a mover in order and returns their range.
    pub(super) fn push<G: Game>(
        &mut self,
        frame: &Frame<G>,
        level: usize,
        index: usize,
        remembered: Option<Action>,
    ) -> std::ops::Range<usize> {
        let mover = frame.mover(index);
        let killer = self.killers.get(level).and_then(|killers| killers[mover]);
        let start = self.queue.len();
        for place in frame.range(index) {
            let action = frame.candidate(place);
            let worth = if remembered == Some(action) {
                TABLE_MOVE
            } else {
                let killed = if killer == Some(action) { KILLER } else { 0 };
                killed + self.history[mover * self.actions + action.index()]
            };
            self.queue.push((worth, action));
        }
        let end = self.queue.len();
        // Equal scores sort by ascending action, so an unstable sort is enough; it does not
        // allocate.
        self.queue[start..end].sort_unstable_by_key(|&(worth, action)| (-worth, action));
        start..end
    }

    /// An action by its index in the queue.
    pub(super) fn action(&self, place: usize) -> Action {
        self.queue[place].1
    }

    /// Drops the actions from `start` on.
    pub(super) fn pop(&mut self, start: usize) {
        self.queue.truncate(start);
    }

    /// Records a cut-off by an action with `left` turns to search.
    pub(super) fn cut(&mut self, level: usize, mover: usize, action: Action, left: u32) {
        if self.killers.len() <= level {
            self.killers.resize(level + 1, [None; SEATS]);
        }
        self.killers[level][mover] = Some(action);
        let count = &mut self.history[mover * self.actions + action.index()];
        let left = left.min(1_000) as i32;
        *count += left * left;
        if *count > FULL {
            self.history.iter_mut().for_each(|count| *count /= 2);
        }
    }
}
