//! One stage of a ranking: which of the remaining players comes next.
//!
//! A ranking is a sequence of stages (Luce 1959; Plackett 1975): the winner among all, then the best
//! of the rest, and so on. A tie is a choice of several players at once, with a weight `δ_k` for ties
//! of `k` (Turner, van Etten, Firth and Kosmidis 2020, "Modelling rankings in R: the PlackettLuce
//! package"). A set `S` is chosen in proportion to `δ_|S| Π_{i ∈ S} α_i^(1/|S|)`. With two players
//! this is Davidson's model of draws (Davidson 1970), and without draws Bradley and Terry's.
//!
//! In the arena's games one player sits against copies of another, so a choice among `a` copies of
//! the first and `b` copies of the second depends on the difference of two log-strengths alone.
//! Choosing `i` of the first and `j` of the second has the weight
//! `δ_(i+j) C(a, i) C(b, j) exp(d i / (i + j))`.
//!
//! Exponentials are `libm`'s: the standard library's differ between platforms in the last digit, and
//! ratings must not.

use crate::cluster::Ranking;

/// Weights of ties: `ties[k]` is `δ_k`. `δ_1` is 1, and weights beyond the end are 0.
pub(super) type Ties = Vec<f64>;

/// All choices among the same number of copies of the first and of the second player.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Stage {
    /// Remaining copies of the first and of the second player.
    left: (u32, u32),
    /// Number of choices.
    count: f64,
    /// Sum over choices of the first player's share of the set.
    firsts: f64,
    /// Number of choices by the size of the tie.
    tied: Vec<f64>,
}

/// Derivatives of a log-likelihood in `d`: the slope and the negated curvature.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Derivatives {
    pub(super) slope: f64,
    pub(super) information: f64,
}

impl Derivatives {
    /// Of drawn games as a prior counts them: half won and half lost.
    pub(super) fn of_draws(games: f64, d: f64) -> Self {
        // The exponential of a negative number cannot overflow.
        let small = libm::exp(-d.abs());
        let weaker = small / (1.0 + small);
        Self {
            slope: games * (weaker - 0.5) * d.signum(),
            information: games * weaker * (1.0 - weaker),
        }
    }
}

impl std::ops::AddAssign for Derivatives {
    fn add_assign(&mut self, other: Self) {
        self.slope += other.slope;
        self.information += other.information;
    }
}

/// Ties of one size.
#[derive(Clone, Copy, Debug)]
pub(super) struct TieCounts {
    /// Number observed.
    pub(super) seen: f64,
    /// Number that the model expects.
    pub(super) expected: f64,
    /// Variance of that number.
    pub(super) variance: f64,
}

impl std::ops::AddAssign for TieCounts {
    fn add_assign(&mut self, other: Self) {
        self.seen += other.seen;
        self.expected += other.expected;
        self.variance += other.variance;
    }
}

impl Stage {
    /// `count` choices of `taken` out of `left`.
    pub(super) fn new(left: (u32, u32), taken: (u32, u32), count: f64) -> Self {
        let size = taken.0 + taken.1;
        let mut tied = vec![0.0; size as usize + 1];
        tied[size as usize] = count;
        Self { left, count, firsts: count * f64::from(taken.0) / f64::from(size.max(1)), tied }
    }

    /// Whether both choose among the same copies, so that they can be counted together.
    pub(super) fn joins(&self, other: &Self) -> bool {
        self.left == other.left
    }

    /// Adds the choices of another stage.
    pub(super) fn join(&mut self, other: &Self) {
        self.count += other.count;
        self.firsts += other.firsts;
        if self.tied.len() < other.tied.len() {
            self.tied.resize(other.tied.len(), 0.0);
        }
        for (sum, more) in self.tied.iter_mut().zip(&other.tied) {
            *sum += more;
        }
    }

