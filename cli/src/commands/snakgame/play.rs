//! `ouro snakgame play`: a strategy on standard input and output, for a judge.

use std::io::{self, BufRead, Lines};
use std::process::ExitCode;

use clap::Args;
use ouro_game::snakgame::{Board, Cell, MAX_SIDE, Move, Position};
use ouro_snakgame::Named;

use crate::commands::numbers::whole;
use crate::commands::strategy;
use crate::failure::Failure;
use crate::output::Output;

/// Play a strategy in the contest's protocol, as the program that a judge starts.
///
/// It reads `n m K` and K blocked cells, then writes a move and reads Chef's answer in turn, until
/// Chef writes EXIT or the board is full.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  ouro snakgame judge -- ouro snakgame play editorial")]
pub(crate) struct Arguments {
    /// The strategy, by the name that `ouro bench snakgame` shows.
    #[arg(value_parser = strategy::parse)]
    strategy: Named,
    /// Seed of the strategy's random choices.
    #[arg(long, default_value_t = 1, value_parser = whole::<u64>(0..=u64::MAX))]
    seed: u64,
}

/// Plays one game.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode, Failure> {
    let mut lines = io::stdin().lock().lines();
    let mut position = Position::new(read_board(&mut lines)?);
    let mut strategy = arguments.strategy.player(arguments.seed);
    while !position.is_over() {
        let action = strategy.choose(&position);
        output.prompt(&format!("{action}\n"))?;
        position.play(action).map_err(Failure::bug)?;
        if action == Move::Exit {
            break;
        }
        let line = next(&mut lines)?;
        let answer: Move = line.trim().parse().map_err(Failure::data)?;
        if answer == Move::Exit {
            break;
        }
        position.play(answer).map_err(|error| {
            Failure::data(format_args!("the opponent's move {:?}: {error}", line.trim()))
        })?;
        strategy.observe(&position, answer);
    }
    Ok(ExitCode::SUCCESS)
}

/// Reads the board's size and its blocked cells.
fn read_board(lines: &mut Lines<impl BufRead>) -> Result<Board, Failure> {
    let head = next(lines)?;
    let [rows, columns, count] = numbers(&head)?;
    let most = usize::from(MAX_SIDE).pow(2);
    if count as usize > most {
        return Err(Failure::data(format_args!(
            "{count} blocked cells are announced; a board has at most {most}"
        )));
    }
    let mut blocked = Vec::new();
    for _ in 0..count {
        let [row, column] = numbers(&next(lines)?)?;
        blocked.push(Cell::new(side(row)?, side(column)?));
    }
    Board::new(side(rows)?, side(columns)?, blocked).map_err(Failure::data)
}

/// A number as a side or coordinate.
fn side(number: u32) -> Result<u16, Failure> {
    u16::try_from(number).map_err(|_| {
        Failure::data(format_args!("{number} is not on a board, whose sides are 1 to {MAX_SIDE}"))
    })
}

fn numbers<const N: usize>(line: &str) -> Result<[u32; N], Failure> {
    let wrong = || {
        let start: String = line.chars().take(60).collect();
        Failure::data(format_args!(
            "{start:?} is not {N} numbers; the first line is n m K, then K cells"
        ))
    };
    let parsed: Result<Vec<u32>, _> = line.split_whitespace().take(N + 1).map(str::parse).collect();
    parsed.ok().and_then(|numbers| numbers.try_into().ok()).ok_or_else(wrong)
}

fn next(lines: &mut Lines<impl BufRead>) -> Result<String, Failure> {
    let line = lines.next().ok_or_else(|| {
        Failure::data("standard input ended before the game; start this program with a judge")
    })?;
    line.map_err(|error| Failure::read("standard input", &error))
}
