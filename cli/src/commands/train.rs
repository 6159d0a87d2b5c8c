//! `ouro train`: actors, learner and arena in one process.
//!
//! The parts are the ones of the cluster and talk the same gRPC, on loopback ports. Everything
//! that a run needs to go on is in its folder; a second start in the same folder resumes.
//! Ctrl-C drains: actors flush, the learner takes that in and makes a last generation, the arena
//! commits.

pub(super) mod preset;
pub(super) mod settings;

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

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueEnum};
use ouro_actor::Actor;
use ouro_arena::Arena;
use ouro_arena::config::WebAddress;
use ouro_learner::Learner;
use ouro_learner::config::DeviceChoice;
use ouro_service::shutdown::until_signal;
use ouro_service::telemetry::{self, LogFormat};
use ouro_service::{Background, Shutdown, SystemClock};
use tokio_util::sync::CancellationToken;

use self::plan::Plan;
use self::preset::Preset;
use self::report::Reporter;
use self::rounds::Rounds;
use self::screen::Screen;
use crate::failure::Failure;
use crate::output::Output;

/// Train by self-play, here, until Ctrl-C. This is also what `ouro` without a verb does.
///
/// On a terminal a panel shows how the run stands; elsewhere, and with --json, each event is a
/// line of JSON (docs/events.md).
///
/// The first start writes DIR/run.toml; change it before the second start to change the rates
/// at which things happen. The game, the network and the seed of a run cannot change.
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
    /// Folder of the run [default: runs/PRESET].
    #[arg(long, value_name = "DIR", env = "OURO_RUN")]
    run: Option<PathBuf>,
    /// Settings (TOML) for a new run; see `ouro config`.
    #[arg(long, value_name = "FILE", conflicts_with = "preset")]
    config: Option<PathBuf>,
    /// Seed of a new run [default: 1].
    #[arg(long)]
    seed: Option<u64>,
    /// Where to train [default: auto].
    #[arg(long, value_enum)]
    device: Option<Device>,
    /// Let an adapter that computes on the CPU count as a GPU.
    #[arg(long)]
    allow_software_adapter: bool,
    /// Threads that play [default: one less than the cores, at least one].
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1_024))]
    threads: Option<u16>,
    /// Address of the arena [default: 127.0.0.1:50061].
    #[arg(long)]
    arena: Option<SocketAddr>,
    /// Address of the learner [default: 127.0.0.1:50062].
    #[arg(long)]
    learner: Option<SocketAddr>,
    /// Address of the web page, or off [default: 127.0.0.1:8080].
    #[arg(long, value_name = "ADDR")]
    web: Option<WebAddress>,
    /// Note each game sent or acknowledged in DIR/actor/records.log, to check that none is lost.
    #[arg(long)]
    log_records: bool,
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

/// Where to train.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Device {
    /// A GPU if the machine has one, else the CPU.
    Auto,
    /// A GPU through Vulkan, or an error.
    Vulkan,
    /// A GPU through whatever wgpu finds, or an error.
    Wgpu,
    /// The CPU.
    Cpu,
}

impl From<Device> for DeviceChoice {
    fn from(device: Device) -> Self {
        match device {
            Device::Auto => Self::Auto,
            Device::Vulkan => Self::Vulkan,
            Device::Wgpu => Self::Wgpu,
            Device::Cpu => Self::Cpu,
        }
    }
}

/// Trains until a signal or the time is up.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode, Failure> {
    let plan = Plan::open(arguments)?;
    let screen = Screen::new(output);
    // Progress is shown; logs are for what is out of the ordinary.
    telemetry::init_with(LogFormat::Text, "warn", screen.logs()).map_err(Failure::usage)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let shutdown = Shutdown::new();
    let stop = shutdown.token().clone();
    let ended = runtime.block_on(until_signal(&shutdown, train(plan, stop, screen)));
    // What still runs has had its deadline; do not wait for it again.
    runtime.shutdown_background();
    match ended.map_err(Failure::unavailable)? {
        Some(result) => result.map(|()| ExitCode::SUCCESS),
        None => Ok(ExitCode::from(130)),
    }
}

/// Starts the parts lowest first, so that each finds what it talks to, and stops them the
/// other way round.
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
    // Whatever ends first, a part that fails included, ends the run.
    let reported = tokio::select! {
        result = reporter.follow() => result,
        () = stop.cancelled() => Ok(()),
        () = time_is_up => Ok(()),
        () = rounds_are_over => Ok(()),
        () = arena.ended() => Ok(()),
        () = learner.ended() => Ok(()),
        () = actor.ended() => Ok(()),
    };

    // A reader that went away must not cost the drain: what it misses is told at the end.
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
