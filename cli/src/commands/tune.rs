//! `ouro tune`: finds better numbers for the options of a player, by games of the player against
//! itself.
//!
//! Each iteration plays paired games between two variants of the player, as [`spsa`] chooses them, and
//! appends a line to the [`path`] file. The last point then plays a match against the start, whose games
//! are kept in a file next to it. The same command continues an interrupted run, and its match.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use ouro_game::record::MAX_PLIES;
use ouro_game::{Game, GameConfig, GameVisitor, Rng};
use ouro_players::{BuildContext, PairedGame, Player, by_name, pairs};

use self::option::{Bounds, Tuned};
use self::path::{Header, Line};
use self::summary::{Row, Summary};
use super::build;
use super::entrants::{self, Engines};
use super::match_games::{self, play, schedule};
use super::numbers::whole;
use super::{game_argument, record};
use crate::clock::WallClock;
use crate::failure::Failure;
use crate::output::Output;

mod option;
mod path;
mod spsa;
mod summary;

/// Iterations of a run without `--iterations`.
const ITERATIONS: u32 = 500;
/// Games of the match at the end of a run without `--check-games`, rounded up to a multiple of the seats.
const CHECK_GAMES: usize = 1_000;
/// Rows of the path that are printed.
const ROWS: u32 = 20;

/// Find better values for the numbers in a player's name, by SPSA.
///
/// Each iteration moves all values up or down at random, plays paired games between the two mirrored
/// variants of the player, and moves the values towards the better one. Bounds without a decimal
/// point make a whole number. A value starts where PLAYER sets it, otherwise at its default. The path
/// is kept in a file, and the same command continues an interrupted run. In the end the last values
/// play a match against the first.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ouro tune 'minimax{depth=4}' 'length in 0.0..50.0' 'food in 1.0..60.0' --game '{\"game\":\"battlesnake\",\"snakes\":2}'
  ouro tune 'minimax{ms=20}' 'hungry in 1..100' --iterations 2000 --games 16 --game battlesnake")]
pub(crate) struct Arguments {
    /// The player, by name (docs/players.md).
    player: String,
    /// What to tune: `NAME in LOW..HIGH`.
    #[arg(required = true, value_name = "OPTION", value_parser = Bounds::parse)]
    options: Vec<Bounds>,
    /// A name from `ouro games`, or a configuration as JSON; left out, the game that the
    /// weights were trained for.
    #[arg(long, value_parser = game_argument::parse)]
    game: Option<GameConfig>,
    /// Steps of the values.
    #[arg(long, default_value_t = ITERATIONS, value_parser = whole::<u32>(1..=u32::MAX))]
    iterations: u32,
    /// Games of each iteration, a multiple of the number of seats.
    #[arg(long, default_value_t = 8, value_parser = whole::<usize>(1..=schedule::MAX_GAMES))]
    games: usize,
    /// Size of the last step, as a share of half the difference between the two variants, for each
    /// game that one wins more than the other [default: 2 / √(all games)].
    #[arg(long)]
    rate: Option<f64>,
    /// Fixes every game and every variant.
    #[arg(long, default_value_t = 1, value_parser = whole::<u64>(0..=u64::MAX))]
    seed: u64,
    /// Plies after which a game is cut short and counts as it stands.
    #[arg(long, default_value_t = 10_000, value_parser = whole::<usize>(1..=MAX_PLIES))]
    max_plies: usize,
    /// File of the path, one line of JSON for each iteration. The games of the match at the end are
    /// kept in FILE.check; a new path renames that to FILE.check.old.
    #[arg(long, value_name = "FILE", default_value = "tune.jsonl")]
    path: PathBuf,
    /// Games of the match between the last values and the first, a multiple of the number of seats; 0: no
    /// match [default: 1000, rounded up to such a multiple].
    #[arg(long, value_parser = whole::<usize>(0..=schedule::MAX_GAMES))]
    check_games: Option<usize>,
}

/// The size of the last step that suits a run: noise moves a value by about as much in short runs as
/// in long ones.
pub(crate) fn default_rate(iterations: u32, games: usize) -> f64 {
    2.0 / (f64::from(iterations) * games as f64).sqrt()
}

