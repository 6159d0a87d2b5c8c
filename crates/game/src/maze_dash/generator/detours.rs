//! Detours: a straight part of a slide path bends around obstacles of its own.
//!
//! The part from `u` to `v` is replaced by three sides of a rectangle over obstacles. The cells
//! between `u` and `v` become obstacles, of which the first stops the slide at `u`.
//!
//! ```text
//! ###..###      ##....##
//! ########  →   ##.##.##      u is the second cell from the left, v the fifth
//! u→→→→→→→      →→↑##↓→→      (the row between shows the obstacles of the part left out)
//! ```

use crate::rng::Rng;

/// Not on the path.
const OBSTACLE: usize = usize::MAX;
/// Cells of a straight part that become obstacles, at most.
const MAX_GAP: u32 = 3;
/// Cells that a detour leads away from the straight part, at most.
const MAX_DEPTH: u32 = 4;
/// Tries for each cell of the path.
const TRIES: usize = 40;

/// A path on a padded grid. Cells are indices of that grid.
pub(super) struct Detours {
    stride: usize,
    path: Vec<usize>,
    /// Place in the path, or [`OBSTACLE`].
    place: Vec<usize>,
    /// Whether a cell lies on the board.
    inside: Vec<bool>,
    target: usize,
}

/// The part of the path between two places is replaced.
struct Detour {
    /// Places of `u` and `v`.
    from: usize,
    to: usize,
    cells: Vec<usize>,
}

impl Detours {
    /// Takes a path in cells of the board.
    pub(super) fn new(width: usize, height: usize, path: Vec<usize>) -> Self {
        let stride = width + 2;
        let size = stride * (height + 2);
        let mut inside = vec![false; size];
        for y in 1..=height {
            inside[y * stride + 1..=y * stride + width].fill(true);
        }
        let target = path.len();
        let path: Vec<usize> =
            path.into_iter().map(|cell| (cell / width + 1) * stride + cell % width + 1).collect();
        let mut place = vec![OBSTACLE; size];
        path.iter().enumerate().for_each(|(index, &cell)| place[cell] = index);
        Self { stride, path, place, inside, target }
    }

    /// Inserts detours. Returns a path of the same length in cells of the board.
    pub(super) fn insert(mut self, rng: &mut Rng) -> Vec<usize> {
        for _ in 0..TRIES * self.target {
            if let Some(detour) = self.propose(rng)
                && self.is_valid(&detour)
            {
                self.apply(detour);
            }
        }
        let width = self.stride - 2;
        let cell = |&cell: &usize| (cell / self.stride - 1) * width + cell % self.stride - 1;
        self.path.iter().map(cell).collect()
    }

    /// A random detour over obstacles only.
    fn propose(&self, rng: &mut Rng) -> Option<Detour> {
        let from = rng.below(self.path.len() as u32) as usize;
        let gap = 1 + rng.below(MAX_GAP) as usize;
        let depth = 1 + rng.below(MAX_DEPTH) as usize;
        let left = rng.below(2) == 0;
        let to = from + gap + 1;
        let (u, v) = (self.path[from], *self.path.get(to)?);
        let along = self.path[from + 1].wrapping_sub(u) as isize;
        // Neighbours on the path that are `gap + 1` apart in a straight line have a straight part
        // between them, because a path of that length has no other way.
        if v != u.wrapping_add_signed(along * (gap + 1) as isize) {
            return None;
        }
        let across = if along.unsigned_abs() == 1 { self.stride as isize } else { 1 };
        let aside = if left { across } else { -across };
        let mut cells = Vec::with_capacity(2 * depth + gap);
        let mut cell = u;
        let legs = [(aside, depth), (along, gap + 1), (-aside, depth)];
        for (step, length) in legs {
            for _ in 0..length {
                cell = cell.wrapping_add_signed(step);
                if cell == v {
                    break;
                }
                if !self.inside[cell] || self.place[cell] != OBSTACLE {
                    return None;
                }
                cells.push(cell);
            }
        }
        Some(Detour { from, to, cells })
    }

    /// Whether all slides still end where the path turns.
    fn is_valid(&self, detour: &Detour) -> bool {
        let Detour { from, to, cells } = detour;
        // Turns from the cell before `u` to the cell after `v`.
        let first = from.saturating_sub(1);
        let last = (to + 1).min(self.path.len() - 1);
        let mut part: Vec<usize> = self.path[first..=*from].to_vec();
        part.extend(cells);
        part.extend(&self.path[*to..=last]);
        for three in part.windows(3) {
            let [before, at, after] = [three[0], three[1], three[2]];
            let ahead = at + at - before;
            let later = part.iter().position(|&cell| cell == ahead);
            let stops = match later {
                Some(index) => part.iter().position(|&cell| cell == at) > Some(index),
                None => {
                    let place = self.place[ahead];
                    place == OBSTACLE || place < *to
                }
            };
            if ahead != after && !stops {
                return false;
            }
        }
        // Slides that ended before a cell of the detour, before the path comes there.
        cells.iter().all(|&cell| {
            let s = self.stride;
            [cell + s, cell - s, cell + 1, cell - 1].into_iter().all(|near| {
                let place = self.place[near];
                place >= *from || place == 0 || {
                    let ahead = near + near - self.path[place - 1];
                    ahead != cell
                }
            })
        })
    }

    fn apply(&mut self, detour: Detour) {
        for &cell in &self.path[detour.from + 1..detour.to] {
            self.place[cell] = OBSTACLE;
        }
        self.path.splice(detour.from + 1..detour.to, detour.cells);
        for cell in self.path.drain(self.target..) {
            self.place[cell] = OBSTACLE;
        }
        for index in detour.from..self.path.len() {
            self.place[self.path[index]] = index;
        }
    }
}