    /// The stages of a ranking that occurred `count` times.
    ///
    /// Players that share the last place were not ranked among themselves. The last place is
    /// therefore no choice, unless all players share it.
    pub(super) fn of(ranking: &Ranking, count: f64) -> Vec<Self> {
        let places = ranking.places();
        let mut left = places.iter().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        let choices = if places.len() == 1 { 1 } else { places.len().saturating_sub(1) };
        let mut stages = Vec::new();
        for &taken in &places[..choices] {
            // With copies of one player alone, the choice says nothing about the other.
            if left.0 > 0 && left.1 > 0 {
                stages.push(Self::new(left, taken, count));
            }
            left = (left.0 - taken.0, left.1 - taken.1);
        }
        stages
    }

    /// The derivatives at the difference `d` of log-strengths, first minus second.
    pub(super) fn derivatives(&self, d: f64, ties: &Ties) -> Derivatives {
        let sums = self.sums(d, ties);
        let [mean, square] = [sums.first / sums.all, sums.square / sums.all];
        Derivatives {
            slope: self.firsts - self.count * mean,
            information: self.count * (square - mean * mean).max(0.0),
        }
    }

    /// Ties of this size, observed and expected by the model.
    pub(super) fn ties(&self, size: usize, d: f64, ties: &Ties) -> TieCounts {
        let sums = self.sums(d, ties);
        let chance = sums.by_size[size] / sums.all;
        TieCounts {
            seen: self.tied.get(size).copied().unwrap_or(0.0),
            expected: self.count * chance,
            variance: self.count * chance * (1.0 - chance),
        }
    }

    /// Number of choices by the size of the tie.
    pub(super) fn tied(&self) -> &[f64] {
        &self.tied
    }

    /// Sums over all possible choices: of weights, of the first player's share, and of its square.
    fn sums(&self, d: f64, ties: &Ties) -> Sums {
        let (first, second) = self.left;
        // All sums are divided by the largest exponential, which cancels in every quotient of them.
        let shift = d.max(0.0);
        let mut sums = Sums { all: 0.0, first: 0.0, square: 0.0, by_size: vec![0.0; ties.len()] };
        let most = ties.len().saturating_sub(1) as u32;
        for size in 1..=most.min(first + second) {
            let delta = ties[size as usize];
            if delta <= 0.0 {
                continue;
            }
            for own in size.saturating_sub(second)..=size.min(first) {
                let share = f64::from(own) / f64::from(size);
                let ways = binomial(first, own) * binomial(second, size - own);
                let weight = delta * ways * libm::exp(share * d - shift);
                sums.all += weight;
                sums.first += weight * share;
                sums.square += weight * share * share;
                sums.by_size[size as usize] += weight;
            }
        }
        sums
    }
}

struct Sums {
    all: f64,
    first: f64,
    square: f64,
    by_size: Vec<f64>,
}

