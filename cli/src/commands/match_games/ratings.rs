//! Bradley–Terry ratings of all entrants, with intervals by the bootstrap.
//!
//! The model's own intervals assume independent games. Games of one seed, and the comparisons
//! within a game of more than two seats, are correlated. The bootstrap therefore draws clusters
//! with replacement and rates each sample (Efron 1979). The wider of both intervals is reported. All
//! clusters are drawn, also those in which no game ranks two of the entrants.

use std::collections::{BTreeMap, BTreeSet};

use ouro_game::Rng;
use ouro_rating::Score;
use ouro_rating::ratings::{PairScore, rate};
use serde::Serialize;

use super::sums::Compared;

/// Anchor of the ratings if it plays; otherwise the first entrant is the anchor.
const ANCHOR: &str = "random";
/// Bootstrap samples.
const SAMPLES: usize = 400;

/// One row of the table.
#[derive(Debug, Serialize)]
pub(super) struct Rated {
    pub(super) player: String,
    pub(super) elo: f64,
    pub(super) elo_low: f64,
    pub(super) elo_high: f64,
}

/// Rates all entrants, strongest first.
pub(super) fn rated(names: &[String], compared: &BTreeMap<(usize, usize), Compared>) -> Vec<Rated> {
    let anchor = names.iter().find(|name| *name == ANCHOR).unwrap_or(&names[0]);
    let table = |score: &dyn Fn(&Compared) -> Score| {
        let tallies: Vec<PairScore> = compared
            .iter()
            .map(|(&(first, second), compared)| PairScore {
                player: names[first].clone(),
                opponent: names[second].clone(),
                score: score(compared),
            })
            .collect();
        rate(&tallies, anchor).ratings
    };
    let clusters: BTreeSet<usize> =
        compared.values().flat_map(|compared| compared.clusters.keys().copied()).collect();
    let clusters: Vec<usize> = clusters.into_iter().collect();
    let mut drawn = vec![0; clusters.last().map_or(0, |last| last + 1)];
    // A fixed seed: the same match always gets the same intervals.
    let mut rng = Rng::new(1, "bootstrap");
    let mut samples: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for _ in 0..SAMPLES {
        drawn.fill(0);
        for _ in &clusters {
            drawn[clusters[rng.below(clusters.len() as u32) as usize]] += 1;
        }
        let resampled = |compared: &Compared| -> Score {
            compared.clusters.iter().map(|(&cluster, score)| score.times(drawn[cluster])).sum()
        };
        for row in table(&resampled) {
            samples.entry(row.player).or_default().push(row.elo);
        }
    }
    table(&|compared| compared.comparison.score())
        .into_iter()
        .map(|row| {
            let mut elos = samples.remove(&row.player).unwrap_or_default();
            elos.sort_by(f64::total_cmp);
            let quantile = |share: f64| {
                elos.get((share * elos.len() as f64) as usize).copied().unwrap_or(row.elo)
            };
            Rated {
                elo_low: row.elo_low.min(quantile(0.025)),
                elo_high: row.elo_high.max(quantile(0.975)),
                elo: row.elo,
                player: row.player,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::sums::Sums;
    use super::super::testing::four_seats;
    use super::*;

    #[test]
    fn three_players_at_four_seats_are_rated_by_who_comes_first() {
        // The first player is twice as strong as each other one, and the last one holds two seats: shares
        // of 2, 1 and 2 in 5 first places. In the last 40 rounds no game ranks the first two players.
        let winners = [vec![0; 160], vec![1; 80], vec![2; 160]].concat();
        let (planned, played) = four_seats(3, &winners);
        let compared = Sums::new(&planned, &played, 4).compare();
        let names = ["strong", "weak", "weak#2"].map(str::to_owned);
        let rows = rated(&names, &compared);
        assert_eq!(rows.len(), 3);
        let elo = |name: &str| {
            let row = rows.iter().find(|row| row.player == name).expect("it is rated");
            assert!(row.elo_low <= row.elo && row.elo <= row.elo_high, "{rows:?}");
            assert!(row.elo_low.is_finite() && row.elo_high.is_finite(), "{rows:?}");
            row.elo
        };
        // The anchor is the first player. The prior adds a drawn game to each of the others.
        assert_eq!(elo("strong"), 0.0);
        for name in ["weak", "weak#2"] {
            let expected = -400.0 * 2_f64.log10();
            assert!((elo(name) - expected).abs() < 3.0, "{name}: {rows:?}");
        }
    }
}
