//! Clusters: the games of one seed, which a gate folds and the store keeps.
//!
//! * Two seats: a pair, with the candidate at each seat once.
//! * More seats: a round, with the candidate at each seat once and copies of its opponent at the
//!   others.
//! * One seat: both players play the seed alone, and their scores are ranked.

use std::collections::BTreeSet;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use crate::score::Score;

/// Most seats of a game. What is read from outside may not have more, so no sum overflows and no
/// list of seats exhausts the memory.
const MOST_SEATS: u32 = 16;

/// The final order of a game, best place first. Each place holds the number of candidates and
/// the number of opponents that share it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Ranking(#[serde(deserialize_with = "read_places")] Vec<(u32, u32)>);

fn read_places<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<(u32, u32)>, D::Error> {
    let places = Vec::<(u32, u32)>::deserialize(deserializer)?;
    let players = places.iter().fold(0_u32, |sum, &(candidates, opponents)| {
        sum.saturating_add(candidates).saturating_add(opponents)
    });
    if places.len() > MOST_SEATS as usize || players > MOST_SEATS {
        return Err(D::Error::custom(format_args!(
            "a ranking has {} places and {players} players; a game has at most {MOST_SEATS}",
            places.len()
        )));
    }
    Ok(places)
}

impl Ranking {
    /// Ranks the candidate's result among its opponents' results; larger is better.
    pub fn new(candidate: f32, opponents: &[f32]) -> Self {
        let mut results: Vec<(f32, bool)> = opponents.iter().map(|&one| (one, false)).collect();
        results.push((candidate, true));
        // Adding 0 turns -0 into 0, so that both compare as the same draw.
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

    /// Candidates and opponents at each place, best place first.
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

    /// The ranking with the roles of candidate and opponents exchanged.
    pub fn reversed(&self) -> Self {
        Self(self.0.iter().map(|&(candidate, opponents)| (opponents, candidate)).collect())
    }
}

/// One game from the candidate's point of view. In games for one player it stands for the two
/// games of a seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GameResult {
    /// The final order.
    pub ranking: Ranking,
    /// The candidate's score minus the mean score of the others.
    pub margin: f64,
    /// Digest of seats, moves and states; equal for repeated games.
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

/// The games in which repetitions are looked for, by fingerprint.
///
/// Deterministic players can repeat a game for ever. A repeated game is no new evidence.
#[derive(Clone, Debug, Default)]
pub struct DistinctGames(BTreeSet<u64>);

impl DistinctGames {
    /// Adds the games of a cluster and returns `true`, if none of them repeats another.
    /// Otherwise adds none and returns `false`: half a cluster would favour a seat.
    pub fn insert(&mut self, cluster: &ClusterResult) -> bool {
        let own: BTreeSet<u64> = cluster.games.iter().map(|game| game.fingerprint).collect();
        if own.len() != cluster.games.len() || !own.is_disjoint(&self.0) {
            return false;
        }
        self.0.extend(own);
        true
    }
}

/// The size of a cluster, which follows from the seats of the game.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClusterShape {
    /// Seats of the game.
    #[serde(deserialize_with = "read_seats")]
    pub seats: u32,
}

fn read_seats<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let seats = u32::deserialize(deserializer)?;
    if seats > MOST_SEATS {
        return Err(D::Error::custom(format_args!(
            "seats is {seats}; a game has at most {MOST_SEATS}"
        )));
    }
    Ok(seats)
}

impl ClusterShape {
    /// The shape in a game with `seats` seats.
    pub fn of_seats(seats: usize) -> Self {
        Self { seats: seats.try_into().unwrap_or(u32::MAX) }
    }

    /// Games of one cluster. A seed that both players play alone counts as one game.
    pub fn games(self) -> u32 {
        self.seats.max(1)
    }

    /// Opponents in each game.
    pub fn opponents(self) -> u32 {
        self.seats.saturating_sub(1).max(1)
    }

    /// Most half points of one cluster.
    pub fn half_points(self) -> u32 {
        2 * self.games() * self.opponents()
    }

    /// Name of `count` clusters in a sentence.
    pub fn noun(self, count: u32) -> &'static str {
        match (self.seats, count) {
            (0 | 1, 1) => "seed played by both",
            (0 | 1, _) => "seeds played by both",
            (2, 1) => "pair with seats swapped",
            (2, _) => "pairs with seats swapped",
            (_, 1) => "round of all seats",
            _ => "rounds of all seats",
        }
    }

    /// A score in words. Above two seats it counts comparisons: a game has one with each opponent.
    pub fn in_words(self, score: Score) -> String {
        let Score { wins, draws, losses } = score;
        if self.opponents() > 1 {
            format!(
                "ahead in {wins} comparisons with opponents, level in {draws}, behind in {losses}"
            )
        } else {
            format!("{wins} won, {draws} drawn, {losses} lost")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_score_of_a_ranking_counts_opponents_behind_level_and_ahead() {
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
    fn rankings_and_shapes_of_more_seats_than_a_game_has_cannot_be_read() {
        let ranking = Ranking::new(0.0, &[0.0, -1.0, 1.0]);
        let text = serde_json::to_string(&ranking).unwrap();
        assert_eq!(text, "[[0,1],[1,1],[0,1]]");
        assert_eq!(serde_json::from_str::<Ranking>(&text).unwrap(), ranking);
        for text in [
            "[[1,16]]",
            "[[1,4294967295],[4294967295,0]]",
            &format!("[{}[1,1]]", "[0,0],".repeat(16)),
        ] {
            let error = serde_json::from_str::<Ranking>(text).unwrap_err().to_string();
            assert!(error.contains("a game has at most 16"), "{error}");
        }
        let shape =
            |seats: u64| serde_json::from_str::<ClusterShape>(&format!("{{\"seats\":{seats}}}"));
        assert_eq!(shape(16).unwrap(), ClusterShape { seats: 16 });
        let error = shape(4_294_967_295).unwrap_err().to_string();
        assert!(error.contains("seats is 4294967295; a game has at most 16"), "{error}");
    }

    #[test]
    fn a_score_counts_games_of_two_and_comparisons_above() {
        let score = Score { wins: 12, draws: 1, losses: 0 };
        let of = |seats| ClusterShape { seats }.in_words(score);
        assert_eq!([of(1), of(2)], ["12 won, 1 drawn, 0 lost"; 2]);
        let text = "ahead in 12 comparisons with opponents, level in 1, behind in 0";
        assert_eq!([of(3), of(4)], [text; 2]);
        let noun = |seats, count| ClusterShape { seats }.noun(count);
        assert_eq!((noun(4, 1), noun(4, 2)), ("round of all seats", "rounds of all seats"));
        assert_eq!(noun(2, 0), "pairs with seats swapped");
    }

    #[test]
    fn the_mean_score_of_equal_players_is_one_half_for_any_number_of_seats() {
        for seats in 2..6_u32 {
            let mut score = Score::default();
            for winner in 0..seats {
                let result = |seat| if seat == winner { 1.0 } else { -1.0 };
                let others: Vec<f32> = (1..seats).map(result).collect();
                score += Ranking::new(result(0), &others).score();
            }
            assert_eq!(score.share(), 0.5);
            assert_eq!(2 * score.games(), ClusterShape { seats }.half_points());
        }
    }
}
