//! Path finding on a board whose bodies shorten over time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use ouro_game::Game;
use ouro_game::battlesnake::{Battlesnake, Cell, State, WALL};

/// An entry of the open list, ordered by smallest estimate, then most moves, then lowest cell.
type Open = Reverse<(u32, Reverse<u32>, usize, u32, u8)>;

/// The move number of cells that no move frees.
const NEVER: u32 = u32::MAX;

/// Finds paths and counts reachable cells; keeps its tables between calls.
#[derive(Debug, Default)]
pub(super) struct Router {
    /// The number of the move with which a head may first enter each cell: 0 or 1 for free cells,
    /// more for bodies, [`NEVER`] for bodies that stay.
    free_at: Vec<u32>,
    /// The least health that it costs to reach each cell.
    spent: Vec<u32>,
    open: BinaryHeap<Open>,
    queue: Vec<(usize, u32)>,
}

impl Router {
    /// Computes when each body cell becomes free if no snake eats.
    ///
    /// If every snake grows every turn, no body cell becomes free except a tail that is not yet
    /// stacked.
    pub(super) fn survey<C: Cell, const W: usize, const S: usize>(
        &mut self,
        game: &Battlesnake<C, W, S>,
        state: &State<C, W, S>,
    ) {
        let grows = game.config().ruleset.is_constrictor();
        self.free_at.clear();
        self.free_at.resize(game.geometry().cells(), 0);
        for snake in state.living() {
            let stack = u32::from(state.tail_stack(snake));
            for (moves, cell) in (1..).zip(state.trail(snake)) {
                let moves = moves + stack;
                self.free_at[cell] = if grows && moves > 1 { NEVER } else { moves };
            }
        }
    }

    /// Number of cells that can be reached from `cell`, itself included, if the next move enters
    /// `cell`.
    pub(super) fn room<C: Cell, const W: usize, const S: usize>(
        &mut self,
        game: &Battlesnake<C, W, S>,
        cell: usize,
    ) -> u32 {
        const UNSEEN: u32 = u32::MAX;
        self.spent.clear();
        self.spent.resize(game.geometry().cells(), UNSEEN);
        self.queue.clear();
        self.queue.push((cell, 1));
        self.spent[cell] = 1;
        let mut next = 0;
        while let Some(&(cell, moves)) = self.queue.get(next) {
            next += 1;
            for ahead in game.geometry().ahead(cell).into_iter().filter(|&ahead| ahead != WALL) {
                let ahead = usize::from(ahead);
                if self.spent[ahead] == UNSEEN && moves + 1 >= self.free_at[ahead] {
                    self.spent[ahead] = moves + 1;
                    self.queue.push((ahead, moves + 1));
                }
            }
        }
        self.queue.len() as u32
    }

    /// The first step of the path to food that costs the least health, if the snake survives one.
    /// `first` holds the moves that the path may start with.
    ///
    /// A* (Hart, Nilsson and Raphael 1968) over cells. The heuristic is the distance to the
    /// nearest food on an empty board, which never overestimates.
    pub(super) fn first_step_to_food<C: Cell, const W: usize, const S: usize>(
        &mut self,
        game: &Battlesnake<C, W, S>,
        state: &State<C, W, S>,
        snake: usize,
        first: u8,
    ) -> Option<u8> {
        let health = u32::from(state.health(snake));
        let food = state.food_cells();
        self.spent.clear();
        self.spent.resize(game.geometry().cells(), u32::MAX);
        self.open.clear();
        let head = state.head(snake);
        self.spent[head] = 0;
        self.extend(game, state, (head, 0, 0), |direction| {
            (first >> direction & 1 == 1).then_some(direction)
        });
        while let Some(Reverse((_, Reverse(moves), cell, spent, step))) = self.open.pop() {
            if food.contains(cell) {
                return Some(step);
            }
            // No food here, so the snake must survive the cell to continue.
            if spent < health && spent == self.spent[cell] {
                self.extend(game, state, (cell, moves, spent), |_| Some(step));
            }
        }
        None
    }

    /// Opens the neighbours of a path's end; `step` maps a direction to the path's first step.
    fn extend<C: Cell, const W: usize, const S: usize>(
        &mut self,
        game: &Battlesnake<C, W, S>,
        state: &State<C, W, S>,
        (cell, moves, spent): (usize, u32, u32),
        step: impl Fn(u8) -> Option<u8>,
    ) {
        for (direction, ahead) in (0_u8..).zip(game.geometry().ahead(cell)) {
            let Some(step) = step(direction).filter(|_| ahead != WALL) else { continue };
            let ahead = usize::from(ahead);
            // Food protects from the hazard on its cell.
            let cost = if state.food_cells().contains(ahead) {
                1
            } else {
                game.move_cost(state, ahead).max(1).unsigned_abs()
            };
            let spent = spent + cost;
            if moves + 1 >= self.free_at[ahead] && spent < self.spent[ahead] {
                self.spent[ahead] = spent;
                let estimate = spent + distance_to_food(game, state, ahead);
                self.open.push(Reverse((estimate, Reverse(moves + 1), ahead, spent, step)));
            }
        }
    }
}

/// Steps from a cell to the nearest food on an empty board; 0 if there is no food.
fn distance_to_food<C: Cell, const W: usize, const S: usize>(
    game: &Battlesnake<C, W, S>,
    state: &State<C, W, S>,
    cell: usize,
) -> u32 {
    let geometry = game.geometry();
    let (width, height) = (geometry.width(), geometry.height());
    let along = |from: usize, to: usize, side: usize| {
        let apart = from.abs_diff(to);
        if geometry.is_wrapped() { apart.min(side - apart) } else { apart }
    };
    let distance = |food: usize| {
        along(cell % width, food % width, width) + along(cell / width, food / width, height)
    };
    state.food().map(distance).min().unwrap_or(0) as u32
}
