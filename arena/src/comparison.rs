//! How much stronger one player is than another, with honest error bars.
//!
//! Games come in clusters that share a seed: a pair with seats swapped, a round of all
//! rotations. What the start position gives away it gives to both sides in turn, so games of
//! one cluster are not independent and a [`Comparison`] counts clusters, not games: the
//! variance is that of the clusters' mean scores (for pairs the pentanomial model of fishtest,
//! "Mathematics of the framework"). Elo is the logistic model's, `400 · log10(s / (1 - s))` for
//! a score `s`, with the interval of `s` carried through it.

use serde::{Deserialize, Serialize};

use crate::gate::{GameOutcome, Score};
use crate::interval::{Z_95, wilson};

/// Fewest clusters whose variance is trusted; with fewer, games are taken as independent.
const MIN_CLUSTERS: u32 = 8;

/// The mean of independent values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mean {
    count: u32,
    sum: f64,
    squares: f64,
}

impl Mean {
    /// Adds a value.
    pub fn add(&mut self, value: f64) {
        self.count += 1;
        self.sum += value;
        self.squares += value * value;
    }

    /// The mean with the normal interval; 0 with an infinite one before the first two values.
    pub fn estimate(&self) -> Estimate {
        let n = f64::from(self.count);
        let value = self.sum / n.max(1.0);
        let margin = Z_95 * (self.variance() / n).sqrt();
        let margin = if self.count < 2 { f64::INFINITY } else { margin };
        Estimate { value, low: value - margin, high: value + margin }
    }

    /// The mean of shares of `trials` trials in all, with Wilson's interval for as many
    /// independent trials as would give the mean the error that it has (the effective sample
    /// size; Korn and Graubard 1998); for `trials` where the values are too few or all alike.
    pub fn share(&self, trials: u32) -> Estimate {
        let value = self.estimate().value.clamp(0.0, 1.0);
        let trials = if self.tells_its_spread() {
            value * (1.0 - value) * f64::from(self.count) / self.variance()
        } else {
            f64::from(trials)
        };
        let (low, high) = wilson(value, trials);
        Estimate { value, low, high }
    }

    /// Whether there are enough values, and different ones, to trust their variance.
    fn tells_its_spread(&self) -> bool {
        self.count >= MIN_CLUSTERS && self.variance() > 1e-12
    }

    /// Unbiased variance of one value.
    fn variance(&self) -> f64 {
        let n = f64::from(self.count);
        let mean = self.sum / n.max(1.0);
        (self.squares - n * mean * mean).max(0.0) / (n - 1.0).max(1.0)
    }
}

/// Results of one player against another, as the first sees them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comparison {
    score: Score,
    clusters: Mean,
}

/// A figure with the ends of its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Estimate {
    /// The most likely value.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Comparison {
    /// Adds the games of one cluster, in any order.
    pub fn add(&mut self, outcomes: &[GameOutcome]) {
        if outcomes.is_empty() {
            return;
        }
        let half_points: u32 = outcomes.iter().map(|outcome| outcome.half_points()).sum();
        self.clusters.add(f64::from(half_points) / (2 * outcomes.len()) as f64);
        for &outcome in outcomes {
            self.score.add(outcome);
        }
    }

    /// Wins, draws and losses.
    pub fn score(&self) -> Score {
        self.score
    }

    /// Share of points, a draw counting half.
    ///
    /// The interval is [`Mean::share`]'s over clusters: a run of wins does not shrink it to a
    /// point, and it never reaches 0 or 1 for a share that does not.
    pub fn share(&self) -> Estimate {
        let value = self.score.share();
        Estimate { value, ..self.clusters.share(self.score.games()) }
    }

    /// Elo difference; infinite where the share is 0 or 1.
    pub fn elo(&self) -> Estimate {
        let share = self.share();
        Estimate { value: elo(share.value), low: elo(share.low), high: elo(share.high) }
    }

    /// Probability that the first is the stronger one: the normal one over clusters, else
    /// [`Score::superiority`].
    pub fn superiority(&self) -> f64 {
        if !self.clusters.tells_its_spread() {
            return self.score.superiority();
        }
        let error = (self.clusters.variance() / f64::from(self.clusters.count)).sqrt();
        let deviations = (self.score.share() - 0.5) / error;
        0.5 * libm::erfc(-deviations / std::f64::consts::SQRT_2)
    }
}

