//! What a match came to: per pairing, per entrant, as text or JSON.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display, Formatter};
use std::time::Duration;

use ouro_arena::comparison::{Comparison, Estimate, Mean};
use ouro_arena::gate::GameOutcome;
use ouro_arena::rating::{Tally, rate};
use serde::Serialize;

use super::play::{Match, Played};
use super::schedule::Planned;
use super::timed::Times;

/// Anchor of the ratings where it plays, else the first entrant is.
const ANCHOR: &str = "random";

/// A figure and its 95 % interval; `null` in JSON where it is infinite.
#[derive(Debug, Serialize)]
struct Interval {
    value: f64,
    low: f64,
    high: f64,
}

impl From<Estimate> for Interval {
    fn from(Estimate { value, low, high }: Estimate) -> Self {
        Self { value, low, high }
    }
}

/// Everything that is printed.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    game: &'static str,
    seats: usize,
    seed: u64,
    games: usize,
    distinct: usize,
    truncated: usize,
    mean_plies: f64,
    pairings: Vec<Pairing>,
    entrants: Vec<Entrant>,
    /// Bradley–Terry over all pairings; with two entrants the pairing says it all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ratings: Vec<Rated>,
    /// The only part that differs between two runs of the same match.
    times: Vec<MoveTime>,
}

/// One entrant against another.
#[derive(Debug, Serialize)]
struct Pairing {
    first: String,
    second: String,
    games: u32,
    wins: u32,
    draws: u32,
    losses: u32,
    score: Interval,
    elo: Interval,
    superiority: f64,
}

/// One entrant over all its games.
#[derive(Debug, Serialize)]
struct Entrant {
    player: String,
    /// Seats taken, over all games.
    seats: usize,
    /// Share of first places, a shared one split; and what its share of seats would give.
    first_places: Interval,
    expected: f64,
    /// What the game counts, per seat and game.
    score: Interval,
}

#[derive(Debug, Serialize)]
struct Rated {
    player: String,
    elo: f64,
    elo_low: f64,
    elo_high: f64,
}

/// Milliseconds per move.
#[derive(Debug, Serialize)]
struct MoveTime {
    player: String,
    moves: u64,
    median_ms: f64,
    p99_ms: f64,
    max_ms: f64,
}

/// The sums behind the report.
struct Sums<'a> {
    schedule: &'a [Planned],
    played: &'a [Played],
    seats: usize,
}

impl Sums<'_> {
    /// Who beat whom: for two or more seats by the outcomes of each game, for games played
    /// alone by the scores on each seed.
    fn compare(&self) -> BTreeMap<(usize, usize), Comparison> {
        let mut clusters: BTreeMap<(usize, usize), BTreeMap<usize, Vec<GameOutcome>>> =
            BTreeMap::new();
        let mut add = |cluster, a: (usize, f32), b: (usize, f32)| {
            let (a, b) = if a.0 < b.0 { (a, b) } else { (b, a) };
            if a.0 != b.0 {
                let outcome = match a.1.total_cmp(&b.1) {
                    std::cmp::Ordering::Greater => GameOutcome::Win,
                    std::cmp::Ordering::Equal => GameOutcome::Draw,
                    std::cmp::Ordering::Less => GameOutcome::Loss,
                };
                clusters.entry((a.0, b.0)).or_default().entry(cluster).or_default().push(outcome);
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
                        add(cluster, a, b);
                    }
                }
            }
        } else {
            for (planned, played) in self.schedule.iter().zip(self.played) {
                // Adding 0 makes -0 and 0 the same draw.
                let result = |seat: usize| (planned.seats[seat], played.outcomes[seat] + 0.0);
                for a in 0..self.seats {
                    for b in a + 1..self.seats {
                        add(planned.cluster, result(a), result(b));
                    }
                }
            }
        }
        clusters
            .into_iter()
            .map(|(pairing, clusters)| {
                let mut comparison = Comparison::default();
                for outcomes in clusters.values() {
                    comparison.add(outcomes);
                }
                (pairing, comparison)
            })
            .collect()
    }

    fn entrant(&self, entrant: usize, player: &str) -> Entrant {
        // Per cluster: first places, games, scores, seats.
        let mut clusters: BTreeMap<usize, (f64, usize, f64, usize)> = BTreeMap::new();
        let mut seats = 0;
        let mut games = 0;
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
            first_places.add(first / games as f64);
            score.add(scores / seats as f64);
        }
        Entrant {
            player: player.to_owned(),
            seats,
            first_places: first_places.estimate().into(),
            expected: seats as f64 / (games * self.seats).max(1) as f64,
            score: score.estimate().into(),
        }
    }
}

