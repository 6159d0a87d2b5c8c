//! `ouro bench snakgame`: all strategies of SNAKGAME against Chef on the contest's boards.
//!
//! All strategies play the same boards with the same draws of Chef, so their scores are compared seed by
//! seed.

use std::fmt::{self, Display, Formatter};
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Instant;

use clap::Args;
use ouro_game::snakgame::{Board, MAX_SIDE, MIN_SIDE, generate, one_snake_bound, play_official};
use ouro_rating::{Estimate, paired_ratio};
use ouro_snakgame::Named;
use serde::Serialize;

use super::machine::Machine;
use super::timing::Spread;
use crate::commands::count::counted;
use crate::commands::numbers::whole;
use crate::commands::strategy;
use crate::failure::Failure;
use crate::output::Output;

/// Compare the strategies of SNAKGAME: score, share of the one-snake bound, seconds for each game.
///
/// Every strategy plays each seed against Chef on square boards with 4 % blocked cells. The ratio to
/// the editorial's method is that of the sums of scores, with a 95 % interval over seeds. A dash stands
/// for the interval of a single seed, and of the editorial's method itself.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Strategies to compare; all if none is named.
    #[arg(value_parser = strategy::parse)]
    strategies: Vec<Named>,
    /// Sides of the boards, 10 to 600, separated by commas.
    #[arg(long, value_delimiter = ',', default_value = "250,550", value_parser = whole::<u16>(MIN_SIDE..=MAX_SIDE))]
    sides: Vec<u16>,
    /// Games of each strategy on each size.
    #[arg(long, default_value_t = 20, value_parser = whole::<u16>(1..=u16::MAX))]
    seeds: u16,
}

/// The figures of one strategy on one size.
#[derive(Debug, Serialize)]
struct Row {
    strategy: &'static str,
    side: u16,
    mean_score: f64,
    /// Mean share of what one snake with the first side's share of the cells would score.
    share_of_bound: f64,
    mean_snakes: f64,
    /// Wall-clock seconds for each game on one core.
    seconds: Spread,
    /// Ratio of scores to the editorial's method on the same seeds. Infinite ends are `null` in JSON.
    to_editorial: Estimate,
}

#[derive(Debug, Serialize)]
struct Report {
    machine: Machine,
    seeds: u16,
    rows: Vec<Row>,
}

/// The games of one strategy on one size, seed by seed.
struct Games {
    scores: Vec<f64>,
    shares: Vec<f64>,
    snakes: Vec<f64>,
    seconds: Vec<f64>,
}

/// Plays all games and prints the table.
pub(super) fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode, Failure> {
    let Arguments { strategies, sides, seeds } = arguments;
    let machine = Machine::here();
    if !machine.release_build {
        writeln!(io::stderr(), "warning: this is a debug build; its times mean little")?;
    }
    let strategies = if strategies.is_empty() { &Named::ALL[..] } else { strategies };
    let mut rows = Vec::new();
    for &side in sides {
        let boards = (1..=u64::from(*seeds)).map(|seed| generate(side, side, seed));
        let boards: Vec<Board> = boards.collect::<Result<_, _>>().map_err(Failure::usage)?;
        let base = play(Named::Editorial, &boards)?;
        for &strategy in strategies {
            let games =
                if strategy == Named::Editorial { None } else { Some(play(strategy, &boards)?) };
            let Games { scores, shares, snakes, seconds } = games.as_ref().unwrap_or(&base);
            let none = || Failure::bug("no game was played");
            rows.push(Row {
                strategy: strategy.name(),
                side,
                mean_score: mean(scores),
                share_of_bound: mean(shares),
                mean_snakes: mean(snakes),
                seconds: Spread::of(seconds.clone()).ok_or_else(none)?,
                to_editorial: ratio_of_scores(scores, &base.scores),
            });
        }
    }
    let report = Report { machine, seeds: *seeds, rows };
    output.result(&report, &report)?;
    Ok(ExitCode::SUCCESS)
}

/// Plays each board; the seed is its place in the list, from 1.
fn play(strategy: Named, boards: &[Board]) -> Result<Games, Failure> {
    let mut games =
        Games { scores: Vec::new(), shares: Vec::new(), snakes: Vec::new(), seconds: Vec::new() };
    for (seed, board) in (1..).zip(boards) {
        let bound = one_snake_bound(board.empty_count()).max(1);
        let begin = Instant::now();
        let mut player = strategy.player(seed);
        let result = play_official(board.clone(), seed, player.as_mut()).map_err(|error| {
            Failure::bug(format_args!("strategy {} made an illegal move: {error}", strategy.name()))
        })?;
        games.seconds.push(begin.elapsed().as_secs_f64());
        games.scores.push(result.score as f64);
        games.shares.push(result.score as f64 / bound as f64);
        games.snakes.push(f64::from(result.snakes));
    }
    Ok(games)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// The ratio of two sums of scores on the same seeds. Scores are not negative, so with few seeds the
/// interval ends at 0.
fn ratio_of_scores(scores: &[f64], base: &[f64]) -> Estimate {
    let ratio = paired_ratio(scores, base);
    if ratio.is_bounded() { Estimate { low: ratio.low.max(0.0), ..ratio } } else { ratio }
}

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}, {}", self.machine.cpu, counted(self.seeds, "seed"))?;
        writeln!(
            f,
            "{:12} {:>5} {:>10} {:>6} {:>8} {:>8} {:>8}  ratio to the editorial",
            "strategy", "side", "score", "share", "snakes", "median s", "max s"
        )?;
        for row in &self.rows {
            let Row { strategy, side, mean_score, share_of_bound, mean_snakes, seconds, .. } = row;
            writeln!(
                f,
                "{strategy:12} {side:>5} {mean_score:>10.0} {share_of_bound:>6.3} {mean_snakes:>8.1} {:>8.2} {:>8.2}  {}",
                seconds.median,
                seconds.max,
                ratio(row.to_editorial),
            )?;
        }
        Ok(())
    }
}

/// A ratio with its interval, or with a dash where the interval is unknown.
fn ratio(estimate: Estimate) -> String {
    let Estimate { value, low, high } = estimate;
    if estimate.is_bounded() {
        format!("{value:.3} ({low:.3} to {high:.3})")
    } else {
        format!("{value:.3} (–)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_a_ratio_of_scores_has_no_negative_end() {
        let (scores, base) = ([10.0, 500.0], [500.0, 490.0]);
        assert!(paired_ratio(&scores, &base).low < 0.0);
        let Estimate { value, low, high } = ratio_of_scores(&scores, &base);
        assert!(low == 0.0 && low < value && value < high && high.is_finite());
        // Without an interval there is no end to move.
        assert_eq!(ratio_of_scores(&[3.0], &[2.0]).low, f64::NEG_INFINITY);
    }

    #[test]
    fn an_unknown_interval_is_a_dash() {
        assert_eq!(ratio(paired_ratio(&[3.0], &[2.0])), "1.500 (–)");
        assert_eq!(ratio(paired_ratio(&[2.0, 5.0], &[2.0, 5.0])), "1.000 (–)");
        let known = ratio(paired_ratio(&[3.0, 2.0, 4.0], &[2.0, 2.0, 2.0]));
        assert!(known.starts_with("1.500 (") && known.contains(" to "), "{known}");
    }
}
