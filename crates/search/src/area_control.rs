//! Area control: evaluates a Battlesnake position by the territory of each snake.
//!
//! All snakes flood the board simultaneously from their heads. A cell belongs to the snake that
//! reaches it first, to the longest if several do, and to no snake if the longest are equal.
//! Bodies block the flood until their tail has moved on; if every snake grows every turn, they
//! block it for good. A snake's score is its share of all territory, each cell weighted by its
//! contents. The score of a hungry snake depends mainly on its distance to food that it reaches
//! first. A lead in length can count as further territory.
//!
//! Any ruleset, board and number of snakes works. The flood operates on sets of cells
//! ([`Bits`](ouro_game::battlesnake::Bits)) with a few word operations per snake and round.

use ouro_game::battlesnake::{Battlesnake, Cell, State};
use ouro_game::{Action, ActionMask};

use crate::heuristic::Heuristic;

pub use ouro_game::battlesnake::{Territory, flood};

/// The heuristic and its settings.
///
/// Scores lie strictly inside (0, 1): every unfinished position is worth more than a draw to a
/// living snake. No snake therefore escapes a bad position by dying together with another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AreaControl {
    /// Weight of a cell with food.
    pub food: f32,
    /// Weight of an empty cell.
    pub empty: f32,
    /// Weight of a cell with a hazard and no food.
    pub hazard: f32,
    /// Health below which a snake is hungry.
    pub hungry_below: u8,
    /// Rounds of the flood: how many moves ahead territory is counted.
    pub rounds: u32,
    /// Weight of length: what a lead of one cell over the longest other snake counts, in thousandths of
    /// the territory. 0 leaves length out.
    pub length: f32,
    /// Largest lead or deficit that counts, in cells.
    pub lead: f32,
}

impl Default for AreaControl {
    fn default() -> Self {
        Self {
            food: 20.0,
            empty: 5.0,
            hazard: 1.0,
            hungry_below: 60,
            rounds: 64,
            length: 0.0,
            lead: 10.0,
        }
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

    /// What the length of a snake adds to its share of the territory.
    fn length_share<C: Cell, const W: usize, const S: usize>(
        &self,
        state: &State<C, W, S>,
        snake: usize,
    ) -> f32 {
        if self.length == 0.0 {
            return 0.0;
        }
        let others = state.living().filter(|other| *other != snake);
        let Some(longest) = others.map(|other| state.length(other)).max() else { return 0.0 };
        let lead = state.length(snake) as f32 - longest as f32;
        self.length / 1_000.0 * lead.clamp(-self.lead, self.lead)
    }

    /// Score of a snake with this share of the territory, `distance` moves from its nearest food.
    /// Distances beyond `farthest` moves count as `farthest`.
    fn score(&self, share: f32, health: u8, distance: Option<u32>, farthest: u32) -> f32 {
        if health >= self.hungry_below {
            return FED + (TOP - FED) * share;
        }
        let steps = distance.map_or(0, |distance| farthest.saturating_sub(distance));
        // The share counts less than one step, so a nearer food always scores higher.
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
            // A single snake would hold all territory, so its share of the board counts instead.
            total = self.empty * game.geometry().cells() as f32;
        }
        let farthest = (game.geometry().width() + game.geometry().height()) as u32;
        for snake in state.living() {
            let share = if total > 0.0 { weights[snake] / total } else { 0.0 };
            let share = (share + self.length_share(state, snake)).clamp(0.0, 1.0);
            let (health, distance) = (state.health(snake), territory.food_distance[snake]);
            if let Some(score) = scores.get_mut(snake) {
                *score = self.score(share, health, distance, farthest);
            }
        }
    }

    /// Moves that avoid walls and bodies that will still be there. A snake without such moves gets those
    /// into bodies of snakes that may be removed first. A snake without those gets one arbitrary move.
    fn candidates(
        &mut self,
        game: &Battlesnake<C, W, S>,
        state: &State<C, W, S>,
        player: usize,
        mask: &mut ActionMask,
    ) {
        mask.reset(4);
        let moves = match game.safe_moves(state, player) {
            0 => last_resort(game, state, player),
            safe => safe,
        };
        for action in (0..4).filter(|action| moves >> action & 1 == 1) {
            mask.insert(Action(action));
        }
    }

    /// Assumes that no food appears and no side shrinks: both are rare within a search, and their
    /// location is unknown.
    fn resolve_chance(&mut self, game: &Battlesnake<C, W, S>, state: &mut State<C, W, S>) {
        game.settle_idle(state);
    }
}

/// Moves of a snake without a safe one.
///
/// A snake that starves, leaves the board or dies of a hazard is removed before collisions are
/// resolved, so its body may be no obstacle. If every move is certain death, the first stands for all.
#[cold]
fn last_resort<C: Cell, const W: usize, const S: usize>(
    game: &Battlesnake<C, W, S>,
    state: &State<C, W, S>,
    player: usize,
) -> u8 {
    match game.viable_moves(state, player) {
        0 => 1,
        viable => viable,
    }
}