/// Elo difference at which the stronger side is expected to take this share of the points.
pub fn elo(share: f64) -> f64 {
    400.0 * (share / (1.0 - share)).log10()
}

/// Share of the points that a side this much stronger is expected to take.
pub fn expected_share(elo: f64) -> f64 {
    1.0 / (1.0 + 10_f64.powf(-elo / 400.0))
}

#[cfg(test)]
mod tests {
    use ouro_game::Rng;

    use super::*;
    use GameOutcome::{Draw, Loss, Win};

    fn compare(pairs: &[[GameOutcome; 2]]) -> Comparison {
        let mut comparison = Comparison::default();
        for pair in pairs {
            comparison.add(pair);
        }
        comparison
    }

    #[test]
    fn elo_of_a_share_is_the_logistic_curve() {
        assert_eq!(elo(0.5), 0.0);
        assert!((elo(10.0 / 11.0) - 400.0).abs() < 1e-9);
        assert_eq!(elo(1.0), f64::INFINITY);
        assert_eq!(elo(0.0), f64::NEG_INFINITY);
    }

    #[test]
    fn pairs_that_cancel_give_a_narrower_interval_than_their_games_would() {
        // One side wins whenever it starts: every pair is even, only the odd one is not.
        let mut pairs = vec![[Win, Loss]; 98];
        pairs.extend([[Win, Win], [Loss, Loss]]);
        let share = compare(&pairs).share();
        assert_eq!(share.value, 0.5);
        let (low, high) = compare(&pairs).score().interval();
        assert!(share.low > low + 0.03 && share.high < high - 0.03, "{share:?}, {low} {high}");
    }

    #[test]
    fn a_run_of_wins_and_a_short_match_keep_an_honest_width() {
        let sweep = compare(&[[Win, Win]; 50]);
        assert_eq!(sweep.share().value, 1.0);
        assert!(sweep.share().low < 0.97 && sweep.share().high == 1.0);
        assert!(sweep.elo().low.is_finite() && sweep.elo().value.is_infinite());
        let mut nearly = [[Win, Win]; 50];
        nearly[7] = [Win, Loss];
        let nearly = compare(&nearly);
        assert!(nearly.share().low < 0.97 && nearly.elo().high.is_finite(), "{nearly:?}");
        let short = compare(&[[Win, Loss], [Draw, Win]]).share();
        assert!(short.low < 0.4 && short.high > 0.9, "{short:?}");
        assert_eq!(Comparison::default().share(), Estimate { value: 0.5, low: 0.0, high: 1.0 });
    }

    #[test]
    fn superiority_is_that_of_the_normal_curve_over_clusters() {
        // Mean 0.625 and standard error 0.375 / sqrt(35): 1.972 deviations above one half.
        let pairs = [[Win, Win], [Draw, Loss]].repeat(18);
        assert!((compare(&pairs).superiority() - 0.9757).abs() < 1e-4);
        let even = compare(&[[Win, Loss], [Win, Win], [Loss, Loss]].repeat(4));
        assert!((even.superiority() - 0.5).abs() < 1e-12);
    }

    /// 1,000 matches of 60 pairs with a true share of 0.6; with a confidence of 95 % the number
    /// of intervals that hold it is binomial with deviation 6.9.
    #[test]
    fn the_interval_holds_the_truth_as_often_as_it_says() {
        let mut rng = Rng::new(3, "comparison");
        let held = (0..1_000)
            .filter(|_| {
                let pairs: Vec<_> = (0..60)
                    .map(|_| {
                        // A seed that favours a seat, shared by both games.
                        let bias = 0.3 * (rng.unit() - 0.5);
                        [0.6 + bias, 0.6 - bias]
                            .map(|chance| if rng.unit() < chance { Win } else { Loss })
                    })
                    .collect();
                let share = compare(&pairs).share();
                share.low <= 0.6 && 0.6 <= share.high
            })
            .count();
        assert!((915..=985).contains(&held), "{held}");
    }
}
