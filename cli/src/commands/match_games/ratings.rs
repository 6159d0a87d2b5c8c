//! Bradley–Terry ratings of all entrants, with intervals by the bootstrap.
//!
//! The model's own intervals assume independent games. Games of one seed, and the comparisons
//! within a game of more than two seats, are correlated. The bootstrap therefore draws clusters
//! with replacement and rates each sample (Efron 1979). The wider of both intervals is reported.

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
