//! `ouro train`: actors, learner and arena in one process.
//!
//! The parts are those of the cluster, and they use the same gRPC on loopback ports. The folder of
//! a run holds everything that a later start needs to resume. Ctrl-C drains the run: the actor
//! flushes, the learner receives the last games and makes a last generation, the arena commits.

mod arguments;
mod curves;
mod event;
mod folder;
mod history;
mod plan;
mod ratings;
mod refusal;
mod report;
mod resume;
mod rounds;
mod screen;
mod view;

use std::process::ExitCode;
use std::sync::Arc;

use ouro_actor::{Actor, ActorConfig};
use ouro_arena::{Arena, ArenaConfig};
use ouro_learner::Learner;
use ouro_learner::config::Config;
use ouro_service::access::metrics::AccessSource;
use ouro_service::metrics::{self, MetricsServer};
use ouro_service::shutdown::until_signal;
use ouro_service::telemetry::{self, LogFormat};
use ouro_service::{Background, Shutdown, SystemClock, identity};
use ouro_traces::Traces;
use tokio_util::sync::CancellationToken;

pub(crate) use self::arguments::Arguments;
use self::folder::{Part, RunLock};
use self::plan::{Access, Plan};
use self::report::Reporter;
use self::rounds::Rounds;
use self::screen::Screen;
use crate::failure::Failure;
use crate::output::Output;

/// Trains until the run ends: by a signal, a limit, or the end of a part.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode, Failure> {
    let lock = RunLock::take(Plan::open(arguments)?.folder())?;
    // Another start may have changed the folder before it was locked.
    let plan = Plan::open(arguments)?;
    let screen = Screen::new(output).inspect_err(|_| plan.discard(&lock, &[]))?;
    identity().set_service("train");
    // The panel shows progress, so logs are limited to warnings.
    let logs = telemetry::init_with(LogFormat::Text, "warn", screen.logs());
    logs.map_err(Failure::usage).inspect_err(|_| plan.discard(&lock, &[]))?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let shutdown = Shutdown::new();
    let stop = shutdown.token().clone();
    let ended = runtime.block_on(until_signal(&shutdown, train(plan, lock, stop, screen)));
    // Remaining tasks have had their deadline; do not wait for them again.
    runtime.shutdown_background();
    match ended.map_err(Failure::unavailable)? {
        Some(result) => result.map(|()| ExitCode::SUCCESS),
        None => Ok(ExitCode::from(130)),
    }
}

/// Opens the ports and the data of all parts; nothing runs yet. If a part refuses, whatever was opened
/// is closed again, and whatever was created is removed.
async fn bind(
    plan: &Plan,
    lock: &RunLock,
    access: Access,
) -> Result<(Arena, Learner, Actor), Failure> {
    let Access { credential, tls, own_tls, .. } = access;
    let scheme = if tls.is_some() { "https" } else { "http" };
    let config = ArenaConfig { guard: access.arena, server_tls: tls.clone(), ..plan.arena() };
    let arena = Arena::bind(config, Arc::new(SystemClock::new())).await;
    let arena = arena.map_err(|error| refusal::of_arena(error, plan));
    let mut arena = arena.inspect_err(|_| plan.discard(lock, &[]))?;
    let arena_url = format!("{scheme}://{}", arena.local_addr());
    let config = plan.learner(arena_url.clone());
    let config = Config {
        guard: access.learner,
        server_tls: tls,
        client_tls: own_tls.clone(),
        credential: credential.clone(),
        ..config
    };
    let learner = Learner::bind(config).await;
    let learner = learner.map_err(|error| refusal::of_learner(error, plan));
    let learner = learner.inspect_err(|_| plan.discard(lock, &[Part::Arena]))?;
    let learner_url = format!("{scheme}://{}", learner.address());
    arena.watch_learner(learner_url.clone(), credential.clone(), own_tls.clone());
    let config = ActorConfig { credential, tls: own_tls, ..plan.actor(arena_url, learner_url) };
    let actor = Actor::new(config).map_err(Failure::usage);
    let actor = actor.inspect_err(|_| plan.discard(lock, &[Part::Arena, Part::Learner]))?;
    Ok((arena, learner, actor))
}

/// Starts the parts in the order of their dependencies and stops them in the opposite order. Holds the
/// lock of the folder until they have ended.
async fn train(
    plan: Plan,
    lock: RunLock,
    stop: CancellationToken,
    screen: Screen,
) -> Result<(), Failure> {
    let (otlp, trace_games) = plan.traces();
    let traces = Traces::start(otlp, trace_games);
    let traces = traces.map_err(|error| Failure::ended(error.status(), error));
    let traces = traces.inspect_err(|_| plan.discard(&lock, &[]))?;
    let metrics = MetricsServer::open(plan.metrics()).await;
    let metrics = metrics.map_err(|error| Failure::unavailable(&error));
    let metrics = metrics.inspect_err(|_| plan.discard(&lock, &[]))?;
    let access = plan.access().inspect_err(|_| plan.discard(&lock, &[]))?;
    let guards = [access.arena.clone(), access.learner.clone()];
    let refusals = AccessSource::new(guards, access.tls.clone());
    let (arena, learner, actor) = bind(&plan, &lock, access).await?;
    plan.save().inspect_err(|_| plan.discard(&lock, &Part::ALL))?;

    let (actor, rounds) = match plan.is_deterministic() {
        false => (actor, None),
        true => {
            let (actor, waves) = actor.in_waves().map_err(Failure::bug)?;
            (actor, Some(Rounds::new(&plan, &arena, &learner, waves)))
        }
    };

    let replay = learner.replay();
    let mut reporter = Reporter::new(screen, &plan, &arena, &learner, &actor);
    reporter.opening(metrics.as_ref().map(MetricsServer::local_addr));
    let _serving = metrics::serve(metrics, &stop, |metrics| {
        let metrics = metrics.with(learner.metrics()).with(arena.metrics());
        metrics.with(actor.metrics()).with(refusals)
    });

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
    // The first of these futures ends the run, even if it is a failed part.
    let reported = tokio::select! {
        failure = reporter.follow() => Err(failure),
        () = stop.cancelled() => Ok(()),
        () = time_is_up => Ok(()),
        () = rounds_are_over => Ok(()),
        () = arena.ended() => Ok(()),
        () = learner.ended() => Ok(()),
        () = actor.ended() => Ok(()),
    };

    // The run drains even if the output has no reader; that error is returned at the end. The history
    // has all events.
    reporter.draining();
    stop_actor.cancel();
    replay.take_all();
    let actor_end = actor.join().await;
    stop_learner.cancel();
    let learner_end = learner.join().await;
    stop_arena.cancel();
    let arena_end = arena.join().await;
    let reported = reported.and(reporter.closing().await);
    traces.finish().await;

    arena_end.map_err(Failure::bug)?.map_err(|end| Failure::ended(end.exit_status(), end))?;
    learner_end.map_err(Failure::bug)?.map_err(|end| Failure::ended(end.exit_status(), end))?;
    actor_end.map_err(Failure::bug)?.map_err(|end| Failure::ended(end.exit_status(), end))?;
    reported
}
