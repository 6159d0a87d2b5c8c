//! The games of one seed: what a gate folds, what the store keeps.
//!
//! * Two seats: the candidate at each seat once, a pair.
//! * More: the candidate at each seat once, copies of its opponent at the others.
//! * One: both play the seed alone, and what is ranked is their scores.

use serde::{Deserialize, Serialize};

use super::Score;

/// Who finished before whom, the best first: per place, how often the candidate and how many of
/// its opponents share it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Ranking(Vec<(u32, u32)>);

impl Ranking {
    /// Ranks the candidate's result among its opponents': the larger the better.
    pub fn new(candidate: f32, opponents: &[f32]) -> Self {
        let mut results: Vec<(f32, bool)> = opponents.iter().map(|&one| (one, false)).collect();
        results.push((candidate, true));
        // Adding 0 makes -0 and 0 the same draw.
        results.sort_by(|a, b| (b.0 + 0.0).total_cmp(&(a.0 + 0.0)));
        let mut places: Vec<(u32, u32)> = Vec::new();
        let mut last = None;
        for (result, is_candidate) in results {
            if last != Some((result + 0.0).to_bits()) {
                places.push((0, 0));
                last = Some((result + 0.0).to_bits());
            }
            if let Some(place) = places.last_mut() {
                if is_candidate {
                    place.0 += 1;
                } else {
                    place.1 += 1;
                }
            }
        }
        Self(places)
    }

    /// The places, best first: candidates and opponents that share each.
    pub fn places(&self) -> &[(u32, u32)] {
        &self.0
    }

    /// The candidate against each of its opponents.
    pub fn score(&self) -> Score {
        let mut score = Score::default();
        let own = self.0.iter().position(|place| place.0 > 0).unwrap_or(0);
        for (index, &(_, opponents)) in self.0.iter().enumerate() {
            match index.cmp(&own) {
                std::cmp::Ordering::Less => score.losses += opponents,
                std::cmp::Ordering::Equal => score.draws += opponents,
                std::cmp::Ordering::Greater => score.wins += opponents,
            }
        }
        score
    }

    /// The same as an opponent sees it. Of a game of two.
    pub fn reversed(&self) -> Self {
        Self(self.0.iter().map(|&(candidate, opponents)| (opponents, candidate)).collect())
    }
}

/// One game as the candidate sees it; of a game that is played alone, the two games of a seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GameResult {
    /// Who finished before whom.
    pub ranking: Ranking,
    /// By how much the candidate's score is above the mean of the others'.
    pub margin: f64,
    /// Digest of seats, moves and states, which tells repetitions apart.
    pub fingerprint: u64,
}

/// The games of one seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClusterResult {
    /// Position in the match, from 0.
    pub cluster: u32,
    /// The candidate at seat 0, at seat 1, and so on.
    pub games: Vec<GameResult>,
}

impl ClusterResult {
    /// The candidate against each opponent in each game.
    pub fn score(&self) -> Score {
        self.games.iter().map(|game| game.ranking.score()).sum()
    }

    /// Mean margin of the games.
    pub fn margin(&self) -> f64 {
        let sum: f64 = self.games.iter().map(|game| game.margin).sum();
        sum / (self.games.len().max(1)) as f64
    }
}

/// How many games one seed is good for, and how many opponents a candidate meets in each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shape {
    /// Seats of the game.
    pub seats: u32,
}

impl Shape {
    /// Games of one cluster; a seed that both play alone counts as one.
    pub fn games(self) -> u32 {
        self.seats.max(1)
    }

    /// Opponents in each game.
    pub fn opponents(self) -> u32 {
        self.seats.saturating_sub(1).max(1)
    }

    /// Half points of one cluster at most.
    pub fn half_points(self) -> u32 {
        2 * self.games() * self.opponents()
    }

    /// What a cluster is called.
    pub fn noun(self) -> &'static str {
        match self.seats {
            0 | 1 => "seeds played by both",
            2 => "pairs with seats swapped",
            _ => "rounds of all seats",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ranking_says_whom_the_candidate_beat() {
        let of = |candidate, opponents: &[f32]| {
            let Score { wins, draws, losses } = Ranking::new(candidate, opponents).score();
            (wins, draws, losses)
        };
        assert_eq!(of(1.0, &[-1.0]), (1, 0, 0));
        assert_eq!(of(0.0, &[-0.0]), (0, 1, 0));
        assert_eq!(of(-1.0, &[1.0, -1.0, -1.0]), (0, 2, 1));
        assert_eq!(of(0.0, &[0.0, -1.0, 1.0]), (1, 1, 1));
        assert_eq!(Ranking::new(-1.0, &[1.0, -1.0, -1.0]).places(), [(0, 1), (1, 2)]);
        let lost = Ranking::new(-1.0, &[1.0]);
        assert_eq!(lost.reversed(), Ranking::new(1.0, &[-1.0]));
    }

    #[test]
    fn equal_players_of_any_number_expect_half_the_points() {
        for seats in 2..6_u32 {
            let mut score = Score::default();
            for winner in 0..seats {
                let result = |seat| if seat == winner { 1.0 } else { -1.0 };
                let others: Vec<f32> = (1..seats).map(result).collect();
                score += Ranking::new(result(0), &others).score();
            }
            assert_eq!(score.share(), 0.5);
            assert_eq!(2 * score.games(), Shape { seats }.half_points());
        }
    }
}
