//! Decides whether a candidate joins the pool.
//!
//! A [`Gate`] is pure: it folds the results of paired games (same seed, seats swapped) into a
//! [`Verdict`] and knows nothing of stores, networks or clocks. A candidate is promoted if its
//! score over all games, a draw counting half, is *greater* than the threshold. The gate
//! stops early as soon as the games left cannot change that.
//!
//! Evidence is counted in distinct games: a pair that repeats an earlier one move by move
//! (deterministic players do that for ever) does not count, and a match that has played twice
//! its games without enough distinct ones is lost. Pairs are folded in their own order, so the
//! verdict does not depend on which game happens to finish first.
//!
//! # How often it errs
//!
//! At the defaults (200 games, more than 55 %) a candidate exactly as strong as the champion
//! is promoted with probability 0.069 if no game is drawn, and with 0.020 if half of them are;
//! a candidate that truly wins 55 % is promoted with 0.47. [`GateConfig::promotion_probability`]
//! computes such figures exactly; pairs are taken as independent games, which swapping seats
//! makes slightly pessimistic.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::interval::wilson;

/// Threshold steps in a whole: thresholds are exact to a hundredth of a percent.
const SCALE: u32 = 10_000;

/// The rule.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GateConfig {
    /// Games to decide on, an even number: half of them with seats swapped.
    pub games: u32,
    /// Share of points above which the candidate is promoted, at least 0.5 and below 1.
    pub threshold: f64,
}

impl Default for GateConfig {
    fn default() -> Self {
        Self { games: 200, threshold: 0.55 }
    }
}

/// What is wrong with a [`GateConfig`].
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum GateConfigError {
    /// Games come in pairs.
    #[error("gate.games is {0}; write an even number from 2 to 100000, since games come in pairs")]
    Games(u32),
    /// A threshold that equal players beat half the time, or that nobody can.
    #[error("gate.threshold is {0}; write a number from 0.5 to below 1")]
    Threshold(f64),
}

impl GateConfig {
    /// Checks both fields.
    pub fn validate(&self) -> Result<(), GateConfigError> {
        if self.games == 0 || self.games % 2 == 1 || self.games > 100_000 {
            return Err(GateConfigError::Games(self.games));
        }
        if !(0.5..1.0).contains(&self.threshold) {
            return Err(GateConfigError::Threshold(self.threshold));
        }
        Ok(())
    }

    /// Half points that promote: the fewest whose share exceeds the threshold.
    fn needed(&self) -> u32 {
        let threshold = (self.threshold * f64::from(SCALE)).round() as u64;
        (u64::from(2 * self.games) * threshold / u64::from(SCALE)) as u32 + 1
    }

    /// Probability of promotion for a candidate that wins and draws independent games with
    /// these probabilities: the exact distribution of its points, by convolution.
    pub fn promotion_probability(&self, win: f64, draw: f64) -> f64 {
        let loss = 1.0 - win - draw;
        let mut points = vec![0.0; 2 * self.games as usize + 1];
        points[0] = 1.0;
        for game in 1..=self.games as usize {
            for half_points in (0..=2 * game).rev() {
                let one_less = if half_points >= 1 { points[half_points - 1] } else { 0.0 };
                let two_less = if half_points >= 2 { points[half_points - 2] } else { 0.0 };
                points[half_points] = points[half_points] * loss + one_less * draw + two_less * win;
            }
        }
        points.iter().skip(self.needed() as usize).sum()
    }
}

/// How one game ended for the candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GameOutcome {
    /// It lost.
    Loss,
    /// Nobody won.
    Draw,
    /// It won.
    Win,
}

impl GameOutcome {
    /// Half points: 0, 1 or 2.
    pub fn half_points(self) -> u32 {
        match self {
            Self::Loss => 0,
            Self::Draw => 1,
            Self::Win => 2,
        }
    }
}

/// The two games of one seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PairResult {
    /// Position in the match, from 0.
    pub pair: u32,
    /// First the candidate in seat 0, then in seat 1.
    pub outcomes: [GameOutcome; 2],
    /// Digest of the moves of both games, which tells repetitions apart.
    pub fingerprint: u64,
}

/// What the gate says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The candidate joins the pool.
    Promote,
    /// It does not.
    Reject,
}

/// Wins, draws and losses of the candidate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Score {
    /// Games won.
    pub wins: u32,
    /// Games drawn.
    pub draws: u32,
    /// Games lost.
    pub losses: u32,
}

impl FromIterator<GameOutcome> for Score {
    fn from_iter<I: IntoIterator<Item = GameOutcome>>(outcomes: I) -> Self {
        let mut score = Self::default();
        outcomes.into_iter().for_each(|outcome| score.add(outcome));
        score
    }
}

impl Score {
    /// Adds one game.
    pub fn add(&mut self, outcome: GameOutcome) {
        match outcome {
            GameOutcome::Win => self.wins += 1,
            GameOutcome::Draw => self.draws += 1,
            GameOutcome::Loss => self.losses += 1,
        }
    }

