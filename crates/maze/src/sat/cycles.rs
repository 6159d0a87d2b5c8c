//! Clauses against the cycles of a solution.

use std::collections::VecDeque;

use batsat::{Lit, SolverInterface};

use super::encoding::Encoding;

/// Clauses that exclude short cycles of the order in the solver's solution; none if the order has no
/// cycle. A cycle of the path is one of the order. For those a second clause demands that the path
/// enters the cells.
pub(super) fn cuts(encoding: &Encoding, solver: &impl SolverInterface) -> Vec<Vec<Lit>> {
    let after: Vec<Vec<(usize, Lit)>> =
        (0..encoding.len()).map(|cell| encoding.after(cell, solver).collect()).collect();
    let mut suspect = without_sources(&after);
    let mut cuts = Vec::new();
    for cell in 0..encoding.len() {
        if !suspect[cell] {
            continue;
        }
        let Some(cycle) = shortest_cycle(cell, &after, &suspect) else {
            suspect[cell] = false;
            continue;
        };
        cuts.push(cycle.iter().map(|&(_, order)| !order).collect());
        let cells: Vec<usize> = cycle.iter().map(|&(cell, _)| cell).collect();
        let next = cells.iter().skip(1).chain(cells.first());
        if cells.iter().zip(next).all(|(&from, &to)| encoding.steps(from, to, solver)) {
            let mut inside = vec![false; encoding.len()];
            for &cell in &cells {
                inside[cell] = true;
            }
            cuts.push(encoding.enters(&inside, &cells));
        }
        for cell in cells {
            suspect[cell] = false;
        }
    }
    cuts
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

/// The shortest cycle through `root` over suspect cells: each cell with the literal of the order
/// between it and the next.
fn shortest_cycle(
    root: usize,
    after: &[Vec<(usize, Lit)>],
    suspect: &[bool],
) -> Option<Vec<(usize, Lit)>> {
    let mut from: Vec<Option<(usize, Lit)>> = vec![None; after.len()];
    let mut queue = VecDeque::from([root]);
    while let Some(cell) = queue.pop_front() {
        for &(next, order) in &after[cell] {
            if !suspect[next] || from[next].is_some() {
                continue;
            }
            from[next] = Some((cell, order));
            if next != root {
                queue.push_back(next);
                continue;
            }
            let mut cycle = Vec::new();
            let mut at = root;
            while let Some((cell, order)) = from[at].take() {
                cycle.push((cell, order));
                at = cell;
            }
            cycle.reverse();
            return Some(cycle);
        }
    }
    None
}
