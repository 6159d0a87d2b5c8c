//! The rollout policy of Connect Four, and rollouts with it.
//!
//! The policy looks one turn ahead. It completes a line if it can. Otherwise it blocks the
//! opponent's line and avoids moves that allow one: the *decisive* and *anti-decisive* moves of
//! Teytaud and Teytaud 2010, "On the huge benefit of decisive moves in Monte-Carlo tree search
//! algorithms".
//!
//! If other moves remain, the policy does not fill the cell below one that would complete its own
//! line, since the opponent would take the cell above. Threats therefore last until a player runs
//! out of other moves, and zugzwang decides as it does between strong players (Allis 1988, "A
//! knowledge-based approach of Connect-Four").
//!
//! The remaining moves are weighted by threats, the cells that complete a line. A move has weight
//! 1, plus 1 for each new threat of the mover, plus 2 for each new threat that the opponent would
//! get from a stone there.
//!
//! Contract: [`play`] draws the numbers and plays the moves of [`crate::rollout::guided`] with
//! the weights of [`weigh`].

use super::board::Board;
use super::state::State;
use crate::rng::Rng;

/// The stones relative to the player to move.
#[derive(Clone, Copy)]
struct View {
    board: Board,
    own: u64,
    other: u64,
}

impl View {
    fn new(state: &State) -> Self {
        let mover = state.mover();
        Self { board: state.board, own: state.stones[mover], other: state.stones[1 - mover] }
    }

    fn taken(&self) -> u64 {
        self.own | self.other
    }

    /// The candidate cells, and whether a stone there wins. No cells on a full board.
    fn candidates(&self) -> (u64, bool) {
        let taken = self.taken();
        let playable = self.board.playable(taken);
        let completing = self.board.completing(self.own, taken);
        let wins = playable & completing;
        if wins != 0 {
            return (wins, true);
        }
        let threats = self.board.completing(self.other, taken);
        let forced = playable & threats;
        let moves = if forced == 0 { playable } else { forced };
        let safe = moves & !(threats >> 1);
        let quiet = safe & !(completing >> 1);
        let candidates = match (safe, quiet) {
            (0, _) => moves,
            (_, 0) => safe,
            _ => quiet,
        };
        (candidates, false)
    }

    /// Writes the weights of two or more candidate cells, from the left. Returns their sum.
    fn weigh(&self, candidates: u64, weights: &mut [u32]) -> u32 {
        let taken = self.taken();
        let [mine, theirs] = [self.own, self.other].map(|own| self.board.completing(own, taken));
        let mut left = candidates;
        let mut total = 0;
        for weight in weights {
            if left == 0 {
                break;
            }
            let cell = left & left.wrapping_neg();
            left ^= cell;
            let gained = |own: u64, before: u64| {
                (self.board.completing(own | cell, taken | cell) & !before).count_ones()
            };
            *weight = 1 + gained(self.own, mine) + 2 * gained(self.other, theirs);
            total += *weight;
        }
        total
    }
}

/// Writes the weights of the columns, `[width]`; all 0 if the game is over.
pub(super) fn weigh(state: &State, weights: &mut [u32]) {
    weights.fill(0);
    if state.is_over() {
        return;
    }
    let view = View::new(state);
    let (candidates, wins) = view.candidates();
    let mut cells = [1; Board::MOST_COLUMNS];
    if !wins && !candidates.is_power_of_two() {
        view.weigh(candidates, &mut cells);
    }
    let mut cells = cells.iter();
    for (column, weight) in weights.iter_mut().enumerate().take(state.board.width()) {
        if candidates & state.board.column(column) != 0 {
            *weight = cells.next().copied().unwrap_or_default();
        }
    }
}

/// Plays until the game is over or `limit` stones have been dropped.
pub(super) fn play(state: &mut State, limit: u32, rng: &mut Rng) {
    if state.is_over() {
        return;
    }
    let first = state.mover();
    let mut view = View::new(state);
    let mut swapped = false;
    for _ in 0..limit {
        let (mut cells, wins) = view.candidates();
        if cells == 0 {
            break;
        }
        if wins || cells.is_power_of_two() {
            for _ in 0..rng.below(cells.count_ones()) {
                cells &= cells - 1;
            }
        } else {
            let mut weights = [0; Board::MOST_COLUMNS];
            let mut drawn = rng.below(view.weigh(cells, &mut weights));
            for weight in weights {
                if drawn < weight {
                    break;
                }
                drawn -= weight;
                cells &= cells - 1;
            }
        }
        let own = view.own | cells & cells.wrapping_neg();
        view = View { own: view.other, other: own, ..view };
        swapped = !swapped;
        if wins {
            break;
        }
    }
    let [own, other] = if swapped { [view.other, view.own] } else { [view.own, view.other] };
    state.stones[first] = own;
    state.stones[1 - first] = other;
}