    /// Games played.
    pub fn games(&self) -> u32 {
        self.wins + self.draws + self.losses
    }

    /// Half points won.
    pub fn half_points(&self) -> u32 {
        2 * self.wins + self.draws
    }

    /// Share of points, a draw counting half; one half before the first game.
    pub fn share(&self) -> f64 {
        match self.games() {
            0 => 0.5,
            games => f64::from(self.half_points()) / f64::from(2 * games),
        }
    }

    /// Wilson's 95 % interval of the share. Draws only narrow the truth, so it is cautious.
    pub fn interval(&self) -> (f64, f64) {
        wilson(self.share(), f64::from(self.games()))
    }

    /// Likelihood of superiority: the probability, under a uniform prior, that the candidate
    /// wins more than half of the decided games. Draws say nothing about it.
    ///
    /// The posterior is Beta(wins + 1, losses + 1); its mass above one half is
    /// P(X <= wins) for X binomial with wins + losses + 1 trials of one half.
    pub fn superiority(&self) -> f64 {
        let trials = f64::from(self.wins + self.losses + 1);
        // Log domain: 2^-trials underflows from about a thousand games.
        let mut log_term = -trials * std::f64::consts::LN_2;
        let mut sum = log_term.exp();
        for k in 1..=self.wins {
            log_term += ((trials - f64::from(k) + 1.0) / f64::from(k)).ln();
            sum += log_term.exp();
        }
        sum.min(1.0)
    }
}

/// Folds pairs of games into a verdict.
#[derive(Clone, Debug)]
pub struct Gate {
    config: GateConfig,
    seen: BTreeSet<u64>,
    next: u32,
    score: Score,
}

impl Gate {
    /// A gate without games. Odd numbers of games are refused.
    pub fn new(config: GateConfig) -> Result<Self, GateConfigError> {
        config.validate()?;
        Ok(Self { config, seen: BTreeSet::new(), next: 0, score: Score::default() })
    }

    /// Takes the result of the [`next_pair`](Self::next_pair). `false` means that it does not
    /// count: it is out of turn, repeats an earlier pair, or comes after the verdict.
    pub fn fold(&mut self, result: &PairResult) -> bool {
        if result.pair != self.next || self.verdict().is_some() {
            return false;
        }
        self.next += 1;
        if !self.seen.insert(result.fingerprint) {
            return false;
        }
        result.outcomes.into_iter().for_each(|game| self.score.add(game));
        true
    }

    /// The pair to fold next.
    pub fn next_pair(&self) -> u32 {
        self.next
    }

    /// Pairs that are played at most: twice those that must count.
    pub fn max_pairs(&self) -> u32 {
        self.config.games
    }

    /// The verdict, as soon as no remaining game can change it.
    pub fn verdict(&self) -> Option<Verdict> {
        let needed = self.config.needed();
        let open = (self.config.games - self.score.games()).min(2 * (self.max_pairs() - self.next));
        if self.score.half_points() >= needed {
            Some(Verdict::Promote)
        } else if self.score.half_points() + 2 * open < needed {
            Some(Verdict::Reject)
        } else {
            None
        }
    }

