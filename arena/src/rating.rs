//! Elo ratings from all games at once.
//!
//! The model is Plackett and Luce's with ties (see the file `stage.rs`): with two players and no draws
//! Bradley and Terry's, with draws Davidson's, with more seats a ranking of all of them. [`Ratings`]
//! finds the strengths that make all results most likely; the answer depends on the results alone,
//! not on their order, and where the last fit started from only matters for how long it takes.
//!
//! **Prior.** Each checkpoint has played [`PARENT_DRAWS`] drawn games against the one that its
//! training went on from, everybody without a parent [`PRIOR_GAMES`] against the anchor. That keeps
//! a player without a loss finite and one without games near its parent, and fades as games come in.
//!
//! **Elo.** The anchor has 0. A difference of log-strengths is told in Elo points such that near
//! equality it predicts the share of points as the logistic curve of Elo does: `400 / ln 10` times the
//! difference over `1 + δ/2`, where `δ` is the weight of draws (as in Bayeselo). Intervals are 95 %,
//! from the inverse of the Fisher information, of the difference to the anchor; the weights of ties
//! are taken as known in it.

use std::collections::BTreeMap;

use ouro_proto::arena_client::{Rating, RatingTable};

use crate::comparison::{Estimate, expected_share};
use crate::gate::{Ranking, Score};
use crate::interval::Z_95;

mod fit;
mod sparse;
mod stage;

use fit::{Edge, Problem, Solution};
use stage::Stage;

/// Drawn games against the anchor that a player without a parent starts with.
pub const PRIOR_GAMES: f64 = 1.0;

/// Drawn games against its parent that a checkpoint starts with: a deviation of about 250 Elo.
pub const PARENT_DRAWS: f64 = 2.0;

/// Elo points in one unit of log-strength, without draws.
pub const ELO: f64 = 400.0 / std::f64::consts::LN_10;

/// All games between two players, as the first sees them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    /// First player.
    pub player: String,
    /// Second player.
    pub opponent: String,
    /// Results of the first.
    pub score: Score,
}

/// All games of one player against another, or against copies of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Evidence {
    /// First player.
    pub player: String,
    /// Second player.
    pub opponent: String,
    /// How often each ranking came about.
    pub rankings: Vec<(Ranking, u32)>,
}

impl From<&Tally> for Evidence {
    fn from(tally: &Tally) -> Self {
        let Score { wins, draws, losses } = tally.score;
        let rankings = [(1.0, wins), (0.0, draws), (-1.0, losses)];
        let rankings = rankings.map(|(result, count)| (Ranking::new(result, &[0.0]), count));
        let (player, opponent) = (tally.player.clone(), tally.opponent.clone());
        Self { player, opponent, rankings: rankings.into() }
    }
}

/// A player that is to have a place whether it has played or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Descent {
    /// The player.
    pub player: String,
    /// The one that its training went on from, if any.
    pub parent: Option<String>,
}

/// How much stronger one player is than another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contrast {
    /// Elo difference with its 95 % interval.
    pub elo: Estimate,
    /// Probability that the first is the stronger one.
    pub superiority: f64,
    /// Share of points that the first is expected to take.
    pub share: f64,
}

/// Everybody's strength.
#[derive(Clone, Debug)]
pub struct Ratings {
    names: Vec<String>,
    places: BTreeMap<String, usize>,
    solution: Solution,
    /// Games and score of each, the prior excluded.
    played: Vec<(u32, Score)>,
    games: u32,
}

impl Default for Ratings {
    fn default() -> Self {
        Self::fit(&[], &[], crate::ANCHOR, None)
    }
}

impl Ratings {
    /// Rates everybody in `evidence` and `lineage`, with `anchor` at 0. `last` is where to start
    /// from.
    pub fn fit(
        evidence: &[Evidence],
        lineage: &[Descent],
        anchor: &str,
        last: Option<&Self>,
    ) -> Self {
        let games = evidence.iter().flat_map(|one| [&one.player, &one.opponent]);
        let families =
            lineage.iter().flat_map(|one| std::iter::once(&one.player).chain(&one.parent));
        let mut places: BTreeMap<String, usize> =
            games.chain(families).map(|name| (name.clone(), 0)).collect();
        places.remove(anchor);
        let mut names = vec![anchor.to_owned()];
        for (name, place) in &mut places {
            *place = names.len();
            names.push(name.clone());
        }
        places.insert(anchor.to_owned(), 0);

        let mut edges: BTreeMap<(usize, usize), Edge> = BTreeMap::new();
        let mut between = |a: usize, b: usize, stages: Vec<Stage>, prior: f64| {
            let empty = || Edge { players: (a, b), stages: Vec::new(), prior: 0.0 };
            let edge = edges.entry((a, b)).or_insert_with(empty);
            edge.prior += prior;
            for stage in stages {
                match edge.stages.iter_mut().find(|known| known.joins(&stage)) {
                    Some(known) => known.join(&stage),
                    None => edge.stages.push(stage),
                }
            }
        };
        let mut played = vec![(0, Score::default()); names.len()];
        let mut all = 0;
        for one in evidence {
            let (a, b) = (places[&one.player], places[&one.opponent]);
            // A player against itself says nothing.
            if a == b {
                continue;
            }
            for (ranking, count) in &one.rankings {
                let score = ranking.score();
                for (place, score) in [(a, score), (b, score.reversed())] {
                    played[place].0 += count;
                    played[place].1 += score.times(*count);
                }
                all += count;
                // One direction for both, so that the sums do not depend on how it was told.
                let (first, second, ranking) =
                    if a < b { (a, b, ranking.clone()) } else { (b, a, ranking.reversed()) };
                between(first, second, Stage::of(&ranking, f64::from(*count)), 0.0);
            }
        }
        let mut orphan = vec![true; names.len()];
        orphan[0] = false;
        for Descent { player, parent } in lineage {
            let Some(parent) = parent else { continue };
            let (child, parent) = (places[player], places[parent]);
            if child != parent && orphan[child] {
                orphan[child] = false;
                between(child.min(parent), child.max(parent), Vec::new(), PARENT_DRAWS);
            }
        }
        for (place, orphan) in orphan.into_iter().enumerate() {
            if orphan {
                between(0, place, Vec::new(), PRIOR_GAMES);
            }
        }

        let strength = names.iter().map(|name| last.and_then(|last| last.strength(name)));
        let mut strength: Vec<f64> = strength.map(Option::unwrap_or_default).collect();
        strength[0] = 0.0;
        let ties = last.map(|last| last.solution.ties.clone()).unwrap_or_default();
        let problem = Problem { players: names.len(), edges: edges.into_values().collect() };
        let solution = problem.solve((strength, ties));
        Self { names, places, solution, played, games: all }
    }

