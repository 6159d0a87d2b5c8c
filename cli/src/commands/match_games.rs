//! `ouro match`: paired games between players, and their ratings.
//!
//! Every seed is played once per rotation of the seats. The same seed gives the same games, bit
//! for bit, on any number of cores. Players with a time limit and `http` players are the exceptions.

use std::io::{self, IsTerminal, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use ouro_game::record::MAX_PLIES;
use ouro_game::{Game, GameConfig, GameRecord, GameVisitor};
use ouro_players::{BuildContext, Player, by_name};
use ouro_service::ExitStatus;
use tokio::task::JoinError;

use super::entrants::{self, Engines};
use super::line_file::Purpose;
use super::numbers::whole;
use super::{game_argument, record};
use crate::clock::WallClock;
use crate::failure::Failure;
use crate::output::{Output, printable};

use self::http_snake::Missing;
use self::play::{PlayedGame, Players};
use self::saved::Saved;
use self::schedule::{MAX_GAMES, Planned};
use self::timed::MoveClock;

pub(super) use report::Report;

mod http_snake;
pub(super) mod play;
mod ratings;
mod report;
mod saved;
pub(super) mod schedule;
mod sums;
#[cfg(test)]
mod testing;
mod timed;

/// What the file of `--save` is for.
const SAVE: Purpose =
    Purpose { is: "a file of this match", remedy: "name another file with --save" };

/// Play players against each other in paired games.
///
/// Two seats: every two players meet. More seats: all sit at one table, the last player takes
/// the seats that are left, and with more players than seats every choice of them plays. One
/// seat: all play the same seeds alone and their scores are compared.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:
  ouro match 'net{weights=runs/duel-7x7/arena/weights/HASH.safetensors}' random --games 400
  ouro match 'minimax{depth=2}' greedy random --game battlesnake --games 400
  ouro match 'http{url=http://127.0.0.1:8000,ms=500}' 'minimax{ms=400}' --game battlesnake --threads 1

http{url=URL,ms=TIME} is a snake elsewhere that speaks the Battlesnake HTTP API. Ctrl-C ends a match,
and --save FILE keeps the games that have ended.")]
pub(crate) struct Arguments {
    /// Who plays, by name (docs/players.md).
    #[arg(required = true)]
    pub(super) players: Vec<String>,
    /// A name from `ouro games`, or a configuration as JSON; left out, the game that the
    /// weights were trained for.
    #[arg(long, value_parser = game_argument::parse)]
    pub(super) game: Option<GameConfig>,
    /// Games of each lineup, a multiple of the number of seats.
    #[arg(long, default_value_t = 200, value_parser = whole::<usize>(1..=MAX_GAMES))]
    pub(super) games: usize,
    /// Fixes every game.
    #[arg(long, default_value_t = 1, value_parser = whole::<u64>(0..=u64::MAX))]
    pub(super) seed: u64,
    /// Threads that play games; by default one per core. Fewer leave cores to players with `threads`.
    #[arg(long, value_parser = whole::<u16>(1..=1024))]
    pub(super) threads: Option<u16>,
    /// Plies after which a game is cut short and counts as it stands.
    #[arg(long, default_value_t = 10_000, value_parser = whole::<usize>(1..=MAX_PLIES))]
    pub(super) max_plies: usize,
    /// Write the longest game here, for `ouro show`; compressed if it ends in `.gz`. Only a game that this
    /// process plays counts. An earlier record is replaced, another file is not.
    #[arg(long)]
    pub(super) record: Option<PathBuf>,
    /// Keep the result of every game in this file. The same command continues an interrupted match, and
    /// with more --games it extends a match.
    #[arg(long, value_name = "FILE")]
    pub(super) save: Option<PathBuf>,
}

/// Plays the match.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode, Failure> {
    check_paths(arguments)?;
    let (game, engines) = entrants::load_for_match(&arguments.players, arguments.game.clone())?;
    let (report, longest) = play_until_interrupt(arguments, &game, engines)?;
    // Report and record are both attempted, so that neither is lost if the other one fails.
    let printed = output.result(&report, &report).and_then(|()| output.flush());
    match (&arguments.record, longest) {
        (Some(path), Some(GameRecord { version, seed, plies, digests, config: () })) => {
            let record = GameRecord { version, config: game, seed, plies, digests };
            record::write(path, "--record", &record)?;
        }
        (Some(path), None) => {
            let path = path.display().to_string();
            writeln!(
                io::stderr(),
                "warning: all games are in the file of --save, so no game was played and nothing was \
                 recorded in {}",
                printable(&path)
            )?;
        }
        (None, _) => {}
    }
    printed?;
    Ok(ExitCode::SUCCESS)
}

