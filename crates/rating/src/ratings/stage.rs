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

/// Copies of the first and of the second player.
pub(super) type Copies = (u32, u32);

/// The stages of a ranking: the copies that remain, and those chosen.
///
/// Players that share the last place were not ranked among themselves. The last place is therefore no
/// choice, unless all players share it.
pub(super) fn stages(ranking: &Ranking) -> impl Iterator<Item = (Copies, Copies)> {
    let places = ranking.places();
    let mut left = places.iter().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    let choices = if places.len() == 1 { 1 } else { places.len().saturating_sub(1) };
    let stages = places[..choices].iter().map(move |&taken| {
        let before = left;
        left = (left.0 - taken.0, left.1 - taken.1);
        (before, taken)
    });
    // With copies of one player alone, the choice says nothing about the other.
    stages.filter(|&(left, _)| left.0 > 0 && left.1 > 0)
}

/// All choices between two players among the same copies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Stage {
    /// Index of the copies that remain in `Problem::left`.
    pub(super) left: usize,
    /// Number of choices.
    pub(super) count: f64,
    /// Sum over choices of the first player's share of the set.
    pub(super) firsts: f64,
}

impl Stage {
    /// The derivatives of the log-likelihood in the difference of log-strengths.
    pub(super) fn derivatives(&self, expected: &Moments) -> Derivatives {
        // The origin is deducted first: close to it, both sides are small and exact.
        let firsts = self.firsts - self.count * expected.origin;
        Derivatives {
            slope: firsts - self.count * expected.mean,
            information: self.count * expected.variance,
        }
    }
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
        if games == 0.0 {
            return Self::default();
        }
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

/// What the model expects of one choice.
#[derive(Clone, Debug, Default)]
pub(super) struct Moments {
    /// Sum of the weights of all sets, divided by `exp(d)` if `d` is positive.
    all: f64,
    /// The first player's share of the likeliest set, 0 or 1, without ties.
    origin: f64,
    /// Expected share of the first player, minus `origin`.
    mean: f64,
    /// Variance of the share.
    pub(super) variance: f64,
    /// By size of the tie.
    pub(super) ties: Vec<TieMoments>,
    /// Exponentials of the shares.
    exponentials: Vec<f64>,
}

/// What the model expects of ties of one size.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TieMoments {
    /// Probability of such a tie.
    pub(super) chance: f64,
    /// Covariance of the tie with the first player's share.
    pub(super) covariance: f64,
}

/// The sets that can be chosen among some copies, for given weights of ties.
#[derive(Clone, Debug)]
pub(super) struct Choices {
    /// Distinct shares of the first player.
    shares: Vec<f64>,
    sets: Vec<Set>,
    /// Largest size of a tie, plus 1.
    sizes: usize,
}

/// Sets with the same number of copies of each player.
#[derive(Clone, Copy, Debug)]
struct Set {
    /// Index of the first player's share.
    share: usize,
    /// Number of copies.
    size: usize,
    /// Number of such sets, times the weight of the tie.
    weight: f64,
}

impl Choices {
    /// The choices among `left`.
    pub(super) fn new((first, second): Copies, ties: &Ties) -> Self {
        let mut choices = Self { shares: Vec::new(), sets: Vec::new(), sizes: ties.len() };
        let most = ties.len().saturating_sub(1) as u32;
        for size in 1..=most.min(first + second) {
            let delta = ties[size as usize];
            if delta <= 0.0 {
                continue;
            }
            for own in size.saturating_sub(second)..=size.min(first) {
                let ways = binomial(first, own) * binomial(second, size - own);
                let share = choices.share(f64::from(own) / f64::from(size));
                choices.sets.push(Set { share, size: size as usize, weight: delta * ways });
            }
        }
        choices
    }

    /// Index of a share.
    fn share(&mut self, share: f64) -> usize {
        let known = self.shares.iter().position(|&known| known == share);
        known.unwrap_or_else(|| {
            self.shares.push(share);
            self.shares.len() - 1
        })
    }

