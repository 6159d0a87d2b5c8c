//! A fast digest of a state that is the same on every machine.
//!
//! Fields are packed into 64-bit words by arithmetic, never by memory layout.

use super::position::{Cause, Death};
use super::state::{Cell, Pending, State};
use crate::digest::WordHasher;

impl<C: Cell, const W: usize, const S: usize> State<C, W, S> {
    /// The digest of all fields.
    pub(super) fn digest(&self) -> u64 {
        let mut hasher = WordHasher::new();
        for bits in [&self.occupied, &self.toward[0], &self.toward[1]] {
            bits.0.iter().for_each(|&word| hasher.add(word));
        }
        hasher.add(
            u64::from(self.turn)
                | u64::from(self.alive) << 32
                | u64::from(self.width) << 48
                | u64::from(self.height) << 56,
        );
        hasher.add(
            u64::from(self.snakes)
                | u64::from(self.closing) << 8
                | u64::from(self.food_count) << 16
                | pending(self.pending) << 32,
        );
        hasher.add(pack(self.shrunk));
        for snake in 0..self.snakes.into() {
            hasher.add(pack([
                self.heads[snake].into() as u16,
                self.tails[snake].into() as u16,
                self.lengths[snake],
                self.stacks[snake],
            ]));
            hasher.add(u64::from(self.health[snake]) | death(self.deaths[snake]) << 8);
        }
        let mut food = self.food();
        while food.len() > 0 {
            let mut four = [0; 4];
            four.iter_mut().zip(&mut food).for_each(|(slot, cell)| *slot = cell as u16);
            hasher.add(pack(four));
        }
        hasher.finish()
    }
}

fn pack(words: [u16; 4]) -> u64 {
    words.iter().rev().fold(0, |packed, &word| packed << 16 | u64::from(word))
}

fn pending(pending: Pending) -> u64 {
    match pending {
        Pending::Nothing => 0,
        Pending::Shrink => 1,
        Pending::Roll => 2,
        Pending::Food(count) => 3 | u64::from(count) << 8,
    }
}

fn death(death: Option<Death>) -> u64 {
    let Some(Death { cause, by, on }) = death else { return 0 };
    let cause = match cause {
        Cause::Hazard => 1,
        Cause::OutOfHealth => 2,
        Cause::WallCollision => 3,
        Cause::SnakeSelfCollision => 4,
        Cause::SnakeCollision => 5,
        Cause::HeadCollision => 6,
    };
    cause | by.map_or(0, |by| u64::from(by) + 1) << 8 | u64::from(on) << 16
}
