//! Attaches a fragment of the plan to the tail of another list.
//!
//! The tail of a list can move without a loss of cells: if it is next to an inner cell of its list, the
//! part behind that cell is reversed, and the successor of the cell becomes the tail (a *backbite*
//! move). Two lists that touch anywhere can therefore be joined: the tail of each is led to the place
//! where they touch, and the fragment is appended.

use std::collections::VecDeque;

use crate::field::{Field, NONE};
use crate::inflate::is_open;
use crate::plan::{LISTS, Plan, UNPLANNED};

/// Cells that the search for a contact visits.
const VISITED: usize = 400_000;
/// Fragments of fewer cells are not attached.
const LEAST_ATTACHED: usize = 60;
/// Cells that may be touched to lead a tail to its target.
const MOST_WORK_OF_A_TAIL: u64 = 3_000_000;
/// Moves for each cell of distance that a tail may make.
const MOVES_PER_CELL: usize = 4;

/// Buffers of the search.
pub(crate) struct Attach {
    seen: Vec<u32>,
    /// Distance to the target, valid where `near` has the stamp.
    distance: Vec<u32>,
    near: Vec<u32>,
    stamp: u32,
    open: VecDeque<u32>,
}

impl Attach {
    pub(crate) fn new(cells: usize) -> Self {
        Self {
            seen: vec![0; cells],
            distance: vec![0; cells],
            near: vec![0; cells],
            stamp: 0,
            open: VecDeque::new(),
        }
    }

    /// Joins the longest fragment that touches the list to its tail. False if none touches it, or if
    /// no way is found; the tails may then have moved. Cells that were given up are appended to
    /// `freed`.
    pub(crate) fn attach(
        &mut self,
        field: Field<'_>,
        plan: &mut Plan,
        list: u8,
        freed: &mut Vec<u32>,
    ) -> bool {
        let Some((own, foreign)) = self.contact(field, plan, list) else { return false };
        let fragment = plan.owner(foreign);
        if !self.lead(field, plan, list, own, freed) {
            return false;
        }
        let [head, tail] = [plan.head(fragment), plan.tail(fragment)];
        if field.distance(head, foreign) < field.distance(tail, foreign) {
            plan.turn(fragment);
        }
        if !self.lead(field, plan, fragment, foreign, freed) {
            return false;
        }
        plan.join_reversed(list, fragment);
        true
    }

    /// A cell of the list, or an open one within its reach, and a neighbour that belongs to a
    /// fragment: the longest fragment, and of its contacts the one nearest to both ends.
    fn contact(&mut self, field: Field<'_>, plan: &Plan, list: u8) -> Option<(u32, u32)> {
        self.stamp += 1;
        self.open.clear();
        let tail = plan.tail(list);
        self.open.push_back(tail);
        self.seen[tail as usize] = self.stamp;
        let mut best = [(None, usize::MAX); LISTS];
        while let Some(cell) = self.open.pop_front() {
            for near in field.neighbours(cell) {
                let owner = plan.owner(near);
                if owner >= 2 && owner != UNPLANNED {
                    let ends = [plan.head(owner), plan.tail(owner)];
                    let far = ends.map(|end| field.distance(end, near));
                    let total = field.distance(tail, cell) + far[0].min(far[1]);
                    let best = &mut best[usize::from(owner)];
                    if total < best.1 {
                        *best = (Some((cell, near)), total);
                    }
                } else if self.seen[near as usize] != self.stamp
                    && (owner == list || is_open(field, plan, near))
                {
                    self.seen[near as usize] = self.stamp;
                    self.open.push_back(near);
                }
            }
        }
        let touching = (2..LISTS as u8).filter(|&list| best[usize::from(list)].0.is_some());
        let longest = touching.max_by_key(|&list| plan.len(list))?;
        if plan.len(longest) < LEAST_ATTACHED { None } else { best[usize::from(longest)].0 }
    }

    /// Moves the tail of a list to `target`, a cell of the list or an open one.
    fn lead(
        &mut self,
        field: Field<'_>,
        plan: &mut Plan,
        list: u8,
        target: u32,
        freed: &mut Vec<u32>,
    ) -> bool {
        self.stamp += 1;
        let Some(length) = self.measure(field, plan, list, target) else { return false };
        let moves = MOVES_PER_CELL * length + 20;
        // A backbite keeps the colour of the tail's cell, as on a chessboard.
        if length % 2 == 1 && plan.tail(list) != plan.head(list) {
            freed.push(plan.tail(list));
            plan.pop(list);
        }
        let most_work = plan.work() + MOST_WORK_OF_A_TAIL;
        for _ in 0..moves {
            let tail = plan.tail(list);
            if tail == target {
                return true;
            }
            if plan.work() > most_work {
                return false;
            }
            if plan.owner(target) != list && plan.owner(target) != UNPLANNED {
                return false;
            }
            self.seen[tail as usize] = self.stamp;
            let (mut best, mut least) = (None, (usize::MAX, u64::MAX));
            for near in field.neighbours(tail) {
                let is_own = plan.owner(near) == list && plan.next(near) != tail;
                let end = if is_own { plan.next(near) } else { near };
                if !is_own && !is_open(field, plan, near) || end == NONE {
                    continue;
                }
                // Of two ways the one that reverses fewer cells.
                let cost = if is_own { plan.key_distance(near, tail) } else { 0 };
                let is_near = self.near[end as usize] == self.stamp;
                let distance =
                    if is_near { self.distance[end as usize] as usize } else { usize::MAX };
                if self.seen[end as usize] != self.stamp && (distance, cost) < least {
                    (best, least) = (Some((near, is_own)), (distance, cost));
                }
            }
            match best {
                Some((near, true)) => plan.reverse(plan.next(near), tail),
                Some((near, false)) => plan.push(list, near),
                None if plan.tail(list) == plan.head(list) => return false,
                None => {
                    plan.pop(list);
                    freed.push(tail);
                }
            }
        }
        plan.tail(list) == target
    }

    /// Distances to `target` through cells of the list and open cells, up to that of the tail.
    fn measure(&mut self, field: Field<'_>, plan: &Plan, list: u8, target: u32) -> Option<usize> {
        self.open.clear();
        self.open.push_back(target);
        self.near[target as usize] = self.stamp;
        self.distance[target as usize] = 0;
        let mut limit = VISITED;
        let mut found = None;
        while let Some(cell) = self.open.pop_front() {
            if limit == 0 {
                break;
            }
            limit -= 1;
            let distance = self.distance[cell as usize];
            if cell == plan.tail(list) && found.is_none() {
                // Some cells beyond the tail leave room for a turn.
                found = Some(distance as usize);
                limit = limit.min(200);
            }
            for near in field.neighbours(cell) {
                if self.near[near as usize] != self.stamp
                    && (plan.owner(near) == list || is_open(field, plan, near))
                {
                    self.near[near as usize] = self.stamp;
                    self.distance[near as usize] = distance + 1;
                    self.open.push_back(near);
                }
            }
        }
        found
    }
}
