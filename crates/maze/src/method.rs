//! The methods that solve a board, by name.

use ouro_game::maze_dash::{Board, MAX_GAME_SIDE, MAX_SIDE};

use crate::solve::{Limits, Progress, Solved, solve};
use crate::{backtrack, sat, tree};

/// A complete method: it finds a path or proves that none exists, given enough time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Depth-first search with tests of the cells that are left, and restarts; see [`solve`].
    Search,
    /// Depth-first search without any test, as in the paper.
    Backtracking,
    /// Boolean satisfiability with lazy clauses against cycles.
    Sat,
    /// Tree search with roll-outs and blocked nodes, as in the paper; see [`ouro_search`].
    Mcts,
}

impl Method {
    /// All methods, the best first.
    pub const ALL: [Self; 4] = [Self::Search, Self::Backtracking, Self::Sat, Self::Mcts];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Search => "search",
            Self::Backtracking => "backtracking",
            Self::Sat => "sat",
            Self::Mcts => "mcts",
        }
    }

    /// The method with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name)
    }

    /// Largest side of a board.
    pub const fn max_side(self) -> usize {
        match self {
            Self::Mcts => MAX_GAME_SIDE as usize,
            _ => MAX_SIDE,
        }
    }

    /// Solves `board`. The answer [`NoSolution`](crate::Answer::NoSolution) is a proof.
    ///
    /// `watch` is called at least every few nodes; the search ends when it returns false. Only
    /// [`Method::Search`] uses several threads. A board beyond [`max_side`](Self::max_side) stops at once.
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
            Self::Mcts => tree::solve(board, limits.seed, watch),
        }
    }
}
