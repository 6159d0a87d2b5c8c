//! Images of states under the symmetries of the board.

use super::state::{Cell, State};
use crate::grid::{Bits, turned};
use crate::symmetry::Symmetry;

/// The direction towards each side of a board: left, right, bottom, top.
const SIDES: [usize; 4] = [2, 3, 1, 0];

impl<C: Cell, const W: usize, const S: usize> State<C, W, S> {
    /// The image of the whole board.
    pub(super) fn image(&self, symmetry: Symmetry) -> Self {
        let (width, height) = (usize::from(self.width), usize::from(self.height));
        let transposed = symmetry.cell(0, 1, 2, 2).1 == symmetry.cell(0, 0, 2, 2).1;
        let columns = if transposed { height } else { width };
        let cell = |cell: usize| {
            let (x, y) = symmetry.cell(cell % width, cell / width, width, height);
            y * columns + x
        };
        let mut image = *self;
        if transposed {
            (image.width, image.height) = (self.height, self.width);
        }
        image.occupied = Bits::EMPTY;
        image.toward = [Bits::EMPTY; 2];
        for from in self.occupied.iter() {
            image.occupied.insert(cell(from));
        }
        for snake in self.living() {
            image.heads[snake] = C::new(cell(self.heads[snake].into()));
            image.tails[snake] = C::new(cell(self.tails[snake].into()));
            for from in self.trail(snake).filter(|&from| from != self.head(snake)) {
                image.point_towards(cell(from), turned(self.direction(from), symmetry));
            }
        }
        image.clear_food();
        self.food().for_each(|food| image.add_food(cell(food)));
        for (side, &towards) in SIDES.iter().enumerate() {
            let image_side = SIDES.iter().position(|&to| to == turned(towards, symmetry));
            image.shrunk[image_side.unwrap_or(side)] = self.shrunk[side];
        }
        image
    }
}
