//! Moves that are not immediately fatal, and the engine's default move.

use super::geometry::WALL;
use super::rules::Battlesnake;
use super::state::{Cell, State};
use crate::grid::Bits;

impl<C: Cell, const W: usize, const S: usize> Battlesnake<C, W, S> {
    /// Cells that living bodies still occupy after this turn's moves: all but tails that move.
    ///
    /// A snake that dies this turn before collisions are resolved frees its cells as well; this
    /// set does not predict that.
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

    /// Moves of a living snake that avoid walls and bodies, one bit per action; none for a dead
    /// snake.
    ///
    /// Tails that move are free. Head-to-head collisions, hazards and starvation are ignored.
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

    /// The move that the official engine substitutes for an unknown one: ahead in the direction
    /// from neck to head, or up if the neck is on the head's cell.
    pub fn default_move(&self, state: &State<C, W, S>, snake: usize) -> u8 {
        let neck = state
            .trail(snake)
            .take(state.lengths[snake].saturating_sub(state.stacks[snake] + 1).into())
            .last();
        neck.map_or(0, |neck| state.direction(neck) as u8)
    }
}
