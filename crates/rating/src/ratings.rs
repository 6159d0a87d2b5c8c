//! Elo ratings from all games at once.
//!
//! The model is Plackett and Luce's with ties (see `stage.rs`). With two players and no draws it is
//! Bradley and Terry's, with draws Davidson's, with more seats a ranking of all of them.
//! [`Ratings::fit`] finds the strengths that make all results most likely.
//!
//! **Reproducibility.** Ratings are a function of the results alone, bit for bit. Every fit starts
//! from the same point, adds the same sums in the same order and uses the same elementary functions
//! on every machine. The order and the direction of the results do not matter, nor do listed players
//! that have neither games nor a parent. Starting from the previous fit would save time, but Newton's method then stops at
//! other last digits, and a restart would show other ratings than the log replays to.
//!
//! **Prior.** Each player with a parent has played [`PARENT_DRAWS`] drawn games against the parent,
//! each other player [`PRIOR_GAMES`] against the anchor. The prior keeps a player without a loss
//! finite and a player without games near its parent. It fades as games arrive.
//!
//! **Elo.** The anchor has 0. The scale makes a difference of log-strengths predict, near equality,
//! the same share of points as the logistic curve of Elo: `400 / ln 10` Elo points per unit, divided
//! by `1 + δ/2`, where `δ` is the weight of draws (as in Bayeselo). Intervals are 95 % intervals of
//! the difference to the anchor, from the inverse of the Fisher information with the weights of
//! ties taken as known.

use std::collections::BTreeMap;

use crate::cluster::Ranking;
use crate::comparison::expected_share;
use crate::interval::{Estimate, Z_95};
use crate::score::Score;

mod solver;
mod sparse;
mod stage;

use solver::{Edge, Problem, Solution};
use stage::Stage;

/// Drawn games against the anchor in the prior of a player without a parent.
pub const PRIOR_GAMES: f64 = 1.0;

/// Drawn games against the parent in the prior of a player: a deviation of about 250 Elo.
pub const PARENT_DRAWS: f64 = 2.0;

/// Elo points per unit of log-strength, without draws.
pub const ELO: f64 = 400.0 / std::f64::consts::LN_10;

/// One row of the rating table.
#[derive(Clone, Debug, PartialEq)]
pub struct Rating {
    /// The player: `random`, or `generation-7`.
    pub player: String,
    /// Elo difference to the anchor.
    pub elo: f64,
    /// Lower end of the 95 % interval.
    pub elo_low: f64,
    /// Upper end of the 95 % interval.
    pub elo_high: f64,
    /// Games played.
    pub games: u32,
    /// Share of points won, a draw counting half.
    pub score: f64,
}

/// The ratings of all players with games.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RatingTable {
    /// Strongest first.
    pub ratings: Vec<Rating>,
    /// The player whose Elo is 0.
    pub anchor: String,
    /// Games behind the table.
    pub games: u32,
}

/// All games between two players as wins, draws and losses of the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PairScore {
    /// First player.
    pub player: String,
    /// Second player.
    pub opponent: String,
    /// Score of the first player.
    pub score: Score,
}

/// Games of one player against another, or against copies of it.
#[derive(Clone, Debug, PartialEq)]
pub struct PairResults {
    /// First player: the candidate of the rankings.
    pub player: String,
    /// Second player.
    pub opponent: String,
    /// Each ranking with the number of games that ended in it.
    pub rankings: Vec<(Ranking, u32)>,
}

impl From<&PairScore> for PairResults {
    fn from(pair: &PairScore) -> Self {
        let Score { wins, draws, losses } = pair.score;
        let rankings = [(1.0, wins), (0.0, draws), (-1.0, losses)];
        let rankings = rankings.map(|(result, count)| (Ranking::new(result, &[0.0]), count));
        let (player, opponent) = (pair.player.clone(), pair.opponent.clone());
        Self { player, opponent, rankings: rankings.into() }
    }
}

/// A player that has a strength whether it has played or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedPlayer {
    /// The player.
    pub player: String,
    /// The player whose training it continued, if any.
    pub parent: Option<String>,
}

/// The difference in strength between two players.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RatingDifference {
    /// Elo difference with its 95 % interval.
    pub elo: Estimate,
    /// Probability that the first player is the stronger one.
    pub superiority: f64,
    /// Share of points that the first player is expected to take.
    pub share: f64,
}

