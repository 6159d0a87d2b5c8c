//! Longer plans by detours through two unplanned cells.
//!
//! If two unplanned neighbours lie beside an edge of the plan, the edge is replaced by the three edges
//! through them. Each detour can make others possible, so its surroundings are looked at again.

use crate::field::Field;
use crate::plan::{Plan, UNPLANNED};

/// Inserts detours around the cells in `queue`, until none is left. `queue` is then empty.
pub(crate) fn inflate(field: Field<'_>, plan: &mut Plan, queue: &mut Vec<u32>) {
    while let Some(cell) = queue.pop() {
        if !is_open(field, plan, cell) {
            continue;
        }
        for direction in 0..4 {
            let other = field.step(cell, direction);
            if is_open(field, plan, other) && insert_beside(field, plan, cell, other, direction) {
                for near in field.neighbours(cell).into_iter().chain(field.neighbours(other)) {
                    if is_open(field, plan, near) {
                        queue.push(near);
                    }
                }
                break;
            }
        }
    }
}

/// Whether a cell is empty and unplanned.
#[inline]
pub(crate) fn is_open(field: Field<'_>, plan: &Plan, cell: u32) -> bool {
    plan.owner(cell) == UNPLANNED && field.is_empty(cell)
}

/// Leads an edge beside the cells through them, if there is one.
fn insert_beside(field: Field<'_>, plan: &mut Plan, cell: u32, other: u32, direction: u8) -> bool {
    for side in [direction + 1, direction + 3] {
        let (first, second) = (field.step(cell, side), field.step(other, side));
        let owner = plan.owner(first);
        if owner == UNPLANNED || plan.owner(second) != owner {
            continue;
        }
        if plan.next(first) == second {
            plan.insert(first, &[cell, other]);
            return true;
        }
        if plan.next(second) == first {
            plan.insert(second, &[other, cell]);
            return true;
        }
    }
    false
}
