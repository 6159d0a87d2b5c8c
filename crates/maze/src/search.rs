//! Depth-first search over decisions from one start.

use ouro_game::Rng;
use ouro_game::maze_dash::{Board, State};

use crate::chain::Chain;
use crate::edges::{Edges, Impossible};
use crate::factor::Factor;
use crate::field::Field;
use crate::refuted::Refuted;
use crate::segments::Segments;

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

/// The end of a roll-out.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RolledOut {
    /// The path visits every cell: the cells of the board from the position's head on.
    Solved(Vec<usize>),
    /// The position has no solution.
    Refuted,
    /// The share of the cells, the position's head included, that the roll-out has visited.
    Stuck(f32),
}

/// A decision on the current path.
#[derive(Debug)]
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
#[derive(Debug)]
pub(crate) struct Search {
    field: Field,
    chain: Chain,
    segments: Segments,
    factor: Factor,
    edges: Edges,
    decisions: Vec<Decision>,
    refuted: Refuted,
    rng: Rng,
    nodes: u64,
}

impl Search {
    pub(crate) fn new(board: &Board, rng: Rng) -> Self {
        let field = Field::new(board);
        Self {
            chain: Chain::new(&field),
            segments: Segments::new(&field),
            factor: Factor::new(&field),
            edges: Edges::new(&field),
            field,
            decisions: Vec::new(),
            refuted: Refuted::new(),
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
        self.field.shorten(0);
        if self.begin(start).is_err() {
            return End::Refuted;
        }
        let last = self.nodes + limit;
        let mut alive = true;
        loop {
            if alive && self.descend(noise).is_ok_and(|solved| solved) {
                return End::Solved;
            }
            let Some(step) = self.next_option() else { return End::Refuted };
            if self.nodes >= last || is_stopped(self.nodes) {
                return End::Limit;
            }
            self.nodes += 1;
            alive = self.slide(step).is_ok();
        }
    }

    /// Plays a position with a head to its end. At each decision the first direction counts that the
    /// tests do not refute, in an order as in [`run`](Self::run).
    ///
    /// If the tests refute all directions of the first decision, the position has no solution.
    ///
    /// `is_stopped` is asked at each node; when it returns true, the roll-out is stuck there.
    pub(crate) fn roll_out(
        &mut self,
        state: &State,
        noise: f64,
        mut is_stopped: impl FnMut(u64) -> bool,
    ) -> RolledOut {
        let Some(head) = state.head() else { return RolledOut::Stuck(0.0) };
        self.field.load(|cell| cell == head || state.is_left(cell));
        let cells = self.field.left();
        if self.begin(head).is_err() || self.field.left() > 0 && self.test().is_err() {
            return RolledOut::Refuted;
        }
        let mut is_first = true;
        let mut played = self.descend(noise);
        let is_refuted = loop {
            if let Ok(true) = played {
                return RolledOut::Solved(self.path());
            }
            if self.decisions.len() > 1 {
                self.decisions.swap_remove(0);
                is_first = false;
            }
            let Some(step) = self.next_option() else { break is_first };
            // The directions that are left could still lead to a solution.
            if is_stopped(self.nodes) {
                break false;
            }
            self.nodes += 1;
            played = self.slide(step).and_then(|()| self.descend(noise));
        };
        if is_refuted {
            return RolledOut::Refuted;
        }
        RolledOut::Stuck(self.field.len() as f32 / cells as f32)
    }

    /// Begins a path at a free cell of the board, on a field without a path.
    fn begin(&mut self, start: usize) -> Result<(), Impossible> {
        self.decisions.clear();
        let start = self.field.padded(start);
        self.field.visit(start);
        if self.field.left() > 0 {
            self.edges.begin(&self.field, start)?;
            self.factor.begin(&self.field, &self.edges);
        }
        Ok(())
    }

    /// Takes the path back to the last decision with a direction that has not been tried.
    fn next_option(&mut self) -> Option<usize> {
        loop {
            let decision = self.decisions.last_mut()?;
            self.field.shorten(decision.length);
            self.edges.undo(decision.mark);
            self.factor.undo(decision.mark);
            if decision.left > 0 {
                decision.left -= 1;
                return Some(decision.options[usize::from(decision.left)].into());
            }
            self.refuted.insert(self.field.key());
            self.decisions.pop();
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
                _ if self.refuted.contains(self.field.key()) => return Err(Impossible),
                _ if self.conclude()? => {}
                _ => break,
            }
        }
        let decision = self.decision(noise);
        self.decisions.push(decision);
        Ok(false)
    }

    /// Tests the cells that are left, if slides since the last decision may have divided them. Returns
    /// whether that removed edges of the head.
    fn conclude(&mut self) -> Result<bool, Impossible> {
        let tested = self.decisions.last().map_or(0, |decision| decision.length);
        if self.field.separates(tested) { self.test() } else { Ok(false) }
    }

    /// Tests the cells that are left. Returns whether that removed edges of the head.
    fn test(&mut self) -> Result<bool, Impossible> {
        let (field, edges) = (&self.field, &mut self.edges);
        let head = field.head();
        let before = edges.left(head);
        if !field.may_end() {
            return Err(Impossible);
        }
        self.factor.repair(edges)?;
        if self.factor.filter(edges)? {
            self.factor.repair(edges)?;
        }
        if !self.segments.hold(field, edges) || !self.chain.holds(field, edges) {
            return Err(Impossible);
        }
        self.chain.excluded.iter().for_each(|&cell| edges.exclude_last(cell));
        edges.settle()?;
        Ok(edges.left(head) != before)
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