    fn strength(&self, name: &str) -> Option<f64> {
        self.places.get(name).map(|&place| self.solution.strength[place])
    }

    /// Elo points in one unit of log-strength.
    fn scale(&self) -> f64 {
        let draws = self.solution.ties.get(2).copied().unwrap_or(0.0);
        ELO / (1.0 + draws / 2.0)
    }

    /// Whether a player has a game that counts.
    pub fn is_rated(&self, name: &str) -> bool {
        self.places.get(name).is_some_and(|&place| self.played[place].0 > 0)
    }

    /// Elo of a player; `None` if nothing is known of it.
    pub fn elo(&self, name: &str) -> Option<f64> {
        Some(self.strength(name)? * self.scale())
    }

    /// Everyone who has a game that counts, strongest first.
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

    /// One player against another; `None` if nothing is known of one of them.
    pub fn compare(&self, first: &str, second: &str) -> Option<Contrast> {
        let (a, b) = (*self.places.get(first)?, *self.places.get(second)?);
        let column = self.column(a, b);
        let difference = self.solution.strength[a] - self.solution.strength[b];
        let at = |place: usize| place.checked_sub(1).map_or(0.0, |place| column[place]);
        let deviation = (at(a) - at(b)).max(0.0).sqrt();
        let superiority = if difference == 0.0 {
            0.5
        } else {
            0.5 * libm::erfc(-difference / deviation / std::f64::consts::SQRT_2)
        };
        let value = difference * self.scale();
        let margin = Z_95 * deviation * self.scale();
        let elo = Estimate { value, low: value - margin, high: value + margin };
        Some(Contrast { elo, superiority, share: expected_share(value) })
    }

    /// Covariances of everybody's log-strength, without the anchor, with the difference of two.
    fn column(&self, a: usize, b: usize) -> Vec<f64> {
        let mut right = vec![0.0; self.names.len() - 1];
        for (place, sign) in [(a, 1.0), (b, -1.0)] {
            if let Some(place) = place.checked_sub(1) {
                right[place] += sign;
            }
        }
        match &self.solution.factor {
            Some(factor) => factor.solve(right),
            None => vec![f64::INFINITY; right.len()],
        }
    }

    /// By how much the variances of the log-strengths of `interest` would fall together if `first`
    /// and `second` played one more game: with the information `w` of a game and the covariances
    /// `c` with the difference, whose variance is `v`, it is `Σ c_k² · w / (1 + w v)` (Sherman and
    /// Morrison 1950). 0 if nothing is known of one of the two.
    pub fn gain(&self, first: &str, second: &str, interest: &[&str]) -> f64 {
        let (Some(&a), Some(&b)) = (self.places.get(first), self.places.get(second)) else {
            return 0.0;
        };
        let column = self.column(a, b);
        let at = |place: usize| place.checked_sub(1).map_or(0.0, |place| column[place]);
        let difference = self.solution.strength[a] - self.solution.strength[b];
        let game = Stage::new((1, 1), (1, 0), 1.0);
        let information = game.likelihood(difference, &self.solution.ties).information;
        let sum: f64 = interest
            .iter()
            .filter_map(|name| self.places.get(*name))
            .map(|&place| at(place) * at(place))
            .sum();
        sum * information / (1.0 + information * (at(a) - at(b)))
    }
}

/// Rates everybody who appears in `tallies`, with `anchor` at 0 Elo.
pub fn rate(tallies: &[Tally], anchor: &str) -> RatingTable {
    let evidence: Vec<Evidence> = tallies.iter().map(Into::into).collect();
    Ratings::fit(&evidence, &[], anchor, None).table()
}

#[cfg(test)]
mod tests;
