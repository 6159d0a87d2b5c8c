//! `ouro train`: actors, learner and arena in one process.
//!
//! The parts are those of the cluster, and they use the same gRPC on loopback ports. The folder of
//! a run holds everything that a second start needs to resume. Ctrl-C drains: actors flush, the
//! learner receives their games and makes a last generation, the arena commits.

mod curves;
mod event;
mod history;
mod plan;
mod refusal;
mod report;
mod resume;
mod rounds;
mod screen;
mod view;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use ouro_actor::Actor;
use ouro_arena::Arena;
use ouro_learner::Learner;
use ouro_service::shutdown::until_signal;
use ouro_service::telemetry::{self, LogFormat};
use ouro_service::{Background, Shutdown, SystemClock};
use ouro_settings::Preset;
use ouro_settings::arguments::{ActorArguments, AddressArguments, DeviceArguments, WebArguments};
use tokio_util::sync::CancellationToken;

use self::plan::Plan;
use self::report::Reporter;
use self::rounds::Rounds;
use self::screen::Screen;
use crate::failure::Failure;
use crate::output::Output;

/// Train by self-play in one process, until Ctrl-C. `ouro` without a verb does the same.
///
/// On a terminal a panel shows the state of the run. Elsewhere, and with --json, each event is a
/// line of JSON (docs/events.md).
///
/// The first start writes DIR/run.toml, and a second start in DIR resumes the run. Settings may
/// change between two starts, except game, network, seed and algorithm. docs/running.md shows how
/// to run the parts as processes of their own.
#[derive(Clone, Debug, Default, Args)]
#[command(after_help = "Examples:
  ouro train                                  a Battlesnake duel 7x7, in runs/duel-7x7
  ouro train tictactoe --for 2m               another preset, for two minutes
  ouro train --run runs/mine --config my.toml settings of your own
  ouro train --deterministic --generations 9  a run that repeats bit for bit

While it runs:
  http://127.0.0.1:8080                       the run in a browser
  grpcurl -plaintext localhost:50061 ouro.arena.v1.ArenaService/GetRatings")]
pub(crate) struct Arguments {
    /// What to train [default: duel-7x7].
    #[arg(value_enum)]
    preset: Option<Preset>,
    /// Folder of the run [default: runs/PRESET; with --config the folder of run.toml, or
    /// runs/NAME for a file NAME.toml].
    #[arg(long, value_name = "DIR", env = "OURO_RUN")]
    run: Option<PathBuf>,
    /// Settings of the run (TOML), for new runs or the run.toml of the run itself; see
    /// `ouro config`.
    #[arg(long, value_name = "FILE", env = "OURO_CONFIG", conflicts_with = "preset")]
    config: Option<PathBuf>,
    /// Seed of a new run [default: 1].
    #[arg(long)]
    seed: Option<u64>,
    #[command(flatten)]
    addresses: AddressArguments,
    #[command(flatten)]
    web: WebArguments,
    #[command(flatten)]
    device: DeviceArguments,
    #[command(flatten)]
    actor: ActorArguments,
    /// Drain after so long: 90s, 30m, 1h 30m.
    #[arg(long = "for", value_name = "TIME", value_parser = humantime::parse_duration)]
    time: Option<Duration>,
    /// Play, train and judge in turns, one thread of each, on the CPU: the same settings and seed
    /// give the same games, weights and verdicts, bit for bit.
    #[arg(long)]
    deterministic: bool,
    /// With --deterministic: end once generation N is judged.
    #[arg(long, value_name = "N")]
    generations: Option<u32>,
}

/// Trains until a signal or the time is up.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode, Failure> {
    let plan = Plan::open(arguments)?;
    let screen = Screen::new(output);
    // The panel shows progress, so logs are limited to warnings.
    telemetry::init_with(LogFormat::Text, "warn", screen.logs()).map_err(Failure::usage)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let shutdown = Shutdown::new();
    let stop = shutdown.token().clone();
    let ended = runtime.block_on(until_signal(&shutdown, train(plan, stop, screen)));
    // Remaining tasks have had their deadline; do not wait for them again.
    runtime.shutdown_background();
    match ended.map_err(Failure::unavailable)? {
        Some(result) => result.map(|()| ExitCode::SUCCESS),
        None => Ok(ExitCode::from(130)),
    }
}

/// Starts the parts in the order of their dependencies and stops them in the opposite order.
async fn train(plan: Plan, stop: CancellationToken, screen: Screen<'_>) -> Result<(), Failure> {
    let arena = Arena::bind(plan.arena(), Arc::new(SystemClock::new())).await;
    let arena = arena.map_err(|error| refusal::of_arena(error, &plan))?;
    let arena_url = format!("http://{}", arena.local_addr());
    let learner = Learner::bind(plan.learner(arena_url.clone())).await;
    let learner = learner.map_err(|error| refusal::of_learner(error, &plan))?;
    let learner_url = format!("http://{}", learner.address());
    let actor = Actor::new(plan.actor(arena_url, learner_url)).map_err(Failure::usage)?;

    let (actor, rounds) = match plan.is_deterministic() {
        false => (actor, None),
        true => {
            let (actor, waves) = actor.in_waves().map_err(Failure::bug)?;
            (actor, Some(Rounds::new(&plan, &arena, &learner, waves)))
        }
    };

    let replay = learner.replay();
    let mut reporter = Reporter::new(screen, &plan, &arena, &learner, &actor);
    reporter.opening()?;

    let (stop_arena, stop_learner, stop_actor) =
        (CancellationToken::new(), CancellationToken::new(), CancellationToken::new());
    let mut arena = Background::task("arena", arena.run_until(stop_arena.clone()));
    let mut learner = Background::task("learner", learner.run_until(stop_learner.clone()));
    let mut actor = Background::task("actor", actor.run_until(stop_actor.clone()));

    let time_is_up = async {
        match plan.time_limit() {
            Some(limit) => tokio::time::sleep(limit).await,
            None => std::future::pending().await,
        }
    };
    let rounds_are_over = async {
        match rounds {
            Some(rounds) => rounds.lead().await,
            None => std::future::pending().await,
        }
    };
    // The first end ends the run, also that of a part that fails.
    let reported = tokio::select! {
        result = reporter.follow() => result,
        () = stop.cancelled() => Ok(()),
        () = time_is_up => Ok(()),
        () = rounds_are_over => Ok(()),
        () = arena.ended() => Ok(()),
        () = learner.ended() => Ok(()),
        () = actor.ended() => Ok(()),
    };

    // Drain even if the reader of the output is gone; its error is returned at the end.
    let reported = reported.and_then(|()| reporter.draining());
    stop_actor.cancel();
    replay.take_all();
    let actor_end = actor.join().await;
    stop_learner.cancel();
    let learner_end = learner.join().await;
    stop_arena.cancel();
    let arena_end = arena.join().await;
    let reported = reported.and_then(|()| reporter.closing());

    arena_end.map_err(Failure::bug)?.map_err(|end| Failure::ended(end.exit_status(), end))?;
    learner_end.map_err(Failure::bug)?.map_err(|end| Failure::ended(end.exit_status(), end))?;
    actor_end.map_err(Failure::bug)?.map_err(Failure::bug)?;
    reported
}

/// Pause between two events of progress.
const PROGRESS_EVERY: Duration = Duration::from_secs(5);
/// Pause between two drawings of the panel.
const REDRAW_EVERY: Duration = Duration::from_secs(1);
