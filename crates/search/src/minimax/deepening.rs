//! Iterative deepening: one pass per depth until the limit, the deadline or the end of the tree.

use ouro_game::{Action, Game};

use super::meter::{Meter, OutOfTime};
use super::{Found, Limits, Query, Step, UNDECIDED};

/// What one pass over the tree found.
#[derive(Clone, Debug)]
pub(super) struct Best {
    pub(super) action: Action,
    pub(super) value: f32,
    pub(super) values: Option<Vec<f32>>,
    pub(super) line: Vec<Step>,
}

/// A search that looks at the tree one depth after the other.
pub(super) trait Passes<'a> {
    /// Searches all root actions to `turns`.
    fn pass(&mut self, turns: u32) -> Result<Best, OutOfTime>;

    /// What is best after a pass that ran out of time, if that is known better than before it.
    fn interrupted(&mut self) -> Option<Best> {
        None
    }

    /// Whether a value that is decided stays what it is however deep the search looks.
    fn is_proof(&self) -> bool;

    /// The counters.
    fn meter(&mut self) -> &mut Meter<'a>;
}

/// Deepens from `first` turns on. `actions` are the root candidates.
pub(super) fn deepen<'a, G: Game>(
    search: &mut impl Passes<'a>,
    query: &Query<'a, G>,
    first: u32,
    actions: &[Action],
) -> Found {
    let mut best = Best {
        action: actions.first().copied().unwrap_or_default(),
        value: 0.0,
        values: None,
        line: Vec::new(),
    };
    let (mut turns, mut complete, mut stopped) = (0, false, false);
    let deepest = query.limits.turns.clamp(1, Limits::DEEPEST);
    for depth in first.clamp(1, deepest)..=deepest {
        search.meter().horizon = false;
        match search.pass(depth) {
            Ok(found) => best = found,
            Err(OutOfTime) => {
                best = search.interrupted().unwrap_or(best);
                stopped = true;
                break;
            }
        }
        turns = depth;
        complete = !search.meter().horizon;
        let proven = best.value.abs() > UNDECIDED && search.is_proof();
        // With nothing to choose, time is worth more than a better value.
        let forced = actions.len() == 1 && query.limits.deadline.is_some();
        if complete || proven || forced {
            break;
        }
    }
    let Best { action, value, values, line } = best;
    let Meter { nodes, evaluated, .. } = *search.meter();
    Found { action, value, values, turns, complete, stopped, line, nodes, evaluated }
}
