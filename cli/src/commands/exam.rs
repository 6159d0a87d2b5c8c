//! `ouro exam`: compares a player with perfect play.

use std::fmt::{self, Display, Formatter};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use ouro_game::connect_four::ConnectFour;
use ouro_game::tic_tac_toe::TicTacToe;
use ouro_game::{Game, GameConfig};
use ouro_players::exam::{self, Agreement, LineCounts, PositionSample};
use ouro_players::{BuildContext, Player, by_name};
use serde::Serialize;

use super::count::counted;
use super::numbers::whole;
use super::{entrants, game_argument};
use crate::clock::WallClock;
use crate::failure::{Failure, answer};
use crate::output::Output;

/// Compare a player with perfect play: tic-tac-toe in all lines, Connect Four with the solver.
///
/// In tic-tac-toe the player plays from both seats against every possible reply. In Connect Four
/// it chooses in positions of random games, and the solver checks how often it keeps the result: a
/// win stays a win, a draw stays a draw.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ouro exam 'net{weights=runs/tictactoe/arena/weights/HASH.safetensors,argmax}'
  ouro exam 'mcts{sims=100,weights=runs/connect4/arena/weights/HASH.safetensors}' --positions 1000

The exit code is 1 if a line of tic-tac-toe is lost.")]
pub(crate) struct Arguments {
    /// The player, by name (docs/players.md).
    player: String,
    /// A name from `ouro games`, or a configuration as JSON. The default is the game that the
    /// weights were trained for.
    #[arg(long, value_parser = game_argument::parse)]
    game: Option<GameConfig>,
    /// Positions of Connect Four, all different.
    #[arg(long, default_value_t = 1_000, value_parser = whole::<u32>(1..=u32::MAX))]
    positions: u32,
    /// Fewest stones per position: the solver can take long for fewer.
    #[arg(long, default_value_t = 8, value_parser = whole::<u32>(0..=u32::MAX))]
    first: u32,
    /// Seed of the positions and of the player's draws.
    #[arg(long, default_value_t = 1, value_parser = whole::<u64>(0..=u64::MAX))]
    seed: u64,
}

/// The printed report.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Report {
    Lines { player: String, seed: u64, lines: LineCounts },
    Agreement { player: String, seed: u64, first: u32, agreement: Agreement },
}

/// Examines the player.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode, Failure> {
    let Arguments { player, positions, first, seed, .. } = arguments;
    let names = std::slice::from_ref(player);
    let (game, engines) = entrants::load(names, arguments.game.clone())?;
    let (player, seed, first) = (player.clone(), *seed, *first);
    let report = match game {
        GameConfig::TicTacToe(config) => {
            let game = TicTacToe::new(config).map_err(Failure::usage)?;
            let mut examined = build(&game, &player, &engines)?;
            let lines = exam::every_line(&game, &mut *examined, seed).map_err(Failure::usage)?;
            Report::Lines { player, seed, lines }
        }
        GameConfig::ConnectFour(config) => {
            let game = ConnectFour::new(config).map_err(Failure::usage)?;
            let mut examined = build(&game, &player, &engines)?;
            let sample = PositionSample { positions: *positions as usize, first, seed };
            let agreement = exam::connect_four(&game, &mut *examined, sample);
            if agreement.positions == 0 {
                return Err(Failure::usage(format_args!(
                    "--first is {first}, and no random game got that far; ask for fewer stones"
                )));
            }
            Report::Agreement { player, seed, first, agreement }
        }
        other => {
            return Err(Failure::usage(format_args!(
                "perfect play is not known for {}; tic_tac_toe and connect_four can be examined",
                other.name()
            )));
        }
    };
    let is_lost = matches!(&report, Report::Lines { lines, .. } if lines.lost > 0);
    output.verdict(answer(!is_lost), &report, &report)
}

fn build<G: Game>(
    game: &G,
    name: &str,
    engines: &entrants::Engines,
) -> Result<Box<dyn Player<G>>, Failure> {
    let mut engine = |weights: &str| engines.get(weights).cloned();
    let clock = Arc::new(WallClock::default());
    by_name(name, &mut BuildContext { game, engines: &mut engine, clock }).map_err(Failure::usage)
}

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lines { player, lines, .. } => {
                let LineCounts { asked, won, drawn, lost, first_loss } = lines;
                writeln!(f, "{player} in all lines, from both seats: asked in {asked} positions")?;
                writeln!(f, "  final positions: {won} won, {drawn} drawn, {lost} lost")?;
                match first_loss {
                    Some(line) => writeln!(f, "  lost by: {}", line.join(" ")),
                    None => Ok(()),
                }
            }
            Self::Agreement { player, first, agreement, .. } => {
                let Agreement { positions, kept, critical, kept_critical } = agreement;
                let share = |part: &usize, of: &usize| 100.0 * *part as f64 / (*of).max(1) as f64;
                let all = share(kept, positions);
                let some = share(kept_critical, critical);
                let positions = counted(*positions, "random position");
                writeln!(f, "{player} in {positions} of {first} stones or more")?;
                writeln!(f, "  keeps the result in {kept} ({all:.1} %)")?;
                writeln!(
                    f,
                    "  where a move can spoil it, in {kept_critical} of {critical} ({some:.1} %)"
                )
            }
        }
    }
}
