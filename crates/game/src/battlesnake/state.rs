//! A position of a game in packed form.
//!
//! Bodies are not lists of cells. One bit per cell says whether a living snake occupies it, and
//! two more bits hold the direction of the next cell towards the head. A step therefore touches
//! a few words per snake, whatever its length. Bodies of dead snakes are not kept, since the
//! rules never read them; [`DeadBodies`](super::DeadBodies) keeps them for drawing.
//!
//! Unused bits and entries are zero, so that equal states are equal bytes.

use std::fmt::Debug;

use serde::{Deserialize, Serialize};

use super::geometry::{Geometry, torus_cell};
use super::position::Death;
use super::snapshot::Snapshot;
use crate::grid::Bits;

/// The integer that holds a cell index.
pub trait Cell:
    Copy + Debug + Default + PartialEq + Eq + Send + Sync + Into<usize> + 'static
{
    /// Number of cells that this integer can index.
    const CELLS: usize;
    /// The integer of a cell index below [`CELLS`](Self::CELLS).
    fn new(index: usize) -> Self;
}

impl Cell for u8 {
    const CELLS: usize = 256;
    #[inline]
    fn new(index: usize) -> Self {
        index as Self
    }
}

impl Cell for u16 {
    const CELLS: usize = 65_536;
    #[inline]
    fn new(index: usize) -> Self {
        index as Self
    }
}

/// The chance outcome that is due before the turn is complete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pending {
    /// None: snakes move, or the game is over.
    #[default]
    Nothing,
    /// Which side of a royale board shrinks; food is next.
    Shrink,
    /// Whether one food appears, and where.
    Roll,
    /// Where this many foods appear, one after another.
    Food(u16),
}

/// A position of a game on a board of at most `64 * W` cells with at most `S` snakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Snapshot", into = "Snapshot", bound = "")]
pub struct State<C: Cell, const W: usize, const S: usize> {
    /// Cells of living snakes.
    pub(super) occupied: Bits<W>,
    /// Low and high bit of the direction towards the head; zero at heads.
    pub(super) toward: [Bits<W>; 2],
    /// Cells with food.
    pub(super) food: Bits<W>,
    /// Food in the order it appeared; a cell may repeat.
    pub(super) food_list: [[C; 64]; W],
    pub(super) deaths: [Option<Death>; S],
    pub(super) turn: u32,
    /// How often the left, right, bottom and top side has shrunk.
    pub(super) shrunk: [u16; 4],
    /// Cells including stacked ones; the length at death for dead snakes.
    pub(super) lengths: [u16; S],
    /// Extra repetitions of the tail cell.
    pub(super) stacks: [u16; S],
    pub(super) food_count: u16,
    pub(super) alive: u16,
    pub(super) pending: Pending,
    pub(super) heads: [C; S],
    pub(super) tails: [C; S],
    pub(super) health: [u8; S],
    pub(super) width: u8,
    pub(super) height: u8,
    pub(super) snakes: u8,
    /// Whether hazards are the cells that shrinking has lost, not those of the start.
    pub(super) closing: bool,
}

impl<C: Cell, const W: usize, const S: usize> State<C, W, S> {
    /// Cells where food may appear: without food and living bodies, not next to a living head.
    pub(super) fn legal_food(&self, geometry: &Geometry<W>) -> Bits<W> {
        let mut taken = self.food | self.occupied;
        for snake in self.living() {
            taken |= geometry.around(self.head(snake));
        }
        geometry.board() & !taken
    }

    /// A board without snakes or food.
    pub(super) fn empty(width: u8, height: u8, snakes: u8) -> Self {
        Self {
            occupied: Bits::EMPTY,
            toward: [Bits::EMPTY; 2],
            food: Bits::EMPTY,
            food_list: [[C::default(); 64]; W],
            deaths: [None; S],
            turn: 0,
            shrunk: [0; 4],
            lengths: [0; S],
            stacks: [0; S],
            food_count: 0,
            alive: 0,
            pending: Pending::Nothing,
            heads: [C::default(); S],
            tails: [C::default(); S],
            health: [0; S],
            width,
            height,
            snakes,
            closing: false,
        }
    }

    /// Turn number of the next move.
    pub fn turn(&self) -> u32 {
        self.turn
    }

    /// Health, 1 to 100; the health at death for a dead snake.
    pub fn health(&self, snake: usize) -> u8 {
        self.health[snake]
    }

    /// Cells of the body, stacked ones included; the length at death for a dead snake.
    pub fn length(&self, snake: usize) -> u16 {
        self.lengths[snake]
    }