/// The strength of all players.
#[derive(Clone, Debug)]
pub struct Ratings {
    /// Names by index; the anchor has index 0, the others follow in alphabetical order.
    names: Vec<String>,
    indices: BTreeMap<String, usize>,
    solution: Solution,
    /// Games and score by index, without the prior.
    played: Vec<(u32, Score)>,
    games: u32,
}

/// How often each ranking occurred between two players, the one with the lower index first.
type RankingCounts = BTreeMap<(usize, usize), BTreeMap<Ranking, u32>>;

impl Ratings {
    /// Rates all players in `results` and `listed`, with `anchor` at 0.
    ///
    /// Results of a player against itself are ignored. If a player is listed with several parents,
    /// the first one counts.
    pub fn fit(results: &[PairResults], listed: &[ListedPlayer], anchor: &str) -> Self {
        let (names, indices) = number_players(results, listed, anchor);
        let mut played = vec![(0, Score::default()); names.len()];
        let mut games = 0;
        // Integer counts first: sums of fractions would depend on the order of the results.
        let mut counts = RankingCounts::new();
        for pair in results {
            let (a, b) = (indices[&pair.player], indices[&pair.opponent]);
            if a == b {
                continue;
            }
            for (ranking, count) in &pair.rankings {
                let score = ranking.score();
                for (index, score) in [(a, score), (b, score.reversed())] {
                    played[index].0 += count;
                    played[index].1 += score.times(*count);
                }
                games += count;
                let (players, ranking) =
                    if a < b { ((a, b), ranking.clone()) } else { ((b, a), ranking.reversed()) };
                *counts.entry(players).or_default().entry(ranking).or_default() += count;
            }
        }
        let mut edges: BTreeMap<(usize, usize), Edge> = counts
            .into_iter()
            .map(|(players, rankings)| (players, Edge::new(players, &rankings)))
            .collect();
        for (players, draws) in prior(listed, &indices) {
            edges.entry(players).or_insert_with(|| Edge::new(players, &BTreeMap::new())).prior +=
                draws;
        }
        let problem = Problem { players: names.len(), edges: edges.into_values().collect() };
        Self { names, indices, solution: problem.solve(), played, games }
    }

    fn strength(&self, name: &str) -> Option<f64> {
        self.indices.get(name).map(|&index| self.solution.strength[index])
    }

    /// Elo points per unit of log-strength.
    fn scale(&self) -> f64 {
        let draws = self.solution.ties.get(2).copied().unwrap_or(0.0);
        ELO / (1.0 + draws / 2.0)
    }

    /// Whether a player has a game that counts.
    pub fn is_rated(&self, name: &str) -> bool {
        self.indices.get(name).is_some_and(|&index| self.played[index].0 > 0)
    }

    /// Elo of a player; `None` if it has neither played nor been listed.
    pub fn elo(&self, name: &str) -> Option<f64> {
        Some(self.strength(name)? * self.scale())
    }

    /// All players with a game that counts, strongest first.
    pub fn table(&self) -> RatingTable {
        let variance = match &self.solution.factor {
            Some(factor) => factor.inverse_diagonal(),
            None => vec![f64::INFINITY; self.names.len() - 1],
        };
        let variance = std::iter::once(0.0).chain(variance);
        let scale = self.scale();
        let mut ratings: Vec<Rating> = self
            .names
            .iter()
            .zip(self.solution.strength.iter().zip(variance))
            .zip(&self.played)
            .filter(|&(_, &(games, _))| games > 0)
            .map(|((name, (t, variance)), &(games, score))| {
                let (elo, margin) = (t * scale, Z_95 * variance.sqrt() * scale);
                let (elo_low, elo_high) = (elo - margin, elo + margin);
                let score = score.share();
                Rating { player: name.clone(), elo, elo_low, elo_high, games, score }
            })
            .collect();
        ratings.sort_by(|a, b| b.elo.total_cmp(&a.elo).then_with(|| a.player.cmp(&b.player)));
        RatingTable { ratings, anchor: self.names[0].clone(), games: self.games }
    }

