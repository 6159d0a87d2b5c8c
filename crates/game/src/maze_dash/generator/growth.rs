//! The growth of one slide path over undecided cells.

use crate::rng::Rng;

/// Cells on a padded grid, whose border counts as decided.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cell {
    Undecided,
    Visited,
    Obstacle,
}

/// Probability of an early stop at a cell.
const EARLY_STOP: f64 = 0.1;

/// What an undo takes back.
enum Change {
    /// The head moved; the number of cells lost before.
    Moved { lost: usize },
    /// A cell became an obstacle.
    Blocked { cell: usize },
}

/// A possible next step.
struct Step {
    to: usize,
    /// Whether the cell ahead must become an obstacle.
    block: bool,
    /// Cells lost after the step.
    lost: usize,
    weight: f32,
}

/// A path in growth. Cells are indices of the padded grid.
pub(super) struct Growth {
    stride: usize,
    cells: Vec<Cell>,
    path: Vec<usize>,
    changes: Vec<Change>,
    /// Undecided cells out of reach, and obstacles.
    lost: usize,
    obstacles: usize,
    board_cells: usize,
    target: usize,
    /// Working memory of [`reach`](Self::reach).
    marks: Vec<u32>,
    mark: u32,
    queue: Vec<usize>,
}

impl Growth {
    /// A path of one random cell.
    pub(super) fn new(width: usize, height: usize, obstacles: usize, rng: &mut Rng) -> Self {
        let stride = width + 2;
        let mut cells = vec![Cell::Obstacle; stride * (height + 2)];
        for y in 1..=height {
            cells[y * stride + 1..=y * stride + width].fill(Cell::Undecided);
        }
        let start =
            (1 + rng.below(height as u32) as usize) * stride + 1 + rng.below(width as u32) as usize;
        cells[start] = Cell::Visited;
        let target = width * height - obstacles;
        Self {
            stride,
            marks: vec![0; cells.len()],
            cells,
            path: vec![start],
            changes: Vec::new(),
            lost: 0,
            obstacles,
            board_cells: width * height,
            target,
            mark: 0,
            queue: Vec::new(),
        }
    }

    /// Grows the path to its length. Returns it in cells of the board.
    pub(super) fn run(mut self, rng: &mut Rng) -> Option<Vec<usize>> {
        let mut budget = 50 + self.target;
        let mut depth = 4;
        let mut longest = 0;
        while self.path.len() < self.target {
            let steps = self.steps(rng);
            if steps.is_empty() {
                budget = budget.checked_sub(1)?;
                if self.path.len() > longest {
                    (longest, depth) = (self.path.len(), 4);
                } else {
                    depth = (depth + depth / 4 + 1).min(self.path.len());
                }
                self.undo(1 + rng.below(depth as u32) as usize);
                continue;
            }
            let weights: Vec<f32> = steps.iter().map(|step| step.weight).collect();
            let step = &steps[rng.weighted(&weights)];
            self.take(step);
        }
        let width = self.stride - 2;
        let cell = |&cell: &usize| (cell / self.stride - 1) * width + cell % self.stride - 1;
        Some(self.path.iter().map(cell).collect())
    }

    fn head(&self) -> usize {
        self.path[self.path.len() - 1]
    }

    /// The cell straight ahead of the head; `None` at the start.
    fn ahead(&self) -> Option<usize> {
        let &[.., before, head] = self.path.as_slice() else { return None };
        Some(head + head - before)
    }

    fn neighbours(&self, cell: usize) -> [usize; 4] {
        [cell + self.stride, cell - self.stride, cell - 1, cell + 1]
    }

    fn is_undecided(&self, cell: usize) -> bool {
        self.cells[cell] == Cell::Undecided
    }

