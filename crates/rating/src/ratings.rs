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
//! **Stopping.** Only games are rated whose number did not depend on their results ([`Stopping`]). A
//! match at the gate ends sooner on a lucky run, and only a lucky candidate becomes the champion. If
//! such games were rated, equal candidates would drift upwards: by 2.8 Elo points a candidate in
//! the simulation of `ratings/tests/stopping.rs`. No estimator that uses them is right whatever the strengths
//! are: given a promotion, a sequential test says little about the sign of a difference. Games
//! after the verdict are independent of it.
//!
//! **Prior.** Each player with a parent has played [`PARENT_DRAWS`] drawn games against the parent,
//! each other player [`PRIOR_GAMES`] against the anchor. The prior keeps a player without a loss
//! finite and a player without games near its parent. It fades as games arrive.
//!
//! **Elo.** The anchor has 0. The scale makes a difference of log-strengths predict, near equality,
//! the same share of points as the logistic curve of Elo: `400 / ln 10` Elo points per unit, divided
//! by `1 + δ/2`, where `δ` is the weight of draws (as in Bayeselo). Intervals are 95 % intervals of
//! the difference to the anchor, from the inverse of the Fisher information of the strengths and the
//! weights of ties together. The error of `δ` counts twice: it moves the strengths and the scale.

use crate::cluster::Ranking;
use crate::comparison::expected_share;
use crate::interval::{Estimate, Z_95};
use crate::score::Score;

mod counts;
mod players;
mod solver;
mod sparse;
mod stage;

use counts::Counts;
use players::{Names, Players};
use solver::Solution;
use stage::{Choices, Moments};

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
    /// Elo difference to the champion, with its 95 % interval; `None` without a champion.
    ///
    /// The interval takes into account what both ratings have in common. It is narrow between
    /// players that met each other, however uncertain the distance to the anchor is.
    pub to_champion: Option<Estimate>,
}

/// The ratings of all players with games.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RatingTable {
    /// Strongest first.
    pub ratings: Vec<Rating>,
    /// The player whose Elo is 0.
    pub anchor: String,
    /// The player to which the rows state their difference.
    pub champion: Option<String>,
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

/// What ended a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopping {
    /// Something other than its results: a number of games, or an interruption.
    Fixed,
    /// Its results, as at the gate.
    ByResults,
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
    /// What ended the match. Only [fixed](Stopping::Fixed) matches are rated.
    pub stopping: Stopping,
}

impl From<&PairScore> for PairResults {
    fn from(pair: &PairScore) -> Self {
        let Score { wins, draws, losses } = pair.score;
        let rankings = [(1.0, wins), (0.0, draws), (-1.0, losses)];
        let rankings = rankings.map(|(result, count)| (Ranking::new(result, &[0.0]), count));
        let (player, opponent) = (pair.player.clone(), pair.opponent.clone());
        Self { player, opponent, rankings: rankings.into(), stopping: Stopping::Fixed }
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
    /// Probability that the first player finishes ahead of the second in a game that ranks the two, a
    /// draw counting half. With two seats, its expected share of points.
    pub share: f64,
}

/// The strength of all players.
#[derive(Clone, Debug)]
pub struct Ratings {
    players: Players,
    solution: Solution,
    /// Games and score by player, without the prior.
    played: Vec<(u32, Score)>,
    games: u32,
}

impl Ratings {
    /// Rates all players in `results` and `listed`, with `anchor` at 0.
    ///
    /// Results of a player against itself and of matches that ended [by their
    /// results](Stopping::ByResults) are ignored. If a player is listed with several parents,
    /// the first one counts.
    pub fn fit(results: &[PairResults], listed: &[ListedPlayer], anchor: &str) -> Self {
        let mut names = Names::new(anchor);
        let pairs: Vec<[u32; 2]> = results
            .iter()
            .map(|pair| [&pair.player, &pair.opponent].map(|name| names.add(name)))
            .collect();
        let lineage: Vec<(u32, Option<u32>)> = listed
            .iter()
            .map(|one| (names.add(&one.player), one.parent.as_ref().map(|name| names.add(name))))
            .collect();
        let (players, numbers) = names.into_players();
        let number = |provisional: u32| numbers[provisional as usize];
        let mut played = vec![(0, Score::default()); players.len()];
        let (mut games, mut counts) = (0, Counts::default());
        for (pair, provisional) in results.iter().zip(pairs) {
            let [a, b] = provisional.map(number);
            if a == b || pair.stopping == Stopping::ByResults {
                continue;
            }
            for (ranking, count) in &pair.rankings {
                let score = ranking.score().times(*count);
                for (player, score) in [(a, score), (b, score.reversed())] {
                    played[player as usize].0 += count;
                    played[player as usize].1 += score;
                }
                games += count;
            }
            counts.add_results((a, b), pair);
        }
        let parents =
            lineage.iter().filter_map(|&(child, parent)| Some((number(child), number(parent?))));
        for (players, draws) in prior(parents, players.len()) {
            counts.add_prior(players, draws);
        }
        let solution = counts.into_problem(players.len()).solve();
        Self { players, solution, played, games }
    }