    /// The difference between two players; `None` if one of them has neither played nor been
    /// listed.
    pub fn compare(&self, first: &str, second: &str) -> Option<RatingDifference> {
        let (a, b) = (*self.indices.get(first)?, *self.indices.get(second)?);
        let column = self.column(a, b);
        let difference = self.solution.strength[a] - self.solution.strength[b];
        let at = |index: usize| index.checked_sub(1).map_or(0.0, |free| column[free]);
        let deviation = (at(a) - at(b)).max(0.0).sqrt();
        let superiority = if difference == 0.0 {
            0.5
        } else {
            0.5 * libm::erfc(-difference / deviation / std::f64::consts::SQRT_2)
        };
        let value = difference * self.scale();
        let margin = Z_95 * deviation * self.scale();
        let elo = Estimate { value, low: value - margin, high: value + margin };
        Some(RatingDifference { elo, superiority, share: expected_share(value) })
    }

    /// Covariances of all log-strengths, without the anchor, with the difference of two.
    fn column(&self, a: usize, b: usize) -> Vec<f64> {
        let mut right = vec![0.0; self.names.len() - 1];
        for (index, sign) in [(a, 1.0), (b, -1.0)] {
            // The anchor is fixed and has no row.
            if let Some(free) = index.checked_sub(1) {
                right[free] += sign;
            }
        }
        match &self.solution.factor {
            Some(factor) => factor.solve(right),
            None => vec![f64::INFINITY; right.len()],
        }
    }

    /// The decrease of the summed variances of the log-strengths of `interest`, if `first` and
    /// `second` played one more game; 0 if one of the two is unknown.
    ///
    /// With the information `w` of a game, the covariances `c` with the difference of the two and
    /// its variance `v`, the decrease is `Σ c_k² · w / (1 + w v)` (Sherman and Morrison 1950).
    pub fn gain(&self, first: &str, second: &str, interest: &[&str]) -> f64 {
        let (Some(&a), Some(&b)) = (self.indices.get(first), self.indices.get(second)) else {
            return 0.0;
        };
        let column = self.column(a, b);
        let at = |index: usize| index.checked_sub(1).map_or(0.0, |free| column[free]);
        let difference = self.solution.strength[a] - self.solution.strength[b];
        let game = Stage::new((1, 1), (1, 0), 1.0);
        let information = game.derivatives(difference, &self.solution.ties).information;
        let sum: f64 = interest
            .iter()
            .filter_map(|name| self.indices.get(*name))
            .map(|&index| at(index) * at(index))
            .sum();
        sum * information / (1.0 + information * (at(a) - at(b)))
    }
}

/// Names by index, the anchor first, and the index of each name.
fn number_players(
    results: &[PairResults],
    listed: &[ListedPlayer],
    anchor: &str,
) -> (Vec<String>, BTreeMap<String, usize>) {
    let played = results.iter().flat_map(|pair| [&pair.player, &pair.opponent]);
    let families = listed.iter().flat_map(|one| std::iter::once(&one.player).chain(&one.parent));
    let mut indices: BTreeMap<String, usize> =
        played.chain(families).map(|name| (name.clone(), 0)).collect();
    indices.remove(anchor);
    let mut names = vec![anchor.to_owned()];
    for (name, index) in &mut indices {
        *index = names.len();
        names.push(name.clone());
    }
    indices.insert(anchor.to_owned(), 0);
    (names, indices)
}

/// The drawn games of the prior, by pair of players.
fn prior(listed: &[ListedPlayer], indices: &BTreeMap<String, usize>) -> Vec<((usize, usize), f64)> {
    let mut draws = Vec::with_capacity(indices.len());
    let mut has_prior = vec![false; indices.len()];
    // The anchor's strength is fixed.
    has_prior[0] = true;
    for ListedPlayer { player, parent } in listed {
        let Some(parent) = parent else { continue };
        let (child, parent) = (indices[player], indices[parent]);
        if child != parent && !has_prior[child] {
            has_prior[child] = true;
            draws.push(((child.min(parent), child.max(parent)), PARENT_DRAWS));
        }
    }
    let orphans = (0..has_prior.len()).filter(|&index| !has_prior[index]);
    draws.extend(orphans.map(|orphan| ((0, orphan), PRIOR_GAMES)));
    draws
}

/// Rates all players in `pairs`, with `anchor` at 0 Elo.
pub fn rate(pairs: &[PairScore], anchor: &str) -> RatingTable {
    let results: Vec<PairResults> = pairs.iter().map(Into::into).collect();
    Ratings::fit(&results, &[], anchor).table()
}

#[cfg(test)]
mod tests;
