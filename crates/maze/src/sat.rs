//! Boolean satisfiability, as a check on the search.
//!
//! The clauses of [`encoding`] describe a cover of the free cells by one path and any number of
//! cycles, with an order between neighbours that the turns obey. Every solution of the clauses is
//! searched for cycles of that order ([`cycles`]). Clauses against those cycles are added, and the
//! solver runs again. Without a cycle the path covers all cells.

use batsat::{Callbacks, Solver, SolverInterface, SolverOpts, lbool};
use ouro_game::maze_dash::Board;

use crate::solve::{Answer, Progress, Solved};
use encoding::Encoding;

mod cycles;
mod encoding;

/// Asks the watch from inside of the solver.
struct Stop<'a> {
    watch: &'a (dyn Fn(Progress) -> bool + Sync),
    progress: Progress,
}

impl Callbacks for Stop<'_> {
    fn stop(&self) -> bool {
        !(self.watch)(self.progress)
    }
}

/// Solves `board`. A round of the progress is one run of the solver, a node one of its decisions.
pub(crate) fn solve(board: &Board, watch: &(dyn Fn(Progress) -> bool + Sync)) -> Solved {
    let starts = if board.start().is_some() { 1 } else { board.cells() };
    let progress = Progress { nodes: 0, round: 0, starts };
    let mut solver = Solver::new(SolverOpts::default(), Stop { watch, progress });
    let encoding = Encoding::new(board, &mut solver);
    loop {
        let nodes = solver.num_decisions();
        let progress = &mut solver.cb_mut().progress;
        progress.nodes = nodes;
        progress.round += 1;
        let progress = *progress;
        let end = |answer| Solved { answer, progress };
        if !watch(progress) {
            return end(Answer::Stopped);
        }
        let found = solver.solve_limited(&[]);
        if found == lbool::FALSE {
            return end(Answer::NoSolution);
        }
        if found != lbool::TRUE {
            return end(Answer::Stopped);
        }
        let Some(cuts) = cycles::cuts(&encoding, &solver, &|| watch(progress)) else {
            return end(Answer::Stopped);
        };
        if cuts.is_empty() {
            return end(Answer::Path(encoding.path(&solver)));
        }
        for mut cut in cuts {
            solver.add_clause_reuse(&mut cut);
        }
    }
}