/// Tunes the player.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode, Failure> {
    let Arguments { player, iterations, games, seed, max_plies, .. } = arguments;
    // The default is always above 0.
    if let Some(rate) = arguments.rate.filter(|rate| !(*rate > 0.0 && rate.is_finite())) {
        return Err(Failure::usage(format_args!("--rate is {rate}; give a number above 0")));
    }
    let rate = arguments.rate.unwrap_or_else(|| default_rate(*iterations, *games));
    record::check_place(&arguments.path, "--path")?;
    let (game, engines) = entrants::load(std::slice::from_ref(player), arguments.game.clone())?;
    let tuned = Tuned::new(player, &arguments.options).map_err(Failure::usage)?;
    let header = Header {
        tune: path::VERSION,
        player: player.clone(),
        game: game.clone(),
        options: arguments.options.iter().map(Bounds::to_string).collect(),
        start: tuned.start.clone(),
        iterations: *iterations,
        games: *games,
        rate,
        seed: *seed,
        max_plies: *max_plies,
        weights: entrants::hashes(&engines)?,
        build: build::own(),
    };
    let run = Run { arguments, engines: &engines, tuned: &tuned, header: &header, output };
    let (end, check_games) = game.visit(run).map_err(Failure::usage)??;
    let names = [tuned.name(&end), tuned.name(&tuned.start)];
    let changes = tuned.changes(&end);
    let played = (check_games > 0 && names[0] != names[1]).then(|| {
        let arguments = match_games::Arguments {
            players: names.to_vec(),
            game: Some(game.clone()),
            games: check_games,
            seed: *seed,
            max_plies: *max_plies,
            record: None,
            save: Some(path::check_file(&arguments.path)),
            threads: None,
        };
        let played = match_games::play_match(&arguments, path::CHECK, &game, &engines);
        played.map(|(report, _)| report)
    });
    let [player, _] = names;
    let summary = Summary { player, changes, check: played.transpose()? };
    output.result(&summary, &summary)?;
    Ok(ExitCode::SUCCESS)
}

/// Plays all iterations. Returns the last point and the number of games of the match at the end.
struct Run<'a> {
    arguments: &'a Arguments,
    engines: &'a Engines,
    tuned: &'a Tuned,
    header: &'a Header,
    output: &'a mut Output,
}

impl GameVisitor for Run<'_> {
    type Output = Result<(Vec<f64>, usize), Failure>;

    fn visit<G: Game>(self, game: G) -> Self::Output {
        let Self { arguments, engines, tuned, header, output } = self;
        let sides = Sides { game: &game, engines, arguments };
        // What cannot be played is refused before a file is written.
        sides.planned(0)?;
        let seats = game.players();
        let default = || CHECK_GAMES.next_multiple_of(seats);
        let check_games = arguments.check_games.unwrap_or_else(default);
        if check_games > 0 {
            let lineups = schedule::checked_lineups("--check-games", check_games, 2, seats);
            lineups.map_err(Failure::usage)?;
        }
        // The points of a trial lie between the bounds, where values may have fractions.
        let first = tuned.tuner(header, tuned.start.clone(), 0).trial();
        for point in tuned.corners().iter().chain([&tuned.start, &first.plus, &first.minus]) {
            sides.players(&[tuned.name(point)])?;
        }
        let path::Opened { mut file, last, build } = path::open(&arguments.path, header)?;
        let (done, values) = match last {
            Some(Line { iteration, values, .. }) => (iteration, values),
            None => (0, tuned.start.clone()),
        };
        let mut tuner = tuned.tuner(header, values, done);
        if !tuner.is_done() {
            path::set_check_aside(&arguments.path)?;
        }
        let bar = progress(header.iterations, done);
        while !tuner.is_done() {
            let trial = tuner.trial();
            let pair = [tuned.name(&trial.plus), tuned.name(&trial.minus)];
            // Rounded values can be the same, and equal players need no games.
            let result =
                if pair[0] == pair[1] { 0.0 } else { sides.compare(&pair, tuner.done())? };
            tuner.learn(result);
            let (iteration, values) = (tuner.done(), tuner.values().to_vec());
            let line = Line { iteration, result, values, build: build.clone() };
            file.append(&line)?;
            bar.inc(1);
            let every = header.iterations.div_ceil(ROWS);
            if output.is_json() || line.iteration.is_multiple_of(every) || tuner.is_done() {
                let row = Row { line: &line, header, tuned };
                bar.suspend(|| output.result(&line, row).and_then(|()| output.flush()))?;
            }
        }
        bar.finish_and_clear();
        Ok((tuner.values().to_vec(), check_games))
    }
}

/// A progress bar on standard error; hidden if standard error is not a terminal.
fn progress(iterations: u32, done: u32) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(iterations.into()), ProgressDrawTarget::stderr());
    if !std::io::stderr().is_terminal() {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    let style = "{elapsed_precise} {wide_bar} {pos}/{len} iterations, {eta} left";
    let style = ProgressStyle::with_template(style).expect("the template is well-formed");
    bar.with_style(style).with_position(done.into())
}

/// Plays the games of an iteration.
struct Sides<'a, G> {
    game: &'a G,
    engines: &'a Engines,
    arguments: &'a Arguments,
}

