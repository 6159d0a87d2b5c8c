//! The report of a match: results per pairing and per entrant, as text or JSON.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display, Formatter};
use std::sync::Arc;
use std::time::Duration;

use ouro_rating::Estimate;
use serde::Serialize;

use super::http_snake::Missing;
use super::play::Match;
use super::ratings::{self, Rated};
use super::schedule::Planned;
use super::sums::{Compared, Shares, Sums};
use super::timed::Times;

/// A figure and its 95 % interval. Infinite numbers are `null` in JSON.
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

/// The printed report.
#[derive(Debug, Serialize)]
pub(in crate::commands) struct Report {
    game: &'static str,
    seats: usize,
    seed: u64,
    games: usize,
    distinct: usize,
    truncated: usize,
    mean_plies: f64,
    pairings: Vec<Pairing>,
    entrants: Vec<Entrant>,
    /// Bradley–Terry ratings over all pairings; empty for two entrants, whose pairing is enough.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ratings: Vec<Rated>,
    /// Entrants elsewhere that did not reply with a move at times.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    missing: Vec<MissingMoves>,
    /// Like `missing`, this differs between two runs of the same match.
    times: Vec<MoveTime>,
}

/// The comparison of two entrants.
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

/// The results of one entrant over all its games.
#[derive(Debug, Serialize)]
struct Entrant {
    player: String,
    /// Number of seats over all games.
    seats: usize,
    /// Share of first places; a shared first place is split.
    first_places: Interval,
    /// Share of first places of a player of average strength: its share of seats.
    expected: f64,
    /// Mean of the game's own score, per seat and game.
    score: Interval,
}

/// Requests of this run that got no valid move.
#[derive(Debug, Serialize)]
struct MissingMoves {
    player: String,
    requests: u64,
    /// The first error.
    first: String,
}

/// Time per move of one entrant, in milliseconds.
#[derive(Debug, Serialize)]
struct MoveTime {
    player: String,
    moves: u64,
    median_ms: f64,
    p99_ms: f64,
    max_ms: f64,
}

impl Report {
    /// Summarises a match of `players` in `game`.
    pub(super) fn new<C>(
        (game, seats, seed): (&'static str, usize, u64),
        players: &[String],
        schedule: &[Planned],
        played: &Match<C>,
    ) -> Self {
        let names = labels(players);
        let games = &played.played;
        let sums = Sums::new(schedule, games, seats);
        let compared = sums.compare();
        let plies: usize = games.iter().map(|game| game.plies).sum();
        let distinct: BTreeSet<u64> = games.iter().map(|game| game.fingerprint).collect();
        let pairings = compared
            .iter()
            .map(|(&(first, second), Compared { comparison, .. })| {
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
            entrants: (0..names.len())
                .map(|index| {
                    let Shares { seats, expected, first_places, score } = sums.shares(index);
                    let player = names[index].clone();
                    let (first_places, score) = (first_places.into(), score.into());
                    Entrant { player, seats, first_places, expected, score }
                })
                .collect(),
            ratings: if names.len() > 2 { ratings::rated(&names, &compared) } else { Vec::new() },
            missing: Vec::new(),
            times: names.iter().zip(&played.times).map(|(name, time)| timed(name, time)).collect(),
        }
    }

    /// The report with the replies without a move, in the order of the entrants.
    pub(super) fn with_missing(self, missing: &[Arc<Missing>]) -> Self {
        let all = self.entrants.iter().zip(missing);
        let missing = all.filter_map(|(entrant, missing)| {
            let (requests, first) = missing.summary()?;
            Some(MissingMoves { player: entrant.player.clone(), requests, first })
        });
        let missing = missing.collect();
        Self { missing, ..self }
    }
}

/// Makes names unique: a repeated name gets a number, such as `random#2`.
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
        if self.distinct < self.games {
            writeln!(
                f,
                "{} games repeat an earlier one and count like the others; between players without \
                 randomness they are no evidence, and the intervals are too narrow",
                self.games - self.distinct
            )?;
        }
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
        for MissingMoves { player, requests, first } in &self.missing {
            writeln!(
                f,
                "\n{player}: {requests} requests of this run got no valid move, so the previous move was repeated; \
                 first error: {first}"
            )?;
        }
        if self.times.is_empty() {
            return Ok(());
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
