//! The clauses of a board.
//!
//! | variable | meaning |
//! |---|---|
//! | `arc(u, d)` | the path steps from `u` in direction `d` |
//! | `first(u)`, `last(u)` | the path begins, ends at `u` |
//! | `before(u, v)` | `u` is visited before its neighbour `v` |
//!
//! Each cell has one arc in or is the first, and one arc out or is the last. An arc implies its
//! order. A turn at `b` implies that the cell straight ahead is visited before `b`, if it is free.

use batsat::{Lit, SolverInterface, lbool};
use ouro_game::maze_dash::{Board, Direction};

/// The variables of a board. Cells are numbered among the free cells.
pub(super) struct Encoding {
    /// Board index of each free cell.
    cells: Vec<usize>,
    /// The neighbour of each free cell in each direction.
    next: Vec<[Option<usize>; 4]>,
    arcs: Vec<[Option<Lit>; 4]>,
    first: Vec<Lit>,
    last: Vec<Lit>,
    /// `before(u, v)`, where `v` is the neighbour of `u` in a direction.
    before: Vec<[Option<Lit>; 4]>,
}

/// The direction back.
const BACK: [usize; 4] = [1, 0, 3, 2];

impl Encoding {
    /// Adds the clauses of `board` to `solver`.
    pub(super) fn new(board: &Board, solver: &mut impl SolverInterface) -> Self {
        let cells: Vec<usize> =
            (0..board.width() * board.height()).filter(|&cell| board.is_free(cell)).collect();
        let number = |cell| cells.binary_search(&cell).ok();
        let next: Vec<[Option<usize>; 4]> = cells
            .iter()
            .map(|&cell| Direction::ALL.map(|way| board.neighbour(cell, way).and_then(number)))
            .collect();
        let mut literal = || Lit::new(solver.new_var_default(), true);
        let first: Vec<Lit> = cells.iter().map(|_| literal()).collect();
        let last: Vec<Lit> = cells.iter().map(|_| literal()).collect();
        let arcs: Vec<[Option<Lit>; 4]> =
            next.iter().map(|next| next.map(|next| next.map(|_| literal()))).collect();
        let mut before = vec![[None; 4]; cells.len()];
        for (cell, next) in next.iter().enumerate() {
            for (way, next) in next.iter().enumerate() {
                if let Some(next) = *next
                    && cell < next
                {
                    let order = literal();
                    before[cell][way] = Some(order);
                    before[next][BACK[way]] = Some(!order);
                }
            }
        }
        let encoding = Self { cells, next, arcs, first, last, before };
        if let Some(start) =
            board.start().and_then(|start| encoding.cells.binary_search(&start).ok())
        {
            add(solver, &[encoding.first[start]]);
        }
        exactly_one(solver, &encoding.first);
        exactly_one(solver, &encoding.last);
        (0..encoding.cells.len()).for_each(|cell| encoding.constrain(cell, solver));
        encoding
    }

    /// The clauses of one cell.
    fn constrain(&self, cell: usize, solver: &mut impl SolverInterface) {
        let mut ins: Vec<Lit> = self.arcs_in(cell).collect();
        let mut outs: Vec<Lit> = self.arcs[cell].iter().flatten().copied().collect();
        ins.push(self.first[cell]);
        outs.push(self.last[cell]);
        for lits in [ins, outs] {
            add(solver, &lits);
            for (index, &one) in lits.iter().enumerate() {
                lits[..index].iter().for_each(|&other| add(solver, &[!one, !other]));
            }
        }
        for (way, &back) in BACK.iter().enumerate() {
            let (Some(arc), Some(before)) = (self.arcs[cell][way], self.before[cell][way]) else {
                continue;
            };
            add(solver, &[!arc, before]);
            // The first cell precedes its neighbours, the last follows them.
            add(solver, &[!self.first[cell], before]);
            add(solver, &[!self.last[cell], !before]);
            // Turns of a path that would go straight to the neighbour in direction `way`.
            if let Some(behind) = self.next[cell][back]
                && let Some(entry) = self.arcs[behind][way]
            {
                for (out, &arc) in self.arcs[cell].iter().enumerate() {
                    if let Some(arc) = arc
                        && out != way
                    {
                        add(solver, &[!entry, !arc, !before]);
                    }
                }
            }
        }
        // The four cells of a square are not in cyclic order.
        let corner = |cell: usize, way: usize| self.next[cell][way].zip(self.before[cell][way]);
        if let Some((right, a)) = corner(cell, 3)
            && let Some((above_right, b)) = corner(right, 0)
            && let Some((above, c)) = corner(above_right, 2)
            && let Some((_, d)) = corner(above, 1)
        {
            add(solver, &[a, b, c, d]);
            add(solver, &[!a, !b, !c, !d]);
        }
    }