    /// The moments at the difference `d` of log-strengths, first minus second.
    pub(super) fn moments(&self, d: f64, moments: &mut Moments) {
        // Weights are divided by the largest exponential, which cancels in every quotient. Shares
        // are counted from that of the likeliest set: differences of numbers close to 1 would lose
        // the digits of a variance that is almost 0.
        let origin = if d > 0.0 { 1.0 } else { 0.0 };
        moments.exponentials.clear();
        moments.exponentials.extend(self.shares.iter().map(|share| exp((share - origin) * d)));
        moments.ties.clear();
        moments.ties.resize(self.sizes, TieMoments::default());
        let (mut all, mut first, mut square) = (0.0, 0.0, 0.0);
        for set in &self.sets {
            let share = self.shares[set.share] - origin;
            let weight = set.weight * moments.exponentials[set.share];
            all += weight;
            first += weight * share;
            square += weight * share * share;
            moments.ties[set.size].chance += weight;
            moments.ties[set.size].covariance += weight * share;
        }
        let mean = first / all;
        for tie in &mut moments.ties {
            tie.chance /= all;
            tie.covariance = tie.covariance / all - tie.chance * mean;
        }
        (moments.all, moments.origin, moments.mean) = (all, origin, mean);
        moments.variance = (square / all - mean * mean).max(0.0);
    }
}

/// The exponential function; exact and fast at 0.
fn exp(x: f64) -> f64 {
    if x == 0.0 { 1.0 } else { libm::exp(x) }
}

