//! A slow reference implementation of the rules of Snake on a list of cells.

use ouro_game::snake::{Config, Ending, Snapshot};

/// Up, down, left, right.
const STEPS: [(i32, i32); 4] = [(0, 1), (0, -1), (-1, 0), (1, 0)];

pub(crate) struct Slow {
    size: i32,
    limit: u32,
    /// Head first.
    body: Vec<(i32, i32)>,
    pub(crate) apple: Option<(i32, i32)>,
    pub(crate) elapsed: u32,
}

impl Slow {
    pub(crate) fn new(config: &Config) -> Self {
        let size = i32::from(config.size);
        let (x, y) = (2.min(size - 1), size / 2);
        Self {
            size,
            limit: config.limit(),
            body: vec![(x, y), (x - 1, y)],
            apple: None,
            elapsed: 0,
        }
    }

    /// Directions whose cell is on the board and not of the body, the tail included.
    pub(crate) fn legal(&self) -> Vec<u32> {
        let free = |&action: &u32| {
            let (x, y) = self.ahead(action);
            let inside = x >= 0 && y >= 0 && x < self.size && y < self.size;
            inside && !self.body.contains(&(x, y))
        };
        (0..4).filter(free).collect()
    }

    fn ahead(&self, action: u32) -> (i32, i32) {
        let ((x, y), (dx, dy)) = (self.body[0], STEPS[action as usize]);
        (x + dx, y + dy)
    }

    pub(crate) fn step(&mut self, action: u32) {
        let next = self.ahead(action);
        self.body.insert(0, next);
        if self.apple == Some(next) {
            self.apple = None;
        } else {
            self.body.pop();
        }
        self.elapsed += 1;
    }

    /// Empty cells row by row from the bottom.
    pub(crate) fn empty(&self) -> Vec<(i32, i32)> {
        let cells = (0..self.size).flat_map(|y| (0..self.size).map(move |x| (x, y)));
        cells.filter(|cell| !self.body.contains(cell)).collect()
    }

    pub(crate) fn ending(&self) -> Option<Ending> {
        if self.empty().is_empty() {
            Some(Ending::Won)
        } else if self.elapsed >= self.limit {
            Some(Ending::OutOfTime)
        } else {
            self.legal().is_empty().then_some(Ending::Stuck)
        }
    }

    pub(crate) fn returns(&self) -> f32 {
        let apples = self.body.len() as f32 - 2.0;
        match self.ending() {
            Some(Ending::Won) => apples + 10.0,
            Some(Ending::Stuck) => apples - 10.0,
            _ => apples,
        }
    }

    pub(crate) fn planes(&self) -> Vec<f32> {
        let cells = (self.size * self.size) as usize;
        let mut planes = vec![0.0; 7 * cells];
        let mut set = |plane: usize, (x, y): (i32, i32)| {
            planes[plane * cells + (y * self.size + x) as usize] = 1.0;
        };
        for pair in self.body.windows(2) {
            let step = (pair[0].0 - pair[1].0, pair[0].1 - pair[1].1);
            let direction = STEPS.iter().position(|&known| known == step).expect("neighbours");
            set(direction, pair[1]);
        }
        set(4, self.body[0]);
        set(5, self.body[self.body.len() - 1]);
        if let Some(apple) = self.apple {
            set(6, apple);
        }
        planes
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        let point = |&(x, y): &(i32, i32)| (x as u8, y as u8);
        Snapshot {
            size: self.size as u8,
            body: self.body.iter().map(point).collect(),
            apple: self.apple.as_ref().map(point),
            elapsed: self.elapsed,
        }
    }
}
