//! A perfect solver: the exact value of every Connect Four position.
//!
//! The search is alpha-beta in negamax form on bitboards, with known techniques for this game:
//!
//! * The board layout, the hash key and much of the move ordering follow John Tromp's
//!   Fhourstones.
//! * Leaving out moves that lose at once, ordering moves by the threats they make, and null
//!   windows that narrow the score follow Pascal Pons, "Solving Connect 4: how to build a perfect
//!   AI" (2015–2019).
//! * Answering every move in the same column is the *claimeven* rule of Victor Allis, "A
//!   knowledge-based approach of Connect-Four" (1988). It serves as a bound here.
//!
//! The first player wins the empty 7×6 board with the 41st stone by starting in the centre
//! (Allen and, independently, Allis, 1988). This solver finds the win from 566 million positions
//! with a table of 2^25 entries. On one core of an AMD EPYC under other load it took 173 s.
//! Random positions took 0.2 s on average after 8 stones, 20 ms after 14 and 0.3 ms after 20.

use super::board::Board;
use super::state::State;
use crate::action::Action;

mod search;
mod table;

use search::Position;
use table::Table;

/// The value of a position for the player to move, under perfect play.
///
/// A win with the winner's last stone of a full board scores 1, with the stone before that 2, and
/// so on: a larger score is a sooner win. A loss is the negated score of the winner; 0 is a draw.
/// Along best moves the end of the game is fixed, so every ply only changes the sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Score(i8);

/// The result under perfect play, for the player to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// The opponent wins.
    Loss,
    /// The game is drawn.
    Draw,
    /// The player to move wins.
    Win,
}

impl Score {
    /// The signed number.
    pub const fn value(self) -> i8 {
        self.0
    }

    /// The result without its distance.
    pub const fn outcome(self) -> Outcome {
        match self.0 {
            ..=-1 => Outcome::Loss,
            0 => Outcome::Draw,
            1.. => Outcome::Win,
        }
    }
}

/// Solves positions and keeps a transposition table, so that related positions take less time.
///
/// Results are exact and independent of the table. One solver handles boards of different sizes;
/// the table is cleared when the size changes.
#[derive(Clone, Debug)]
pub struct Solver {
    table: Table,
    size: (usize, usize),
    nodes: u64,
}

impl Default for Solver {
    fn default() -> Self {
        Self::new()
    }
}

impl Solver {
    /// A solver with a table of 64 MiB, of which only used pages take memory.
    pub fn new() -> Self {
        Self::with_table_bits(23)
    }

    /// A solver with a table of `2^bits` entries of 8 bytes, 2^17 to 2^30.
    pub fn with_table_bits(bits: u32) -> Self {
        Self { table: Table::new(bits), size: (0, 0), nodes: 0 }
    }

    /// Positions searched so far, over all calls.
    pub const fn nodes(&self) -> u64 {
        self.nodes
    }

    /// The value of a position for the player to move. A finished game has the value that its
    /// last stone decided.
    pub fn solve(&mut self, state: &State) -> Score {
        self.search_window(state, i32::MIN, i32::MAX)
    }

    /// The result of a position, which takes less work than its score.
    pub fn outcome(&mut self, state: &State) -> Outcome {
        self.search_window(state, -1, 1).outcome()
    }

    /// The value after each action, for the player who takes it; `None` for a full column. All
    /// are `None` if the game is over.
    pub fn scores(&mut self, state: &State) -> Vec<Option<Score>> {
        let after = |column| {
            let mut next = *state;
            (!state.is_over() && next.drop_stone(column)).then_some(next)
        };
        (0..state.board().width())
            .map(|column| after(column).map(|next| Score(-self.solve(&next).0)))
            .collect()
    }

    /// All actions that keep the value of the position, ascending; none if the game is over.
    ///
    /// Much less work than [`scores`](Self::scores): once the value is known, a null window
    /// decides for each action whether it keeps the value.
    pub fn best_moves(&mut self, state: &State) -> Vec<Action> {
        if state.is_over() {
            return Vec::new();
        }
        // The opponent's score after a best move; no move makes it lower.
        let least = -i32::from(self.solve(state).0);
        let mut keeps = |column: usize| {
            let mut next = *state;
            next.drop_stone(column)
                && i32::from(self.search_window(&next, least, least + 1).0) <= least
        };
        (0..state.board().width())
            .filter(|&column| keeps(column))
            .map(|column| Action(column as u32))
            .collect()
    }

    /// The only action that keeps the result, and that result for the player to move.
    ///
    /// `None` if several actions keep the result, if only one action is legal, or if the game is
    /// over. In a lost position every action keeps the loss. The method stops at the second
    /// action that keeps the result.
    pub fn only_move(&mut self, state: &State) -> Option<(Action, Outcome)> {
        let board = state.board();
        let playable = board.playable(state.taken());
        if state.is_over() || playable.is_power_of_two() {
            return None;
        }
        let outcome = self.outcome(state);
        // The greatest score of the opponent that still keeps the result.
        let most = match outcome {
            Outcome::Win => -1,
            Outcome::Draw => 0,
            Outcome::Loss => return None,
        };
        let mut only = None;
        for column in outwards(board) {
            let mut next = *state;
            if next.drop_stone(column)
                && i32::from(self.search_window(&next, most, most + 1).0) <= most
            {
                if only.is_some() {
                    return None;
                }
                only = Some(Action(column as u32));
            }
        }
        only.map(|action| (action, outcome))
    }

    /// The score, exact within `low..=high`. A score at or beyond an end of the window is a bound.
    fn search_window(&mut self, state: &State, low: i32, high: i32) -> Score {
        let size = (state.board().width(), state.board().height());
        if self.size != size {
            // Clearing an unused table would make all its pages resident.
            if self.nodes > 0 {
                self.table.clear();
            }
            self.size = size;
        }
        let position = Position::new(state);
        let score = match position.known() {
            Some(score) => score,
            None => search::converge(&position, low, high, &mut self.table, &mut self.nodes),
        };
        Score(score as i8)
    }
}

/// The columns from the middle outwards: a move that keeps the result is found soonest there.
fn outwards(board: Board) -> impl Iterator<Item = usize> {
    let middle = board.width() / 2;
    (0..board.width()).map(move |index| {
        let away = index.div_ceil(2);
        if index % 2 == 1 { middle - away } else { middle + away }
    })
}