impl Report {
    /// Sums up a match of `players` on `game`.
    pub(super) fn new<C>(
        (game, seats, seed): (&'static str, usize, u64),
        players: &[String],
        schedule: &[Planned],
        played: &Match<C>,
    ) -> Self {
        let names = labels(players);
        let games = &played.played;
        let sums = Sums { schedule, played: games, seats };
        let compared = sums.compare();
        let plies: usize = games.iter().map(|game| game.plies).sum();
        let distinct: BTreeSet<u64> = games.iter().map(|game| game.fingerprint).collect();
        let pairings = compared
            .iter()
            .map(|(&(first, second), comparison)| {
                let score = comparison.score();
                Pairing {
                    first: names[first].clone(),
                    second: names[second].clone(),
                    games: score.games(),
                    wins: score.wins,
                    draws: score.draws,
                    losses: score.losses,
                    score: comparison.share().into(),
                    elo: comparison.elo().into(),
                    superiority: comparison.superiority(),
                }
            })
            .collect();
        Self {
            game,
            seats,
            seed,
            games: games.len(),
            distinct: distinct.len(),
            truncated: games.iter().filter(|game| game.truncated).count(),
            mean_plies: plies as f64 / games.len().max(1) as f64,
            pairings,
            entrants: (0..names.len()).map(|index| sums.entrant(index, &names[index])).collect(),
            ratings: if names.len() > 2 { ratings(&names, &compared) } else { Vec::new() },
            times: names.iter().zip(&played.times).map(|(name, time)| timed(name, time)).collect(),
        }
    }
}

/// Names that differ: an entrant named twice gets a number.
fn labels(players: &[String]) -> Vec<String> {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    players
        .iter()
        .map(|player| {
            let count = seen.entry(player).or_default();
            *count += 1;
            if *count == 1 { player.clone() } else { format!("{player}#{count}") }
        })
        .collect()
}

fn ratings(names: &[String], compared: &BTreeMap<(usize, usize), Comparison>) -> Vec<Rated> {
    let tallies: Vec<Tally> = compared
        .iter()
        .map(|(&(first, second), comparison)| Tally {
            player: names[first].clone(),
            opponent: names[second].clone(),
            score: comparison.score(),
        })
        .collect();
    let anchor = names.iter().find(|name| *name == ANCHOR).unwrap_or(&names[0]);
    rate(&tallies, anchor)
        .ratings
        .into_iter()
        .map(|row| Rated {
            player: row.player,
            elo: row.elo,
            elo_low: row.elo_low,
            elo_high: row.elo_high,
        })
        .collect()
}

fn timed(name: &str, times: &Times) -> MoveTime {
    let ms = |nanos| Duration::from_nanos(nanos).as_secs_f64() * 1e3;
    MoveTime {
        player: name.to_owned(),
        moves: times.len(),
        median_ms: ms(times.value_at_quantile(0.5)),
        p99_ms: ms(times.value_at_quantile(0.99)),
        max_ms: ms(times.max()),
    }
}

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} games of {} ({} distinct, {} cut short), {:.1} plies on average",
            self.games, self.game, self.distinct, self.truncated, self.mean_plies
        )?;
        for pairing in &self.pairings {
            write!(f, "{pairing}")?;
        }
        let width = self.entrants.iter().map(|row| row.player.len()).max().unwrap_or(0).max(6);
        if self.seats == 1 {
            writeln!(f, "\n{:<width$}   games  mean score   95 % interval", "player")?;
            for Entrant { player, seats, score, .. } in &self.entrants {
                let interval = format!("{:.3} to {:.3}", score.low, score.high);
                writeln!(f, "{player:<width$}  {seats:>6}  {:>10.3}   {interval}", score.value)?;
            }
        } else if self.seats > 2 {
            writeln!(f, "\n{:<width$}  first places   95 % interval  by seats", "player")?;
            for Entrant { player, first_places: first, expected, .. } in &self.entrants {
                let interval = format!("{:.1} to {:.1}", 100.0 * first.low, 100.0 * first.high);
                writeln!(
                    f,
                    "{player:<width$}  {:>10.1} %  {interval:>14}  {:>6.1} %",
                    100.0 * first.value,
                    100.0 * expected
                )?;
            }
        }
        if !self.ratings.is_empty() {
            writeln!(f, "\n{:<width$}     Elo   95 % interval", "player")?;
            for row in &self.ratings {
                let interval = format!("{:+.0} to {:+.0}", row.elo_low, row.elo_high);
                writeln!(f, "{:<width$}  {:>+6.0}  {interval:>14}", row.player, row.elo)?;
            }
        }
        writeln!(f, "\n{:<width$}   moves   median ms      p99 ms      max ms", "player")?;
        for row in &self.times {
            writeln!(
                f,
                "{:<width$}  {:>6}  {:>10.4}  {:>10.4}  {:>10.4}",
                row.player, row.moves, row.median_ms, row.p99_ms, row.max_ms
            )?;
        }
        Ok(())
    }
}

impl Display for Pairing {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n{} against {}", self.first, self.second)?;
        writeln!(
            f,
            "  {} won ({:.1} %), {} drawn, {} lost; score {:.1} %, 95 % interval {:.1} to {:.1}",
            self.wins,
            100.0 * f64::from(self.wins) / f64::from(self.games.max(1)),
            self.draws,
            self.losses,
            100.0 * self.score.value,
            100.0 * self.score.low,
            100.0 * self.score.high
        )?;
        writeln!(
            f,
            "  Elo {:+.0}, 95 % interval {:+.0} to {:+.0}; stronger with likelihood {:.1} %",
            self.elo.value,
            self.elo.low,
            self.elo.high,
            100.0 * self.superiority
        )
    }
}