    /// Number of free cells.
    pub(super) fn len(&self) -> usize {
        self.cells.len()
    }

    /// The neighbours of a cell that it precedes in the solution, with the literals of that order.
    pub(super) fn after<'a>(
        &'a self,
        cell: usize,
        solver: &'a impl SolverInterface,
    ) -> impl Iterator<Item = (usize, Lit)> + 'a {
        let pairs = self.next[cell].iter().zip(&self.before[cell]);
        pairs
            .filter_map(|(&next, &before)| next.zip(before))
            .filter(|&(_, before)| solver.value_lit(before) == lbool::TRUE)
    }

    /// Whether the path of the solution steps between two neighbours.
    pub(super) fn steps(&self, from: usize, to: usize, solver: &impl SolverInterface) -> bool {
        self.arc(from, solver) == Some(to)
    }

    /// The literals of which one holds, because the path enters a set of cells or begins in it.
    pub(super) fn enters(&self, inside: &[bool], cells: &[usize]) -> Vec<Lit> {
        let mut lits: Vec<Lit> = cells.iter().map(|&cell| self.first[cell]).collect();
        for &cell in cells {
            for (way, &back) in BACK.iter().enumerate() {
                if let Some(next) = self.next[cell][way].filter(|&next| !inside[next]) {
                    lits.extend(self.arcs[next][back]);
                }
            }
        }
        lits
    }

    /// The path of a solution without cycles, in cells of the board.
    pub(super) fn path(&self, solver: &impl SolverInterface) -> Vec<usize> {
        let start = (0..self.len()).find(|&cell| solver.value_lit(self.first[cell]) == lbool::TRUE);
        std::iter::successors(start, |&cell| self.arc(cell, solver))
            .take(self.len())
            .map(|cell| self.cells[cell])
            .collect()
    }

    /// Where the arc from `cell` leads.
    fn arc(&self, cell: usize, solver: &impl SolverInterface) -> Option<usize> {
        (0..4).find_map(|way| {
            let arc = self.arcs[cell][way]?;
            self.next[cell][way].filter(|_| solver.value_lit(arc) == lbool::TRUE)
        })
    }

    fn arcs_in(&self, cell: usize) -> impl Iterator<Item = Lit> + '_ {
        (0..4)
            .filter_map(move |way| self.next[cell][way].and_then(|next| self.arcs[next][BACK[way]]))
    }
}

fn add(solver: &mut impl SolverInterface, clause: &[Lit]) {
    solver.add_clause_reuse(&mut clause.to_vec());
}

/// Exactly one of the literals holds. At most one: the sequential counter of Sinz 2005, "Towards an
/// optimal CNF encoding of Boolean cardinality constraints".
fn exactly_one(solver: &mut impl SolverInterface, lits: &[Lit]) {
    add(solver, lits);
    let mut seen: Option<Lit> = None;
    for &lit in lits {
        let now = Lit::new(solver.new_var_default(), true);
        add(solver, &[!lit, now]);
        if let Some(seen) = seen {
            add(solver, &[!seen, now]);
            add(solver, &[!seen, !lit]);
        }
        seen = Some(now);
    }
}
