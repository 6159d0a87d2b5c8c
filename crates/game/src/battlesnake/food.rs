//! Chance after a step: a royale board shrinks, food appears.
//!
//! The official engine places food up to `minimumFood`, or else one food with a probability of
//! `foodSpawnChance - 1` percent, on free cells that are not next to a head. Here every draw is a
//! chance node, so that searches can enumerate outcomes.
//! [`settle_all`](Battlesnake::settle_all) draws the same numbers in one pass.

use super::config::Map;
use super::rules::Battlesnake;
use super::state::{Cell, Pending, State};
use crate::error::StepError;
use crate::game::Chance;
use crate::grid::Bits;
use crate::rng::Rng;

impl<C: Cell, const W: usize, const S: usize> Battlesnake<C, W, S> {
    /// Cells where food may appear.
    pub fn legal_food(&self, state: &State<C, W, S>) -> Bits<W> {
        state.legal_food(&self.geometry)
    }

    /// The food draw that is due in this turn.
    #[inline]
    pub(super) fn pending_food(&self, state: &State<C, W, S>) -> Pending {
        if self.config.map == Map::Empty {
            return Pending::Nothing;
        }
        let missing = self.config.minimum_food.saturating_sub(state.food_count);
        if missing > 0 {
            let free = self.legal_food(state).count() as u16;
            return if free == 0 { Pending::Nothing } else { Pending::Food(missing.min(free)) };
        }
        if self.config.food_spawn_chance > 1 { Pending::Roll } else { Pending::Nothing }
    }

    /// Draws whether food appears: true for `chance - 1` of 100 equally likely rolls.
    #[inline]
    fn roll(&self, rng: &mut Rng) -> bool {
        rng.below(100) + u32::from(self.config.food_spawn_chance) > 100
    }

    pub(super) fn chance_node(&self, state: &State<C, W, S>) -> Chance {
        let count = match state.pending {
            Pending::Nothing => 1,
            Pending::Shrink => 4,
            Pending::Roll => 1 + self.legal_food(state).count(),
            Pending::Food(_) => self.legal_food(state).count().max(1),
        };
        Chance::Enumerable { count }
    }

    pub(super) fn probability(&self, state: &State<C, W, S>, outcome: u32) -> f64 {
        let Chance::Enumerable { count } = self.chance_node(state) else { return 0.0 };
        if outcome >= count {
            return 0.0;
        }
        if state.pending != Pending::Roll {
            return 1.0 / f64::from(count);
        }
        let spawns = f64::from(self.config.food_spawn_chance.saturating_sub(1)) / 100.0;
        match (outcome, count - 1) {
            (0, 0) => 1.0,
            (0, _) => 1.0 - spawns,
            (_, cells) => spawns / f64::from(cells),
        }
    }

    pub(super) fn draw(&self, state: &State<C, W, S>, rng: &mut Rng) -> u32 {
        match state.pending {
            Pending::Nothing => 0,
            Pending::Shrink => rng.below(4),
            Pending::Roll if !self.roll(rng) => 0,
            Pending::Roll => match self.legal_food(state).count() {
                0 => 0,
                cells => 1 + rng.below(cells),
            },
            Pending::Food(_) => rng.below(self.legal_food(state).count()),
        }
    }

    pub(super) fn resolve(
        &self,
        state: &mut State<C, W, S>,
        outcome: u32,
    ) -> Result<(), StepError> {
        let impossible = StepError::ImpossibleOutcome { outcome };
        match state.pending {
            Pending::Nothing => return Err(StepError::NotAChanceNode),
            Pending::Shrink => {
                let side = state.shrunk.get_mut(outcome as usize).ok_or(impossible)?;
                *side = side.saturating_add(1);
                state.pending = self.pending_food(state);
            }
            Pending::Roll => {
                if let Some(nth) = outcome.checked_sub(1) {
                    let cell = self.legal_food(state).nth(nth).ok_or(impossible)?;
                    state.add_food(cell);
                }
                state.pending = Pending::Nothing;
            }
            Pending::Food(left) => {
                let legal = self.legal_food(state);
                if legal.is_empty() && outcome == 0 {
                    state.pending = Pending::Nothing;
                    return Ok(());
                }
                state.add_food(legal.nth(outcome).ok_or(impossible)?);
                state.pending = if left > 1 { Pending::Food(left - 1) } else { Pending::Nothing };
            }
        }
        Ok(())
    }

    /// Draws all pending chance outcomes.
    ///
    /// Draws and result equal those of the chance nodes one by one, but the legal cells are
    /// computed once.
    #[inline]
    pub fn settle_all(&self, state: &mut State<C, W, S>, rng: &mut Rng) {
        if state.pending == Pending::Shrink {
            let side = &mut state.shrunk[rng.below(4) as usize];
            *side = side.saturating_add(1);
            state.pending = self.pending_food(state);
        }
        let wanted = match state.pending {
            Pending::Nothing | Pending::Shrink => 0,
            Pending::Roll => u16::from(self.roll(rng)),
            Pending::Food(left) => left,
        };
        state.pending = Pending::Nothing;
        if wanted > 0 {
            self.place(state, wanted, rng);
        }
    }

    /// Places food on up to `wanted` distinct legal cells.
    fn place(&self, state: &mut State<C, W, S>, wanted: u16, rng: &mut Rng) {
        let mut legal = self.legal_food(state);
        let mut free = legal.count();
        for _ in 0..wanted {
            let Some(nth) = (free > 0).then(|| rng.below(free)) else { return };
            let Some(cell) = legal.nth(nth) else { return };
            state.add_food(cell);
            legal.remove(cell);
            free -= 1;
        }
    }
}
