//! Elo ratings from all games at once, by Bradley and Terry's model.
//!
//! Player `i` with log-strength `t_i` beats `j` with probability `1 / (1 + exp(t_j - t_i))`; a
//! draw counts as half a win for both (Bradley and Terry 1952; the conventions of Hunter 2004,
//! "MM algorithms for generalized Bradley–Terry models"). [`rate`] finds the strengths that
//! make all results most likely, by Newton's method on a concave function. The answer depends
//! on the results alone, not on their order.
//!
//! The anchor's strength is fixed at 0. **Prior:** everybody else is given one extra drawn
//! game against the anchor. It keeps a player without a loss finite and a player without a
//! connection to the anchor at an honest width, and fades as games come in. Intervals are
//! 95 %, from the inverse of the Fisher information, relative to the anchor.

use std::collections::BTreeMap;

use ouro_proto::arena_client::{Rating, RatingTable};

use crate::gate::Score;
use crate::interval::Z_95;

mod linear;

/// Drawn games against the anchor that each player starts with.
pub const PRIOR_GAMES: f64 = 1.0;

/// Elo points in one unit of log-strength.
pub const ELO: f64 = 400.0 / std::f64::consts::LN_10;

const MAX_STEPS: usize = 100;

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

/// Points and games between every two players, in matrix form.
struct Results {
    /// Names; the anchor is first.
    names: Vec<String>,
    /// `games[i * n + j]`: games between `i` and `j`, prior included.
    games: Vec<f64>,
    /// Points of each player, prior included.
    points: Vec<f64>,
    /// Games and half points, prior excluded.
    played: Vec<(u32, u32)>,
}

impl Results {
    fn new(tallies: &[Tally], anchor: &str) -> Self {
        let mut index = BTreeMap::new();
        for name in tallies.iter().flat_map(|tally| [&tally.player, &tally.opponent]) {
            if name != anchor {
                index.insert(name.as_str(), 0);
            }
        }
        let mut names = vec![anchor.to_owned()];
        for (name, place) in &mut index {
            *place = names.len();
            names.push((*name).to_owned());
        }
        index.insert(anchor, 0);

        let n = names.len();
        // Whole numbers add up the same in any order; halves come in at the end.
        let mut half_points = vec![0_u64; n];
        let mut games = vec![0_u64; n * n];
        let mut played = vec![(0, 0); n];
        for tally in tallies {
            let (a, b) = (index[tally.player.as_str()], index[tally.opponent.as_str()]);
            // A player against itself says nothing.
            if a == b {
                continue;
            }
            let (count, won) = (tally.score.games(), tally.score.half_points());
            for (me, other, won) in [(a, b, won), (b, a, 2 * count - won)] {
                games[me * n + other] += u64::from(count);
                half_points[me] += u64::from(won);
                played[me].0 += count;
                played[me].1 += won;
            }
        }
        let mut games: Vec<f64> = games.into_iter().map(|count| count as f64).collect();
        let mut points: Vec<f64> = half_points.into_iter().map(|half| half as f64 / 2.0).collect();
        for player in 1..n {
            games[player * n] += PRIOR_GAMES;
            games[player] += PRIOR_GAMES;
            points[player] += PRIOR_GAMES / 2.0;
            points[0] += PRIOR_GAMES / 2.0;
        }
        Self { names, games, points, played }
    }

    fn pairs(&self) -> impl Iterator<Item = (usize, usize, f64)> {
        let n = self.names.len();
        (0..n)
            .flat_map(move |a| (a + 1..n).map(move |b| (a, b, self.games[a * n + b])))
            .filter(|&(_, _, games)| games > 0.0)
    }

    /// Log-likelihood of strengths, up to a constant: `sum t_i points_i - sum games_ij
    /// log(exp t_i + exp t_j)`.
    fn likelihood(&self, strength: &[f64]) -> f64 {
        let won: f64 = self.points.iter().zip(strength).map(|(points, t)| points * t).sum();
        let total: f64 = self
            .pairs()
            .map(|(a, b, games)| {
                let (low, high) = (strength[a].min(strength[b]), strength[a].max(strength[b]));
                games * (high + (low - high).exp().ln_1p())
            })
            .sum();
        won - total
    }

    /// Gradient and Fisher information without the anchor's row and column.
    fn slope(&self, strength: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let free = self.names.len() - 1;
        let mut gradient = self.points[1..].to_vec();
        let mut information = vec![0.0; free * free];
        for (a, b, games) in self.pairs() {
            let expected = 1.0 / (1.0 + (strength[b] - strength[a]).exp());
            let weight = games * expected * (1.0 - expected);
            // `b` comes after `a`, so it is never the anchor.
            let second = b - 1;
            gradient[second] -= games * (1.0 - expected);
            information[second * free + second] += weight;
            if let Some(first) = a.checked_sub(1) {
                gradient[first] -= games * expected;
                information[first * free + first] += weight;
                information[first * free + second] -= weight;
                information[second * free + first] -= weight;
            }
        }
        (gradient, information)
    }

    /// Strengths of most likelihood, the anchor at 0, and the variance of each.
    fn fit(&self) -> (Vec<f64>, Vec<f64>) {
        let n = self.names.len();
        let mut strength = vec![0.0; n];
        let mut likelihood = self.likelihood(&strength);
        for _ in 0..MAX_STEPS {
            let (gradient, information) = self.slope(&strength);
            let Some(factor) = linear::Cholesky::new(information, n - 1) else { break };
            let step = factor.solve(&gradient);
            // Newton overshoots where results are one-sided: halve until it helps.
            let mut scale = 1.0;
            let improved = loop {
                let mut next = strength.clone();
                for (t, delta) in next[1..].iter_mut().zip(&step) {
                    *t += scale * delta;
                }
                let value = self.likelihood(&next);
                if value >= likelihood {
                    break Some((next, value));
                }
                scale /= 2.0;
                if scale < 1e-10 {
                    break None;
                }
            };
            let Some((next, value)) = improved else { break };
            (strength, likelihood) = (next, value);
            if step.iter().all(|delta| delta.abs() < 1e-10) {
                break;
            }
        }
        let (_, information) = self.slope(&strength);
        let variance = linear::Cholesky::new(information, n - 1)
            .map_or_else(|| vec![f64::INFINITY; n - 1], |factor| factor.inverse_diagonal());
        (strength, std::iter::once(0.0).chain(variance).collect())
    }
}

/// Rates everybody who appears in `tallies`, with `anchor` at 0 Elo.
pub fn rate(tallies: &[Tally], anchor: &str) -> RatingTable {
    let results = Results::new(tallies, anchor);
    let (strength, variance) = results.fit();
    let mut ratings: Vec<Rating> = results
        .names
        .iter()
        .zip(strength.iter().zip(&variance))
        .zip(&results.played)
        .filter(|&(_, &(games, _))| games > 0)
        .map(|((name, (t, variance)), &(games, half_points))| {
            let (elo, margin) = (t * ELO, Z_95 * variance.sqrt() * ELO);
            Rating {
                player: name.clone(),
                elo,
                elo_low: elo - margin,
                elo_high: elo + margin,
                games,
                score: f64::from(half_points) / f64::from(2 * games),
            }
        })
        .collect();
    ratings.sort_by(|a, b| b.elo.total_cmp(&a.elo).then_with(|| a.player.cmp(&b.player)));
    let games = results.played.iter().map(|&(games, _)| games).sum::<u32>() / 2;
    RatingTable { ratings, anchor: anchor.to_owned(), games }
}

#[cfg(test)]
mod tests;