/// Refuses files that cannot be written, a file of the record that is the file of the results, and one that
/// is no record.
fn check_paths(arguments: &Arguments) -> Result<(), Failure> {
    if let Some(path) = &arguments.save {
        record::check_place(path, "--save")?;
    }
    let Some(path) = arguments.record.as_deref() else { return Ok(()) };
    if arguments.save.as_deref().is_some_and(|save| record::is_same_file(path, save)) {
        return Err(Failure::usage(format_args!(
            "{} is the file of --record and of --save; name two files",
            path.display()
        )));
    }
    record::check_path(path, "--record")
}

/// The report of a match, and its longest game.
type Ended = Result<(Report, Option<GameRecord<()>>), Failure>;

/// Plays a match of `game` until it ends. `purpose` is that of the file with the results.
pub(super) fn play_match(
    arguments: &Arguments,
    purpose: Purpose,
    game: &GameConfig,
    engines: &Engines,
) -> Ended {
    let bar = &progress();
    game.visit(Match { arguments, purpose, config: game, engines, bar }).map_err(Failure::usage)?
}

/// Plays the match of the command line until it ends or Ctrl-C interrupts it.
fn play_until_interrupt(arguments: &Arguments, game: &GameConfig, engines: Engines) -> Ended {
    let bar = progress();
    // The thread that plays does not end on Ctrl-C, so it owns what it needs.
    let (own, config, shown) = (arguments.clone(), game.clone(), bar.clone());
    let play = move || -> Ended {
        let own = Match {
            arguments: &own,
            purpose: SAVE,
            config: &config,
            engines: &engines,
            bar: &shown,
        };
        config.visit(own).map_err(Failure::usage)?
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ended = runtime.block_on(async {
        tokio::select! {
            // The first poll of the signal installs its handler, before the match starts.
            biased;
            Ok(()) = tokio::signal::ctrl_c() => None,
            ended = on_thread(play) => Some(ended),
        }
    });
    // Games in progress are given up.
    runtime.shutdown_background();
    match ended {
        Some(Ok(ended)) => ended,
        Some(Err(_)) => Err(Failure::bug("the thread of the match panicked")),
        None => Err(interrupted(arguments.save.as_deref(), &bar)),
    }
}

/// Runs `work` on another thread, which starts at the first poll.
async fn on_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, JoinError> {
    tokio::task::spawn_blocking(work).await
}

/// The end of a match by Ctrl-C. `save` is the file that keeps its games.
fn interrupted(save: Option<&Path>, bar: &ProgressBar) -> Failure {
    let (ended, all) = (bar.position(), bar.length().unwrap_or_default());
    bar.finish_and_clear();
    if all == 0 {
        return Failure::ended(ExitStatus::Interrupted, "interrupted before the first game");
    }
    let kept = match save {
        Some(save) => format!("they are in {}, and the same command continues", save.display()),
        None => {
            "they are lost; --save FILE keeps them, and the same command then continues".to_owned()
        }
    };
    let text = format_args!("interrupted after {ended} of {all} games; {kept}");
    Failure::ended(ExitStatus::Interrupted, text)
}

/// A progress bar on standard error, still without games; hidden if standard error is not a terminal.
fn progress() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
    if !io::stderr().is_terminal() {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    let style = "{elapsed_precise} {wide_bar} {pos}/{len} games, {per_sec}, {eta} left";
    bar.with_style(ProgressStyle::with_template(style).expect("the template is well-formed"))
}

/// Plays the games of a schedule that are not saved yet, and saves them. The result has all games.
fn play_rest<G: Game>(
    game: &G,
    schedule: &[Planned],
    arguments: &Arguments,
    players: Players<'_, G>,
    saved: Option<&Mutex<Saved>>,
    bar: &ProgressBar,
) -> Result<play::Match<G::Config>, Failure> {
    let lock = |saved| Mutex::lock(saved).unwrap_or_else(PoisonError::into_inner);
    let before: Vec<Option<PlayedGame>> = match saved.map(lock) {
        Some(saved) => schedule.iter().map(|planned| saved.get(planned).cloned()).collect(),
        None => vec![None; schedule.len()],
    };
    let rest = schedule.iter().zip(&before).filter(|(_, before)| before.is_none());
    let rest: Vec<Planned> = rest.map(|(planned, _)| planned.clone()).collect();
    bar.set_length(schedule.len() as u64);
    bar.set_position((schedule.len() - rest.len()) as u64);
    let (threads, plies) = (arguments.threads.map(usize::from), arguments.max_plies);
    let played = play::play(game, &rest, (threads, plies), players, &|planned, game| {
        saved.map_or(Ok(()), |saved| lock(saved).add(planned, game))?;
        // A game counts once it is saved: the message after Ctrl-C says so.
        bar.inc(1);
        Ok(())
    });
    bar.finish_and_clear();
    let mut played = played?;
    let mut new = std::mem::take(&mut played.played).into_iter();
    played.played = before.into_iter().filter_map(|before| before.or_else(|| new.next())).collect();
    Ok(played)
}

struct Match<'a> {
    arguments: &'a Arguments,
    purpose: Purpose,
    config: &'a GameConfig,
    engines: &'a Engines,
    bar: &'a ProgressBar,
}

