//! Local repair of a plan that the opponent has broken.
//!
//! The taken cell splits a list into the part before it and the part behind it. Three kinds of repair
//! join the parts again, and the one that loses the fewest cells is made:
//!
//! 1. A *bypass* leads from a cell before the break through unplanned cells to one behind it.
//! 2. A *reversal behind* enters the second part at a cell next to the break, runs back to the break
//!    and continues behind the entry.
//! 3. A *reversal before* is the same with the first part.

use std::collections::VecDeque;

use crate::field::{Field, NONE};
use crate::inflate::is_open;
use crate::plan::{Plan, UNPLANNED};

/// How far a repair looks.
#[derive(Clone, Copy)]
struct Reach {
    /// Cells before the break where a bypass can start.
    before: usize,
    /// Cells behind the break where a bypass can end.
    behind: usize,
    /// Cells that the search for a bypass visits.
    visited: usize,
}

/// Tried in this order until a repair is found.
const REACHES: [Reach; 3] = [
    Reach { before: 6, behind: 60, visited: 60 },
    Reach { before: 60, behind: 1_000, visited: 400 },
    Reach { before: 1_000, behind: 5_000, visited: 2_000 },
];
/// Cells that the search for a way back to a list visits.
const MOST_VISITED: usize = 2_000;
/// A fragment of fewer cells is given up.
const SHORTEST_FRAGMENT: usize = 20;
/// Longest gap that a reversal may leave.
const LONGEST_GAP: usize = 12;

/// A repair and the cells that it loses.
#[derive(Clone, Copy)]
enum Fix {
    Bypass { last: u32, to: u32 },
    ReverseBehind { entry: u32, exit: u32 },
    ReverseBefore { entry: u32, exit: u32 },
}

/// Buffers of the search.
pub(crate) struct Repair {
    /// Stamp of the search that reached a cell.
    seen: Vec<u32>,
    /// Predecessor on a bypass.
    from: Vec<u32>,
    /// Cells lost before the break minus cells gained on the bypass.
    cost: Vec<i32>,
    /// Stamp and place of the cells behind the break.
    ranked: Vec<u32>,
    rank: Vec<i32>,
    stamp: u32,
    open: VecDeque<u32>,
}

impl Repair {
    pub(crate) fn new(cells: usize) -> Self {
        Self {
            seen: vec![0; cells],
            from: vec![NONE; cells],
            cost: vec![0; cells],
            ranked: vec![0; cells],
            rank: vec![0; cells],
            stamp: 0,
            open: VecDeque::new(),
        }
    }

    /// Takes `broken`, a cell of a list behind its head, out of the plan. Cells that become unplanned
    /// are appended to `freed`.
    pub(crate) fn mend(
        &mut self,
        field: Field<'_>,
        plan: &mut Plan,
        broken: u32,
        freed: &mut Vec<u32>,
    ) {
        let (before, behind) = (plan.prev(broken), plan.next(broken));
        if before == NONE {
            plan.drop_head(plan.owner(broken));
            return;
        }
        if behind == NONE {
            plan.cut(before, NONE, freed);
            return;
        }
        let mut best = reversal(field, plan, broken);
        for reach in REACHES {
            let limit = best.map_or(i32::MAX, |(cost, _)| cost);
            if let Some(found) = self.bypass(field, plan, broken, reach, limit) {
                best = Some(found);
            }
            if best.is_some() {
                break;
            }
        }
        match best {
            None => detach(plan, broken, freed),
            Some((_, Fix::Bypass { last, to })) => {
                self.apply_bypass(field, plan, [last, to], freed);
            }
            Some((_, Fix::ReverseBehind { entry, exit })) => {
                plan.cut(before, behind, freed);
                plan.cut(entry, exit, freed);
                plan.reverse(behind, entry);
            }
            Some((_, Fix::ReverseBefore { entry, exit })) => {
                plan.cut(before, behind, freed);
                plan.cut(exit, entry, freed);
                plan.reverse(entry, before);
            }
        }
    }

    /// The best bypass that costs less than `limit`.
    fn bypass(
        &mut self,
        field: Field<'_>,
        plan: &Plan,
        broken: u32,
        reach: Reach,
        limit: i32,
    ) -> Option<(i32, Fix)> {
        self.stamp += 1;
        let mut cell = plan.next(broken);
        for place in 0..reach.behind {
            if cell == NONE {
                break;
            }
            self.ranked[cell as usize] = self.stamp;
            self.rank[cell as usize] = place as i32;
            cell = plan.next(cell);
        }
        self.open.clear();
        let mut cell = plan.prev(broken);
        for lost in 0..reach.before {
            if cell == NONE {
                break;
            }
            self.reach(cell, NONE, lost as i32);
            cell = plan.prev(cell);
        }
        let (mut best, mut cost) = (None, limit);
        let mut visited = 0;
        while let Some(cell) = self.open.pop_front() {
            visited += 1;
            if visited > reach.visited + reach.before {
                break;
            }
            let so_far = self.cost[cell as usize];
            for near in field.neighbours(cell) {
                if self.ranked[near as usize] == self.stamp {
                    let total = so_far + self.rank[near as usize];
                    if total < cost {
                        (best, cost) = (Some(Fix::Bypass { last: cell, to: near }), total);
                    }
                } else if self.seen[near as usize] != self.stamp && is_open(field, plan, near) {
                    self.reach(near, cell, so_far - 1);
                }
            }
        }
        best.map(|fix| (cost, fix))
    }