fn binomial(n: u32, k: u32) -> f64 {
    (1..=k).map(|i| f64::from(n - k + i) / f64::from(i)).product()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn games(results: &[(f32, &[f32], u32)]) -> Vec<Stage> {
        let mut stages: Vec<Stage> = Vec::new();
        for &(own, others, count) in results {
            for stage in Stage::of(&Ranking::new(own, others), count.into()) {
                match stages.iter_mut().find(|known| known.joins(&stage)) {
                    Some(known) => known.join(&stage),
                    None => stages.push(stage),
                }
            }
        }
        stages
    }

    /// The log-likelihood of all choices, written out.
    fn log_likelihood(stages: &[Stage], d: f64, ties: &Ties) -> f64 {
        let value = |stage: &Stage| {
            let tied = (1..stage.tied.len()).filter(|&size| stage.tied[size] > 0.0);
            let tied: f64 = tied.map(|size| stage.tied[size] * ties[size].ln()).sum();
            let all = stage.sums(d, ties).all.ln() + d.max(0.0);
            stage.firsts * d + tied - stage.count * all
        };
        stages.iter().map(value).sum()
    }

    #[test]
    fn two_players_without_draws_are_bradley_and_terrys() {
        let stages = games(&[(1.0, &[-1.0], 7), (-1.0, &[1.0], 3)]);
        let expected = |d: f64| -7.0 * (-d).exp().ln_1p() - 3.0 * d.exp().ln_1p();
        for d in [-30.0, -1.3, 0.0, 0.4, 30.0] {
            let got = log_likelihood(&stages, d, &vec![0.0, 1.0]);
            assert!((got - expected(d)).abs() < 1e-9 * (1.0 + expected(d).abs()), "{d}");
        }
    }

    #[test]
    fn draws_of_two_are_davidsons() {
        // 2 wins and 3 draws of players with strengths e^d and 1: the formula of 1970.
        let stages = games(&[(1.0, &[-1.0], 2), (0.0, &[0.0], 3)]);
        for (d, nu) in [(0.3_f64, 0.8_f64), (-1.1, 2.5)] {
            let strength = d.exp();
            let all = strength + 1.0 + nu * strength.sqrt();
            let expected = 2.0 * (strength / all).ln() + 3.0 * (nu * strength.sqrt() / all).ln();
            let got = log_likelihood(&stages, d, &vec![0.0, 1.0, nu]);
            assert!((got - expected).abs() < 1e-9, "{got} {expected}");
        }
    }

    #[test]
    fn four_seats_are_luces_choice_of_the_winner_and_equal_losers_add_nothing() {
        let stages = games(&[(1.0, &[-1.0, -1.0, -1.0], 5), (-1.0, &[1.0, -1.0, -1.0], 6)]);
        assert_eq!(stages.len(), 1);
        let d: f64 = 0.7;
        let won = d.exp() / (d.exp() + 3.0);
        let lost = 3.0 / (d.exp() + 3.0);
        // Any of three copies may win, so the model counts 3 ways to lose.
        let expected = 5.0 * won.ln() + 6.0 * (lost / 3.0).ln();
        let got = log_likelihood(&stages, d, &vec![0.0, 1.0]);
        assert!((got - expected).abs() < 1e-9, "{got} {expected}");
    }

    #[test]
    fn drawn_games_of_the_prior_are_half_won_and_half_lost() {
        let stages = games(&[(1.0, &[-1.0], 1), (-1.0, &[1.0], 1)]);
        for d in [-40.0, -1.3, 0.0, 0.7, 3.0] {
            let expected = stages[0].derivatives(d, &vec![0.0, 1.0]);
            let got = Derivatives::of_draws(2.0, d);
            assert!((got.slope - expected.slope).abs() < 1e-9, "{d}: {got:?}");
            assert!((got.information - expected.information).abs() < 1e-9, "{d}: {got:?}");
        }
    }

    #[test]
    fn slope_and_information_are_the_derivatives() {
        let ties = vec![0.0, 1.0, 0.7, 0.2, 0.1];
        let stages = games(&[
            (1.0, &[-1.0, -1.0, -1.0], 5),
            (0.0, &[0.0, -1.0, -1.0], 2),
            (0.0, &[0.0, 0.0, 0.0], 1),
            (-0.5, &[1.0, 0.5, -1.0], 4),
        ]);
        for d in [-2.0, 0.1, 1.5] {
            let step = 1e-4;
            let at = |d: f64| {
                stages.iter().fold(Derivatives::default(), |mut sum, stage| {
                    sum += stage.derivatives(d, &ties);
                    sum
                })
            };
            let value = |d: f64| log_likelihood(&stages, d, &ties);
            let slope = (value(d + step) - value(d - step)) / (2.0 * step);
            let curvature = (at(d + step).slope - at(d - step).slope) / (2.0 * step);
            assert!((at(d).slope - slope).abs() < 1e-6, "{d}");
            assert!((at(d).information + curvature).abs() < 1e-6, "{d}");
        }
    }
}
