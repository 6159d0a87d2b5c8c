//! The search: null-window negamax with bounds from the table and from pairing strategies.

use super::table::{Bounds, Table};
use crate::connect_four::board::Board;
use crate::connect_four::state::State;

/// A position relative to the player to move.
#[derive(Clone, Copy, Debug)]
pub(super) struct Position {
    board: Board,
    /// Stones of the player to move.
    own: u64,
    /// Stones of both.
    taken: u64,
    plies: i32,
}

/// Positions with at least this many empty cells share a key with their mirror image. Later
/// positions rarely meet their mirror image, so the extra work would not pay.
const MIRROR_EMPTY: i32 = 24;

/// With at least this many empty cells, the table entries of all children are probed first.
const PROBE_EMPTY: i32 = 12;

impl Position {
    pub(super) fn new(state: &State) -> Self {
        let mover = state.mover();
        Self {
            board: state.board,
            own: state.stones[mover],
            taken: state.taken(),
            plies: state.plies() as i32,
        }
    }

    fn cells(&self) -> i32 {
        self.board.cells() as i32
    }

    fn opponent(&self) -> u64 {
        self.own ^ self.taken
    }

    /// The score if no search is needed, because the game is over or the next stone wins.
    pub(super) fn known(&self) -> Option<i32> {
        let playable = self.board.playable(self.taken);
        if self.board.has_line(self.opponent()) {
            Some(-(self.cells() + 2 - self.plies) / 2)
        } else if playable == 0 {
            Some(0)
        } else if playable & self.board.completing(self.own, self.taken) != 0 {
            Some((self.cells() + 1 - self.plies) / 2)
        } else {
            None
        }
    }

    /// The position after a stone of the mover at `cell`.
    fn after(&self, cell: u64) -> Self {
        Self {
            board: self.board,
            own: self.opponent(),
            taken: self.taken | cell,
            plies: self.plies + 1,
        }
    }

    /// A unique key of each position; mirror images share it early in the game.
    fn key(&self) -> u64 {
        // In a column of n stones the sum lies in 2^n - 1 ..= 2^(n + 1) - 2, so it determines n
        // and then the owners.
        let key = self.own + self.taken;
        if self.cells() - self.plies < MIRROR_EMPTY {
            return key;
        }
        key.min(self.board.mirror(key))
    }

    /// The moves after which the opponent cannot win with the next stone.
    fn safe_moves(&self) -> u64 {
        let playable = self.board.playable(self.taken);
        let threats = self.board.completing(self.opponent(), self.taken);
        let forced = playable & threats;
        let candidates = match forced.count_ones() {
            0 => playable,
            1 => forced,
            _ => return 0,
        };
        // A stone right below a threat would let the opponent complete it.
        candidates & !(threats >> 1)
    }

    /// Bounds from answering each move in the same column (Allis's claimeven, for the whole
    /// board at once).
    ///
    /// Pair the empty cells of each column from the top. If no column has an odd cell left, the
    /// player who is *not* to move can always answer on top of the last stone. The mover then
    /// gets all lower cells of the pairs and the answering player all upper cells. If the lower
    /// cells give the mover no line, the answering player does not lose. If the upper cells also
    /// give the answering player a line, the answering player wins. With one odd cell, the mover
    /// can take it and become the answering player.
    fn paired_bounds(&self) -> Bounds {
        let (full, rows) = (self.board.full(), self.board.upper_rows());
        let empty = full & !self.taken;
        let odd = self.board.playable(self.taken) & rows;
        let mut bounds = Bounds { lower: i32::MIN, upper: i32::MAX };
        if odd == 0 {
            if !self.board.has_line(self.own | empty & !rows) {
                let wins = self.board.has_line(self.opponent() | empty & rows);
                bounds.upper = -i32::from(wins);
            }
        } else if odd.is_power_of_two() && !self.board.has_line(self.opponent() | empty & !rows) {
            let wins = self.board.has_line(self.own | empty & rows);
            bounds.lower = i32::from(wins);
        }
        bounds
    }
}

