//! `ouro match`: two players, many paired games, one line of result.
//!
//! Games come in pairs on one seed with the seats swapped. The same seed gives the same games,
//! bit for bit, on any number of cores.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;

use clap::Args;
use ouro_arena::gate::{GameOutcome, Score};
use ouro_game::{Game, GameConfig, GameVisitor, Record};
use ouro_net::{Engine, Weights};
use ouro_players::{Finished, PairedGame, Player, Table, by_name, distinct, pairs};
use serde::Serialize;

use super::{game_argument, record};
use crate::failure::Failure;
use crate::output::Output;

/// Play two players against each other in paired games.
///
/// A player is `random` or `net{weights=FILE}` with an optional `,temperature=T` or `,argmax`.
#[derive(Debug, Args)]
#[command(after_help = "Example, the champion of a run against random play:
  ouro match 'net{weights=runs/default/arena/weights/HASH.safetensors}' random --games 400")]
pub(crate) struct Arguments {
    /// The player whose score is told.
    first: String,
    /// Its opponent.
    second: String,
    /// A name from `ouro games`, or a configuration as JSON; left out, the game that the
    /// weights were trained for.
    #[arg(long, value_parser = game_argument::parse)]
    game: Option<GameConfig>,
    /// Games to play, an even number.
    #[arg(long, default_value_t = 200)]
    games: u32,
    /// Fixes every game.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Plies after which a game is cut short and counts as it stands.
    #[arg(long, default_value_t = 1_000)]
    max_plies: usize,
    /// Write the longest game here, for `ouro show`; compressed if it ends in `.gz`.
    #[arg(long)]
    record: Option<PathBuf>,
}

/// What is printed.
#[derive(Debug, Serialize)]
struct Report {
    first: String,
    second: String,
    games: u32,
    distinct: usize,
    wins: u32,
    draws: u32,
    losses: u32,
    score: f64,
    score_low: f64,
    score_high: f64,
    mean_plies: f64,
    truncated: usize,
}

impl Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{} against {}", self.first, self.second)?;
        writeln!(
            f,
            "{} games ({} distinct, {} cut short), {:.1} plies on average",
            self.games, self.distinct, self.truncated, self.mean_plies
        )?;
        writeln!(
            f,
            "{} won ({:.1} %), {} drawn, {} lost; score {:.1} %, 95 % interval {:.1} to {:.1}",
            self.wins,
            100.0 * f64::from(self.wins) / f64::from(self.games.max(1)),
            self.draws,
            self.losses,
            100.0 * self.score,
            100.0 * self.score_low,
            100.0 * self.score_high
        )
    }
}

/// Networks by the file they came from.
type Engines = BTreeMap<String, Arc<Engine>>;

/// Plays the match.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode, Failure> {
    if arguments.games == 0 || arguments.games % 2 == 1 {
        let games = arguments.games;
        return Err(Failure::usage(format_args!(
            "--games is {games}; give an even number of 2 or more, since games come in pairs"
        )));
    }
    let mut engines = Engines::new();
    let mut trained_for = None;
    for name in [&arguments.first, &arguments.second] {
        let Some(path) = weights_of(name) else { continue };
        let weights = load(path)?;
        trained_for = Some(weights.meta().game.clone());
        engines.insert(path.to_owned(), Arc::new(Engine::new(&weights)));
    }
    let game = match (&arguments.game, trained_for) {
        (Some(game), _) => game.clone(),
        (None, Some(game)) => serde_json::from_str(&game).map_err(Failure::data)?,
        (None, None) => {
            return Err(Failure::usage("no weights say which game to play; give --game"));
        }
    };
    let played = game.visit(Match { arguments, engines: &engines }).map_err(Failure::usage)?;
    let (report, record) = played?;
    if let (Some(path), Some(Record { version, seed, plies, digests, config: () })) =
        (&arguments.record, record)
    {
        record::write(path, &Record { version, config: game, seed, plies, digests })?;
    }
    output.result(&report, &report)?;
    Ok(ExitCode::SUCCESS)
}

