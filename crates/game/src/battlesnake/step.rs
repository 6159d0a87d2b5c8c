//! One turn of the official pipeline for all snakes.
//!
//! Collisions are resolved after all snakes have moved and eaten. The occupied cells are then
//! exactly the bodies without heads, and the heads are looked up in them. Most turns have no
//! collision and take one pass over the snakes;
//! [`resolve_collisions`](Battlesnake::resolve_collisions) handles the rest.

use super::dead_bodies::StepObserver;
use super::geometry::WALL;
use super::position::{Cause, Death, Point};
use super::rules::Battlesnake;
use super::state::{Cell, Pending, State, members};
use crate::grid::{Bits, STEPS};

/// Cells of the heads after a move, or [`WALL`].
type Heads<const S: usize> = [u16; S];

impl<C: Cell, const W: usize, const S: usize> Battlesnake<C, W, S> {
    /// Plays one turn up to its chance outcomes.
    ///
    /// `moves` holds a direction (0 up, 1 down, 2 left, 3 right) for every living snake; entries
    /// of dead snakes are ignored. The game must not be over and no chance outcome may be
    /// pending; [`Game::step`](crate::Game::step) checks both.
    #[inline]
    pub fn step_moves<O: StepObserver>(
        &self,
        state: &mut State<C, W, S>,
        moves: &[u8; S],
        observer: &mut O,
    ) {
        let on = state.turn.saturating_add(1);
        let mut heads = [WALL; S];
        let mut eaten = Bits::EMPTY;
        let mut dead = 0_u16;
        for snake in state.living() {
            let old = state.heads[snake].into();
            let direction = usize::from(moves[snake] & 3);
            let head = self.geometry.ahead(old)[direction];
            heads[snake] = head;
            self.move_body(state, snake, old, direction);
            if let Some(cause) = self.update_health(state, snake, head, &mut eaten) {
                state.deaths[snake] = Some(Death { cause, by: None, on });
                dead |= 1 << snake;
            }
        }
        for snake in members(dead) {
            self.remove_body(state, snake, moves[snake], observer);
        }
        let mut claimed = Bits::EMPTY;
        let mut clash = false;
        for snake in state.living() {
            let head = usize::from(heads[snake]);
            clash |= state.occupied.contains(head) | claimed.contains(head);
            clash |= is_coiled(state, snake);
            claimed.insert(head);
        }
        if clash {
            claimed = self.resolve_collisions(state, &heads, moves, on, observer);
        }
        for toward in &mut state.toward {
            *toward &= state.occupied;
        }
        state.occupied |= claimed;
        for snake in state.living() {
            state.heads[snake] = C::new(heads[snake].into());
        }
        if !eaten.is_empty() {
            state.remove_food(eaten);
        }
        self.end_turn(state, on, observer);
    }

    /// Moves the body behind the head: the old head becomes the neck, the last cell is freed.
    #[inline]
    fn move_body(&self, state: &mut State<C, W, S>, snake: usize, old: usize, direction: usize) {
        state.point_towards(old, direction);
        if state.stacks[snake] > 0 {
            state.stacks[snake] -= 1;
        } else {
            let tail = state.tails[snake].into();
            state.occupied.remove(tail);
            state.tails[snake] = C::new(self.geometry.torus(tail, state.direction(tail)));
        }
    }

    /// Applies starvation, hazards and food, and returns the cause if the snake dies of them or
    /// of a wall. Food stays on the board until all snakes have eaten.
    #[inline]
    fn update_health(
        &self,
        state: &mut State<C, W, S>,
        snake: usize,
        head: u16,
        eaten: &mut Bits<W>,
    ) -> Option<Cause> {
        let health = &mut state.health[snake];
        *health = health.saturating_sub(1);
        if head == WALL {
            return Some(if *health == 0 { Cause::OutOfHealth } else { Cause::WallCollision });
        }
        let cell = usize::from(head);
        if state.food.contains(cell) {
            *health = 100;
            let foods = state.food_on(cell);
            state.lengths[snake] = state.lengths[snake].saturating_add(foods);
            state.stacks[snake] = state.stacks[snake].saturating_add(foods);
            eaten.insert(cell);
            return None;
        }
        if state.closing || !self.hazards.is_empty() {
            let stack = i32::from(self.hazards_on(state, cell));
            if stack > 0 {
                // A stack hits or heals in one direction only, so its sum may be clamped once.
                let damage = stack * i32::from(self.config.hazard_damage_per_turn);
                let left = (i32::from(state.health[snake]) - damage).clamp(0, 100);
                state.health[snake] = left as u8;
                if left == 0 {
                    return Some(Cause::Hazard);
                }
            }
        }
        (state.health[snake] == 0).then_some(Cause::OutOfHealth)
    }

    /// Resolves the collisions of the remaining snakes and removes the bodies of those that die.
    /// Returns the heads of the survivors.
    #[cold]
    #[inline(never)]
    fn resolve_collisions<O: StepObserver>(
        &self,
        state: &mut State<C, W, S>,
        heads: &Heads<S>,
        moves: &[u8; S],
        on: u32,
        observer: &mut O,
    ) -> Bits<W> {
        let mut collisions = [None; S];
        for snake in state.living() {
            collisions[snake] = self.collision(state, heads, snake);
        }
        let mut claimed = Bits::EMPTY;
        for snake in state.living() {
            if let Some((cause, by)) = collisions[snake] {
                state.deaths[snake] = Some(Death { cause, by: Some(by as u8), on });
                self.remove_body(state, snake, moves[snake], observer);
            } else {
                claimed.insert(heads[snake].into());
            }
        }
        claimed
    }

