//! The simultaneous flood from all heads.

use ouro_game::Game;
use ouro_game::battlesnake::{Battlesnake, Bits, Cell, State};

/// Who holds what after a flood.
#[derive(Clone, Copy, Debug)]
pub struct Territory<const W: usize, const S: usize> {
    /// Cells that each living snake reaches before all others. Where a body lies, that can be
    /// only after it has moved on; so it is for the snake's own head.
    pub cells: [Bits<W>; S],
    /// Moves to the nearest food that the snake holds.
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
    /// Rounds for which it stays.
    stack: u32,
    /// Whether it has reached the head.
    gone: bool,
}

/// Floods the board from all living heads for at most `rounds` moves.
///
/// Nobody is assumed to eat, so a tail moves with every round once its stack is used up. Where
/// every snake grows every turn ([`Ruleset::is_constrictor`](ouro_game::battlesnake::Ruleset)),
/// bodies stay: only a tail that is not stacked yet moves, and only once.
pub fn flood<C: Cell, const W: usize, const S: usize>(
    game: &Battlesnake<C, W, S>,
    state: &State<C, W, S>,
    rounds: u32,
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
    // The last round in which a cell of a body opens.
    let last_opening = if game.config().ruleset.is_constrictor() {
        1
    } else {
        order.iter().map(|&snake| u32::from(state.length(snake))).max().unwrap_or(0)
    };
    // Bodies, and cells that somebody holds or several contest.
    let mut closed = state.occupied();
    for round in 1..=rounds {
        for &snake in order {
            let tail = &mut tails[snake];
            if round <= last_opening && round > tail.stack && !tail.gone {
                // Who has reached it from elsewhere has passed; nobody holds a body's cell.
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
                if territory.food_distance[snake].is_none() && !(won & territory.food).is_empty() {
                    territory.food_distance[snake] = Some(round);
                }
            }
        }
        // What is shut in now may get out when a tail has passed.
        if !grew && round >= last_opening {
            break;
        }
    }
    territory
}

/// The living snakes by length, longest first, and how many they are.
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
