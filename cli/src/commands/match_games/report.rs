//! The report of a match: results per pairing and per entrant, as text or JSON.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display, Formatter};
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use ouro_game::maze_dash::MazeDash;
use ouro_game::{Game, snake, snakgame};
use ouro_rating::Estimate;
use serde::Serialize;

use super::http_snake::Missing;
use super::play::Match;
use super::ratings::{self, Rated};
use super::schedule::Planned;
use super::sums::{Compared, Shares, Sums};
use super::timed::Times;
use crate::commands::count::counted;

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

impl Interval {
    /// The interval without values that are impossible. An unknown interval stays unknown.
    fn within(self, possible: &RangeInclusive<f64>) -> Self {
        let Self { value, low, high } = self;
        if low.is_infinite() || high.is_infinite() {
            return self;
        }
        Self { value, low: low.max(*possible.start()), high: high.min(*possible.end()) }
    }
}

/// The scores that are possible in a game of one player. Elsewhere a score sums rewards, which may be any
/// numbers.
fn possible_scores(game: &str) -> RangeInclusive<f64> {
    if game == MazeDash::NAME {
        // The share of the cells that is visited.
        0.0..=1.0
    } else if [snake::Small::NAME, snakgame::Small::NAME].contains(&game) {
        0.0..=f64::INFINITY
    } else {
        f64::NEG_INFINITY..=f64::INFINITY
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
    /// Games in which both played.
    games: u32,
    /// Games won, drawn and lost. Above two seats they count comparisons: of every two seats of a game,
    /// unless both share the last place.
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
        let (names, possible) = (labels(players), possible_scores(game));
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
                    games: comparison.games(),
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
                    let first_places = first_places.into();
                    let score = Interval::from(score).within(&possible);
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

/// A time with four digits after the point. A shorter one is not 0.
fn milliseconds(time: f64) -> String {
    if time > 0.0 && time < 0.000_1 { "< 0.0001".to_owned() } else { format!("{time:.4}") }
}

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} of {} ({} distinct, {} cut short), {:.1} plies on average",
            counted(self.games, "game"),
            self.game,
            self.distinct,
            self.truncated,
            self.mean_plies
        )?;
        if self.distinct < self.games {
            writeln!(
                f,
                "{} repeated an earlier one and counted like the others; between players without \
                 randomness such games are no evidence, and the intervals are too narrow",
                counted(self.games - self.distinct, "game")
            )?;
        }
        for pairing in &self.pairings {
            pairing.write(f, self.seats)?;
        }
        let width = self.entrants.iter().map(|row| row.player.len()).max().unwrap_or(0).max(6);
        if self.seats == 1 {
            writeln!(f, "\n{:<width$}   games  mean score   95 % interval", "player")?;
            for Entrant { player, seats, score, .. } in &self.entrants {
                let interval = if score.low.is_finite() && score.high.is_finite() {
                    format!("{:.3} to {:.3}", score.low, score.high)
                } else {
                    "–".to_owned()
                };
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
                "\n{player}: {} of this run got no valid move, so the previous move was repeated; \
                 first error: {first}",
                counted(*requests, "request")
            )?;
        }
        if self.times.is_empty() {
            return Ok(());
        }
        writeln!(f, "\n{:<width$}   moves   median ms      p99 ms      max ms", "player")?;
        for row in &self.times {
            let [median, p99, max] = [row.median_ms, row.p99_ms, row.max_ms].map(milliseconds);
            writeln!(
                f,
                "{:<width$}  {:>6}  {median:>10}  {p99:>10}  {max:>10}",
                row.player, row.moves
            )?;
        }
        Ok(())
    }
}