    /// The steps that leave enough cells within reach.
    fn steps(&mut self, rng: &mut Rng) -> Vec<Step> {
        let head = self.head();
        let ahead = self.ahead();
        let open = ahead.is_some_and(|cell| self.is_undecided(cell));
        let stops = open && rng.unit() < EARLY_STOP;
        let mut steps = Vec::with_capacity(4);
        for to in self.neighbours(head) {
            if self.is_undecided(to) && (!open || stops || ahead == Some(to)) {
                let block = open && ahead != Some(to);
                steps.extend(self.step(to, block));
            }
        }
        if open && steps.is_empty() && !stops {
            for to in self.neighbours(head) {
                if self.is_undecided(to) && ahead != Some(to) {
                    steps.extend(self.step(to, true));
                }
            }
        }
        steps
    }

    /// The step to `to`, unless it loses too many cells.
    fn step(&mut self, to: usize, block: bool) -> Option<Step> {
        let ahead = self.ahead().filter(|_| block);
        if let Some(ahead) = ahead {
            self.cells[ahead] = Cell::Obstacle;
        }
        // Without a cell that divides the undecided cells, all that could be reached still can.
        let mut apart = self.divides(self.head()) || ahead.is_some_and(|ahead| self.divides(ahead));
        self.cells[to] = Cell::Visited;
        apart |=
            self.divides(to) || !self.neighbours(to).iter().any(|&cell| self.is_undecided(cell));
        let lost = if apart {
            self.board_cells - (self.path.len() + 1) - self.reach(to)
        } else {
            self.lost + usize::from(block)
        };
        let closed = self.neighbours(to).iter().filter(|&&cell| !self.is_undecided(cell)).count();
        self.cells[to] = Cell::Undecided;
        if let Some(ahead) = ahead {
            self.cells[ahead] = Cell::Undecided;
        }
        let cost = lost.saturating_sub(self.lost + usize::from(block)) as f32;
        let weight = (closed * closed) as f32 / (1.0 + cost).powi(2);
        (lost <= self.obstacles).then_some(Step { to, block, lost, weight })
    }

    /// Whether the undecided neighbours of `cell` may lie in different parts: they are not joined
    /// by the eight cells around it.
    fn divides(&self, cell: usize) -> bool {
        let s = self.stride;
        let around = [
            cell + s,
            cell + s + 1,
            cell + 1,
            cell - s + 1,
            cell - s,
            cell - s - 1,
            cell - 1,
            cell + s - 1,
        ]
        .map(|cell| self.cells.get(cell).is_some_and(|&cell| cell == Cell::Undecided));
        // Runs of undecided cells around the ring that hold a direct neighbour.
        let mut runs = 0;
        for side in [0, 2, 4, 6] {
            let joined = around[(side + 1) % 8] && around[(side + 2) % 8];
            runs += usize::from(around[side] && !joined);
        }
        runs > 1
    }

    /// Undecided cells that a path from `from` can reach.
    fn reach(&mut self, from: usize) -> usize {
        self.mark += 1;
        let mut count = 0;
        self.queue.push(from);
        while let Some(cell) = self.queue.pop() {
            for next in self.neighbours(cell) {
                if self.is_undecided(next) && self.marks[next] != self.mark {
                    self.marks[next] = self.mark;
                    count += 1;
                    self.queue.push(next);
                }
            }
        }
        count
    }

    fn take(&mut self, step: &Step) {
        if let Some(cell) = self.ahead().filter(|_| step.block) {
            self.cells[cell] = Cell::Obstacle;
            self.changes.push(Change::Blocked { cell });
        }
        self.changes.push(Change::Moved { lost: self.lost });
        self.cells[step.to] = Cell::Visited;
        self.path.push(step.to);
        self.lost = step.lost;
    }

    /// Takes back up to `count` steps.
    fn undo(&mut self, count: usize) {
        for _ in 0..count {
            let Some(Change::Moved { lost }) = self.changes.pop() else { return };
            self.lost = lost;
            if let Some(cell) = self.path.pop() {
                self.cells[cell] = Cell::Undecided;
            }
            if let Some(&Change::Blocked { cell }) = self.changes.last() {
                self.changes.pop();
                self.cells[cell] = Cell::Undecided;
            }
        }
    }
}
