//! Clauses against the cycles of a solution.

use batsat::{Lit, SolverInterface};

use super::encoding::Encoding;

/// Clauses that exclude short cycles of the order in the solver's solution; none if the order has no
/// cycle. A cycle of the path is one of the order. For those a second clause demands that the path
/// enters the cells.
///
/// `watch` is called before each search for a cycle. If it returns false, the result is `None`.
pub(super) fn cuts(
    encoding: &Encoding,
    solver: &impl SolverInterface,
    watch: &dyn Fn() -> bool,
) -> Option<Vec<Vec<Lit>>> {
    let after: Vec<Vec<(usize, Lit)>> =
        (0..encoding.len()).map(|cell| encoding.after(cell, solver).collect()).collect();
    let mut suspect = without_sources(&after);
    let mut search = CycleSearch::new(&after);
    let mut inside = vec![false; encoding.len()];
    let mut cuts = Vec::new();
    for cell in 0..encoding.len() {
        if !suspect[cell] {
            continue;
        }
        if !watch() {
            return None;
        }
        let Some(cycle) = search.shortest(cell, &suspect) else {
            suspect[cell] = false;
            continue;
        };
        cuts.push(cycle.iter().map(|&(_, order)| !order).collect());
        let cells: Vec<usize> = cycle.iter().map(|&(cell, _)| cell).collect();
        let next = cells.iter().skip(1).chain(cells.first());
        if cells.iter().zip(next).all(|(&from, &to)| encoding.steps(from, to, solver)) {
            for &cell in &cells {
                inside[cell] = true;
            }
            cuts.push(encoding.enters(&inside, &cells));
            for &cell in &cells {
                inside[cell] = false;
            }
        }
        for cell in cells {
            suspect[cell] = false;
        }
    }
    Some(cuts)
}

/// Whether each cell is left when cells without predecessor are removed repeatedly. The cells of all
/// cycles are.
fn without_sources(after: &[Vec<(usize, Lit)>]) -> Vec<bool> {
    let mut before = vec![0_u32; after.len()];
    after.iter().flatten().for_each(|&(next, _)| before[next] += 1);
    let mut left = vec![true; after.len()];
    let mut sources: Vec<usize> = (0..after.len()).filter(|&cell| before[cell] == 0).collect();
    while let Some(cell) = sources.pop() {
        left[cell] = false;
        for &(next, _) in &after[cell] {
            before[next] -= 1;
            if before[next] == 0 {
                sources.push(next);
            }
        }
    }
    left
}

/// Searches for cycles. Its memory has the size of the board and is used again, so a search takes time in
/// proportion to the cells that it reaches.
struct CycleSearch<'a> {
    after: &'a [Vec<(usize, Lit)>],
    /// The cell before each reached cell, with the literal of the order between the two.
    from: Vec<Option<(usize, Lit)>>,
    /// The cells that the last search reached.
    reached: Vec<usize>,
}

impl<'a> CycleSearch<'a> {
    fn new(after: &'a [Vec<(usize, Lit)>]) -> Self {
        Self { after, from: vec![None; after.len()], reached: Vec::new() }
    }

    /// The shortest cycle through `root` over suspect cells: each cell with the literal of the order
    /// between it and the next.
    fn shortest(&mut self, root: usize, suspect: &[bool]) -> Option<Vec<(usize, Lit)>> {
        for cell in self.reached.drain(..) {
            self.from[cell] = None;
        }
        self.reached.push(root);
        let mut first = 0;
        while let Some(&cell) = self.reached.get(first) {
            first += 1;
            for &(next, order) in &self.after[cell] {
                if !suspect[next] || self.from[next].is_some() {
                    continue;
                }
                self.from[next] = Some((cell, order));
                if next != root {
                    self.reached.push(next);
                    continue;
                }
                let mut cycle = Vec::new();
                let mut at = root;
                while let Some((cell, order)) = self.from[at].take() {
                    cycle.push((cell, order));
                    at = cell;
                }
                cycle.reverse();
                return Some(cycle);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use batsat::BasicSolver;
    use ouro_game::maze_dash::Board;

    use super::*;

    #[test]
    fn a_search_finds_the_same_cycle_again_and_keeps_nothing_of_the_last_one() {
        let mut solver = BasicSolver::default();
        let order = Lit::new(solver.new_var_default(), true);
        // The cycles 0-1-2 and 2-3, and cell 4, from which the second is reached.
        let after = [vec![1], vec![2], vec![0, 3], vec![2], vec![3]];
        let after =
            after.map(|next| next.into_iter().map(|cell| (cell, order)).collect::<Vec<_>>());
        let mut search = CycleSearch::new(&after);
        let mut cells = |root: usize, suspect: [bool; 5]| {
            let cycle = search.shortest(root, &suspect)?;
            Some(cycle.into_iter().map(|(cell, _)| cell).collect::<Vec<_>>())
        };
        let all = [true; 5];
        for _ in 0..2 {
            assert_eq!(cells(0, all), Some(vec![0, 1, 2]));
            assert_eq!(cells(4, all), None);
            assert_eq!(cells(3, all), Some(vec![3, 2]));
            assert_eq!(cells(0, [true, false, true, true, true]), None);
        }
    }

    #[test]
    fn a_watch_that_returns_false_ends_the_cuts_at_the_first_suspect_cell() {
        let board = Board::new(4, 4, vec![true; 16], None).expect("the board is connected");
        let mut solver = BasicSolver::default();
        let encoding = Encoding::new(&board, &mut solver);
        assert_eq!(solver.solve_limited(&[]), batsat::lbool::TRUE);
        let order = |from: usize, to: usize| {
            let after = |from: usize, to: usize| {
                encoding.after(from, &solver).find(|&(next, _)| next == to).map(|(_, order)| order)
            };
            let order = after(from, to).or_else(|| after(to, from).map(|order| !order));
            order.expect("the cells are neighbours")
        };
        // The border in the order of a cycle. The path then covers the four cells inside.
        let border = [0, 1, 2, 3, 7, 11, 15, 14, 13, 12, 8, 4];
        let next = border.iter().cycle().skip(1);
        let orders: Vec<Lit> =
            border.iter().zip(next).map(|(&from, &to)| order(from, to)).collect();
        assert_eq!(solver.solve_limited(&orders), batsat::lbool::TRUE);
        let all = cuts(&encoding, &solver, &|| true).expect("the watch returns true");
        assert!(!all.is_empty());
        let calls = std::cell::Cell::new(0);
        let cuts = cuts(&encoding, &solver, &|| {
            calls.set(calls.get() + 1);
            false
        });
        assert!(cuts.is_none());
        assert_eq!(calls.get(), 1);
    }
}
