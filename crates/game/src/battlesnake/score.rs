//! Rewards and outcomes of a game.

use super::position::Death;
use super::rules::Battlesnake;
use super::state::{Cell, State};

impl<C: Cell, const W: usize, const S: usize> Battlesnake<C, W, S> {
    /// The only living snake, in a game that is decided by survival.
    pub fn winner(&self, state: &State<C, W, S>) -> Option<usize> {
        let alone = !self.solo && state.alive.is_power_of_two();
        alone.then(|| state.alive.trailing_zeros() as usize)
    }

    /// Sum of rewards so far: turns survived, food eaten, death, and winning.
    pub(super) fn rewards(&self, state: &State<C, W, S>, snake: usize) -> f32 {
        if snake >= usize::from(self.config.snakes) {
            return 0.0;
        }
        let rewards = self.config.rewards;
        let (first, length) = match &self.start {
            Some(start) => (start.turn, start.lengths[snake]),
            None => (0, super::START_LENGTH),
        };
        let death = state.deaths[snake];
        let survived = death.map_or(state.turn, |death| death.on.saturating_sub(1));
        let mut sum = rewards.turn * survived.saturating_sub(first) as f32;
        if !self.constrictor {
            sum += rewards.food * f32::from(state.lengths[snake].saturating_sub(length));
        }
        if death.is_some() {
            sum += rewards.death;
        }
        if self.winner(state) == Some(snake) {
            sum += rewards.win;
        }
        sum
    }

    /// Outcome of a snake: 1 for the winner, −1 for a dead snake, 0 for a living one.
    ///
    /// If no snake is left, those that died last draw and get the [outcome of a
    /// draw](super::Config::draw_outcome).
    pub(super) fn result(&self, state: &State<C, W, S>, snake: usize) -> f32 {
        if self.winner(state) == Some(snake) {
            return 1.0;
        }
        match state.deaths.get(snake).copied().flatten() {
            Some(Death { on, .. }) if state.alive == 0 && Some(on) == last_death(state) => {
                self.config.draw_outcome()
            }
            Some(_) => -1.0,
            None => 0.0,
        }
    }
}

fn last_death<C: Cell, const W: usize, const S: usize>(state: &State<C, W, S>) -> Option<u32> {
    state.deaths.iter().flatten().map(|death| death.on).max()
}
