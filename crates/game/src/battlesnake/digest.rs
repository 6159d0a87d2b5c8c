//! A fast fingerprint of a state that is the same on every machine.
//!
//! Fields are packed into 64-bit words by arithmetic, never by memory layout, and mixed word
//! by word with the finalizer of `SplitMix64` (Steele, Lea and Flood 2014). It is no defence
//! against somebody who looks for collisions.

use super::position::{Cause, Death};
use super::state::{Cell, Pending, State};

struct Mixer(u64);

impl Mixer {
    fn add(&mut self, word: u64) {
        let mut mixed = (self.0 ^ word).wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        self.0 = mixed ^ mixed >> 31;
    }
}

impl<C: Cell, const W: usize, const S: usize> State<C, W, S> {
    /// The fingerprint. Every field takes part.
    pub(super) fn fingerprint(&self) -> u64 {
        let mut mixer = Mixer(0);
        for bits in [&self.occupied, &self.toward[0], &self.toward[1]] {
            bits.0.iter().for_each(|&word| mixer.add(word));
        }
        mixer.add(
            u64::from(self.turn)
                | u64::from(self.alive) << 32
                | u64::from(self.width) << 48
                | u64::from(self.height) << 56,
        );
        mixer.add(
            u64::from(self.snakes)
                | u64::from(self.closing) << 8
                | u64::from(self.food_count) << 16
                | pending(self.pending) << 32,
        );
        mixer.add(pack(self.shrunk));
        for snake in 0..self.snakes.into() {
            mixer.add(pack([
                self.heads[snake].into() as u16,
                self.tails[snake].into() as u16,
                self.lengths[snake],
                self.stacks[snake],
            ]));
            mixer.add(u64::from(self.health[snake]) | death(self.deaths[snake]) << 8);
        }
        let mut food = self.food();
        while food.len() > 0 {
            let mut four = [0; 4];
            four.iter_mut().zip(&mut food).for_each(|(slot, cell)| *slot = cell as u16);
            mixer.add(pack(four));
        }
        mixer.0
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
