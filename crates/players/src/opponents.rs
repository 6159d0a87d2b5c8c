//! Whom the newest weights play in training: shares of self-play, of hard opponents, and of
//! everybody.
//!
//! Self-play alone can go round in circles and forget how to beat what it once beat. So a share
//! of the games goes to members of the pool in proportion to how hard they are, by prioritised
//! fictitious self-play (Vinyals et al. 2019, "Grandmaster level in StarCraft II using
//! multi-agent reinforcement learning", methods): a member that the newest beats with chance `p`
//! weighs `(1 − p)^2`, and one that always loses is not met at all. A second share is uniform
//! over the pool, a floor that keeps every estimate fresh.
//!
//! Contract: a draw depends on its arguments and the generator alone, and takes two numbers of the
//! generator at most, plus those that [`Rng::below`] rejects. While the pool is empty the answer
//! is [`Opponent::Newest`], whatever the shares.

use ouro_game::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The exponent of the weight `(1 − p)^k`: 2 favours hard members without dropping the rest.
const HARDNESS: i32 = 2;

/// The chance that stands in for an unknown one.
const UNKNOWN: f64 = 0.5;

/// How often each kind of opponent is drawn. The shares are relative: only their proportions
/// count.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpponentShares {
    /// The newest weights against themselves.
    pub self_play: f64,
    /// A member of the pool, the harder the likelier.
    pub prioritised: f64,
    /// A member of the pool, all equally likely.
    pub uniform: f64,
}

impl Default for OpponentShares {
    /// Half self-play, and a uniform floor of a tenth.
    fn default() -> Self {
        Self { self_play: 0.5, prioritised: 0.4, uniform: 0.1 }
    }
}

/// OpponentShares that nothing can be drawn by.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum OpponentSharesError {
    /// A share is negative, infinite or not a number.
    #[error("{field} is {value}; a share is finite and not below 0")]
    OutOfRange {
        /// Name of the share.
        field: &'static str,
        /// Its value, as text.
        value: String,
    },
    /// There is nothing to draw.
    #[error("self_play, prioritised and uniform are all 0; give one of them at least")]
    AllZero,
}

/// Who was drawn.
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

    /// Refuses shares that nothing can be drawn by.
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

    fn draw(&self, rng: &mut Rng) -> Kind {
        let kinds = [self.self_play, self.prioritised, self.uniform].map(|share| share as f32);
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

/// Draws one opponent for the newest weights. `win_probabilities[i]` is the chance that the
/// newest beats member `i` of the pool; an unknown one counts as 0.5, and so does one that is
/// not a number.
pub fn draw(win_probabilities: &[Option<f64>], shares: &OpponentShares, rng: &mut Rng) -> Opponent {
    if win_probabilities.is_empty() {
        return Opponent::Newest;
    }
    let kind = shares.draw(rng);
    draw_kind(kind, win_probabilities, rng)
}

/// Draws who holds each of `seats` seats. By `own` the game is self-play or not, and in one
/// against the pool the newest holds one seat, any with equal chance. By `shared` the others are
/// drawn: of one kind for the game, and every seat by itself, so that a game of many players
/// meets many members.
///
/// Games that pass equal `shared` generators meet the same opponents, if any; whoever plays them
/// together then evaluates few networks in large batches. Over many generators the shares hold.
pub fn draw_seats(
    seats: usize,
    win_probabilities: &[Option<f64>],
    shares: &OpponentShares,
    own: &mut Rng,
    shared: &mut Rng,
) -> Vec<Opponent> {
    let mut drawn = vec![Opponent::Newest; seats];
    let pool = shares.prioritised + shares.uniform;
    let is_self_play = own.unit() * (shares.self_play + pool) < shares.self_play;
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

/// What a member weighs when hard ones are preferred, 0 to 1.
fn weight(win_probability: Option<f64>) -> f32 {
    let chance = win_probability.filter(|chance| !chance.is_nan()).unwrap_or(UNKNOWN);
    (1.0 - chance.clamp(0.0, 1.0)).powi(HARDNESS) as f32
}

#[cfg(test)]
mod tests;