    /// Makes `to`, an empty neighbour of the head of `list`, the next cell of the list. Cells that
    /// become unplanned are appended to `freed`.
    pub(crate) fn divert(
        &mut self,
        field: Field<'_>,
        plan: &mut Plan,
        list: u8,
        to: u32,
        freed: &mut Vec<u32>,
    ) {
        let head = plan.head(list);
        if plan.owner(to) == list {
            skip(plan, head, to, freed);
            return;
        }
        if plan.owner(to) != UNPLANNED {
            self.mend(field, plan, to, freed);
        }
        let (way, entry) = self.way_to(field, plan, list, to);
        skip(plan, head, entry, freed);
        if entry == NONE {
            plan.push(list, to);
        } else {
            plan.insert(head, &way);
        }
        freed.extend(way.into_iter().flat_map(|cell| field.neighbours(cell)));
    }

    /// The shortest way from an open cell to a list, and the cell of the list behind it.
    fn way_to(&mut self, field: Field<'_>, plan: &Plan, list: u8, start: u32) -> (Vec<u32>, u32) {
        self.stamp += 1;
        self.open.clear();
        self.reach(start, NONE, 0);
        let mut visited = 0;
        let mut found = (start, NONE);
        'search: while let Some(cell) = self.open.pop_front() {
            visited += 1;
            if visited > MOST_VISITED {
                break;
            }
            for near in field.neighbours(cell) {
                if plan.owner(near) == list && near != plan.head(list) {
                    found = (cell, near);
                    break 'search;
                }
                if self.seen[near as usize] != self.stamp && is_open(field, plan, near) {
                    self.reach(near, cell, 0);
                }
            }
        }
        let mut way = Vec::new();
        let mut cell = found.0;
        while cell != NONE {
            way.push(cell);
            cell = self.from[cell as usize];
        }
        way.reverse();
        (way, found.1)
    }

    fn reach(&mut self, cell: u32, from: u32, cost: i32) {
        self.seen[cell as usize] = self.stamp;
        self.from[cell as usize] = from;
        self.cost[cell as usize] = cost;
        self.open.push_back(cell);
    }

    fn apply_bypass(
        &mut self,
        field: Field<'_>,
        plan: &mut Plan,
        [last, to]: [u32; 2],
        freed: &mut Vec<u32>,
    ) {
        let mut cells = Vec::new();
        let mut cell = last;
        while self.from[cell as usize] != NONE {
            cells.push(cell);
            cell = self.from[cell as usize];
        }
        cells.reverse();
        plan.cut(cell, to, freed);
        plan.insert(cell, &cells);
        freed.extend(cells.into_iter().flat_map(|cell| field.neighbours(cell)));
    }
}

/// Takes a cell out of a list and makes the part behind it a fragment.
fn detach(plan: &mut Plan, broken: u32, freed: &mut Vec<u32>) {
    let before = plan.prev(broken);
    let rest = plan.next(broken);
    plan.cut(before, rest, freed);
    skip(plan, before, NONE, freed);
}

/// Makes the cells between two cells of a list a fragment, or frees them if they are few.
pub(crate) fn skip(plan: &mut Plan, before: u32, after: u32, freed: &mut Vec<u32>) {
    if plan.next(before) == after {
        return;
    }
    let Some(list) = plan.unused() else { return plan.cut(before, after, freed) };
    plan.take_out(before, after, list);
    if plan.len(list) < SHORTEST_FRAGMENT {
        dissolve(plan, list, freed);
    }
}

/// Frees all cells of a fragment.
pub(crate) fn dissolve(plan: &mut Plan, list: u8, freed: &mut Vec<u32>) {
    let mut cell = plan.head(list);
    while cell != NONE {
        freed.push(cell);
        cell = plan.next(cell);
    }
    plan.clear(list);
}

/// The cheapest reversal and its cost.
fn reversal(field: Field<'_>, plan: &Plan, broken: u32) -> Option<(i32, Fix)> {
    let (before, behind) = (plan.prev(broken), plan.next(broken));
    let list = plan.owner(broken);
    let mut best: Option<(i32, Fix)> = None;
    let mut consider = |cost: Option<i32>, fix: Fix| {
        if let Some(cost) = cost
            && best.is_none_or(|(least, _)| cost < least)
        {
            best = Some((cost, fix));
        }
    };
    for near_before in field.neighbours(before) {
        if plan.owner(near_before) != list || near_before == broken {
            continue;
        }
        for near_behind in field.neighbours(behind) {
            if plan.owner(near_behind) != list || near_behind == broken {
                continue;
            }
            let is_behind = plan.is_before(broken, near_before);
            if is_behind && plan.is_before(near_before, near_behind) {
                let fix = Fix::ReverseBehind { entry: near_before, exit: near_behind };
                consider(gap(plan, near_before, near_behind), fix);
            }
            let is_before = plan.is_before(near_behind, broken);
            if is_before && plan.is_before(near_before, near_behind) {
                let fix = Fix::ReverseBefore { entry: near_behind, exit: near_before };
                consider(gap(plan, near_before, near_behind), fix);
            }
        }
    }
    best
}

/// Cells between two cells of a list; `None` if they are too many.
fn gap(plan: &Plan, first: u32, second: u32) -> Option<i32> {
    let mut cell = plan.next(first);
    for count in 0..=LONGEST_GAP {
        if cell == second {
            return Some(count as i32);
        }
        if cell == NONE {
            return None;
        }
        cell = plan.next(cell);
    }
    None
}
