//! How much stronger one player is than another, with its error.
//!
//! Games come in clusters that share a seed: a pair with seats swapped, or a round of all
//! rotations. The start position favours each side in turn, so games of one cluster are not
//! independent. Neither are the outcomes of one game with more than two seats. A [`Comparison`] therefore counts clusters, not games: the variance is that of
//! the clusters' mean scores (for pairs the pentanomial model of fishtest, "Mathematics of the
//! framework"). Elo is the logistic model's, `400 · log10(s / (1 - s))` for a score `s`, with the
//! interval of `s` carried through it.

use crate::interval::{Estimate, Mean};
use crate::score::{GameOutcome, Score};

/// Results of one player against another, from the first player's point of view.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comparison {
    score: Score,
    clusters: Mean,
    games: u32,
}

impl Comparison {
    /// Adds the outcomes of one cluster of `games` games, in any order. A game has several outcomes
    /// if a player holds several seats.
    pub fn add(&mut self, outcomes: &[GameOutcome], games: u32) {
        if outcomes.is_empty() {
            return;
        }
        self.games += games;
        let half_points: u32 = outcomes.iter().map(|outcome| outcome.half_points()).sum();
        self.clusters.add(f64::from(half_points) / (2 * outcomes.len()) as f64);
        for &outcome in outcomes {
            self.score.add(outcome);
        }
    }

    /// Outcomes won, drawn and lost.
    pub fn score(&self) -> Score {
        self.score
    }

    /// Share of points, a draw counting half.
    ///
    /// The interval is [`Mean::share`]'s over clusters. A run of wins does not shrink it to a
    /// point, and it reaches 0 or 1 only if the share does.
    pub fn share(&self) -> Estimate {
        let value = self.score.share();
        Estimate { value, ..self.clusters.share(self.games) }
    }

    /// Elo difference; infinite where the share is 0 or 1.
    pub fn elo(&self) -> Estimate {
        let share = self.share();
        Estimate { value: elo(share.value), low: elo(share.low), high: elo(share.high) }
    }

    /// Probability that the first player is the stronger one.
    ///
    /// Uses the normal distribution over clusters, or [`Score::superiority`] where the clusters
    /// are too few or all alike. Outcomes then count as many times as there are games.
    pub fn superiority(&self) -> f64 {
        let Some(error) = self.clusters.standard_error() else {
            let games_per_outcome = f64::from(self.games) / f64::from(self.score.games().max(1));
            let scaled = |outcomes: u32| (f64::from(outcomes) * games_per_outcome).round() as u32;
            let Score { wins, draws, losses } = self.score;
            let [wins, draws, losses] = [wins, draws, losses].map(scaled);
            return Score { wins, draws, losses }.superiority();
        };
        let deviations = (self.score.share() - 0.5) / error;
        0.5 * libm::erfc(-deviations / std::f64::consts::SQRT_2)
    }
}

/// Elo difference at which the first player is expected to take this share of the points.
pub fn elo(share: f64) -> f64 {
    400.0 * (share / (1.0 - share)).log10()
}

/// Share of the points that a player with this Elo difference is expected to take.
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
            comparison.add(pair, 2);
        }
        comparison
    }

    #[test]
    fn outcomes_of_one_game_are_no_independent_games() {
        // Four games, each won against three copies of the other player.
        let mut sweep = Comparison::default();
        sweep.add(&[Win; 12], 4);
        assert_eq!(sweep.score().wins, 12);
        let (low, _) = crate::interval::wilson(1.0, 4.0);
        assert_eq!(sweep.share().low, low);
        assert!((sweep.superiority() - (1.0 - 2_f64.powi(-5))).abs() < 1e-12);
        // 33 won and 17 lost of the 84 outcomes of 28 games are about 11 and 6 games.
        let mut short = Comparison::default();
        let outcomes = [vec![Win; 33], vec![Loss; 17], vec![Draw; 34]].concat();
        outcomes.chunks(12).for_each(|cluster| short.add(cluster, 4));
        let expected = Score { wins: 11, draws: 11, losses: 6 }.superiority();
        assert!((short.superiority() - expected).abs() < 1e-12);
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
        // One side wins whenever it starts, so all but two pairs are even.
        let mut pairs = vec![[Win, Loss]; 98];
        pairs.extend([[Win, Win], [Loss, Loss]]);
        let share = compare(&pairs).share();
        assert_eq!(share.value, 0.5);
        let (low, high) = compare(&pairs).score().interval();
        assert!(share.low > low + 0.03 && share.high < high - 0.03, "{share:?}, {low} {high}");
    }

    #[test]
    fn a_run_of_wins_and_a_short_match_keep_a_realistic_width() {
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

    /// 1,000 matches of 60 pairs with a true share of 0.6. The number of 95 % intervals that
    /// cover it is binomial with deviation 6.9.
    #[test]
    fn the_interval_covers_the_true_share_in_95_percent_of_matches() {
        let mut rng = Rng::new(3, "comparison");
        let covered = (0..1_000)
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
        assert!((915..=985).contains(&covered), "{covered}");
    }
}
