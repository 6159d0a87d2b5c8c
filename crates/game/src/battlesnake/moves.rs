//! Moves that are not fatal at once, and the engine's own move for one it cannot read.

use super::geometry::WALL;
use super::rules::Battlesnake;
use super::state::{Cell, State};
use crate::grid::Bits;

impl<C: Cell, const W: usize, const S: usize> Battlesnake<C, W, S> {
    /// Cells that a living body will still hold when heads arrive: all but tails that move on.
    ///
    /// A snake that dies this turn before collisions are judged frees its cells as well; that
    /// is not foreseen here.
    #[inline]
    pub fn solid(&self, state: &State<C, W, S>) -> Bits<W> {
        let mut solid = state.occupied;
        for snake in state.living() {
            if state.stacks[snake] == 0 {
                solid.remove(state.tails[snake].into());
            }
        }
        solid
    }

    /// Moves of a living snake into no wall and no body, one bit per action; none for a dead
    /// snake. Tails that move on are free, heads that may meet are not foreseen, hazards and
    /// hunger do not count.
    #[inline]
    pub fn safe_moves(&self, state: &State<C, W, S>, snake: usize) -> u8 {
        if state.is_alive(snake) { self.moves_off(state, snake, &self.solid(state)) } else { 0 }
    }

    /// Moves of a living snake into cells outside `solid`, one bit per action.
    #[inline]
    pub fn moves_off(&self, state: &State<C, W, S>, snake: usize, solid: &Bits<W>) -> u8 {
        let mut mask = 0;
        for (direction, cell) in
            self.geometry.ahead(state.heads[snake].into()).into_iter().enumerate()
        {
            let open = cell != WALL && !solid.contains(cell.into());
            mask |= u8::from(open) << direction;
        }
        mask
    }

    /// The move that the rules put in place of one they do not know: on in the direction from
    /// neck to head, up if the neck is under the head.
    pub fn default_move(&self, state: &State<C, W, S>, snake: usize) -> u8 {
        let neck = state
            .trail(snake)
            .take(state.lengths[snake].saturating_sub(state.stacks[snake] + 1).into())
            .last();
        neck.map_or(0, |neck| state.direction(neck) as u8)
    }
}