/// The file in `net{weights=FILE,…}`.
fn weights_of(player: &str) -> Option<&str> {
    let options = player.strip_prefix("net{")?.strip_suffix('}')?;
    options.split(',').find_map(|option| option.strip_prefix("weights="))
}

fn load(path: &str) -> Result<Weights, Failure> {
    let bytes = fs::read(path).map_err(|error| Failure::read(path, &error))?;
    Weights::from_safetensors(&bytes)
        .map_err(|error| Failure::data(format_args!("{path}: {error}")))
}

/// A record whose configuration is kept elsewhere.
fn without_config<C>(record: Record<C>) -> Record<()> {
    let Record { version, seed, plies, digests, config: _ } = record;
    Record { version, config: (), seed, plies, digests }
}

struct Match<'a> {
    arguments: &'a Arguments,
    engines: &'a Engines,
}

impl GameVisitor for Match<'_> {
    /// The report, and the longest game.
    type Output = Result<(Report, Option<Record<()>>), Failure>;

    fn visit<G: Game>(self, game: G) -> Self::Output {
        if game.players() != 2 {
            return Err(Failure::usage(format_args!(
                "{} has {} seats here; a match is between two",
                G::NAME,
                game.players()
            )));
        }
        let games = pairs(self.arguments.seed, self.arguments.games as usize / 2, 2);
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let share = games.len().div_ceil(cores).next_multiple_of(2);
        let shares = thread::scope(|scope| {
            let started: Vec<_> = games
                .chunks(share)
                .map(|share| scope.spawn(|| self.play(game.clone(), share)))
                .collect();
            started.into_iter().map(|thread| thread.join()).collect::<Vec<_>>()
        });
        let mut finished = Vec::with_capacity(games.len());
        for share in shares {
            finished.extend(share.map_err(|_| Failure::bug("a playing thread panicked"))??);
        }
        let report = self.report(&finished);
        let longest = finished.into_iter().max_by_key(|game| game.record.plies.len());
        Ok((report, longest.map(|game| without_config(game.record))))
    }
}

impl Match<'_> {
    fn play<G: Game>(
        &self,
        game: G,
        games: &[PairedGame],
    ) -> Result<Vec<Finished<G::Config>>, Failure> {
        let player = |name: &str| -> Result<Box<dyn Player<G>>, Failure> {
            by_name(name, &game, &mut |weights| self.engines.get(weights).cloned())
                .map_err(Failure::usage)
        };
        let mut players = vec![player(&self.arguments.first)?, player(&self.arguments.second)?];
        let mut table = Table::new(game.clone(), self.arguments.max_plies);
        for game in games {
            table.seat(game.seed, &game.seats).map_err(Failure::bug)?;
        }
        table.finish(&mut players).map_err(Failure::bug)
    }

    fn report<C>(&self, finished: &[Finished<C>]) -> Report {
        let mut score = Score::default();
        for game in finished {
            let seat = game.players.iter().position(|&player| player == 0).unwrap_or(0);
            score.add(match game.outcomes[seat].total_cmp(&0.0) {
                std::cmp::Ordering::Greater => GameOutcome::Win,
                std::cmp::Ordering::Equal => GameOutcome::Draw,
                std::cmp::Ordering::Less => GameOutcome::Loss,
            });
        }
        let plies: usize = finished.iter().map(|game| game.record.plies.len()).sum();
        let (score_low, score_high) = score.interval();
        Report {
            first: self.arguments.first.clone(),
            second: self.arguments.second.clone(),
            games: score.games(),
            distinct: distinct(finished),
            wins: score.wins,
            draws: score.draws,
            losses: score.losses,
            score: score.share(),
            score_low,
            score_high,
            mean_plies: plies as f64 / finished.len().max(1) as f64,
            truncated: finished.iter().filter(|game| game.truncated).count(),
        }
    }
}