    /// The fatal collision of a snake's head, if any: with its own body, another body, or the
    /// head of a snake that is not shorter.
    fn collision(
        &self,
        state: &State<C, W, S>,
        heads: &Heads<S>,
        snake: usize,
    ) -> Option<(Cause, usize)> {
        let head = heads[snake];
        let meets = |other: usize| heads[other] == head;
        let hits_body = |owner: usize| {
            is_coiled(state, owner) && meets(owner)
                || state.occupied.contains(head.into())
                    && self.behind(state, owner).any(|cell| cell == usize::from(head))
        };
        if hits_body(snake) {
            return Some((Cause::SnakeSelfCollision, snake));
        }
        // The engine attributes the death to the longest snake, the first of equals.
        let longest = |best: usize, other: usize| {
            if state.lengths[other] > state.lengths[best] { other } else { best }
        };
        let others = || state.living().filter(|&other| other != snake);
        if let Some(owner) = others().filter(|&other| hits_body(other)).reduce(longest) {
            return Some((Cause::SnakeCollision, owner));
        }
        let rival = others().filter(|&other| meets(other)).reduce(longest)?;
        (state.lengths[snake] <= state.lengths[rival]).then_some((Cause::HeadCollision, rival))
    }

    /// Distinct cells of a snake that has moved, tail first, without the head.
    fn behind(&self, state: &State<C, W, S>, snake: usize) -> impl Iterator<Item = usize> {
        let count = state.lengths[snake].saturating_sub(state.stacks[snake] + 1);
        let tail: usize = state.tails[snake].into();
        std::iter::successors(Some(tail), |&cell| {
            Some(self.geometry.torus(cell, state.direction(cell)))
        })
        .take(count.into())
    }

    /// Removes a snake that died in this turn from the board.
    #[cold]
    fn remove_body<O: StepObserver>(
        &self,
        state: &mut State<C, W, S>,
        snake: usize,
        direction: u8,
        observer: &mut O,
    ) {
        observer.snake_died(snake, || self.body_at_death(state, snake, direction));
        let mut cell: usize = state.tails[snake].into();
        let count = self.behind(state, snake).count();
        for _ in 0..count {
            state.occupied.remove(cell);
            cell = self.geometry.torus(cell, state.direction(cell));
        }
        state.alive &= !(1 << snake);
        state.heads[snake] = C::default();
        state.tails[snake] = C::default();
        state.stacks[snake] = 0;
    }

    /// The cells of a snake that died in this turn, head first; the head may be off the board.
    fn body_at_death(&self, state: &State<C, W, S>, snake: usize, direction: u8) -> Vec<Point> {
        let direction = usize::from(direction & 3);
        let old = state.heads[snake].into();
        let head = match self.geometry.ahead(old)[direction] {
            WALL => {
                let (at, (dx, dy)) = (self.geometry.point(old), STEPS[direction]);
                Point { x: at.x + dx, y: at.y + dy }
            }
            cell => self.geometry.point(cell.into()),
        };
        let mut body: Vec<Point> =
            self.behind(state, snake).map(|cell| self.geometry.point(cell)).collect();
        body.push(head);
        body.reverse();
        let tail = body[body.len() - 1];
        body.extend(std::iter::repeat_n(tail, state.stacks[snake].into()));
        body
    }

    /// Applies the ruleset and the map after collisions.
    #[inline]
    fn end_turn<O: StepObserver>(&self, state: &mut State<C, W, S>, on: u32, observer: &mut O) {
        if self.constrictor {
            self.constrict(state);
            observer.snakes_grew();
        }
        state.turn = on;
        if self.royale {
            state.closing = true;
            if on < self.config.shrink_every_n_turns {
                state.shrunk = [0; 4];
            } else if on.is_multiple_of(self.config.shrink_every_n_turns) {
                state.pending = Pending::Shrink;
                return;
            }
        }
        state.pending = self.pending_food(state);
    }

    /// Removes all food; every snake gets full health and grows unless its tail is stacked.
    fn constrict(&self, state: &mut State<C, W, S>) {
        state.clear_food();
        state.health[..self.config.snakes.into()].fill(100);
        for snake in state.living() {
            if state.stacks[snake] == 0 && state.lengths[snake] > 1 {
                state.stacks[snake] = 1;
                state.lengths[snake] = state.lengths[snake].saturating_add(1);
            }
        }
    }
}

/// Whether all cells of a snake of two or more cells lie under its head.
///
/// After a move this is a snake of a single cell that has just eaten. The rules count it as a
/// collision with itself.
#[inline]
fn is_coiled<C: Cell, const W: usize, const S: usize>(
    state: &State<C, W, S>,
    snake: usize,
) -> bool {
    state.stacks[snake] > 0 && state.lengths[snake] == state.stacks[snake] + 1
}
