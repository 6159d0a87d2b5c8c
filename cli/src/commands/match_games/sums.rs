//! The sums of a match, over clusters of games that share a seed.

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
    /// The score of each cluster.
    pub(super) clusters: BTreeMap<usize, Score>,
}

/// The outcomes of two entrants in the games of one cluster.
#[derive(Default)]
struct ClusterOutcomes {
    outcomes: Vec<GameOutcome>,
    games: u32,
    /// The last game that was added.
    last: Option<usize>,
}

impl ClusterOutcomes {
    /// Adds an outcome of a game. All of a game are added before those of the next.
    fn add(&mut self, game: usize, outcome: GameOutcome) {
        self.outcomes.push(outcome);
        self.games += u32::from(self.last.replace(game) != Some(game));
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

    /// Compares every two entrants by the outcomes of each game. In single-player games the scores
    /// on each seed are compared instead.
    pub(super) fn compare(&self) -> BTreeMap<(usize, usize), Compared> {
        let mut clusters: BTreeMap<(usize, usize), BTreeMap<usize, ClusterOutcomes>> =
            BTreeMap::new();
        let mut add = |cluster, game, a: (usize, f32), b: (usize, f32)| {
            let (a, b) = if a.0 < b.0 { (a, b) } else { (b, a) };
            if a.0 != b.0 {
                let outcome = match a.1.total_cmp(&b.1) {
                    std::cmp::Ordering::Greater => GameOutcome::Win,
                    std::cmp::Ordering::Equal => GameOutcome::Draw,
                    std::cmp::Ordering::Less => GameOutcome::Loss,
                };
                let of_pairing = clusters.entry((a.0, b.0)).or_default();
                of_pairing.entry(cluster).or_default().add(game, outcome);
            }
        };
        if self.seats == 1 {
            let mut alone: BTreeMap<usize, Vec<(usize, f32)>> = BTreeMap::new();
            for (planned, played) in self.schedule.iter().zip(self.played) {
                let result = (planned.seats[0], played.scores[0]);
                alone.entry(planned.cluster).or_default().push(result);
            }
            for (cluster, results) in alone {
                for (index, &a) in results.iter().enumerate() {
                    for &b in &results[index + 1..] {
                        // A game of each on the same seed counts as one.
                        add(cluster, cluster, a, b);
                    }
                }
            }
        } else {
            for (game, (planned, played)) in self.schedule.iter().zip(self.played).enumerate() {
                // Adding 0 turns -0 into 0, so that both count as the same outcome.
                let result = |seat: usize| (planned.seats[seat], played.outcomes[seat] + 0.0);
                for a in 0..self.seats {
                    for b in a + 1..self.seats {
                        add(planned.cluster, game, result(a), result(b));
                    }
                }
            }
        }
        clusters
            .into_iter()
            .map(|(pairing, clusters)| {
                let mut comparison = Comparison::default();
                for ClusterOutcomes { outcomes, games, .. } in clusters.values() {
                    comparison.add(outcomes, *games);
                }
                let score = |all: ClusterOutcomes| all.outcomes.into_iter().collect();
                let clusters = clusters.into_iter().map(|(cluster, all)| (cluster, score(all)));
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