/// The score of a position that is not over and cannot be won at once, exact between `low`
/// and `high`.
///
/// Each step tests with a null window whether the score is above some value, which prunes far
/// better than an open window. Values near 0 are tested first, since they decide quickest.
pub(super) fn converge(
    position: &Position,
    low: i32,
    high: i32,
    table: &mut Table,
    nodes: &mut u64,
) -> i32 {
    let mut lower = low.max(-(position.cells() - position.plies) / 2);
    let mut upper = high.min((position.cells() + 1 - position.plies) / 2);
    while lower < upper {
        let middle = lower + (upper - lower) / 2;
        let ask = if middle <= 0 && lower / 2 < middle {
            lower / 2
        } else if middle >= 0 && upper / 2 > middle {
            upper / 2
        } else {
            middle
        };
        let ask = ask.clamp(lower, upper - 1);
        let found = negamax(position, ask, table, nodes);
        if found <= ask {
            upper = found;
        } else {
            lower = found;
        }
    }
    lower
}

/// A bound that decides whether the score is above `alpha`.
///
/// The result is an upper bound if it is at most `alpha`, and a lower bound otherwise. The mover
/// must have no winning move.
fn negamax(position: &Position, alpha: i32, table: &mut Table, nodes: &mut u64) -> i32 {
    *nodes += 1;
    let started = *nodes;
    let empty = position.cells() - position.plies;
    let moves = position.safe_moves();
    if moves == 0 {
        return -(empty / 2);
    }
    if empty <= 2 {
        return 0;
    }
    // Neither player can win with the next two stones.
    let mut bounds = Bounds { lower: -((empty - 2) / 2), upper: (empty - 1) / 2 };
    let pairs = position.paired_bounds();
    bounds.lower = bounds.lower.max(pairs.lower);
    bounds.upper = bounds.upper.min(pairs.upper);
    if bounds.lower > alpha {
        return bounds.lower;
    }
    if bounds.upper <= alpha {
        return bounds.upper;
    }
    let key = position.key();
    if let Some(known) = table.get(key) {
        bounds.lower = bounds.lower.max(known.lower);
        bounds.upper = bounds.upper.min(known.upper);
        if bounds.lower > alpha {
            return bounds.lower;
        }
        if bounds.upper <= alpha {
            return bounds.upper;
        }
    }

    let (order, count) = ordered(position, moves);
    let children = order[..count].iter().map(|&cell| position.after(cell));
    if empty >= PROBE_EMPTY {
        for child in children.clone() {
            let Some(known) = table.get(child.key()) else { continue };
            if -known.upper > alpha {
                return -known.upper;
            }
        }
    }
    let mut best = i32::MIN;
    for child in children {
        best = best.max(-negamax(&child, -alpha - 1, table, nodes));
        if best > alpha {
            break;
        }
    }
    if best > alpha {
        bounds.lower = bounds.lower.max(best);
    } else {
        bounds.upper = bounds.upper.min(best);
    }
    table.put(key, bounds, *nodes + 1 - started);
    if best > alpha { bounds.lower } else { bounds.upper }
}

/// The cells of `moves` in the order to try them: those that make most threats first, the
/// centre before the sides. Returns how many there are.
fn ordered(position: &Position, moves: u64) -> ([u64; 16], usize) {
    let Position { board, own, taken, .. } = *position;
    let mut cells = [0; 16];
    let mut scores = [0; 16];
    let mut count = 0;
    let middle = board.width() / 2;
    for index in 0..board.width() {
        // The middle, then alternately further out to the left and to the right.
        let away = index.div_ceil(2);
        let column = if index % 2 == 1 { middle - away } else { middle + away };
        let cell = moves & board.column(column);
        if cell == 0 {
            continue;
        }
        let threats = board.completing(own | cell, taken | cell).count_ones();
        let mut slot = count;
        while slot > 0 && scores[slot - 1] < threats {
            scores[slot] = scores[slot - 1];
            cells[slot] = cells[slot - 1];
            slot -= 1;
        }
        scores[slot] = threats;
        cells[slot] = cell;
        count += 1;
    }
    (cells, count)
}
