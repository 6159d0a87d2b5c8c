//! The sums of a match, over clusters of games that share a seed.
//!
//! Above two seats every two seats of a game are compared, unless both share the last place. Such players
//! were not ranked among themselves: in Battlesnake all snakes but the survivor have the same outcome. If
//! they counted as level, every score would be drawn towards one half. Without them a comparison of two
//! players follows Luce's choice axiom, as the arena's ratings do: given that one of the two comes first,
//! the odds are those of their strengths. A game in which all share one place is a draw.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use ouro_rating::{Comparison, Estimate, GameOutcome, Mean, Score};

use super::play::PlayedGame;
use super::schedule::Planned;

/// The games of a match, from which the sums are computed.
pub(super) struct Sums<'a> {
    schedule: &'a [Planned],
    played: &'a [PlayedGame],
    seats: usize,
}

/// The comparison of two entrants.
pub(super) struct Compared {
    pub(super) comparison: Comparison,
    /// The score of each cluster. It is empty if no game of the cluster ranks the two.
    pub(super) clusters: BTreeMap<usize, Score>,
}

/// The games of one cluster in which two entrants sat.
#[derive(Default)]
struct ClusterGames {
    /// The score of each game.
    scores: Vec<Score>,
    /// The last game that was added.
    last: Option<usize>,
}

impl ClusterGames {
    /// The score of a game. All comparisons of a game are added before those of the next.
    fn score_of(&mut self, game: usize) -> &mut Score {
        if self.last.replace(game) != Some(game) {
            self.scores.push(Score::default());
        }
        let last = self.scores.len() - 1;
        &mut self.scores[last]
    }
}

/// An entrant in a seat, with its result.
type Seated = (usize, f32);

/// The outcome for `a`.
fn outcome(a: f32, b: f32) -> GameOutcome {
    match a.total_cmp(&b) {
        Ordering::Greater => GameOutcome::Win,
        Ordering::Equal => GameOutcome::Draw,
        Ordering::Less => GameOutcome::Loss,
    }
}

/// The results of one entrant over all its games.
pub(super) struct Shares {
    /// Number of seats over all games.
    pub(super) seats: usize,
    /// Share of first places of a player of average strength: its share of seats.
    pub(super) expected: f64,
    /// Share of first places; a shared first place is split.
    pub(super) first_places: Estimate,
    /// Mean of the game's own score, per seat and game.
    pub(super) score: Estimate,
}

impl<'a> Sums<'a> {
    /// `played[i]` is the result of `schedule[i]`.
    pub(super) fn new(schedule: &'a [Planned], played: &'a [PlayedGame], seats: usize) -> Self {
        Self { schedule, played, seats }
    }

    /// Compares every two entrants by the outcomes of each game that ranks them. In single-player games
    /// the scores on each seed are compared instead.
    pub(super) fn compare(&self) -> BTreeMap<(usize, usize), Compared> {
        let mut clusters: BTreeMap<(usize, usize), BTreeMap<usize, ClusterGames>> = BTreeMap::new();
        let mut add = |cluster: usize, game: usize, a: Seated, b: Seated, is_ranked: bool| {
            let (a, b) = if a.0 < b.0 { (a, b) } else { (b, a) };
            if a.0 == b.0 {
                return;
            }
            let games = clusters.entry((a.0, b.0)).or_default().entry(cluster).or_default();
            let score = games.score_of(game);
            if is_ranked {
                score.add(outcome(a.1, b.1));
            }
        };
        if self.seats == 1 {
            let mut alone: BTreeMap<usize, Vec<Seated>> = BTreeMap::new();
            for (planned, played) in self.schedule.iter().zip(self.played) {
                let result = (planned.seats[0], played.scores[0]);
                alone.entry(planned.cluster).or_default().push(result);
            }
            for (cluster, results) in alone {
                for (index, &a) in results.iter().enumerate() {
                    for &b in &results[index + 1..] {
                        // A game of each on the same seed counts as one.
                        add(cluster, cluster, a, b, true);
                    }
                }
            }
        } else {
            for (game, (planned, played)) in self.schedule.iter().zip(self.played).enumerate() {
                // Adding 0 turns -0 into 0, so that both count as the same outcome.
                let outcomes: Vec<f32> = played.outcomes.iter().map(|one| one + 0.0).collect();
                let last = outcomes.iter().copied().fold(f32::INFINITY, f32::min);
                let is_draw = outcomes.iter().all(|one| *one <= last);
                let seated = |seat: usize| (planned.seats[seat], outcomes[seat]);
                for a in 0..self.seats {
                    for b in a + 1..self.seats {
                        let (a, b) = (seated(a), seated(b));
                        let is_ranked = is_draw || a.1 > last || b.1 > last;
                        add(planned.cluster, game, a, b, is_ranked);
                    }
                }
            }
        }
        clusters
            .into_iter()
            .map(|(pairing, clusters)| {
                let mut comparison = Comparison::default();
                clusters.values().for_each(|games| comparison.add(&games.scores));
                let score = |games: ClusterGames| games.scores.into_iter().sum::<Score>();
                let clusters = clusters.into_iter().map(|(cluster, games)| (cluster, score(games)));
                (pairing, Compared { comparison, clusters: clusters.collect() })
            })
            .collect()
    }

