//! Iterative deepening: one pass per depth until the limit, the deadline or the end of the tree.

use ouro_game::{Action, Game};

use super::node_counter::{NodeCounter, OutOfTime};
use super::query::{Limits, MinimaxResult, Query, Step, UNDECIDED};

/// The result of one pass over the tree.
#[derive(Clone, Debug)]
pub(super) struct PassResult {
    pub(super) action: Action,
    pub(super) value: f32,
    pub(super) values: Option<Vec<f32>>,
    pub(super) line: Vec<Step>,
}

/// A search in passes of increasing depth.
pub(super) trait IterativeSearch<'a> {
    /// Searches all root actions to `turns`.
    fn pass(&mut self, turns: u32) -> Result<PassResult, OutOfTime>;

    /// The best result after a pass that ran out of time, if it is better than the previous one. After
    /// the first pass, which has depth 1, a [look](super::first_look) takes the place of a result.
    fn interrupted(&mut self) -> Option<PassResult>;

    /// Whether a decided value is final, whatever the depth.
    fn is_proof(&self) -> bool;

    /// Whether every root action but the best is proven to lose within the searched depth.
    fn is_forced(&self) -> bool {
        false
    }

    /// The counters.
    fn counter(&mut self) -> &mut NodeCounter<'a>;
}

/// Deepens from `first` turns on. `actions` are the root candidates.
pub(super) fn deepen<'a, G: Game>(
    search: &mut impl IterativeSearch<'a>,
    query: &Query<'a, G>,
    first: u32,
    actions: &[Action],
) -> MinimaxResult {
    let mut best = PassResult {
        action: actions.first().copied().unwrap_or_default(),
        value: 0.0,
        values: None,
        line: Vec::new(),
    };
    let (mut turns, mut complete, mut stopped) = (0, false, false);
    let deepest = query.limits.turns.clamp(1, Limits::DEEPEST);
    for depth in first.clamp(1, deepest)..=deepest {
        search.counter().horizon = false;
        match search.pass(depth) {
            Ok(found) => best = found,
            Err(OutOfTime) => {
                best = search.interrupted().unwrap_or(best);
                stopped = true;
                break;
            }
        }
        turns = depth;
        complete = !search.counter().horizon;
        let proven = best.value.abs() > UNDECIDED && search.is_proof();
        // If no other action can become the best, a more accurate value is not worth the time.
        let forced = query.limits.deadline.is_some() && (actions.len() == 1 || search.is_forced());
        if complete || proven || forced {
            break;
        }
    }
    let PassResult { action, value, values, line } = best;
    let NodeCounter { nodes, evaluated, .. } = *search.counter();
    MinimaxResult { action, value, values, turns, complete, stopped, line, nodes, evaluated }
}

/// The principal variation below each ply of the current path.
#[derive(Debug, Default)]
pub(super) struct PrincipalVariations(Vec<Vec<Step>>);

impl PrincipalVariations {
    /// Clears the variation below a ply, which is at most one deeper than ever before.
    #[inline]
    pub(super) fn clear(&mut self, ply: usize) {
        match self.0.get_mut(ply) {
            Some(line) => line.clear(),
            None => self.0.resize(ply + 1, Vec::new()),
        }
    }

    /// Sets the variation below `ply` to `step` and the variation below the next ply.
    pub(super) fn improve(&mut self, ply: usize, step: Step) {
        let (above, below) = self.0.split_at_mut(ply + 1);
        if let Some(line) = above.last_mut() {
            line.clear();
            line.push(step);
            line.extend(below.first().into_iter().flatten());
        }
    }

    /// The variation below a ply.
    pub(super) fn get(&self, ply: usize) -> &[Step] {
        self.0.get(ply).map_or(&[], Vec::as_slice)
    }
}
