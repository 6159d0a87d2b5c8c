//! Depth-first search over decisions from one start.

use ouro_game::Rng;
use ouro_game::maze_dash::Board;

use crate::chain::Chain;
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
    /// Directions that have not been tried, best last.
    options: [u8; 4],
    left: u8,
}

/// A searcher. It is reused for many starts and limits.
pub(crate) struct Search {
    field: Field,
    chain: Chain,
    decisions: Vec<Decision>,
    rng: Rng,
    nodes: u64,
}

impl Search {
    pub(crate) fn new(board: &Board, rng: Rng) -> Self {
        let field = Field::new(board);
        Self { chain: Chain::new(&field), field, decisions: Vec::new(), rng, nodes: 0 }
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
    /// `stop` is asked at each node; the search ends at its limit when it returns true.
    pub(crate) fn run(
        &mut self,
        start: usize,
        limit: u64,
        noise: f64,
        mut stop: impl FnMut(u64) -> bool,
    ) -> End {
        self.decisions.clear();
        self.field.shorten(0);
        let start = self.field.padded(start);
        self.field.visit(start);
        let last = self.nodes + limit;
        loop {
            match self.descend(noise) {
                Some(End::Solved) => return End::Solved,
                Some(end) => return end,
                None => {}
            }
            // The next direction that is left.
            let step = loop {
                let Some(decision) = self.decisions.last_mut() else { return End::Refuted };
                self.field.shorten(decision.length);
                if decision.left == 0 {
                    self.decisions.pop();
                    continue;
                }
                decision.left -= 1;
                break decision.options[usize::from(decision.left)];
            };
            if self.nodes >= last || stop(self.nodes) {
                return End::Limit;
            }
            self.nodes += 1;
            self.field.slide(usize::from(step));
        }
    }

    /// Makes forced slides up to the next decision and pushes that, unless the path cannot be
    /// completed.
    fn descend(&mut self, noise: f64) -> Option<End> {
        loop {
            let options = self.field.options();
            match options.count_ones() {
                0 => return (self.field.left() == 0).then_some(End::Solved),
                1 => self.field.slide(options.trailing_zeros() as usize),
                _ => break,
            }
        }
        if self.field.may_end() && self.chain.holds(&self.field) {
            let decision = self.decision(noise);
            self.decisions.push(decision);
        }
        None
    }

    /// The decision at the head. The direction whose first cell has the fewest open sides comes
    /// first (Warnsdorff's rule).
    fn decision(&mut self, noise: f64) -> Decision {
        let mut ranked = [(0_u32, 0_u8); 4];
        let mut left = 0;
        let random = noise > 0.0 && self.rng.unit() < noise;
        for (step, next) in self.field.around(self.field.head()).into_iter().enumerate() {
            if self.field.is_open(next) {
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
        Decision { length: self.field.len(), options, left: left as u8 }
    }
}
