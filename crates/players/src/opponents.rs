//! Opponents of the newest weights in training: self-play, hard pool members, any pool member.
//!
//! Self-play alone can cycle and forget how to beat earlier opponents. A share of the games
//! therefore goes to members of the pool in proportion to their difficulty, by prioritised
//! fictitious self-play (Vinyals et al. 2019, "Grandmaster level in StarCraft II using
//! multi-agent reinforcement learning", methods). A member that the newest weights beat with
//! probability `p` has weight `(1 − p)^2`, so a member that always loses is never drawn. A second
//! share is uniform over the pool and keeps every win-rate estimate fresh.
//!
//! Contract: a draw depends only on its arguments and the generator. It takes at most two numbers
//! of the generator, plus those that [`Rng::below`] rejects. With an empty pool the result is
//! [`Opponent::Newest`], whatever the shares.

use ouro_game::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The exponent `k` of the weight `(1 − p)^k`: 2 prefers hard members without dropping others.
const HARDNESS: i32 = 2;

/// The win probability that replaces an unknown one.
const UNKNOWN: f64 = 0.5;

/// How often each kind of opponent is drawn. The shares are relative: only their proportions
/// count.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpponentShares {
    /// The newest weights against themselves.
    #[schemars(range(min = 0))]
    pub self_play: f64,
    /// A member of the pool, drawn in proportion to its difficulty.
    #[schemars(range(min = 0))]
    pub prioritised: f64,
    /// A member of the pool, drawn uniformly.
    #[schemars(range(min = 0))]
    pub uniform: f64,
}

impl Default for OpponentShares {
    /// Half self-play, four tenths prioritised, one tenth uniform.
    fn default() -> Self {
        Self { self_play: 0.5, prioritised: 0.4, uniform: 0.1 }
    }
}

/// Invalid shares.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum OpponentSharesError {
    /// A share is negative, infinite or not a number.
    #[error("{field} is {value}; a share is finite and not below 0")]
    OutOfRange {
        /// Name of the share.
        field: &'static str,
        /// The share, as text.
        value: String,
    },
    /// All shares are 0.
    #[error("self_play, prioritised and uniform are all 0; give one of them at least")]
    AllZero,
}

/// A drawn opponent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opponent {
    /// The newest weights.
    Newest,
    /// The member of the pool with this index.
    Member(usize),
}

impl OpponentShares {
    /// Self-play only.
    pub const SELF_PLAY: Self = Self { self_play: 1.0, prioritised: 0.0, uniform: 0.0 };

    /// Checks that the shares are finite, not negative and not all 0.
    pub fn validate(&self) -> Result<(), OpponentSharesError> {
        let shares = [
            ("self_play", self.self_play),
            ("prioritised", self.prioritised),
            ("uniform", self.uniform),
        ];
        for (field, value) in shares {
            if !(value.is_finite() && value >= 0.0) {
                return Err(OpponentSharesError::OutOfRange { field, value: value.to_string() });
            }
        }
        if shares.iter().all(|&(_, value)| value == 0.0) {
            return Err(OpponentSharesError::AllZero);
        }
        Ok(())
    }

    /// The shares times a power of two, after which the largest is near 1. The casts and sums of a draw
    /// then neither vanish nor overflow. A power of two keeps all bits, so no draw changes.
    fn scaled(&self) -> Self {
        let Self { self_play, prioritised, uniform } = *self;
        let largest = self_play.max(prioritised).max(uniform);
        // The power itself must be neither 0 nor infinite.
        let scale = 2.0_f64.powi(-(largest.log2().clamp(-1_000.0, 1_000.0) as i32));
        Self {
            self_play: self_play * scale,
            prioritised: prioritised * scale,
            uniform: uniform * scale,
        }
    }

    fn draw(&self, rng: &mut Rng) -> Kind {
        let Self { self_play, prioritised, uniform } = self.scaled();
        let kinds = [self_play, prioritised, uniform].map(|share| share as f32);
        match rng.weighted(&kinds) {
            1 => Kind::Prioritised,
            2 => Kind::Uniform,
            _ => Kind::SelfPlay,
        }
    }
}

#[derive(Clone, Copy)]
enum Kind {
    SelfPlay,
    Prioritised,
    Uniform,
}

/// Draws one opponent for the newest weights.
///
/// `win_probabilities[i]` is the probability that the newest weights beat member `i` of the pool.
/// An unknown probability counts as 0.5, and so does NaN.
pub fn draw(win_probabilities: &[Option<f64>], shares: &OpponentShares, rng: &mut Rng) -> Opponent {
    if win_probabilities.is_empty() {
        return Opponent::Newest;
    }
    let kind = shares.draw(rng);
    draw_kind(kind, win_probabilities, rng)
}

/// Draws the opponent of each of `seats` seats.
///
/// The generator `own` decides whether the game is self-play. In a game against the pool, it also
/// draws the seat of the newest weights, uniformly. The generator `shared` draws the other seats:
/// one kind of opponent for the game, and each seat separately, so that a game of many players
/// has many opponents.
///
/// Games with equal `shared` generators have the same opponents, if any, so that a caller who
/// plays them together evaluates few networks in large batches. Over many generators the shares
/// hold.
pub fn draw_seats(
    seats: usize,
    win_probabilities: &[Option<f64>],
    shares: &OpponentShares,
    own: &mut Rng,
    shared: &mut Rng,
) -> Vec<Opponent> {
    let mut drawn = vec![Opponent::Newest; seats];
    let OpponentShares { self_play, prioritised, uniform } = shares.scaled();
    let pool = prioritised + uniform;
    let is_self_play = own.unit() * (self_play + pool) < self_play;
    if win_probabilities.is_empty() || is_self_play || pool == 0.0 {
        return drawn;
    }
    let newest = own.below(seats as u32) as usize;
    let kind = OpponentShares { self_play: 0.0, ..*shares }.draw(shared);
    for (seat, opponent) in drawn.iter_mut().enumerate() {
        if seat != newest {
            *opponent = draw_kind(kind, win_probabilities, shared);
        }
    }
    drawn
}

fn draw_kind(kind: Kind, win_probabilities: &[Option<f64>], rng: &mut Rng) -> Opponent {
    match kind {
        Kind::SelfPlay => Opponent::Newest,
        Kind::Prioritised => {
            let weights: Vec<f32> = win_probabilities.iter().copied().map(weight).collect();
            if weights.iter().all(|&weight| weight == 0.0) {
                return Opponent::Member(rng.below(weights.len() as u32) as usize);
            }
            Opponent::Member(rng.weighted(&weights))
        }
        Kind::Uniform => Opponent::Member(rng.below(win_probabilities.len() as u32) as usize),
    }
}

/// The prioritised weight of a member, 0 to 1.
fn weight(win_probability: Option<f64>) -> f32 {
    let chance = win_probability.filter(|chance| !chance.is_nan()).unwrap_or(UNKNOWN);
    (1.0 - chance.clamp(0.0, 1.0)).powi(HARDNESS) as f32
}

#[cfg(test)]
mod tests;
