//! Observations: what a snake sees, as feature planes.
//!
//! Planes are `[channels, height, width]`, row y = 0 first. "Body" planes hold, for each cell,
//! the number of turns until the body has left it if nothing is eaten, stacked repetitions
//! included. The number is divided by `width + height` and cut at 1, since no path across the
//! board is longer.
//!
//! | plane | content |
//! |---|---|
//! | 0 | 1 on the board, so that a network sees its edges |
//! | 1 | own head: 1 |
//! | 2 | own body, head included |
//! | 3 | own tail: 1 |
//! | 4 | heads of opponents: 1 |
//! | 5 | bodies of opponents, heads included |
//! | 6 | heads of opponents at least as long: 1 |
//! | 7 | heads of shorter opponents: 1 |
//! | 8 | heads of opponents: their health / 100 |
//! | 9 | food: 1 |
//! | 10 | hazards: count / 4, cut at 1 |
//! | 11 | own health / 100, everywhere |
//! | 12 | own length / number of cells, cut at 1, everywhere |
//! | 13 | turns until a royale board shrinks / turns between shrinks, everywhere; else 0 |
//! | 14 | cells that the snake reaches before all others ([`flood`](fn@super::flood)): nearness |
//! | 15 | cells that an opponent reaches before all others: nearness |
//! | 16 | share of cells 14 in cells 14 and 15, everywhere; 0.5 if there are none |
//! | 17 | 0.5 + (own length − that of the longest opponent) / 16, cut at 0 and 1, everywhere |
//!
//! Nearness is 1 for a cell that is reached with the next move and falls by 1 / (`width` + `height`)
//! with each further move. Cells that are reached later than that keep the last value above 0.

use super::flood::flood_each;
use super::rules::Battlesnake;
use super::state::{Cell, State};
use crate::game::PlaneShape;

const CHANNELS: usize = 18;
/// Planes before area control and differences of length were added.
pub(super) const EARLIER_CHANNELS: [usize; 1] = [14];

impl<C: Cell, const W: usize, const S: usize> Battlesnake<C, W, S> {
    pub(super) fn plane_shape(&self) -> PlaneShape {
        let (height, width) = (self.geometry.height(), self.geometry.width());
        PlaneShape { channels: CHANNELS, height, width }
    }

    pub(super) fn write_planes(&self, state: &State<C, W, S>, player: usize, out: &mut [f32]) {
        let cells = self.geometry.cells();
        let mut planes = out.chunks_exact_mut(cells);
        let mut fill = |value: f32| {
            let plane = planes.next().unwrap_or_default();
            plane.fill(value);
            plane
        };
        fill(1.0);
        let [own_head, own_body, own_tail] = std::array::from_fn(|_| fill(0.0));
        let [heads, bodies, longer, shorter, healths] = std::array::from_fn(|_| fill(0.0));
        let [food, hazards] = std::array::from_fn(|_| fill(0.0));
        let (health, length) = if state.is_alive(player) {
            (state.health[player], state.lengths[player])
        } else {
            (0, 0)
        };
        fill(f32::from(health) / 100.0);
        fill((f32::from(length) / cells as f32).min(1.0));
        fill(self.until_shrink(state));
        let mut territory = [fill(0.0), fill(0.0)];
        if !territory[1].is_empty() {
            let share = self.write_territory(state, player, &mut territory);
            fill(share);
            fill(lead(state, player));
        }

        for snake in state.living() {
            let (head, own) = (state.head(snake), snake == player);
            self.write_body(state, snake, if own { &mut *own_body } else { &mut *bodies });
            if own {
                set(own_head, head, 1.0);
                set(own_tail, state.tails[snake].into(), 1.0);
            } else {
                set(heads, head, 1.0);
                let rank =
                    if state.lengths[snake] >= length { &mut *longer } else { &mut *shorter };
                set(rank, head, 1.0);
                set(healths, head, f32::from(state.health[snake]) / 100.0);
            }
        }
        for cell in state.food.iter() {
            set(food, cell, 1.0);
        }
        if state.closing || !self.hazards.is_empty() {
            for (cell, hazard) in hazards.iter_mut().enumerate() {
                *hazard = (f32::from(self.hazards_on(state, cell)) / 4.0).min(1.0);
            }
        }
    }

    /// Writes the cells that the player and its opponents reach first; returns the player's share.
    fn write_territory(
        &self,
        state: &State<C, W, S>,
        player: usize,
        [own, others]: &mut [&mut [f32]; 2],
    ) -> f32 {
        let horizon = (self.geometry.width() + self.geometry.height()) as u32;
        let mut counts = [0_usize; 2];
        flood_each(self, state, 4 * horizon, |round, snake, won| {
            let nearness = (horizon + 1).saturating_sub(round).max(1) as f32 / horizon as f32;
            let (plane, count) = if snake == player {
                (&mut **own, &mut counts[0])
            } else {
                (&mut **others, &mut counts[1])
            };
            for cell in won.iter() {
                set(plane, cell, nearness);
                *count += 1;
            }
        });
        let [own, others] = counts.map(|count| count as f32);
        if own + others > 0.0 { own / (own + others) } else { 0.5 }
    }

    /// Writes how long each body cell of a living snake stays occupied.
    fn write_body(&self, state: &State<C, W, S>, snake: usize, plane: &mut [f32]) {
        let horizon = (self.geometry.width() + self.geometry.height()) as f32;
        let mut cell = state.tails[snake].into();
        for turns in state.stacks[snake]..state.lengths[snake] {
            set(plane, cell, ((f32::from(turns) + 1.0) / horizon).min(1.0));
            cell = self.geometry.torus(cell, state.direction(cell));
        }
    }

    fn until_shrink(&self, state: &State<C, W, S>) -> f32 {
        if !self.royale {
            return 0.0;
        }
        let every = self.config.shrink_every_n_turns;
        (every - state.turn % every) as f32 / every as f32
    }
}

/// How much longer a living snake is than its longest living opponent, on a scale from 0 to 1.
fn lead<C: Cell, const W: usize, const S: usize>(state: &State<C, W, S>, player: usize) -> f32 {
    let length = |snake: usize| f32::from(state.lengths[snake]);
    let others = state.living().filter(|&snake| snake != player).map(length);
    match others.reduce(f32::max) {
        Some(longest) if state.is_alive(player) => {
            (0.5 + (length(player) - longest) / 16.0).clamp(0.0, 1.0)
        }
        _ => 0.5,
    }
}

/// Writes a cell. A cell of a state that is larger than the rules' board is left out.
fn set(plane: &mut [f32], cell: usize, value: f32) {
    if let Some(slot) = plane.get_mut(cell) {
        *slot = value;
    }
}