    /// Cause and turn of a snake's death; `None` while alive.
    pub fn death(&self, snake: usize) -> Option<Death> {
        self.deaths[snake]
    }

    /// Cell of the head of a living snake.
    pub fn head(&self, snake: usize) -> usize {
        self.heads[snake].into()
    }

    /// Cell of the tail of a living snake.
    pub fn tail(&self, snake: usize) -> usize {
        self.tails[snake].into()
    }

    /// How often the tail cell is repeated: the number of moves for which the tail stays.
    pub fn tail_stack(&self, snake: usize) -> u16 {
        self.stacks[snake]
    }

    /// Cells of living snakes, heads and tails included.
    pub fn occupied(&self) -> Bits<W> {
        self.occupied
    }

    /// Cells with food.
    pub fn food_cells(&self) -> Bits<W> {
        self.food
    }

    /// Whether the snake lives.
    pub fn is_alive(&self, snake: usize) -> bool {
        snake < S && self.alive >> snake & 1 == 1
    }

    /// The living snakes, ascending.
    #[inline]
    pub fn living(&self) -> impl Iterator<Item = usize> + use<C, W, S> {
        members(self.alive)
    }

    /// The chance outcome that is due in this turn.
    pub fn pending(&self) -> Pending {
        self.pending
    }

    /// Food cells in order; a cell may repeat.
    pub fn food(&self) -> impl ExactSizeIterator<Item = usize> + '_ {
        self.food_list.as_flattened()[..usize::from(self.food_count)]
            .iter()
            .map(|&cell| cell.into())
    }

    /// Direction towards the head of the body cell at `cell`.
    #[inline]
    pub(super) fn direction(&self, cell: usize) -> usize {
        usize::from(self.toward[0].contains(cell)) | usize::from(self.toward[1].contains(cell)) << 1
    }

    /// Sets the direction of a body cell.
    #[inline]
    pub(super) fn point_towards(&mut self, cell: usize, direction: usize) {
        self.toward[0].set(cell, direction & 1 == 1);
        self.toward[1].set(cell, direction & 2 == 2);
    }

    /// The cell after `cell` towards the head.
    pub(super) fn next_towards_head(&self, cell: usize) -> usize {
        torus_cell(cell, self.direction(cell), self.width.into(), self.height.into())
    }

    /// Distinct cells of a living snake, tail first, stacked repetitions left out.
    pub fn trail(&self, snake: usize) -> impl Iterator<Item = usize> + '_ {
        let tail = self.is_alive(snake).then(|| self.tails[snake].into());
        let count = tail.map_or(0, |_| self.lengths[snake].saturating_sub(self.stacks[snake]));
        std::iter::successors(tail, |&cell| Some(self.next_towards_head(cell))).take(count.into())
    }

    /// Appends food. The cell may already have food.
    pub(super) fn add_food(&mut self, cell: usize) {
        let list = self.food_list.as_flattened_mut();
        if let Some(slot) = list.get_mut(usize::from(self.food_count)) {
            *slot = C::new(cell);
            self.food_count += 1;
            self.food.insert(cell);
        } else {
            debug_assert!(
                false,
                "positions with more food than the list can ever hold are refused"
            );
        }
    }

    /// Removes all food.
    pub(super) fn clear_food(&mut self) {
        self.food_list = [[C::default(); 64]; W];
        self.food_count = 0;
        self.food = Bits::EMPTY;
    }

    /// How often food lies on the cell.
    pub(super) fn food_on(&self, cell: usize) -> u16 {
        self.food().filter(|&food| food == cell).count() as u16
    }

    /// Removes the food on `eaten`, keeping the order of the rest.
    pub(super) fn remove_food(&mut self, eaten: Bits<W>) {
        let list = &mut self.food_list.as_flattened_mut()[..usize::from(self.food_count)];
        let mut kept = 0;
        for index in 0..list.len() {
            let cell = list[index];
            if !eaten.contains(cell.into()) {
                list[kept] = cell;
                kept += 1;
            }
        }
        list[kept..].fill(C::default());
        self.food_count = kept as u16;
        self.food &= !eaten;
    }
}

/// The indices of the bits set, ascending.
#[inline]
pub(super) fn members(set: u16) -> impl Iterator<Item = usize> {
    std::iter::successors((set != 0).then_some(set), |rest| {
        let rest = rest & (rest - 1);
        (rest != 0).then_some(rest)
    })
    .map(|rest| rest.trailing_zeros() as usize)
}