impl GameVisitor for Match<'_> {
    type Output = Ended;

    fn visit<G: Game>(self, game: G) -> Ended {
        let Self { arguments, purpose, config, engines, bar } = self;
        let (names, seats) = (&arguments.players, game.players());
        let schedule = schedule::schedule(arguments.seed, arguments.games, names.len(), seats)
            .map_err(Failure::usage)?;
        let missing: Vec<Arc<Missing>> = names.iter().map(|_| Arc::default()).collect();
        let players = |times: &Arc<MoveClock>| -> Result<Vec<Box<dyn Player<G>>>, Failure> {
            let mut engine = |weights: &str| engines.get(weights).cloned();
            let clock = Arc::new(WallClock::default());
            let mut context = BuildContext { game: &game, engines: &mut engine, clock };
            let player = |(name, missing): (&String, &Arc<Missing>)| {
                let built = http_snake::build(name, &game, missing, times);
                built.unwrap_or_else(|| by_name(name, &mut context)).map_err(Failure::usage)
            };
            names.iter().zip(&missing).map(player).collect()
        };
        names.iter().try_for_each(|name| http_snake::probe(name))?;
        // Build all players once, so that an invalid name is reported before the first game.
        players(&Arc::default())?;
        let open = |path| Saved::open(path, purpose, arguments, config, engines, seats);
        let saved = arguments.save.as_deref().map(open).transpose()?.map(Mutex::new);
        let played = play_rest(&game, &schedule, arguments, &players, saved.as_ref(), bar)?;
        let report = Report::new((G::NAME, seats, arguments.seed), names, &schedule, &played)
            .with_missing(&missing);
        let longest = played.longest.map(|record| {
            let GameRecord { version, seed, plies, digests, config: _ } = record;
            GameRecord { version, config: (), seed, plies, digests }
        });
        Ok((report, longest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupted_match_says_how_many_games_it_played_and_what_keeps_them() {
        let after_23 = |save| {
            let bar = progress();
            bar.set_length(60);
            bar.set_position(23);
            format!("{:?}", interrupted(save, &bar))
        };
        let (lost, kept) = (after_23(None), after_23(Some(Path::new("mine.save"))));
        for (text, remedy) in [(lost, "--save FILE keeps them"), (kept, "they are in mine.save")] {
            assert!(text.contains("interrupted after 23 of 60 games; "), "{text}");
            assert!(text.contains(remedy) && text.contains("code: 130"), "{text}");
        }
        let early = format!("{:?}", interrupted(None, &progress()));
        assert!(early.contains("\"interrupted before the first game\""), "{early}");
    }
}
