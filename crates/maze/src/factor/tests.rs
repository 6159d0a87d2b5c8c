//! Repairs and filters against an enumeration of all factors.

use ouro_game::Rng;
use ouro_game::maze_dash::Board;

use super::Factor;
use crate::edges::{Edges, Impossible, ways};
use crate::field::Field;

/// An edge: one cell, the direction, the other cell.
type Edge = (usize, usize, usize);

/// The edges that the path may use.
fn left(field: &Field, edges: &Edges) -> Vec<Edge> {
    let of = |&cell: &u32| {
        let cell = cell as usize;
        // Down and right.
        let forwards = ways(edges.left(cell)).filter(|way| [0, 3].contains(way));
        forwards.map(move |way| (cell, way, cell.wrapping_add_signed(field.steps[way])))
    };
    edges.cells().iter().flat_map(of).collect()
}

fn is_forced(edges: &Edges, (cell, way, _): Edge) -> bool {
    edges.forced(cell) >> way & 1 == 1
}

/// All factors, as lists of whether each edge of `all` is chosen.
fn factors(edges: &Edges, all: &[Edge]) -> Vec<Vec<bool>> {
    fn extend(
        edges: &Edges,
        all: &[Edge],
        lacks: &mut [u8],
        chosen: &mut Vec<bool>,
        found: &mut Vec<Vec<bool>>,
    ) {
        // The edges come in the order of their cells, so those of all cells before are decided.
        let next = all.get(chosen.len()).map_or(u32::MAX, |edge| edge.0 as u32);
        let decided = edges.cells().iter().filter(|&&cell| cell < next);
        if decided.map(|&cell| lacks[cell as usize]).sum::<u8>() > 1 {
            return;
        }
        let Some(&edge) = all.get(chosen.len()) else {
            let lacking: Vec<_> =
                edges.cells().iter().filter(|&&cell| lacks[cell as usize] > 0).collect();
            if let [&last] = lacking[..]
                && lacks[last as usize] == 1
                && edges.may_be_last(last as usize)
            {
                found.push(chosen.clone());
            }
            return;
        };
        let (one, _, two) = edge;
        if !is_forced(edges, edge) {
            chosen.push(false);
            extend(edges, all, lacks, chosen, found);
            chosen.pop();
        }
        if lacks[one] > 0 && lacks[two] > 0 {
            (lacks[one], lacks[two]) = (lacks[one] - 1, lacks[two] - 1);
            chosen.push(true);
            extend(edges, all, lacks, chosen, found);
            chosen.pop();
            (lacks[one], lacks[two]) = (lacks[one] + 1, lacks[two] + 1);
        }
    }
    let size = edges.cells().iter().max().map_or(0, |&cell| cell as usize + 1);
    let mut lacks: Vec<u8> = (0..size).map(|cell| edges.full(cell)).collect();
    let mut found = Vec::new();
    extend(edges, all, &mut lacks, &mut Vec::new(), &mut found);
    found
}

/// Filters until nothing changes.
fn filter(factor: &mut Factor, edges: &mut Edges) -> Result<(), Impossible> {
    while factor.filter(edges)? {
        factor.repair(edges)?;
    }
    Ok(())
}

/// Asserts that each edge but the forced ones is in some factor and not in all.
fn assert_filtered(board: &Board, field: &Field, edges: &Edges) {
    let all = left(field, edges);
    let kept = factors(edges, &all);
    for (index, &edge) in all.iter().enumerate() {
        let chosen = kept.iter().filter(|factor| factor[index]).count();
        assert!(chosen > 0, "an edge of no factor is left\n{board}");
        assert!(is_forced(edges, edge) || chosen < kept.len(), "\n{board}");
    }
}

#[test]
fn repairs_find_a_factor_if_there_is_one_and_filters_leave_no_fixed_edge() {
    let mut rng = Rng::new(23, "factors");
    let (mut found, mut missing, mut filtered) = (0, 0, 0);
    for _ in 0..40_000 {
        let free: Vec<bool> = (0..20).map(|_| rng.below(5) > 0).collect();
        let start = rng.below(20) as usize;
        let Ok(board) = Board::new(5, 4, free, Some(start)) else { continue };
        let mut field = Field::new(&board);
        let start = field.padded(start);
        field.visit(start);
        let mut edges = Edges::new(&field);
        if edges.begin(&field, start).is_err() {
            continue;
        }
        let mut factor = Factor::new(&field);
        factor.begin(&field, &edges);
        let origin = edges.mark();
        // Edges are forced and removed at random as in a search, then taken back.
        for _ in 0..8 {
            loop {
                let all = left(&field, &edges);
                let is_whole = factor.repair(&edges).is_ok();
                assert_eq!(is_whole, !factors(&edges, &all).is_empty(), "\n{board}");
                found += u32::from(is_whole);
                missing += u32::from(!is_whole);
                if !is_whole {
                    break;
                }
                if rng.below(3) == 0 {
                    let mark = edges.mark();
                    if filter(&mut factor, &mut edges).is_err() {
                        break;
                    }
                    filtered += u32::from(edges.mark() > mark);
                    assert_filtered(&board, &field, &edges);
                }
                let all = left(&field, &edges);
                let spare: Vec<_> =
                    all.into_iter().filter(|&edge| !is_forced(&edges, edge)).collect();
                if spare.is_empty() {
                    break;
                }
                // Each change alone leaves a factor; several together may not.
                let settled = (0..4).try_for_each(|_| {
                    let (cell, way, _) = spare[rng.below(spare.len() as u32) as usize];
                    if rng.below(2) == 0 {
                        return edges.force(cell, way);
                    }
                    if edges.forced(cell) >> way & 1 == 0 {
                        edges.remove(cell, way);
                    }
                    Ok(())
                });
                if settled.and_then(|()| edges.settle()).is_err() {
                    break;
                }
            }
            edges.undo(origin);
            factor.undo(origin);
        }
    }
    assert!(found > 1_000 && missing > 20 && filtered > 100, "{found} {missing} {filtered}");
}
