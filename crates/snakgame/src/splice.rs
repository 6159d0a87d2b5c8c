//! Appends a long part of a fragment to a list in place of a short rest.
//!
//! Where a list touches a fragment, the list can go on along the fragment, in the longer of its two
//! directions. What the list loses behind that place becomes a fragment.

use crate::field::{Field, NONE};
use crate::plan::{LISTS, Plan, UNPLANNED};
use crate::repair::skip;

/// Fewest cells by which a splice has to make a list longer.
const LEAST_GAIN: usize = 61;

/// Buffers of the search.
pub(crate) struct Splice {
    /// Cells of its fragment before a cell; valid for cells of fragments.
    ranks: Vec<u32>,
    /// Head, tail and length of each list when its cells got their ranks.
    ranked: [(u32, u32, usize); LISTS],
}

impl Splice {
    pub(crate) fn new(cells: usize) -> Self {
        Self { ranks: vec![0; cells], ranked: [(NONE, NONE, 0); LISTS] }
    }

    /// Splices up to `most` times, the shorter list first, and returns how often. Cells that become
    /// unplanned are appended to `freed`.
    pub(crate) fn run(
        &mut self,
        field: Field<'_>,
        plan: &mut Plan,
        most: usize,
        freed: &mut Vec<u32>,
    ) -> usize {
        // The plan may have changed anywhere since the last run.
        self.ranked.fill((NONE, NONE, 0));
        let mut one_more = || {
            let mut lists = plan.shorter_first().into_iter();
            lists.any(|list| self.splice(field, plan, list, freed))
        };
        (0..most).take_while(|_| one_more()).count()
    }

    /// Leads a list along the fragment that makes it longest. False if none makes it longer. Cells
    /// that become unplanned are appended to `freed`.
    fn splice(
        &mut self,
        field: Field<'_>,
        plan: &mut Plan,
        list: u8,
        freed: &mut Vec<u32>,
    ) -> bool {
        for fragment in 2..LISTS as u8 {
            self.rank(plan, fragment);
        }
        // No fragment has more cells than this, so none makes up for a longer rest.
        let most = (2..LISTS as u8).map(|fragment| plan.len(fragment) + 1).max().unwrap_or(0);
        let (mut best, mut least) = (None, LEAST_GAIN);
        let mut rest = 0;
        let mut cell = plan.tail(list);
        while cell != NONE && rest + least <= most {
            // Of equal gains, the one nearest to the head is kept.
            for near in field.neighbours(cell).into_iter().rev() {
                let owner = plan.owner(near);
                if owner < 2 || owner == UNPLANNED {
                    continue;
                }
                let before = self.ranks[near as usize] as usize;
                let behind = plan.len(owner) - before;
                // The cell itself comes in addition.
                let gain = (before.max(behind) + 1).saturating_sub(rest);
                if gain >= least {
                    (best, least) = (Some((cell, near, before > behind)), gain);
                }
            }
            cell = plan.prev(cell);
            rest += 1;
        }
        let Some((from, first, is_backwards)) = best else { return false };
        let fragment = plan.owner(first);
        if is_backwards {
            plan.turn(fragment);
        }
        let mut part = Vec::new();
        let before = plan.prev(first);
        if before == NONE {
            part.push(first);
            plan.cut(first, NONE, &mut part);
            plan.clear(fragment);
        } else {
            plan.cut(before, NONE, &mut part);
        }
        skip(plan, from, NONE, freed);
        for cell in part {
            plan.push(list, cell);
        }
        true
    }

    /// Ranks the cells of a list, unless they have their ranks already: a splice changes an end of each
    /// list that it changes.
    fn rank(&mut self, plan: &Plan, list: u8) {
        let now = (plan.head(list), plan.tail(list), plan.len(list));
        if std::mem::replace(&mut self.ranked[usize::from(list)], now) == now {
            return;
        }
        let mut cell = plan.head(list);
        let mut rank = 0;
        while cell != NONE {
            self.ranks[cell as usize] = rank;
            rank += 1;
            cell = plan.next(cell);
        }
    }
}
