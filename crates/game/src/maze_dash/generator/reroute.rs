//! Random changes of a slide path that keep it a slide path.
//!
//! A change replaces a short part of the path by a walk over cells that are not on the path. The
//! rule of the game has a local form. Where the path turns, the cell straight ahead is its *guard*:
//! it is outside of the board, not on the path, or earlier on the path. So a change is valid if
//!
//! 1. no new cell is the guard of an earlier turn,
//! 2. every turn of the new part, and the turn where it meets the old path, has a guard.
//!
//! Cells that leave the path become obstacles and can only be guards. A detour around a straight
//! part, the removal of one, a shifted corner and another end of the path are all such changes.

use super::slide_path::{EMPTY, NONE, OUTSIDE, SlidePath, ahead};
use crate::rng::Rng;

/// Cells of the path that a change can pass over, at most.
const WINDOW: usize = 14;
/// Cells that a change can add, at most.
const STEPS: u32 = 12;
/// Cells that a change takes off the start, at most.
const START_CELLS: u32 = 3;

/// A change, and the working memory of its search.
#[derive(Default)]
pub(super) struct Reroute {
    /// The part changes after this cell; [`NONE`] if the start of the path changes.
    from: u32,
    /// The part changes before this cell; [`NONE`] if the end of the path changes.
    to: u32,
    /// The new part, in order.
    cells: Vec<u32>,
    /// The old part, in order.
    removed: Vec<u32>,
    /// Cells that must stay off the new part, because they are guards of it.
    guards: Vec<u32>,
}

/// What a walk can do next.
#[derive(Clone, Copy)]
enum Choice {
    /// Enter an empty cell.
    Enter(u32),
    /// Meet the path again, at this place of `removed`.
    Meet(usize),
}

impl Reroute {
    /// Searches a random change. Returns whether one was found.
    pub(super) fn propose(&mut self, path: &SlidePath, rng: &mut Rng) -> bool {
        self.cells.clear();
        self.removed.clear();
        self.guards.clear();
        let Some(from) = Self::place(path, rng) else { return false };
        if from == path.first() && rng.below(2) == 0 {
            return self.propose_start(path, rng);
        }
        self.from = from;
        self.removed.extend(path.from(from).skip(1).take(WINDOW));
        let at_end = self.removed.len() < WINDOW;
        let (mut before, mut head) = (path.previous(from), from);
        // The part must meet the path after all cells of it that are guards of the part.
        let mut deepest = 0;
        let limit = rng.below(STEPS + 1);
        loop {
            let enters = self.cells.len() < limit as usize;
            let mut choices = [(Choice::Meet(0), 0.0_f32, 0); 4];
            let mut count = 0;
            let straight = if before == NONE { NONE } else { ahead(before, head) };
            let (guard, turns) = self.guard(path, straight);
            for to in path.neighbours(head) {
                if to == before || (to != straight && !turns && before != NONE) {
                    continue;
                }
                let needs = if to == straight || before == NONE { 0 } else { deepest.max(guard) };
                let label = path.label(to);
                if label == EMPTY {
                    if enters
                        && !self.cells.contains(&to)
                        && !self.guards.contains(&to)
                        && !self.is_guard_of_earlier(path, to)
                    {
                        let weight = if to == straight { 2.0 } else { 1.0 };
                        choices[count] = (Choice::Enter(to), weight, needs);
                        count += 1;
                    }
                } else if label > path.label(from)
                    && let Some(index) = self.removed.iter().position(|&cell| cell == to)
                    && index >= needs.max(deepest)
                    && !(head == from && index == 0)
                    && Self::can_meet(path, head, to)
                {
                    choices[count] = (Choice::Meet(index), 4.0, 0);
                    count += 1;
                }
            }
            if count == 0 {
                self.to = NONE;
                return at_end && head != from;
            }
            let weights: [f32; 4] = choices.map(|(_, weight, _)| weight);
            let (choice, _, needs) = choices[rng.weighted(&weights[..count])];
            match choice {
                Choice::Enter(to) => {
                    if to != straight && before != NONE && path.label(straight) == EMPTY {
                        self.guards.push(straight);
                    }
                    deepest = deepest.max(needs);
                    self.cells.push(to);
                    (before, head) = (head, to);
                }
                Choice::Meet(index) => {
                    self.to = self.removed[index];
                    self.removed.truncate(index);
                    return true;
                }
            }
        }
    }

