//! How much stronger one player is than another, with its error.
//!
//! Games come in clusters that share a seed: a pair with seats swapped, or a round of all
//! rotations. The start position favours each side in turn, so games of one cluster are not
//! independent. Neither are the outcomes of one game with more than two seats. A [`Comparison`]
//! therefore counts clusters, not games. For pairs the variance is that of the pentanomial model of
//! fishtest ("Mathematics of the framework").
//!
//! Above two seats, games differ in the number of outcomes: players that share the last place were
//! not ranked among themselves. The share is then a ratio of two sums, points to outcomes. Its
//! variance follows from the residuals of the clusters (Cochran 1977, "Sampling Techniques", section
//! 6.4). With equally many outcomes in each cluster it is the variance of the clusters' mean scores.
//!
//! Elo is the logistic model's, `400 · log10(s / (1 - s))` for a score `s`, with the interval of `s`
//! carried through it.

use crate::interval::{Dispersion, Estimate};
use crate::score::Score;

/// Results of one player against another, from the first player's point of view.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comparison {
    score: Score,
    clusters: Clusters,
    games: u32,
    /// Games with at least one outcome.
    ranked: u32,
}

/// Sums over the clusters that have an outcome. All terms are multiples of a quarter, so the sums are
/// exact.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Clusters {
    count: u32,
    /// Points squared.
    points: f64,
    /// Points times outcomes.
    mixed: f64,
    /// Outcomes squared.
    outcomes: f64,
}

impl Clusters {
    fn add(&mut self, score: Score) {
        let (points, outcomes) = (f64::from(score.half_points()) / 2.0, f64::from(score.games()));
        self.count += 1;
        self.points += points * points;
        self.mixed += points * outcomes;
        self.outcomes += outcomes * outcomes;
    }
}

impl Comparison {
    /// Adds one cluster: the score of each of its games.
    ///
    /// A game has several outcomes if a player holds several seats, and none if it does not rank the
    /// two players.
    pub fn add(&mut self, games: &[Score]) {
        self.games += games.len() as u32;
        self.ranked += games.iter().filter(|game| game.games() > 0).count() as u32;
        let cluster: Score = games.iter().copied().sum();
        // A cluster without an outcome has no share.
        if cluster.games() > 0 {
            self.score += cluster;
            self.clusters.add(cluster);
        }
    }

    /// Outcomes won, drawn and lost.
    pub fn score(&self) -> Score {
        self.score
    }

    /// Games in which both players sat. Those that do not rank the two add nothing else.
    pub fn games(&self) -> u32 {
        self.games
    }

    /// Share of points in the outcomes, a draw counting half; one half without an outcome.
    ///
    /// The interval is Wilson's, as in [`Mean::share`](crate::Mean::share), over clusters. The games
    /// that rank the two players are its trials where clusters are too few or all alike. A run of
    /// wins does not shrink it to a point, and it reaches 0 or 1 only if the share does.
    pub fn share(&self) -> Estimate {
        self.dispersion().share(self.score.share(), self.ranked)
    }

    /// Elo difference; infinite where the share is 0 or 1.
    pub fn elo(&self) -> Estimate {
        let share = self.share();
        Estimate { value: elo(share.value), low: elo(share.low), high: elo(share.high) }
    }

    /// Probability that the first player is the stronger one.
    ///
    /// Uses the normal distribution over clusters, or [`Score::superiority`] where the clusters
    /// are too few or all alike. Outcomes then count as many times as there are games that rank the
    /// two players.
    pub fn superiority(&self) -> f64 {
        let Some(error) = self.dispersion().standard_error() else {
            let games_per_outcome = f64::from(self.ranked) / f64::from(self.score.games().max(1));
            let scaled = |outcomes: u32| (f64::from(outcomes) * games_per_outcome).round() as u32;
            let Score { wins, draws, losses } = self.score;
            let [wins, draws, losses] = [wins, draws, losses].map(scaled);
            return Score { wins, draws, losses }.superiority();
        };
        let deviations = (self.score.share() - 0.5) / error;
        0.5 * libm::erfc(-deviations / std::f64::consts::SQRT_2)
    }

    /// How much the shares of clusters differ: the variance of the share, times the number of
    /// clusters.
    ///
    /// The variance of the share is `n / (n - 1) · Σ residual² / outcomes²`. The residual of a cluster
    /// is its points, less the points that its outcomes would have at the share of the whole match.
    fn dispersion(&self) -> Dispersion {
        let Clusters { count, points, mixed, outcomes } = self.clusters;
        let (n, share) = (f64::from(count), self.score.share());
        let residuals = points - 2.0 * share * mixed + share * share * outcomes;
        // Mean number of outcomes of a cluster.
        let size = f64::from(self.score.games().max(1)) / n.max(1.0);
        let variance = residuals.max(0.0) / (size * size) / (n - 1.0).max(1.0);
        Dispersion { count, variance }
    }
}

/// Elo difference at which the first player is expected to take this share of the points, in games that
/// rank the two players.
pub fn elo(share: f64) -> f64 {
    400.0 * (share / (1.0 - share)).log10()
}

/// Share of the points that a player with this Elo difference is expected to take, in games that rank
/// the two players, a draw counting half.
///
/// Above two seats not every game does: players that share the last place were not ranked. Without
/// draws, the share is the probability that the player is ranked ahead of the other one.
pub fn expected_share(elo: f64) -> f64 {
    1.0 / (1.0 + 10_f64.powf(-elo / 400.0))
}

#[cfg(test)]
mod tests {
    use ouro_game::Rng;

