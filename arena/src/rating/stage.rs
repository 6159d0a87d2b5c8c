//! One choice in a ranking: who of those that are left comes next.
//!
//! A ranking is a sequence of choices (Luce 1959; Plackett 1975): the winner among all, then the
//! best of the rest, and so on. A tie is a choice of several at once, with a weight `δ_k` for ties
//! of `k` (Turner, van Etten, Firth and Kosmidis 2020, "Modelling rankings in R: the PlackettLuce
//! package"): a set `S` is chosen in proportion to `δ_|S| Π_{i ∈ S} α_i^(1/|S|)`. With two players this
//! is Davidson's model of draws (Davidson 1970), and without draws Bradley and Terry's.
//!
//! In the arena's games one player sits against copies of another, so a choice among `a` of the one
//! and `b` of the other depends on the difference of two log-strengths alone: taking `i` of the one
//! and `j` of the other has the weight `δ_(i+j) C(a, i) C(b, j) exp(d i / (i + j))`.

use crate::gate::Ranking;

/// Weights of ties: `ties[k]` is `δ_k`. `δ_1` is 1, and what lies beyond the end is 0.
pub(super) type Ties = Vec<f64>;

/// All choices of one kind: among so many of the first player and so many of the second.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Stage {
    /// Copies of the first and of the second player that are left.
    left: (u32, u32),
    /// How often somebody chose.
    count: f64,
    /// Sum over choices of the first player's share of the set.
    firsts: f64,
    /// How often so many were tied.
    tied: Vec<f64>,
}

/// Log-likelihood of a stage, its slope in `d` and the negated curvature.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Likelihood {
    pub(super) value: f64,
    pub(super) slope: f64,
    pub(super) information: f64,
}

impl std::ops::AddAssign for Likelihood {
    fn add_assign(&mut self, other: Self) {
        self.value += other.value;
        self.slope += other.slope;
        self.information += other.information;
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

    /// Drawn games as a prior counts them: half won and half lost.
    pub(super) fn virtual_draws(games: f64) -> Self {
        Self { left: (1, 1), count: games, firsts: games / 2.0, tied: vec![0.0, games] }
    }

    /// Whether both are counted in one stage.
    pub(super) fn joins(&self, other: &Self) -> bool {
        self.left == other.left
    }

    /// Takes another's choices in.
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

    /// The choices of a ranking that happened `count` times. Who shares the last place was not
    /// ranked among themselves, so the last place is no choice, unless everybody is in it.
    pub(super) fn of(ranking: &Ranking, count: f64) -> Vec<Self> {
        let places = ranking.places();
        let mut left = places.iter().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        let choices = if places.len() == 1 { 1 } else { places.len().saturating_sub(1) };
        let mut stages = Vec::new();
        for &taken in &places[..choices] {
            // With one player left, who comes next says nothing about the other.
            if left.0 > 0 && left.1 > 0 {
                stages.push(Self::new(left, taken, count));
            }
            left = (left.0 - taken.0, left.1 - taken.1);
        }
        stages
    }

    /// The likelihood at the difference `d` of log-strengths, first minus second.
    pub(super) fn likelihood(&self, d: f64, ties: &Ties) -> Likelihood {
        let sums = self.sums(d, ties);
        let [mean, square] = [sums.first / sums.all, sums.square / sums.all];
        let tied: f64 = self
            .tied
            .iter()
            .enumerate()
            .filter(|&(_, &count)| count > 0.0)
            .map(|(size, count)| count * ties.get(size).copied().unwrap_or(0.0).max(1e-300).ln())
            .sum();
        Likelihood {
            value: self.firsts * d + tied - self.count * (sums.all.ln() + sums.shift),
            slope: self.firsts - self.count * mean,
            information: self.count * (square - mean * mean).max(0.0),
        }
    }

    /// Ties of each size: seen, and expected by the model.
    pub(super) fn ties(&self, d: f64, ties: &Ties) -> Vec<(f64, f64)> {
        let sums = self.sums(d, ties);
        (0..ties.len())
            .map(|size| {
                let seen = self.tied.get(size).copied().unwrap_or(0.0);
                (seen, self.count * sums.by_size[size] / sums.all)
            })
            .collect()
    }

    /// How often a tie of each size was seen.
    pub(super) fn seen(&self) -> &[f64] {
        &self.tied
    }

    /// Weights of all choices, of the first player's share in them, and of its square.
    fn sums(&self, d: f64, ties: &Ties) -> Sums {
        let (first, second) = self.left;
        // The largest exponent is taken out, so that nothing overflows.
        let shift = d.max(0.0);
        let mut sums =
            Sums { all: 0.0, first: 0.0, square: 0.0, by_size: vec![0.0; ties.len()], shift };
        let most = ties.len().saturating_sub(1) as u32;
        for size in 1..=most.min(first + second) {
            let delta = ties[size as usize];
            if delta <= 0.0 {
                continue;
            }
            for own in size.saturating_sub(second)..=size.min(first) {
                let share = f64::from(own) / f64::from(size);
                let ways = binomial(first, own) * binomial(second, size - own);
                let weight = delta * ways * (share * d - shift).exp();
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
    /// Logarithm that all of them are to be multiplied by.
    shift: f64,
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

    fn log_likelihood(stages: &[Stage], d: f64, ties: &Ties) -> f64 {
        stages.iter().map(|stage| stage.likelihood(d, ties).value).sum()
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
    fn four_seats_are_luces_choice_of_the_winner_and_equal_losers_say_no_more() {
        let stages = games(&[(1.0, &[-1.0, -1.0, -1.0], 5), (-1.0, &[1.0, -1.0, -1.0], 6)]);
        assert_eq!(stages.len(), 1);
        let d: f64 = 0.7;
        let won = d.exp() / (d.exp() + 3.0);
        let lost = 3.0 / (d.exp() + 3.0);
        // That it was one of three copies is no news: the model knows 3 ways to it.
        let expected = 5.0 * won.ln() + 6.0 * (lost / 3.0).ln();
        let got = log_likelihood(&stages, d, &vec![0.0, 1.0]);
        assert!((got - expected).abs() < 1e-9, "{got} {expected}");
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
                stages.iter().fold(Likelihood::default(), |mut sum, stage| {
                    sum += stage.likelihood(d, &ties);
                    sum
                })
            };
            let slope = (at(d + step).value - at(d - step).value) / (2.0 * step);
            let curvature = (at(d + step).slope - at(d - step).slope) / (2.0 * step);
            assert!((at(d).slope - slope).abs() < 1e-6, "{d}");
            assert!((at(d).information + curvature).abs() < 1e-6, "{d}");
        }
    }
}
