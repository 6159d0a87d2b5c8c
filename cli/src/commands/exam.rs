//! `ouro exam`: compares players with perfect play.

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

/// Compare players with perfect play: tic-tac-toe in all lines, Connect Four with the solver.
///
/// In tic-tac-toe a player plays from both seats against every possible reply. In Connect Four
/// it chooses in positions of random games, the same for all players, and the solver checks how often it
/// keeps the result: a win stays a win, a draw stays a draw. With --json, each player has a line.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ouro exam 'net{weights=runs/tictactoe/arena/weights/HASH.safetensors,argmax}'
  ouro exam 'mcts{sims=100,weights=runs/connect4/arena/weights/HASH.safetensors}' --positions 1000

The exit code is 1 if a line of tic-tac-toe is lost.")]
pub(crate) struct Arguments {
    /// The players, by name (docs/players.md).
    #[arg(required = true)]
    players: Vec<String>,
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

/// Examines the players.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode, Failure> {
    let Arguments { players, positions, first, seed, .. } = arguments;
    let (game, engines) = entrants::load(players, arguments.game.clone())?;
    let (seed, first) = (*seed, *first);
    let reports: Vec<Report> = match game {
        GameConfig::TicTacToe(config) => {
            let game = TicTacToe::new(config).map_err(Failure::usage)?;
            let examine = |(mut examined, player): (Box<dyn Player<_>>, &String)| {
                let lines =
                    exam::every_line(&game, &mut *examined, seed).map_err(Failure::usage)?;
                Ok(Report::Lines { player: player.clone(), seed, lines })
            };
            let built = build(&game, players, &engines)?;
            built.into_iter().zip(players).map(examine).collect::<Result<_, Failure>>()?
        }
        GameConfig::ConnectFour(config) => {
            let game = ConnectFour::new(config).map_err(Failure::usage)?;
            let mut examined = build(&game, players, &engines)?;
            let sample = PositionSample { positions: *positions as usize, first, seed };
            let agreements = exam::connect_four(&game, &mut examined, sample);
            if agreements.iter().any(|agreement| agreement.positions == 0) {
                return Err(Failure::usage(format_args!(
                    "--first is {first}, and no random game got that far; ask for fewer stones"
                )));
            }
            let report = |(player, agreement): (&String, _)| Report::Agreement {
                player: player.clone(),
                seed,
                first,
                agreement,
            };
            players.iter().zip(agreements).map(report).collect()
        }
        other => {
            return Err(Failure::usage(format_args!(
                "perfect play is not known for {}; tic_tac_toe and connect_four can be examined",
                other.name()
            )));
        }
    };
    let is_lost = |report: &Report| matches!(report, Report::Lines { lines, .. } if lines.lost > 0);
    let code = answer(!reports.iter().any(is_lost));
    let (last, others) = reports.split_last().ok_or_else(|| Failure::usage("name a player"))?;
    for report in others {
        output.result(report, report)?;
    }
    output.verdict(code, last, last)
}

fn build<G: Game>(
    game: &G,
    names: &[String],
    engines: &entrants::Engines,
) -> Result<Vec<Box<dyn Player<G>>>, Failure> {
    let mut engine = |weights: &str| engines.get(weights).cloned();
    let clock = Arc::new(WallClock::default());
    let mut context = BuildContext { game, engines: &mut engine, clock };
    names.iter().map(|name| by_name(name, &mut context).map_err(Failure::usage)).collect()
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
