//! Depth-first search over decisions from one start.

use ouro_game::Rng;
use ouro_game::maze_dash::Board;

use crate::chain::Chain;
use crate::edges::{Edges, Impossible};
use crate::field::Field;

/// The result of one search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The path visits every cell.
    Solved,
    /// No path from this start does.
    Refuted,
    /// The limit was reached.
    Limit,
}

/// A decision on the current path.
struct Decision {
    /// Cells visited before it.
    length: usize,
    /// The state of the edges.
    mark: usize,
    /// Directions that have not been tried, best last.
    options: [u8; 4],
    left: u8,
}

/// A searcher. It is reused for many starts and limits.
pub(crate) struct Search {
    field: Field,
    chain: Chain,
    edges: Edges,
    decisions: Vec<Decision>,
    rng: Rng,
    nodes: u64,
}

impl Search {
    pub(crate) fn new(board: &Board, rng: Rng) -> Self {
        let field = Field::new(board);
        Self {
            chain: Chain::new(&field),
            edges: Edges::new(&field),
            field,
            decisions: Vec::new(),
            rng,
            nodes: 0,
        }
    }

    /// Nodes of all searches so far.
    pub(crate) fn nodes(&self) -> u64 {
        self.nodes
    }

    /// The path of the last search, as cells of the board.
    pub(crate) fn path(&self) -> Vec<usize> {
        self.field.board_path()
    }

    /// Searches from `start`, a free cell of the board, for at most `limit` nodes. `noise` is the
    /// probability that a decision is ordered at random.
    ///
    /// `is_stopped` is asked at each node; the search ends at its limit when it returns true.
    pub(crate) fn run(
        &mut self,
        start: usize,
        limit: u64,
        noise: f64,
        mut is_stopped: impl FnMut(u64) -> bool,
    ) -> End {
        self.decisions.clear();
        self.field.shorten(0);
        let start = self.field.padded(start);
        self.field.visit(start);
        if self.field.left() == 0 {
            return End::Solved;
        }
        if self.edges.begin(&self.field, start).is_err() {
            return End::Refuted;
        }
        let last = self.nodes + limit;
        let mut alive = true;
        loop {
            if alive && self.descend(noise).is_ok_and(|solved| solved) {
                return End::Solved;
            }
            // The next direction that is left.
            let step = loop {
                let Some(decision) = self.decisions.last_mut() else { return End::Refuted };
                self.field.shorten(decision.length);
                self.edges.undo(decision.mark);
                if decision.left == 0 {
                    self.decisions.pop();
                    continue;
                }
                decision.left -= 1;
                break decision.options[usize::from(decision.left)];
            };
            if self.nodes >= last || is_stopped(self.nodes) {
                return End::Limit;
            }
            self.nodes += 1;
            alive = self.slide(usize::from(step)).is_ok();
        }
    }

    /// Slides, unless that makes the path impossible.
    fn slide(&mut self, step: usize) -> Result<(), Impossible> {
        let (field, edges) = (&mut self.field, &mut self.edges);
        field.slide(step, |cell| edges.force(cell, step))?;
        edges.settle()
    }

    /// Makes forced slides up to the next decision and pushes that. Returns whether the path is
    /// complete.
    fn descend(&mut self, noise: f64) -> Result<bool, Impossible> {
        loop {
            if self.field.left() == 0 {
                return Ok(true);
            }
            let options = self.field.options() & self.edges.left(self.field.head());
            match options.count_ones() {
                0 => return Err(Impossible),
                1 => self.slide(options.trailing_zeros() as usize)?,
                _ if self.conclude()? => {}
                _ => break,
            }
        }
        let decision = self.decision(noise);
        self.decisions.push(decision);
        Ok(false)
    }

    /// Tests the cells that are left. Returns whether that removed edges of the head.
    fn conclude(&mut self) -> Result<bool, Impossible> {
        let tested = self.decisions.last().map_or(0, |decision| decision.length);
        if !self.field.separates(tested) {
            return Ok(false);
        }
        if !self.field.may_end() || !self.chain.holds(&self.field, &self.edges) {
            return Err(Impossible);
        }
        let head = self.field.head();
        let before = self.edges.left(head);
        self.chain.excluded.iter().for_each(|&cell| self.edges.exclude_last(cell));
        self.edges.settle()?;
        Ok(self.edges.left(head) != before)
    }

    /// The decision at the head. The direction whose first cell has the fewest open sides comes
    /// first (Warnsdorff's rule).
    fn decision(&mut self, noise: f64) -> Decision {
        let mut ranked = [(0_u32, 0_u8); 4];
        let mut left = 0;
        let random = noise > 0.0 && self.rng.unit() < noise;
        for (step, next) in self.field.around(self.field.head()).into_iter().enumerate() {
            if self.field.is_open(next) && self.edges.left(self.field.head()) >> step & 1 == 1 {
                let rank = if random {
                    self.rng.below(1 << 16)
                } else {
                    u32::from(self.field.sides(next)) << 8 | self.rng.below(1 << 8)
                };
                ranked[left] = (rank, step as u8);
                left += 1;
            }
        }
        ranked[..left].sort_unstable_by(|a, b| b.cmp(a));
        let options = ranked.map(|(_, step)| step);
        Decision { length: self.field.len(), mark: self.edges.mark(), options, left: left as u8 }
    }
}