    use super::*;
    use crate::Mean;
    use crate::interval::wilson;
    use crate::score::GameOutcome;
    use GameOutcome::{Draw, Loss, Win};

    fn compare(pairs: &[[GameOutcome; 2]]) -> Comparison {
        let mut comparison = Comparison::default();
        for pair in pairs {
            comparison.add(&pair.map(|outcome| of(&[outcome])));
        }
        comparison
    }

    fn of(outcomes: &[GameOutcome]) -> Score {
        outcomes.iter().copied().collect()
    }

    #[test]
    fn outcomes_of_one_game_are_no_independent_games() {
        // Four games, each won against three copies of the other player.
        let mut sweep = Comparison::default();
        sweep.add(&[of(&[Win; 3]); 4]);
        assert_eq!(sweep.score().wins, 12);
        let (low, _) = wilson(1.0, 4.0);
        assert_eq!(sweep.share().low, low);
        assert!((sweep.superiority() - (1.0 - 2_f64.powi(-5))).abs() < 1e-12);
        // 33 won and 17 lost of the 84 outcomes of 28 games are about 11 and 6 games.
        let mut short = Comparison::default();
        let outcomes = [vec![Win; 33], vec![Loss; 17], vec![Draw; 34]].concat();
        let games: Vec<Score> = outcomes.chunks(3).map(of).collect();
        games.chunks(4).for_each(|cluster| short.add(cluster));
        let expected = Score { wins: 11, draws: 11, losses: 6 }.superiority();
        assert!((short.superiority() - expected).abs() < 1e-12);
    }

    #[test]
    fn clusters_with_more_outcomes_count_more() {
        // In a round, a player that comes first is ahead of three copies of the other one.
        let mut comparison = Comparison::default();
        for _ in 0..10 {
            comparison.add(&[of(&[Win; 3])]);
            comparison.add(&[of(&[Loss])]);
        }
        // Half of the first places, against an equal share of three players.
        assert_eq!(comparison.score(), Score { wins: 30, draws: 0, losses: 10 });
        assert!((comparison.elo().value - 400.0 * 3_f64.log10()).abs() < 1e-9);
        // The residuals are 3 - 0.75 · 3 and 0 - 0.75 · 1.
        let variance = 20.0 / 19.0 * (20.0 * 0.75_f64.powi(2)) / 40_f64.powi(2);
        let (low, high) = wilson(0.75, 0.75 * 0.25 / variance);
        let share = comparison.share();
        assert!((share.low - low).abs() < 1e-12 && (share.high - high).abs() < 1e-12, "{share:?}");
        let deviations = 0.25 / variance.sqrt();
        let expected = 0.5 * libm::erfc(-deviations / std::f64::consts::SQRT_2);
        assert!((comparison.superiority() - expected).abs() < 1e-12);
    }

    #[test]
    fn clusters_of_one_size_have_the_interval_of_their_mean() {
        let mut rng = Rng::new(5, "comparison");
        let (mut comparison, mut mean) = (Comparison::default(), Mean::default());
        let mut outcome = || [Loss, Draw, Win][rng.below(3) as usize];
        for _ in 0..40 {
            let games = [(); 4].map(|()| of(&[outcome(), outcome(), outcome()]));
            comparison.add(&games);
            mean.add(games.into_iter().sum::<Score>().share());
        }
        let (share, expected) = (comparison.share(), mean.share(160));
        for (got, expected) in
            [(share.value, expected.value), (share.low, expected.low), (share.high, expected.high)]
        {
            assert!((got - expected).abs() < 1e-12, "{share:?} {expected}");
        }
    }

    #[test]
    fn a_game_that_does_not_rank_the_players_counts_as_a_game_alone() {
        let unranked = Score::default();
        let mut comparison = Comparison::default();
        comparison.add(&[unranked; 4]);
        assert_eq!(comparison.games(), 4);
        assert_eq!(comparison.share(), Comparison::default().share());
        assert!((comparison.superiority() - 0.5).abs() < 1e-12);
        // 20 rounds, in each of which one game of four ranks the two.
        let lost = of(&[Loss]);
        for _ in 0..20 {
            comparison.add(&[unranked, lost, unranked, unranked]);
        }
        assert_eq!((comparison.games(), comparison.score().games()), (84, 20));
        let (_, high) = wilson(0.0, 20.0);
        assert_eq!(comparison.share(), Estimate { value: 0.0, low: 0.0, high });
        assert!(comparison.elo().value.is_infinite() && comparison.elo().high.is_finite());
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

    /// 1,000 matches of 60 rounds of four seats, in which the first player comes first with
    /// probability 0.4. The odds against one of three equal players are then 1.2 to 0.6.
    #[test]
    fn the_interval_covers_the_true_share_among_four_seats_in_95_percent_of_matches() {
        let mut rng = Rng::new(4, "comparison");
        let (won, lost) = (of(&[Win; 3]), of(&[Loss]));
        let covered = (0..1_000)
            .filter(|_| {
                let mut comparison = Comparison::default();
                for _ in 0..60 {
                    // A seed that favours a seat.
                    let bias = 0.2 * (rng.unit() - 0.5);
                    let chances = [0.4 + bias, 0.4 - bias, 0.4, 0.4];
                    let game = |chance: f64| if rng.unit() < chance { won } else { lost };
                    comparison.add(&chances.map(game));
                }
                let share = comparison.share();
                share.low <= 2.0 / 3.0 && 2.0 / 3.0 <= share.high
            })
            .count();
        assert!((915..=985).contains(&covered), "{covered}");
    }
}