impl<G: Game> Sides<'_, G> {
    /// The games of an iteration. With more than two seats, the variants sit in turns.
    fn planned(&self, iteration: u32) -> Result<Vec<schedule::Planned>, Failure> {
        let seed = Rng::indexed(self.arguments.seed, "tune", iteration.into()).bits();
        planned(seed, self.arguments.games, self.game.players()).map_err(Failure::usage)
    }

    fn players(&self, names: &[String]) -> Result<Vec<Box<dyn Player<G>>>, Failure> {
        let mut engine = |weights: &str| self.engines.get(weights).cloned();
        let clock = Arc::new(WallClock::default());
        let mut context = BuildContext { game: self.game, engines: &mut engine, clock };
        let player = |name: &String| by_name(name, &mut context).map_err(Failure::usage);
        names.iter().map(player).collect()
    }

    /// Games that the first variant won, less those that it lost.
    fn compare(&self, pair: &[String; 2], iteration: u32) -> Result<f64, Failure> {
        let planned = self.planned(iteration)?;
        let names: Vec<String> =
            (0..self.game.players().max(2)).map(|index| pair[index % 2].clone()).collect();
        let limits = (None, self.arguments.max_plies);
        let players: play::Players<'_, G> = &|_| self.players(&names);
        let played = play::play(self.game, &planned, limits, players, &|_, _| Ok(()))?;
        let games = &played.played;
        Ok(match self.game.players() {
            1 => result_alone(&planned, games),
            _ => planned.iter().zip(games).map(|(plan, game)| result(plan, game)).sum(),
        })
    }
}

/// The games of an iteration, no two of which have the same seed and the same variants in all seats.
fn planned(seed: u64, games: usize, seats: usize) -> Result<Vec<schedule::Planned>, String> {
    let planned = schedule::schedule(seed, games, seats.max(2), seats)?;
    if seats == 2 || !seats.is_multiple_of(2) {
        return Ok(planned);
    }
    // The variants alternate, so that every other rotation puts them into the same seats. Two
    // rotations of more seeds are as many games.
    let rounds = pairs(seed, games / 2, seats);
    let differing = rounds.chunks(seats).flat_map(|round| &round[..2]);
    let planned = differing.map(|game| {
        let PairedGame { pair: cluster, seed, ref seats } = *game;
        schedule::Planned { cluster, seed, seats: seats.clone() }
    });
    Ok(planned.collect())
}

/// What one game says for the first variant, −1 to 1: half the difference of the mean outcomes of the
/// two variants.
fn result(plan: &schedule::Planned, game: &play::PlayedGame) -> f64 {
    let mean = |side: usize| {
        let all = plan.seats.iter().zip(&game.outcomes);
        let own = all.filter(|(entrant, _)| **entrant % 2 == side).map(|(_, one)| f64::from(*one));
        let (sum, count) = own.fold((0.0, 0.0), |(sum, count), one| (sum + one, count + 1.0));
        sum / f64::max(count, 1.0)
    };
    (mean(0) - mean(1)) / 2.0
}

/// The same for games that are played alone: whose score was higher with the same seed.
fn result_alone(planned: &[schedule::Planned], games: &[play::PlayedGame]) -> f64 {
    let mut leads = BTreeMap::<usize, f32>::new();
    for (plan, game) in planned.iter().zip(games) {
        let sign = if plan.seats[0] == 0 { 1.0 } else { -1.0 };
        *leads.entry(plan.cluster).or_default() += sign * game.scores[0];
    }
    leads.values().map(|lead| if *lead == 0.0 { 0.0 } else { f64::from(lead.signum()) }).sum()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_two_games_of_an_iteration_have_the_same_variants_in_the_same_seats() {
        for (games, seats) in [(3, 1), (8, 2), (6, 3), (8, 4), (16, 8)] {
            let planned = planned(1, games, seats).expect("a multiple of the seats");
            assert_eq!(planned.len(), games * if seats == 1 { 2 } else { 1 });
            let variants = |game: &schedule::Planned| {
                let seats = game.seats.iter().map(|entrant| entrant % 2).collect::<Vec<_>>();
                (game.seed, seats)
            };
            let distinct: BTreeSet<_> = planned.iter().map(variants).collect();
            assert_eq!(distinct.len(), planned.len(), "{seats} seats");
            // Each variant holds each seat as often as the other, if the number of seats is even.
            if seats.is_multiple_of(2) {
                for seat in 0..seats {
                    let first = planned.iter().filter(|game| game.seats[seat] % 2 == 0);
                    assert_eq!(first.count(), games / 2);
                }
            }
        }
    }
}