/// Number of ways to choose `k` of `n`; 0 if `k` is larger.
pub(super) fn binomial(n: u32, k: u32) -> f64 {
    let (n, k) = (f64::from(n), u64::from(k));
    (1..=k).map(|i| (n - (k - i) as f64) / i as f64).product()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The choices among the same copies, by the size of the tie.
    struct Counted {
        left: Copies,
        stage: Stage,
        tied: Vec<f64>,
    }

    fn games(results: &[(f32, &[f32], u32)]) -> Vec<Counted> {
        let mut counted: Vec<Counted> = Vec::new();
        for &(own, others, count) in results {
            for (left, taken) in stages(&Ranking::new(own, others)) {
                let index = counted.iter().position(|known| known.left == left);
                let index = index.unwrap_or_else(|| {
                    let stage = Stage { left: 0, count: 0.0, firsts: 0.0 };
                    counted.push(Counted { left, stage, tied: vec![0.0; 5] });
                    counted.len() - 1
                });
                let (count, size) = (f64::from(count), taken.0 + taken.1);
                counted[index].stage.count += count;
                counted[index].stage.firsts += count * f64::from(taken.0) / f64::from(size);
                counted[index].tied[size as usize] += count;
            }
        }
        counted
    }

    fn moments(left: Copies, d: f64, ties: &Ties) -> Moments {
        let mut moments = Moments::default();
        Choices::new(left, ties).moments(d, &mut moments);
        moments
    }

    /// The log-likelihood of all choices, written out.
    fn log_likelihood(games: &[Counted], d: f64, ties: &Ties) -> f64 {
        let value = |Counted { left, stage, tied }: &Counted| {
            let seen = (1..tied.len()).filter(|&size| tied[size] > 0.0);
            let seen: f64 = seen.map(|size| tied[size] * ties[size].ln()).sum();
            let all = moments(*left, d, ties).all.ln() + d.max(0.0);
            stage.firsts * d + seen - stage.count * all
        };
        games.iter().map(value).sum()
    }

    fn derivatives(games: &[Counted], d: f64, ties: &Ties) -> Derivatives {
        games.iter().fold(Derivatives::default(), |mut sum, one| {
            sum += one.stage.derivatives(&moments(one.left, d, ties));
            sum
        })
    }

    #[test]
    fn two_players_without_draws_are_bradley_and_terrys() {
        let games = games(&[(1.0, &[-1.0], 7), (-1.0, &[1.0], 3)]);
        let expected = |d: f64| -7.0 * (-d).exp().ln_1p() - 3.0 * d.exp().ln_1p();
        for d in [-30.0, -1.3, 0.0, 0.4, 30.0] {
            let got = log_likelihood(&games, d, &vec![0.0, 1.0]);
            assert!((got - expected(d)).abs() < 1e-9 * (1.0 + expected(d).abs()), "{d}");
        }
    }

    #[test]
    fn draws_of_two_are_davidsons() {
        // 2 wins and 3 draws of players with strengths e^d and 1: the formula of 1970.
        let games = games(&[(1.0, &[-1.0], 2), (0.0, &[0.0], 3)]);
        for (d, nu) in [(0.3_f64, 0.8_f64), (-1.1, 2.5)] {
            let strength = d.exp();
            let all = strength + 1.0 + nu * strength.sqrt();
            let expected = 2.0 * (strength / all).ln() + 3.0 * (nu * strength.sqrt() / all).ln();
            let got = log_likelihood(&games, d, &vec![0.0, 1.0, nu]);
            assert!((got - expected).abs() < 1e-9, "{got} {expected}");
        }
    }

    #[test]
    fn four_seats_are_luces_choice_of_the_winner_and_equal_losers_add_nothing() {
        let games = games(&[(1.0, &[-1.0, -1.0, -1.0], 5), (-1.0, &[1.0, -1.0, -1.0], 6)]);
        assert_eq!(games.len(), 1);
        let d: f64 = 0.7;
        let won = d.exp() / (d.exp() + 3.0);
        let lost = 3.0 / (d.exp() + 3.0);
        // Any of three copies may win, so the model counts 3 ways to lose.
        let expected = 5.0 * won.ln() + 6.0 * (lost / 3.0).ln();
        let got = log_likelihood(&games, d, &vec![0.0, 1.0]);
        assert!((got - expected).abs() < 1e-9, "{got} {expected}");
    }

    #[test]
    fn drawn_games_of_the_prior_are_half_won_and_half_lost() {
        let games = games(&[(1.0, &[-1.0], 1), (-1.0, &[1.0], 1)]);
        for d in [-40.0, -1.3, 0.0, 0.7, 3.0] {
            let expected = derivatives(&games, d, &vec![0.0, 1.0]);
            let got = Derivatives::of_draws(2.0, d);
            assert!((got.slope - expected.slope).abs() < 1e-9, "{d}: {got:?}");
            assert!((got.information - expected.information).abs() < 1e-9, "{d}: {got:?}");
        }
    }

    #[test]
    fn slope_and_information_are_the_derivatives() {
        let ties = vec![0.0, 1.0, 0.7, 0.2, 0.1];
        let games = games(&[
            (1.0, &[-1.0, -1.0, -1.0], 5),
            (0.0, &[0.0, -1.0, -1.0], 2),
            (0.0, &[0.0, 0.0, 0.0], 1),
            (-0.5, &[1.0, 0.5, -1.0], 4),
        ]);
        for d in [-2.0, 0.1, 1.5] {
            let step = 1e-4;
            let at = |d: f64| derivatives(&games, d, &ties);
            let value = |d: f64| log_likelihood(&games, d, &ties);
            let slope = (value(d + step) - value(d - step)) / (2.0 * step);
            let curvature = (at(d + step).slope - at(d - step).slope) / (2.0 * step);
            assert!((at(d).slope - slope).abs() < 1e-6, "{d}");
            assert!((at(d).information + curvature).abs() < 1e-6, "{d}");
        }
    }

    #[test]
    fn moments_of_ties_are_the_derivatives() {
        let ties = vec![0.0, 1.0, 0.7, 0.2, 0.1];
        for (left, d) in [((1, 1), 0.4), ((1, 3), -1.1), ((2, 2), 2.0)] {
            let got = moments(left, d, &ties);
            // Of the logarithm of the sum of all weights, in the logarithm of a weight of ties.
            let step = 1e-5;
            for size in 2..=4_usize.min((left.0 + left.1) as usize) {
                let at = |sign: f64| {
                    let mut ties = ties.clone();
                    ties[size] *= (sign * step).exp();
                    let moved = moments(left, d, &ties);
                    (moved.all.ln(), moved.mean)
                };
                let ((more, up), (less, down)) = (at(1.0), at(-1.0));
                let [chance, covariance] = [more - less, up - down].map(|x| x / (2.0 * step));
                assert!((got.ties[size].chance - chance).abs() < 1e-8, "{left:?} {size}");
                assert!((got.ties[size].covariance - covariance).abs() < 1e-8, "{left:?} {size}");
            }
        }
    }

    #[test]
    fn the_variance_keeps_its_digits_far_from_equality() {
        // p (1 - p) on either side.
        for d in [-60.0_f64, -40.0, 40.0, 60.0] {
            let got = moments((1, 1), d, &vec![0.0, 1.0]).variance;
            assert!((got / (-d.abs()).exp() - 1.0).abs() < 1e-12, "{d}: {got}");
        }
    }
}
