//! The simultaneous flood from all heads.

use super::rules::Battlesnake;
use super::state::{Cell, State};
use crate::game::Game;
use crate::grid::Bits;

/// The territory of each snake after a flood.
#[derive(Clone, Copy, Debug)]
pub struct Territory<const W: usize, const S: usize> {
    /// Cells that each living snake reaches before all others. A body cell, the snake's own head
    /// included, counts only if it is reached after the body has left it.
    pub cells: [Bits<W>; S],
    /// Moves to the nearest food in the snake's territory.
    pub food_distance: [Option<u32>; S],
    /// Cells with food.
    pub food: Bits<W>,
    /// Cells with a hazard.
    pub hazard: Bits<W>,
}

/// A snake's body as it shortens from the tail.
#[derive(Clone, Copy, Default)]
struct Tail {
    cell: usize,
    /// Rounds for which the tail stays.
    stack: u32,
    /// Whether the tail has reached the head.
    gone: bool,
}

/// Floods the board from all living heads for at most `rounds` moves.
///
/// The flood assumes that no snake eats, so a tail moves in every round once its stack is used
/// up. If every snake grows every turn
/// ([`Ruleset::is_constrictor`](super::Ruleset)), bodies stay: only a tail that
/// is not yet stacked moves, and only once.
pub fn flood<C: Cell, const W: usize, const S: usize>(
    game: &Battlesnake<C, W, S>,
    state: &State<C, W, S>,
    rounds: u32,
) -> Territory<W, S> {
    flood_each(game, state, rounds, |_, _, _| {})
}

/// Like [`flood`], and calls `won_cells` with the round, the snake and the cells that the snake reaches
/// first in this round.
pub(super) fn flood_each<C: Cell, const W: usize, const S: usize>(
    game: &Battlesnake<C, W, S>,
    state: &State<C, W, S>,
    rounds: u32,
    mut won_cells: impl FnMut(u32, usize, &Bits<W>),
) -> Territory<W, S> {
    let geometry = game.geometry();
    let mut territory = Territory {
        cells: [Bits::EMPTY; S],
        food_distance: [None; S],
        food: state.food_cells(),
        hazard: game.hazard_cells(state),
    };
    let (order, count) = longest_first(state);
    let order = &order[..count];
    let mut reached = [Bits::EMPTY; S];
    let mut tails = [Tail::default(); S];
    for &snake in order {
        reached[snake].insert(state.head(snake));
        let stack = u32::from(state.tail_stack(snake));
        tails[snake] = Tail { cell: state.tail(snake), stack, gone: false };
    }
    // The last round in which a body cell becomes free.
    let last_opening = if game.config().ruleset.is_constrictor() {
        1
    } else {
        order.iter().map(|&snake| u32::from(state.length(snake))).max().unwrap_or(0)
    };
    // Bodies, cells that a snake holds, and contested cells.
    let mut closed = state.occupied();
    for round in 1..=rounds {
        for &snake in order {
            let tail = &mut tails[snake];
            if round <= last_opening && round > tail.stack && !tail.gone {
                // The cell is free from this round on; until now it was in no territory.
                closed.remove(tail.cell);
                tail.gone = tail.cell == state.head(snake);
                tail.cell = game.towards_head(state, tail.cell);
            }
        }
        let mut grew = false;
        for rivals in order.chunk_by(|&left, &right| state.length(left) == state.length(right)) {
            let mut next = [Bits::EMPTY; S];
            let (mut once, mut twice) = (Bits::EMPTY, Bits::EMPTY);
            for &snake in rivals {
                next[snake] = geometry.spread(reached[snake]).without(closed);
                twice |= once & next[snake];
                once |= next[snake];
            }
            closed |= once;
            for &snake in rivals {
                let won = next[snake].without(twice);
                grew |= !won.is_empty();
                reached[snake] |= won;
                territory.cells[snake] |= won;
                won_cells(round, snake, &won);
                if territory.food_distance[snake].is_none() && !(won & territory.food).is_empty() {
                    territory.food_distance[snake] = Some(round);
                }
            }
        }
        // An enclosed region may open when a tail has passed.
        if !grew && round >= last_opening {
            break;
        }
    }
    territory
}

/// The living snakes by length, longest first, and their number.
fn longest_first<C: Cell, const W: usize, const S: usize>(
    state: &State<C, W, S>,
) -> ([usize; S], usize) {
    let (mut order, mut count) = ([0; S], 0);
    for snake in state.living() {
        let mut place = count;
        while place > 0 && state.length(order[place - 1]) < state.length(snake) {
            order[place] = order[place - 1];
            place -= 1;
        }
        order[place] = snake;
        count += 1;
    }
    (order, count)
}
