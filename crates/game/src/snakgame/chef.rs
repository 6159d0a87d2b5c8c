//! Chef, the random opponent of the official game.

use super::moves::Move;
use super::position::Position;
use crate::rng::{GAME_RNG, Rng};

/// A turn starts a freeze once in so many turns.
pub(super) const FREEZE_PERIOD: u32 = 500;
/// The longest freeze, in turns.
pub(super) const LONGEST_FREEZE: u32 = 50;
/// A snake that could be extended is given up once in so many turns.
pub(super) const NEW_PERIOD: u32 = 100;

/// Chef's policy, in the order of the contest's statement.
///
/// 1. A freeze of more than one turn continues.
/// 2. With probability 1/500 he freezes for 1 to 50 turns, uniformly.
/// 3. Without a snake, or with one that cannot be extended, he starts one on a uniform empty cell.
/// 4. With probability 99/100 he extends to a uniform cell among the empty neighbours of his ends.
///    A cell next to both ends counts once.
/// 5. Otherwise he starts a new snake on a uniform empty cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chef {
    rng: Rng,
    can_freeze: bool,
    frozen_turns: u8,
}

impl Chef {
    /// Chef of the game with `seed`. His draws are those of a [record](crate::record) of the
    /// official mode with this seed.
    pub fn new(seed: u64) -> Self {
        Self { rng: Rng::new(seed, GAME_RNG), can_freeze: true, frozen_turns: 0 }
    }

    /// The same policy without freezes, for the first side, which cannot freeze.
    pub fn without_freezes(seed: u64) -> Self {
        Self { rng: Rng::new(seed, "snakgame-chef-1st"), can_freeze: false, frozen_turns: 0 }
    }

    /// The move of the side to move. `Exit` if the game is over.
    pub fn choose(&mut self, position: &Position) -> Move {
        if position.is_over() {
            return Move::Exit;
        }
        if let Some(turns) = self.freeze() {
            self.frozen_turns = turns;
            return Move::Freeze(turns);
        }
        self.frozen_turns = 0;
        let count = position.extensions().count() as u32;
        if count > 0 && self.rng.below(NEW_PERIOD) != 0 {
            let chosen = self.rng.below(count) as usize;
            if let Some(action) = position.extensions().nth(chosen) {
                return action;
            }
        }
        let board = position.board();
        let number = self.rng.below(board.empty_count());
        board.nth_empty(number).map_or(Move::Exit, Move::New)
    }

    /// Turns of a freeze that continues or starts now.
    fn freeze(&mut self) -> Option<u8> {
        if self.frozen_turns > 1 {
            return Some(self.frozen_turns - 1);
        }
        let starts = self.can_freeze && self.rng.below(FREEZE_PERIOD) == 0;
        starts.then(|| self.rng.below(LONGEST_FREEZE) as u8 + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snakgame::{Board, Side};

    #[test]
    fn chef_freezes_4_85_percent_of_his_turns_and_gives_up_1_percent_of_his_snakes() {
        let (mut turns, mut frozen, mut extendable, mut given_up) = (0.0, 0.0, 0.0, 0.0);
        let mut starts = [0_u32; 51];
        // 60 games with 10,000 turns of Chef each.
        for seed in 0..60 {
            let mut position = Position::new(Board::new(300, 300, []).unwrap());
            let mut chef = Chef::new(seed);
            let mut last = 0;
            for _ in 0..20_000 {
                let could_extend = position.extensions().next().is_some();
                if position.to_move() == Side::First {
                    position.play(first_side(&position)).unwrap();
                    continue;
                }
                let action = chef.choose(&position);
                turns += 1.0;
                match action {
                    Move::Freeze(left) => {
                        frozen += 1.0;
                        if last > 1 {
                            assert_eq!(left, last - 1, "a freeze counts down");
                        } else {
                            starts[usize::from(left)] += 1;
                        }
                        last = left;
                    }
                    Move::New(_) if could_extend => {
                        (given_up, extendable, last) = (given_up + 1.0, extendable + 1.0, 0);
                    }
                    Move::Extend { .. } => (extendable, last) = (extendable + 1.0, 0),
                    _ => last = 0,
                }
                position.play(action).unwrap();
            }
        }
        // A decision takes 1 + 24.5/500 turns on average, of which 25.5/500 are frozen: 4.86 %.
        // Freezes come as a compound of 1,200 runs with mean 25.5 and second moment 858.5, so the
        // share has a standard error of sqrt(1,200 · 858.5) / 600,000 = 0.17 %. Four of
        // these leave 99.99 % confidence.
        let share: f64 = frozen / turns;
        assert!((share - 0.0486).abs() < 4.0 * 0.0017, "frozen share {share}");
        let deviation = (0.01_f64 * 0.99 / extendable).sqrt();
        let share: f64 = given_up / extendable;
        assert!((share - 0.01).abs() < 4.0 * deviation, "share of NEW {share}");
        assert!(starts[0] == 0 && starts[1..].iter().filter(|&&count| count > 0).count() > 45);
    }

    /// A cheap legal move, so that Chef has an opponent.
    fn first_side(position: &Position) -> Move {
        let fresh = position.board().empty_indices()[0] as usize;
        position.extensions().next().unwrap_or(Move::New(position.board().cell(fresh)))
    }

    #[test]
    fn extensions_are_chosen_uniformly() {
        let mut position = Position::new(Board::new(9, 9, []).unwrap());
        for line in ["NEW 1 1", "NEW 5 5", "MOVE 1 1 1 2", "MOVE 5 5 5 6", "MOVE 1 2 1 3"] {
            position.play(line.parse().unwrap()).unwrap();
        }
        let mut counts = std::collections::BTreeMap::new();
        let mut chef = Chef::without_freezes(3);
        for _ in 0..6_000 {
            if let Move::Extend { to, .. } = chef.choose(&position) {
                *counts.entry(to).or_insert(0_u32) += 1;
            }
        }
        assert_eq!(counts.len(), 6);
        // Binomial(6000, 0.99/6): 990 with deviation 28.8; 6 sigma.
        assert!(counts.values().all(|&count| count.abs_diff(990) < 173), "{counts:?}");
    }
}