impl Pairing {
    /// Above two seats a game can compare two players several times or not at all, so words differ.
    fn write(&self, f: &mut Formatter<'_>, seats: usize) -> fmt::Result {
        let Self { games, wins, draws, losses, .. } = *self;
        writeln!(f, "\n{} against {}", self.first, self.second)?;
        let Interval { value, low, high } = self.score;
        let [value, low, high] = [value, low, high].map(|share| 100.0 * share);
        if seats <= 2 {
            writeln!(
                f,
                "  {wins} won ({:.1} %), {draws} drawn, {losses} lost; score {value:.1} %, 95 % \
                 interval {low:.1} to {high:.1}",
                100.0 * f64::from(wins) / f64::from(games.max(1)),
            )?;
        } else if wins + draws + losses == 0 {
            return writeln!(f, "  no comparison: both shared the last place in all {games} games");
        } else {
            writeln!(
                f,
                "  ahead in {}, level in {draws}, behind in {losses}, of {games} games; {value:.1} %, 95 % \
                 interval {low:.1} to {high:.1}",
                counted(wins, "comparison")
            )?;
        }
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

#[cfg(test)]
mod tests {
    use super::super::play::PlayedGame;
    use super::super::schedule::schedule;
    use super::super::testing::four_seats;
    use super::*;

    fn text(seats: usize, names: &[&str], planned: &[Planned], played: Vec<PlayedGame>) -> String {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let played = Match::<()> { played, times: Vec::new(), longest: None };
        Report::new(("game", seats, 1), &names, planned, &played).to_string()
    }

    fn finished(scores: &[f32], game: usize) -> PlayedGame {
        let (outcomes, fingerprint) = (scores.to_vec(), game as u64);
        let scores = scores.to_vec();
        PlayedGame { outcomes, scores, plies: 1, truncated: false, fingerprint }
    }

    #[test]
    fn games_of_four_seats_are_reported_as_comparisons() {
        let winners: Vec<usize> = (0..400).map(|game| usize::from(game % 8 < 4)).collect();
        let (planned, played) = four_seats(2, &winners);
        let text = text(4, &["a", "b"], &planned, played);
        let expected = "\na against b\n  ahead in 600 comparisons, level in 0, behind in 200, of \
                        400 games; 75.0 %, 95 % interval ";
        assert!(text.contains(expected), "{text}");
        assert!(text.contains("\n  Elo +191, 95 % interval "), "{text}");
    }

    #[test]
    fn players_that_no_game_ranks_have_no_figures() {
        let (planned, played) = four_seats(4, &[3; 8]);
        let text = text(4, &["a", "b", "c", "d"], &planned, played);
        let expected =
            "\na against b\n  no comparison: both shared the last place in all 8 games\n";
        assert!(text.contains(expected), "{text}");
        assert!(text.contains("a against d\n  ahead in 0 comparisons, level in 0, behind in 8"));
        assert!(!text.contains("-inf to +inf"), "{text}");
    }

    #[test]
    fn games_of_two_seats_are_reported_as_games() {
        let planned = schedule(1, 4, 2, 2).expect("pairs");
        let results = [[1.0, -1.0], [1.0, -1.0], [1.0, -1.0], [0.0, 0.0]];
        let played = results.iter().enumerate();
        let played = played.map(|(game, results)| finished(results, game)).collect();
        let text = text(2, &["a", "b"], &planned, played);
        let expected =
            "\na against b\n  2 won (50.0 %), 1 drawn, 1 lost; score 62.5 %, 95 % interval ";
        assert!(text.contains(expected), "{text}");
    }

    #[test]
    fn the_interval_of_a_mean_score_has_possible_scores_only() {
        let estimate = |low, high| Interval { value: 0.25, low, high };
        for (game, expected) in
            [("maze_dash", (0.0, 1.0)), ("snake", (0.0, 1.659)), ("battlesnake", (-1.144, 1.659))]
        {
            let Interval { low, high, .. } = estimate(-1.144, 1.659).within(&possible_scores(game));
            assert_eq!((low, high), expected, "{game}");
        }
        let unknown = estimate(f64::NEG_INFINITY, f64::INFINITY);
        assert!(unknown.within(&possible_scores("maze_dash")).low.is_infinite());
    }

    #[test]
    fn a_short_time_is_not_shown_as_none() {
        let texts = [0.0, 0.000_02, 0.000_1, 12.345_67].map(milliseconds);
        assert_eq!(texts, ["0.0000", "< 0.0001", "0.0001", "12.3457"]);
    }

    #[test]
    fn scores_that_are_all_alike_have_a_dash_for_an_interval() {
        let planned = schedule(1, 3, 2, 1).expect("seeds");
        let played = planned.iter().enumerate();
        let played: Vec<PlayedGame> = played
            .map(|(game, planned)| {
                // The first player has 7 in every game.
                let score = if planned.seats[0] == 0 { 7.0 } else { game as f32 };
                finished(&[score], game)
            })
            .collect();
        let text = text(1, &["a", "b"], &planned, played);
        let row = |name: &str| {
            let is_row = |line: &&str| line.starts_with(name) && line.contains('.');
            text.lines().find(is_row).expect("a row").to_owned()
        };
        assert!(row("a  ").ends_with("7.000   –"), "{text}");
        // 3, 4 and 5, with Student's quantile of two degrees of freedom: 4 ± 4.303 / √3.
        assert!(row("b  ").ends_with("4.000   1.516 to 6.484"), "{text}");
    }
}