    fn strength(&self, name: &str) -> Option<f64> {
        self.players.number(name).map(|index| self.solution.strength[index])
    }

    /// The weight `δ` of draws between two.
    fn draw_weight(&self) -> f64 {
        self.solution.ties.get(2).copied().unwrap_or(0.0)
    }

    /// Elo points per unit of log-strength.
    fn scale(&self) -> f64 {
        ELO / (1.0 + self.draw_weight() / 2.0)
    }

    /// Whether a player has a rated game.
    pub fn is_rated(&self, name: &str) -> bool {
        self.players.number(name).is_some_and(|index| self.played[index].0 > 0)
    }

    /// Elo of a player; `None` if it has neither played nor been listed.
    pub fn elo(&self, name: &str) -> Option<f64> {
        Some(self.strength(name)? * self.scale())
    }

    /// All players with a rated game, strongest first, with their differences to the champion.
    pub fn table(&self, champion: Option<&str>) -> RatingTable {
        let variance = match &self.solution.factor {
            Some(factor) => factor.inverse_diagonal(),
            None => vec![f64::INFINITY; self.players.len() - 1],
        };
        let variance: Vec<f64> = std::iter::once(0.0).chain(variance).collect();
        let champion = champion.and_then(|name| self.players.number(name));
        let to_champion = champion.map(|champion| self.differences(champion, &variance));
        let names = self.players.names();
        let rated = (0..names.len()).filter(|&player| self.played[player].0 > 0);
        let row = |player: usize| {
            let elo = self.estimate([player, 0], variance[player]);
            let (games, score) = self.played[player];
            let to_champion = champion
                .zip(to_champion.as_ref())
                .map(|(champion, variances)| self.estimate([player, champion], variances[player]));
            let (elo, elo_low, elo_high) = (elo.value, elo.low, elo.high);
            let (player, score) = (names[player].clone(), score.share());
            Rating { player, elo, elo_low, elo_high, games, score, to_champion }
        };
        let mut ratings: Vec<Rating> = rated.map(row).collect();
        ratings.sort_by(|a, b| b.elo.total_cmp(&a.elo).then_with(|| a.player.cmp(&b.player)));
        let champion = champion.map(|champion| names[champion].clone());
        RatingTable { ratings, anchor: names[0].clone(), champion, games: self.games }
    }

    /// The Elo difference between two players. `variance` is that of the difference between their
    /// log-strengths for known weights of ties.
    fn estimate(&self, [a, b]: [usize; 2], variance: f64) -> Estimate {
        let strength = &self.solution.strength;
        let difference = strength[a] - strength[b];
        let draws = self.draw_weight();
        // Per unit of the logarithm of δ, the scale decreases by δ / (2 + δ) of itself.
        let ties = self.tie_variance([a, b], difference * draws / (2.0 + draws));
        let value = difference * self.scale();
        let margin = Z_95 * (variance + ties).sqrt() * self.scale();
        Estimate { value, low: value - margin, high: value + margin }
    }

    /// What the error of the weights of ties adds to the variance of the difference between two
    /// log-strengths, which the scale of Elo decreases by `rescaled` per unit of the logarithm of `δ`.
    fn tie_variance(&self, [a, b]: [usize; 2], rescaled: f64) -> f64 {
        if a == b {
            return 0.0;
        }
        let error = self.solution.tie_error.as_ref();
        error.map_or(f64::INFINITY, |error| error.variance([a, b], rescaled))
    }

    /// The variance of the difference of each log-strength to that of one player, for known weights
    /// of ties. `variance` is that of each log-strength.
    ///
    /// One column of the covariance matrix suffices for all players.
    fn differences(&self, champion: usize, variance: &[f64]) -> Vec<f64> {
        let mut column = vec![0.0; self.players.len()];
        if let Some((factor, row)) = self.solution.factor.as_ref().zip(champion.checked_sub(1)) {
            let mut unit = vec![0.0; self.players.len() - 1];
            unit[row] = 1.0;
            column.splice(1.., factor.solve(&unit));
        }
        let difference = |player: usize| {
            // Exactly 0: the two variances and the covariance differ by rounding.
            if player == champion {
                return 0.0;
            }
            (variance[player] + variance[champion] - 2.0 * column[player]).max(0.0)
        };
        (0..column.len()).map(difference).collect()
    }

