//! Area control: what a Battlesnake position is worth by the territory that each snake holds.
//!
//! All snakes flood the board at once from their heads; a cell belongs to who reaches it first,
//! to the longer snake if several do, and to nobody if the longest are equal. Bodies block the
//! flood until their tail has moved past; where every snake grows every turn, for good. A
//! snake's score is its share of the territory held by all, each cell weighted by what lies on it;
//! a hungry snake's is above all how near it is to food that it reaches first.
//!
//! Any ruleset, board and number of snakes; the flood works on sets of cells
//! ([`Bits`](ouro_game::battlesnake::Bits)), some word operations per snake and round.

mod flood;

use ouro_game::battlesnake::{Battlesnake, Cell, State};
use ouro_game::{Action, ActionMask};

use crate::Heuristic;

pub use flood::{Territory, flood};

/// The evaluation and its settings.
///
/// Every unfinished position is worth more than a draw to whoever lives, so that no snake gives
/// up a bad position by dying together with another: scores lie strictly inside (0, 1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AreaControl {
    /// Weight of a cell with food.
    pub food: f32,
    /// Weight of a cell with nothing on it.
    pub empty: f32,
    /// Weight of a cell with a hazard and no food.
    pub hazard: f32,
    /// Health below which a snake looks for food first.
    pub hungry_below: u8,
    /// Rounds of the flood: how many moves ahead territory is counted.
    pub rounds: u32,
}

impl Default for AreaControl {
    fn default() -> Self {
        Self { food: 20.0, empty: 5.0, hazard: 1.0, hungry_below: 60, rounds: 64 }
    }
}

/// Scores of hungry snakes lie in `LEAST..FED`, those of others in `FED..=TOP`.
const LEAST: f32 = 0.01;
const FED: f32 = 0.4;
const TOP: f32 = 0.95;

impl AreaControl {
    /// Weight of a snake's territory.
    fn weight<const W: usize, const S: usize>(
        &self,
        territory: &Territory<W, S>,
        snake: usize,
    ) -> f32 {
        let held = territory.cells[snake];
        let food = (held & territory.food).count() as f32;
        let hazard = (held & territory.hazard).without(territory.food).count() as f32;
        let empty = held.count() as f32 - food - hazard;
        food * self.food + hazard * self.hazard + empty * self.empty
    }

    /// Score of a snake with this share of the territory, `distance` moves from its next food; at
    /// most `farthest` moves are told apart.
    fn score(&self, share: f32, health: u8, distance: Option<u32>, farthest: u32) -> f32 {
        if health >= self.hungry_below {
            return FED + (TOP - FED) * share;
        }
        let steps = distance.map_or(0, |distance| farthest.saturating_sub(distance));
        // The share is worth less than one step.
        LEAST + (FED - LEAST) * (steps as f32 + 0.99 * share) / (farthest + 1) as f32
    }
}

impl<C: Cell, const W: usize, const S: usize> Heuristic<Battlesnake<C, W, S>> for AreaControl {
    fn evaluate(
        &mut self,
        game: &Battlesnake<C, W, S>,
        state: &State<C, W, S>,
        scores: &mut [f32],
    ) {
        let territory = flood(game, state, self.rounds);
        let mut weights = [0.0; S];
        let mut total = 0.0;
        for snake in state.living() {
            weights[snake] = self.weight(&territory, snake);
            total += weights[snake];
        }
        let alone = state.living().nth(1).is_none();
        if alone {
            // Nobody to share with: what counts is how much of the board can be reached.
            total = self.empty * game.geometry().cells() as f32;
        }
        let farthest = (game.geometry().width() + game.geometry().height()) as u32;
        for snake in state.living() {
            let share = if total > 0.0 { (weights[snake] / total).clamp(0.0, 1.0) } else { 0.0 };
            let (health, distance) = (state.health(snake), territory.food_distance[snake]);
            if let Some(score) = scores.get_mut(snake) {
                *score = self.score(share, health, distance, farthest);
            }
        }
    }

    /// Moves into no wall and no body that will still be there; any one move if there is none.
    fn candidates(
        &mut self,
        game: &Battlesnake<C, W, S>,
        state: &State<C, W, S>,
        player: usize,
        mask: &mut ActionMask,
    ) {
        mask.reset(4);
        let safe = game.safe_moves(state, player);
        for action in (0..4).filter(|action| safe >> action & 1 == 1 || safe == 0 && *action == 0) {
            mask.insert(Action(action));
        }
    }

    /// No food appears and no side closes in: either is unlikely within a search, and where is
    /// unknown.
    fn resolve_chance(&mut self, game: &Battlesnake<C, W, S>, state: &mut State<C, W, S>) {
        game.settle_idle(state);
    }
}
