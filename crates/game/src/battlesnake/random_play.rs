//! Random moves that avoid walls and bodies: rollouts of searches, and the load of benchmarks.

use super::rules::Battlesnake;
use super::state::{Cell, State};
use crate::rng::Rng;

/// For each of the 16 sets of moves, its moves and their number.
///
/// A table turns a draw into a move without a loop over bits.
const CHOICES: [([u8; 4], u32); 16] = choices();

const fn choices() -> [([u8; 4], u32); 16] {
    let mut table = [([0; 4], 0); 16];
    let mut mask = 0;
    while mask < 16 {
        let mut direction = 0;
        while direction < 4 {
            if mask >> direction & 1 == 1 {
                table[mask].0[table[mask].1 as usize] = direction;
                table[mask].1 += 1;
            }
            direction += 1;
        }
        mask += 1;
    }
    table
}

impl<C: Cell, const W: usize, const S: usize> Battlesnake<C, W, S> {
    /// Plays one random turn, chance included. The game must not be over.
    ///
    /// Every living snake draws uniformly from its [safe moves](Self::safe_moves), and moves up
    /// if it has none.
    #[inline]
    pub fn random_turn(&self, state: &mut State<C, W, S>, rng: &mut Rng) {
        let solid = self.solid(state);
        let mut moves = [0; S];
        for snake in state.living() {
            let (options, count) = CHOICES[usize::from(self.moves_off(state, snake, &solid))];
            moves[snake] = options[rng.below(count) as usize & 3];
        }
        self.step_moves(state, &moves, &mut ());
        self.settle_all(state, rng);
    }
}