    /// Returns the shares of one entrant.
    pub(super) fn shares(&self, entrant: usize) -> Shares {
        // Per cluster: first places, games, scores, seats.
        let mut clusters: BTreeMap<usize, (f64, u32, f64, usize)> = BTreeMap::new();
        let (mut seats, mut games) = (0, 0);
        for (planned, played) in self.schedule.iter().zip(self.played) {
            let mine: Vec<usize> =
                (0..self.seats).filter(|&seat| planned.seats[seat] == entrant).collect();
            if mine.is_empty() {
                continue;
            }
            let best = played.outcomes.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let is_first = |seat: &usize| played.outcomes[*seat] >= best;
            let winners = (0..self.seats).filter(is_first).count();
            let won = mine.iter().filter(|seat| is_first(seat)).count();
            let sum = clusters.entry(planned.cluster).or_default();
            sum.0 += won as f64 / winners as f64;
            sum.1 += 1;
            sum.2 += mine.iter().map(|&seat| f64::from(played.scores[seat])).sum::<f64>();
            sum.3 += mine.len();
            seats += mine.len();
            games += 1;
        }
        let (mut first_places, mut score) = (Mean::default(), Mean::default());
        for (first, games, scores, seats) in clusters.into_values() {
            first_places.add(first / f64::from(games));
            score.add(scores / seats as f64);
        }
        Shares {
            seats,
            expected: seats as f64 / (f64::from(games) * self.seats as f64).max(1.0),
            first_places: first_places.share(games),
            score: score.estimate(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::schedule::schedule;
    use super::super::testing::{finished, four_seats};
    use super::*;

    fn compared(planned: &[Planned], played: &[PlayedGame]) -> Comparison {
        let mut all = Sums::new(planned, played, 4).compare();
        all.remove(&(0, 1)).expect("both sat").comparison
    }

    #[test]
    fn a_player_that_never_comes_first_scores_nothing_against_three_copies() {
        let (planned, played) = four_seats(2, &[1; 400]);
        let comparison = compared(&planned, &played);
        // Each game ranks it behind the winner, and not against the two others.
        assert_eq!(comparison.score(), Score { wins: 0, draws: 0, losses: 400 });
        assert_eq!(comparison.games(), 400);
        assert_eq!(comparison.share().value, 0.0);
        let elo = comparison.elo();
        assert_eq!((elo.value, elo.low), (f64::NEG_INFINITY, f64::NEG_INFINITY));
        assert!(elo.high.is_finite() && elo.high < -600.0, "{elo:?}");
        assert!(comparison.superiority() < 1e-6);
    }

    #[test]
    fn half_of_the_first_places_against_three_copies_are_odds_of_three_to_one() {
        let winners: Vec<usize> = (0..400).map(|game| usize::from(game % 8 < 4)).collect();
        let (planned, played) = four_seats(2, &winners);
        let comparison = compared(&planned, &played);
        assert_eq!(comparison.score(), Score { wins: 600, draws: 0, losses: 200 });
        assert_eq!(comparison.games(), 400);
        let (share, elo) = (comparison.share(), comparison.elo());
        assert!((share.value - 0.75).abs() < 1e-12 && (elo.value - 190.85).abs() < 0.01, "{elo:?}");
        assert!(0.6 < share.low && share.low < 0.75 && 0.75 < share.high && share.high < 0.9);
    }

    #[test]
    fn equal_players_take_half_of_the_points() {
        // The first player comes first in a quarter of the games.
        let winners: Vec<usize> = (0..400).map(|game| usize::from(game % 4 > 0)).collect();
        let (planned, played) = four_seats(2, &winners);
        assert!((compared(&planned, &played).share().value - 0.5).abs() < 1e-12);
    }

    #[test]
    fn players_level_ahead_of_the_last_place_drew_and_so_did_all_that_share_one_place() {
        let planned = schedule(1, 4, 2, 4).expect("a round");
        let drawn: Vec<PlayedGame> = (0..4).map(|game| finished(vec![-0.0; 4], game)).collect();
        let comparison = compared(&planned, &drawn);
        assert_eq!(comparison.score(), Score { wins: 0, draws: 12, losses: 0 });
        // The first player is at seats 0, 3, 2 and 1 in turn.
        let two_last: Vec<PlayedGame> =
            (0..4).map(|game| finished(vec![-0.9, -0.9, -1.0, -1.0], game)).collect();
        let comparison = compared(&planned, &two_last);
        assert_eq!(comparison.score(), Score { wins: 4, draws: 2, losses: 4 });
        assert_eq!(comparison.games(), 4);
    }

    #[test]
    fn two_seats_are_compared_in_every_game() {
        let planned = schedule(1, 4, 2, 2).expect("pairs");
        let outcomes = [[1.0, -1.0], [1.0, -1.0], [0.0, -0.0], [-1.0, -1.0]];
        let played = outcomes.iter().enumerate();
        let played: Vec<PlayedGame> =
            played.map(|(game, outcomes)| finished(outcomes.to_vec(), game)).collect();
        let mut all = Sums::new(&planned, &played, 2).compare();
        let comparison = all.remove(&(0, 1)).expect("both sat").comparison;
        // Two players with the worst outcome drew: no other player was ahead of them.
        assert_eq!(comparison.score(), Score { wins: 1, draws: 2, losses: 1 });
        assert_eq!(comparison.games(), 4);
    }
}