    /// A random cell of the path, mostly next to a cell that is not on it.
    fn place(path: &SlidePath, rng: &mut Rng) -> Option<u32> {
        let Some(empty) = path.random_empty(rng).filter(|_| rng.below(4) > 0) else {
            return Some(path.random(rng));
        };
        let near = path.neighbours(empty)[rng.below(4) as usize];
        (path.label(near) > OUTSIDE).then_some(near)
    }

    /// How many cells of the window must go for `cell` to be a guard, and whether it can be one.
    fn guard(&self, path: &SlidePath, cell: u32) -> (usize, bool) {
        if cell == NONE {
            return (0, true);
        }
        let label = path.label(cell);
        if label <= OUTSIDE || label <= path.label(self.from) {
            return (0, true);
        }
        match self.removed.iter().position(|&other| other == cell) {
            Some(index) => (index + 1, true),
            None => (0, false),
        }
    }

    /// Whether `cell` is the guard of a turn up to the part, which then must not enter it.
    fn is_guard_of_earlier(&self, path: &SlidePath, cell: u32) -> bool {
        let now = path.label(self.from);
        path.neighbours(cell).into_iter().any(|turn| {
            let label = path.label(turn);
            label > OUTSIDE
                && label < now
                && path.previous(turn) != NONE
                && ahead(path.previous(turn), turn) == cell
        })
    }

    /// Whether the path can come to `to` from `head` and go on as before.
    fn can_meet(path: &SlidePath, head: u32, to: u32) -> bool {
        let (next, straight) = (path.next(to), ahead(head, to));
        next == NONE || next == straight || path.label(straight) < path.label(to)
    }

    /// Searches another start: some cells are taken off, others are put before.
    fn propose_start(&mut self, path: &SlidePath, rng: &mut Rng) -> bool {
        self.from = NONE;
        let dropped = rng.below(START_CELLS + 1) as usize;
        self.removed.extend(path.from(path.first()).take(dropped));
        let Some(to) = path.from(path.first()).nth(dropped) else { return false };
        self.to = to;
        let (mut head, mut next) = (to, path.next(to));
        for _ in 0..rng.below(STEPS + 1) {
            let choices = path.neighbours(head);
            let cell = choices[rng.below(4) as usize];
            let straight = ahead(cell, head);
            let fits = path.label(cell) == EMPTY
                && !self.cells.contains(&cell)
                && (next == NONE
                    || next == straight
                    || path.label(straight) <= OUTSIDE && !self.cells.contains(&straight));
            if fits {
                self.cells.push(cell);
                (head, next) = (cell, head);
            }
        }
        self.cells.reverse();
        !(self.cells.is_empty() && dropped == 0)
    }

    /// Cells that the path gains.
    pub(super) fn gain(&self) -> isize {
        self.cells.len() as isize - self.removed.len() as isize
    }

    /// Changes the path.
    pub(super) fn apply(&self, path: &mut SlidePath) {
        if self.from == NONE {
            path.replace_start(self.to, &self.cells);
        } else {
            path.replace(self.from, self.to, &self.cells);
        }
    }

    /// Changes the path back.
    pub(super) fn undo(&self, path: &mut SlidePath) {
        if self.from == NONE {
            path.replace_start(self.to, &self.removed);
        } else {
            path.replace(self.from, self.to, &self.removed);
        }
    }

    /// The cells that the change moves, and the cells at its ends.
    pub(super) fn touched(&self) -> impl Iterator<Item = u32> + '_ {
        let ends = [self.from, self.to].into_iter().filter(|&cell| cell != NONE);
        self.cells.iter().chain(&self.removed).copied().chain(ends)
    }
}
