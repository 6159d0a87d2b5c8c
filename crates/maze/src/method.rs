//! The methods that solve a board, by name.

use ouro_game::maze_dash::Board;

use crate::solve::{Limits, Progress, Solved, solve};
use crate::{backtrack, sat};

/// A complete method: it finds a path or proves that none exists, given enough time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Depth-first search with tests of the cells that are left, and restarts; see [`solve`].
    Search,
    /// Depth-first search without any test, as in the paper.
    Backtracking,
    /// Boolean satisfiability with lazy clauses against cycles.
    Sat,
}

impl Method {
    /// All methods, the best first.
    pub const ALL: [Self; 3] = [Self::Search, Self::Backtracking, Self::Sat];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Search => "search",
            Self::Backtracking => "backtracking",
            Self::Sat => "sat",
        }
    }

    /// The method with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name)
    }

    /// Solves `board`. The answer [`NoSolution`](crate::Answer::NoSolution) is a proof.
    ///
    /// `watch` is called every few nodes; the search ends when it returns false. Only
    /// [`Method::Search`] uses the limits.
    pub fn solve(
        self,
        board: &Board,
        limits: Limits,
        watch: &(dyn Fn(Progress) -> bool + Sync),
    ) -> Solved {
        match self {
            Self::Search => solve(board, limits, watch),
            Self::Backtracking => backtrack::solve(board, watch),
            Self::Sat => sat::solve(board, watch),
        }
    }
}
