//! The outcome of a game for one side, and sums of outcomes.

use serde::{Deserialize, Serialize};

use crate::interval::wilson;

/// How one game ended for the candidate against one opponent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GameOutcome {
    /// It lost.
    Loss,
    /// It drew.
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

/// Wins, draws and losses of the candidate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Counts")]
pub struct Score {
    /// Games won.
    pub wins: u32,
    /// Games drawn.
    pub draws: u32,
    /// Games lost.
    pub losses: u32,
}

/// A score as it is read.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Counts {
    wins: u32,
    draws: u32,
    losses: u32,
}

/// Most games of a score that is read, so that its half points fit.
const MOST_GAMES: u64 = 1 << 30;

/// The error for a score of more games than any match has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a score has {0} games; it may have at most {MOST_GAMES}")]
struct ScoreError(u64);

impl TryFrom<Counts> for Score {
    type Error = ScoreError;

    fn try_from(Counts { wins, draws, losses }: Counts) -> Result<Self, ScoreError> {
        let games = u64::from(wins) + u64::from(draws) + u64::from(losses);
        if games > MOST_GAMES {
            return Err(ScoreError(games));
        }
        Ok(Self { wins, draws, losses })
    }
}

impl FromIterator<GameOutcome> for Score {
    fn from_iter<I: IntoIterator<Item = GameOutcome>>(outcomes: I) -> Self {
        let mut score = Self::default();
        outcomes.into_iter().for_each(|outcome| score.add(outcome));
        score
    }
}

impl std::ops::AddAssign for Score {
    fn add_assign(&mut self, other: Self) {
        self.wins += other.wins;
        self.draws += other.draws;
        self.losses += other.losses;
    }
}

impl std::iter::Sum for Score {
    fn sum<I: Iterator<Item = Self>>(scores: I) -> Self {
        scores.fold(Self::default(), |mut sum, score| {
            sum += score;
            sum
        })
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

    /// The score from the other side's point of view.
    #[must_use]
    pub fn reversed(self) -> Self {
        Self { wins: self.losses, draws: self.draws, losses: self.wins }
    }

    /// The score of `count` repetitions.
    #[must_use]
    pub fn times(self, count: u32) -> Self {
        let Self { wins, draws, losses } = self;
        Self { wins: count * wins, draws: count * draws, losses: count * losses }
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

    /// Wilson's 95 % interval of the share, which treats games as independent.
    ///
    /// Draws make the true interval narrower, so this one is conservative.
    pub fn interval(&self) -> (f64, f64) {
        wilson(self.share(), f64::from(self.games()))
    }

    /// Likelihood of superiority: the probability, under a uniform prior, that the candidate
    /// wins more than half of the decisive games. Draws carry no information about it.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_of_more_games_than_can_be_counted_cannot_be_read() {
        let score = Score { wins: 3, draws: 0, losses: 1 << 20 };
        let text = serde_json::to_string(&score).unwrap();
        assert_eq!(serde_json::from_str::<Score>(&text).unwrap(), score);
        let many = text.replace("\"wins\":3", "\"wins\":4294967295");
        let error = serde_json::from_str::<Score>(&many).unwrap_err().to_string();
        assert!(error.contains("it may have at most 1073741824"), "{error}");
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
    fn the_interval_covers_the_share_and_stays_within_zero_and_one() {
        for (wins, draws, losses) in [(0, 0, 0), (1, 0, 0), (0, 0, 7), (60, 20, 20)] {
            let score = Score { wins, draws, losses };
            let (low, high) = score.interval();
            assert!(0.0 <= low && low <= score.share() && score.share() <= high && high <= 1.0);
        }
        // Wilson 1927 at 8 of 10: (0.490, 0.943).
        let (low, high) = Score { wins: 8, draws: 0, losses: 2 }.interval();
        assert!((low - 0.490).abs() < 1e-3 && (high - 0.943).abs() < 1e-3, "{low} {high}");
    }
}