    /// The score over the games that count.
    pub fn score(&self) -> Score {
        self.score
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const WON: [GameOutcome; 2] = [GameOutcome::Win; 2];
    const DRAWN: [GameOutcome; 2] = [GameOutcome::Draw; 2];

    fn result(pair: u32, outcomes: [GameOutcome; 2]) -> PairResult {
        PairResult { pair, outcomes, fingerprint: u64::from(pair) }
    }

    /// A gate of 200 games after these pairs.
    fn after(pairs: impl IntoIterator<Item = [GameOutcome; 2]>) -> Gate {
        let mut gate = Gate::new(GateConfig::default()).unwrap();
        for (pair, outcomes) in pairs.into_iter().enumerate() {
            assert!(gate.fold(&result(pair as u32, outcomes)));
        }
        gate
    }

    fn outcome() -> impl Strategy<Value = GameOutcome> {
        prop_oneof![Just(GameOutcome::Loss), Just(GameOutcome::Draw), Just(GameOutcome::Win)]
    }

    #[test]
    fn exactly_fifty_five_percent_is_not_enough_and_half_a_point_more_is() {
        // 10 won pairs and 90 drawn ones: 20 + 90 = 110 points of 200.
        let drawn = || std::iter::repeat_n(DRAWN, 89);
        let won = || std::iter::repeat_n(WON, 10);
        let gate = after(drawn().chain(won()).chain([DRAWN]));
        assert_eq!((gate.score().half_points(), gate.verdict()), (220, Some(Verdict::Reject)));
        let gate = after(drawn().chain(won()).chain([[GameOutcome::Win, GameOutcome::Draw]]));
        assert_eq!((gate.score().half_points(), gate.verdict()), (221, Some(Verdict::Promote)));
    }

    #[test]
    fn a_clear_match_stops_early_on_both_sides() {
        // 56 won pairs are 112 points; one pair fewer is 110, which is not above 55 %.
        assert_eq!(after(std::iter::repeat_n(WON, 55)).verdict(), None);
        assert_eq!(after(std::iter::repeat_n(WON, 56)).verdict(), Some(Verdict::Promote));
        let lost = [GameOutcome::Loss; 2];
        assert_eq!(after(std::iter::repeat_n(lost, 44)).verdict(), None);
        assert_eq!(after(std::iter::repeat_n(lost, 45)).verdict(), Some(Verdict::Reject));
    }

    #[test]
    fn a_game_reported_twice_counts_once() {
        let mut gate = Gate::new(GateConfig { games: 4, threshold: 0.55 }).unwrap();
        assert!(gate.fold(&result(0, WON)));
        assert!(!gate.fold(&result(0, WON)));
        assert!(!gate.fold(&result(2, WON)));
        assert_eq!(gate.score(), Score { wins: 2, draws: 0, losses: 0 });
        assert_eq!((gate.verdict(), gate.next_pair()), (None, 1));
    }

    #[test]
    fn repeating_one_won_game_for_ever_is_not_a_promotion() {
        let mut gate = Gate::new(GateConfig { games: 20, threshold: 0.55 }).unwrap();
        let mut played = 0;
        while gate.verdict().is_none() {
            gate.fold(&PairResult { pair: played, outcomes: WON, fingerprint: 7 });
            played += 1;
        }
        assert_eq!(gate.verdict(), Some(Verdict::Reject));
        assert_eq!(gate.score().games(), 2);
        assert!(played <= gate.max_pairs());
    }

    #[test]
    fn odd_counts_and_thresholds_below_half_are_refused() {
        for games in [0, 1, 199, 100_002] {
            let config = GateConfig { games, ..GateConfig::default() };
            assert_eq!(Gate::new(config).unwrap_err(), GateConfigError::Games(games));
        }
        for threshold in [0.49, 1.0, f64::NAN, f64::INFINITY] {
            assert!(GateConfig { threshold, ..GateConfig::default() }.validate().is_err());
        }
    }

    #[test]
    fn the_documented_error_rates_are_the_computed_ones() {
        let gate = GateConfig::default();
        let equal = gate.promotion_probability(0.5, 0.0);
        // P(X >= 111) of 200 fair coins, summed from the other side in another way.
        let score = Score { wins: 89, draws: 0, losses: 110 };
        assert!((equal - score.superiority()).abs() < 1e-12, "{equal}");
        assert!((equal - 0.069).abs() < 5e-4, "{equal}");
        let drawish = gate.promotion_probability(0.25, 0.5);
        assert!((drawish - 0.020).abs() < 5e-4, "{drawish}");
        let better = gate.promotion_probability(0.55, 0.0);
        assert!((better - 0.47).abs() < 5e-3, "{better}");
    }

    #[test]
    fn superiority_is_the_share_of_the_posterior_above_one_half() {
        let of = |wins, losses| Score { wins, draws: 5, losses }.superiority();
        assert!((of(0, 0) - 0.5).abs() < 1e-12);
        // Beta(2, 1) has distribution function x^2: above one half lies 3/4.
        assert!((of(1, 0) - 0.75).abs() < 1e-12);
        assert!((of(7, 3) + of(3, 7) - 1.0).abs() < 1e-12);
        assert!(of(5_000, 4_000) > 0.999_999 && of(5_000, 4_000) <= 1.0);
    }

    #[test]
    fn the_interval_holds_the_share_and_stays_within_zero_and_one() {
        for (wins, draws, losses) in [(0, 0, 0), (1, 0, 0), (0, 0, 7), (60, 20, 20)] {
            let score = Score { wins, draws, losses };
            let (low, high) = score.interval();
            assert!(0.0 <= low && low <= score.share() && score.share() <= high && high <= 1.0);
        }
        // Wilson 1927 at 8 of 10: (0.490, 0.943).
        let (low, high) = Score { wins: 8, draws: 0, losses: 2 }.interval();
        assert!((low - 0.490).abs() < 1e-3 && (high - 0.943).abs() < 1e-3, "{low} {high}");
    }

    proptest! {
        #[test]
        fn stopping_early_never_changes_the_verdict(
            pairs in prop::collection::vec([outcome(), outcome()], 20),
        ) {
            let mut gate = Gate::new(GateConfig { games: 40, threshold: 0.55 }).unwrap();
            let mut early = None;
            for (index, &pair) in pairs.iter().enumerate() {
                gate.fold(&result(index as u32, pair));
                early = early.or(gate.verdict());
            }
            let points: u32 = pairs.iter().flatten().map(|game| game.half_points()).sum();
            // 55 % of 40 games are 44 half points.
            let whole = if points > 44 { Verdict::Promote } else { Verdict::Reject };
            prop_assert_eq!(early, Some(whole));
        }
    }
}