    /// The difference between two players; `None` if one of them has neither played nor been
    /// listed.
    pub fn compare(&self, first: &str, second: &str) -> Option<RatingDifference> {
        let (a, b) = (self.players.number(first)?, self.players.number(second)?);
        let covariances = self.covariances(a, b, &[a, b]);
        let difference = self.solution.strength[a] - self.solution.strength[b];
        let variance = (covariances[0] - covariances[1]).max(0.0);
        let superiority = if difference == 0.0 {
            0.5
        } else {
            // The scale of Elo does not change who is stronger.
            let deviation = (variance + self.tie_variance([a, b], 0.0)).sqrt();
            0.5 * libm::erfc(-difference / deviation / std::f64::consts::SQRT_2)
        };
        let elo = self.estimate([a, b], variance);
        Some(RatingDifference { elo, superiority, share: expected_share(elo.value) })
    }

    /// Covariances of the log-strengths of `wanted` with the difference of two, for known weights of
    /// ties.
    fn covariances(&self, a: usize, b: usize, wanted: &[usize]) -> Vec<f64> {
        // The anchor is fixed and has no row.
        let row = |player: usize| player.checked_sub(1);
        let mut covariances: Vec<f64> =
            wanted.iter().map(|&player| if player == 0 { 0.0 } else { f64::INFINITY }).collect();
        if let Some(factor) = &self.solution.factor {
            let right = [(row(a), 1.0), (row(b), -1.0)];
            let right: Vec<_> =
                right.into_iter().filter_map(|(row, sign)| Some((row?, sign))).collect();
            let rows: Vec<usize> = wanted.iter().filter_map(|&player| row(player)).collect();
            let free = covariances.iter_mut().zip(wanted).filter(|&(_, &player)| player > 0);
            for ((covariance, _), value) in free.zip(factor.solve_sparse(&right, &rows)) {
                *covariance = value;
            }
        }
        covariances
    }

    /// The decrease of the weighted sum of variances of the differences in log-strength between each
    /// player of `interest` and `champion`, if `first` and `second` played one more game; 0 if one of
    /// the three is unknown. `interest` has each player with its weight.
    ///
    /// With the information `w` of a game, the covariances `c` with the difference of the two and
    /// its variance `v`, the decrease is `Σ weight_k (c_k − c_champion)² · w / (1 + w v)` (Sherman and
    /// Morrison 1950).
    pub fn gain(
        &self,
        [first, second]: [&str; 2],
        champion: &str,
        interest: &[(&str, f64)],
    ) -> f64 {
        let [Some(a), Some(b), Some(champion)] =
            [first, second, champion].map(|name| self.players.number(name))
        else {
            return 0.0;
        };
        let known = interest.iter();
        let (known, weights): (Vec<usize>, Vec<f64>) =
            known.filter_map(|&(name, weight)| Some((self.players.number(name)?, weight))).unzip();
        let wanted: Vec<usize> = [a, b, champion].into_iter().chain(known).collect();
        let covariances = self.covariances(a, b, &wanted);
        let difference = self.solution.strength[a] - self.solution.strength[b];
        let mut game = Moments::default();
        Choices::new((1, 1), &self.solution.ties).moments(difference, &mut game);
        let to_champion = covariances[3..].iter().map(|covariance| covariance - covariances[2]);
        let sum: f64 =
            to_champion.zip(weights).map(|(covariance, weight)| weight * covariance.powi(2)).sum();
        sum * game.variance / (1.0 + game.variance * (covariances[0] - covariances[1]))
    }
}

/// The drawn games of the prior, by pair of players. `parents` are pairs of a child and its parent.
fn prior(parents: impl Iterator<Item = (u32, u32)>, players: usize) -> Vec<((u32, u32), f64)> {
    let mut draws = Vec::with_capacity(players);
    let mut has_prior = vec![false; players];
    // The anchor's strength is fixed.
    has_prior[0] = true;
    for (child, parent) in parents {
        if child != parent && !has_prior[child as usize] {
            has_prior[child as usize] = true;
            draws.push(((child, parent), PARENT_DRAWS));
        }
    }
    let orphans = (0..players).filter(|&player| !has_prior[player]);
    draws.extend(orphans.map(|orphan| ((0, orphan as u32), PRIOR_GAMES)));
    draws
}

/// Rates all players in `pairs`, with `anchor` at 0 Elo.
pub fn rate(pairs: &[PairScore], anchor: &str) -> RatingTable {
    let results: Vec<PairResults> = pairs.iter().map(Into::into).collect();
    Ratings::fit(&results, &[], anchor).table(None)
}

#[cfg(test)]
mod tests;
