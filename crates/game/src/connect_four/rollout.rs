//! Uniformly random play to the end, on bitboards.
//!
//! Contract: moves and draws are those of [`crate::rollout::uniform`]. A list holds the columns
//! with room, so that a move is one draw and one look-up; counting bits in every ply would cost
//! more than the rest of the move.

use super::board::Board;
use super::state::State;
use crate::rng::Rng;

/// Plays until the game is over or `limit` stones have been dropped.
pub(super) fn play(state: &mut State, limit: u32, rng: &mut Rng) {
    if state.is_over() {
        return;
    }
    let board = state.board();
    let mut taken = state.taken();
    let mut open = [0_u64; Board::MOST_COLUMNS];
    let mut count = 0;
    for column in 0..board.width() {
        let cells = board.column(column);
        if taken & cells != cells {
            open[count] = cells;
            count += 1;
        }
    }
    let first = state.mover();
    let [mut own, mut other] = [state.stones[first], state.stones[1 - first]];
    let mut swapped = false;
    for _ in 0..limit {
        let drawn = rng.below(count as u32) as usize;
        let cells = open[drawn];
        let stone = board.playable(taken) & cells;
        own |= stone;
        taken |= stone;
        if taken & cells == cells {
            open.copy_within(drawn + 1..count, drawn);
            count -= 1;
        }
        let over = count == 0 || board.has_line(own);
        std::mem::swap(&mut own, &mut other);
        swapped = !swapped;
        if over {
            break;
        }
    }
    state.stones[first] = if swapped { other } else { own };
    state.stones[1 - first] = if swapped { own } else { other };
}
