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

    /// Moves of a living snake that it can survive, one bit per action; none for a dead snake.
    ///
    /// A move is left out if the snake dies of it whatever the others do: of a wall, of hunger, of a
    /// hazard, or in a body that surely stays. The body of another snake stays unless that snake
    /// can die of the first three, since such a snake is removed before collisions are resolved.
    #[inline]
    pub fn viable_moves(&self, state: &State<C, W, S>, snake: usize) -> u8 {
        if !state.is_alive(snake) {
            return 0;
        }
        let solid = self.solid(state);
        let mut mask = 0;
        for (direction, cell) in
            self.geometry.ahead(state.heads[snake].into()).into_iter().enumerate()
        {
            let survives = self.survives_alone(state, snake, cell)
                // A snake of one cell that eats lies under its own head, which kills it.
                && (state.lengths[snake] > 1 || !state.food.contains(cell.into()))
                && (!solid.contains(cell.into()) || self.may_become_free(state, snake, cell.into()));
            mask |= u8::from(survives) << direction;
        }
        mask
    }

    /// Whether a snake that moves to `head` dies neither of the wall nor of hunger nor of hazards.
    #[inline]
    fn survives_alone(&self, state: &State<C, W, S>, snake: usize, head: u16) -> bool {
        if head == WALL {
            return false;
        }
        let cell = usize::from(head);
        let health = i32::from(state.health[snake]);
        // Without hazards only starvation is possible, and rarely.
        if health > 1 && self.hazards.is_empty() && !state.closing || state.food.contains(cell) {
            return true;
        }
        let stack = i32::from(self.hazards_on(state, cell));
        let damage = stack * i32::from(self.config.hazard_damage_per_turn);
        // Health may reach 0 before hazards heal it.
        (health - 1).max(0) - damage > 0
    }

    /// Whether a snake other than `snake` owns the cell and can be removed before collisions.
    #[cold]
    fn may_become_free(&self, state: &State<C, W, S>, snake: usize, cell: usize) -> bool {
        state.living().filter(|&other| other != snake).any(|other| {
            let ahead = self.geometry.ahead(state.heads[other].into());
            let can_die = ahead.into_iter().any(|head| !self.survives_alone(state, other, head));
            can_die && state.trail(other).any(|owned| owned == cell)
        })
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
