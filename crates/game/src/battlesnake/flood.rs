//! The simultaneous flood from all heads.

use super::geometry::Geometry;
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
    won_cells: impl FnMut(u32, usize, &Bits<W>),
) -> Territory<W, S> {
    let (order, count) = longest_first(state);
    let order = &order[..count];
    // If the compiler knows the number of snakes, it keeps their sets in registers.
    match count {
        0..=2 => flood_of::<C, W, S, 2>(game, state, order, rounds, won_cells),
        3..=4 => flood_of::<C, W, S, 4>(game, state, order, rounds, won_cells),
        _ => flood_of::<C, W, S, S>(game, state, order, rounds, won_cells),
    }
}

/// The flood of at most `N` snakes. Arrays have an entry for each, in the order of length, longest
/// first. Entries beyond the last snake reach nothing.
#[inline]
fn flood_of<C: Cell, const W: usize, const S: usize, const N: usize>(
    game: &Battlesnake<C, W, S>,
    state: &State<C, W, S>,
    order: &[usize],
    rounds: u32,
    mut won_cells: impl FnMut(u32, usize, &Bits<W>),
) -> Territory<W, S> {
    let mut territory = Territory {
        cells: [Bits::EMPTY; S],
        food_distance: [None; S],
        food: state.food_cells(),
        hazard: game.hazard_cells(state),
    };
    let (mut reached, mut cells) = ([Bits::EMPTY; N], [Bits::EMPTY; N]);
    // Whether a snake is as long as the one before it.
    let mut ties = [false; N];
    for (rank, &snake) in order.iter().enumerate() {
        reached[rank] = Bits::one(state.head(snake));
        ties[rank] = rank > 0 && state.length(order[rank - 1]) == state.length(snake);
    }
    let mut tails = Tails::<N>::new(state, order);
    // The last round in which a body cell becomes free.
    let last_opening = if game.config().ruleset.is_constrictor() {
        1
    } else {
        order.first().map_or(0, |&snake| u32::from(state.length(snake)))
    };
    // Bodies, cells that a snake holds, and contested cells.
    let mut closed = state.occupied();
    for round in 1..=rounds {
        if round <= last_opening {
            tails.shorten(game, state, round, &mut closed);
        }
        let won = advance(game.geometry(), &reached, &ties, &mut closed);
        let mut grew = false;
        for rank in 0..N {
            grew |= !won[rank].is_empty();
            reached[rank] |= won[rank];
            cells[rank] |= won[rank];
            if let Some(&snake) = order.get(rank) {
                won_cells(round, snake, &won[rank]);
                let distance = &mut territory.food_distance[snake];
                if distance.is_none() && !(won[rank] & territory.food).is_empty() {
                    *distance = Some(round);
                }
            }
        }
        // An enclosed region may open when a tail has passed.
        if !grew && round >= last_opening {
            break;
        }
    }
    for (&snake, &held) in order.iter().zip(&cells) {
        territory.cells[snake] = held;
    }
    territory
}

/// Moves all fronts by one step and returns the cells that each snake reaches first. Cells that are
/// reached are closed afterwards, contested ones too.
#[inline]
fn advance<const W: usize, const N: usize>(
    geometry: &Geometry<W>,
    reached: &[Bits<W>; N],
    ties: &[bool; N],
    closed: &mut Bits<W>,
) -> [Bits<W>; N] {
    let mut next = [Bits::EMPTY; N];
    // Cells that several snakes of this length reach, up to this snake.
    let mut contested = [Bits::EMPTY; N];
    let mut open = !*closed;
    for rank in 0..N {
        if !ties[rank] {
            open = !*closed;
        }
        next[rank] = geometry.spread(reached[rank]) & open;
        if ties[rank] {
            // Equally long snakes have closed these cells in this round.
            contested[rank] = contested[rank - 1] | (next[rank] & *closed);
        }
        *closed |= next[rank];
    }
    for rank in (0..N).rev() {
        if rank + 1 < N && ties[rank + 1] {
            contested[rank] = contested[rank + 1];
        }
        next[rank] = next[rank].without(contested[rank]);
    }
    next
}

/// Bodies as they shorten from the tail.
struct Tails<const N: usize> {
    cells: [usize; N],
    heads: [usize; N],
    /// The round from which on the tail moves.
    moves_from: [u32; N],
}

impl<const N: usize> Tails<N> {
    /// The tails of the snakes in `order`. Further entries never move.
    fn new<C: Cell, const W: usize, const S: usize>(
        state: &State<C, W, S>,
        order: &[usize],
    ) -> Self {
        let mut tails = Self { cells: [0; N], heads: [0; N], moves_from: [u32::MAX; N] };
        for (rank, &snake) in order.iter().enumerate() {
            tails.cells[rank] = state.tail(snake);
            tails.heads[rank] = state.head(snake);
            tails.moves_from[rank] = u32::from(state.tail_stack(snake)) + 1;
        }
        tails
    }

    /// Opens the cells that tails leave in a round.
    #[inline]
    fn shorten<C: Cell, const W: usize, const S: usize>(
        &mut self,
        game: &Battlesnake<C, W, S>,
        state: &State<C, W, S>,
        round: u32,
        closed: &mut Bits<W>,
    ) {
        for rank in 0..N {
            if round >= self.moves_from[rank] {
                let cell = self.cells[rank];
                // The cell is free from this round on; until now it was in no territory.
                *closed = closed.without(Bits::one(cell));
                if cell == self.heads[rank] {
                    self.moves_from[rank] = u32::MAX;
                }
                self.cells[rank] = game.towards_head(state, cell);
            }
        }
    }
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
