//! Asks the services and the store of a cluster.
//!
//! The arena, the learner and the store are asked at the same time. The services are asked twice,
//! because rates are differences.

use std::path::Path;
use std::time::Duration;

use ouro_arena::config::{StoreConfig, WeightsConfig};
use ouro_arena::store::{ServerReport, WeightsError};
use ouro_proto::arena_client::ArenaError;
use ouro_proto::matches::GateState;
use ouro_proto::status::StatusError;
use ouro_proto::{ArenaClient, ProcessReport, StatusClient};
use ouro_service::{Clock, SystemClock};
use ouro_settings::Deployment;
use ouro_tls::ClientTls;

use super::facts::{Answer, ArenaFacts, Facts, LearnerFacts, ObjectsFacts, Service, Unanswered};

/// Time for all calls to one service, besides the time between the samples.
const PATIENCE: Duration = Duration::from_secs(20);

/// What to ask.
pub(super) struct Target {
    /// Name of the game in the settings; `None` without a settings file.
    pub(super) game: Option<String>,
    /// The addresses, the credential and the store.
    pub(super) deploy: Deployment,
    /// How the services are verified; `None` without TLS.
    pub(super) tls: Option<ClientTls>,
    /// Time between the two samples.
    pub(super) between: Duration,
}

/// Asks everything. Takes about the time between the samples, longer if something does not answer.
pub(super) async fn collect(target: &Target) -> Facts {
    let (deploy, limit) = (&target.deploy, target.between + PATIENCE);
    let late = |_| Unanswered::Unreachable(format!("no answer within {} s", PATIENCE.as_secs()));
    let arena = async {
        let asked = tokio::time::timeout(limit, arena(target)).await;
        asked.map_err(late).and_then(|answer| answer)
    };
    let learner = async {
        let asked = tokio::time::timeout(limit, learner(target)).await;
        asked.map_err(late).and_then(|answer| answer)
    };
    let (arena, learner, redis, objects) =
        tokio::join!(arena, learner, redis(deploy), objects(deploy));
    Facts {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        game: target.game.clone(),
        arena: Service { address: deploy.arena.to_string(), answer: arena },
        learner: Service { address: deploy.learner.to_string(), answer: learner },
        redis,
        objects,
    }
}

async fn arena(target: &Target) -> Result<Answer<ArenaFacts>, Unanswered> {
    let deploy = &target.deploy;
    let client = ArenaClient::with_tls(&deploy.url(&deploy.arena), target.tls.as_ref())?;
    let mut client = client.credential(deploy.credential());
    // The first call also connects, so the clock is compared by the second.
    let before = client.get_status().await?;
    let between = Stopwatch::start();
    tokio::time::sleep(target.between).await;
    let asked = Stopwatch::start();
    let now = client.get_status().await?;
    let (ahead, error) = asked.compare(now.process.as_ref());
    let seconds = between.seconds();
    let pool = client.watch_pool().await?.next().await?;
    let pool = pool.ok_or_else(|| Unanswered::Unreachable("it stops".to_owned()))?;
    let checkpoints = client.list_checkpoints().await?;
    // Without a candidate and a decision, the call is refused.
    let gate = client.get_gate(None).await.ok();
    let gate = gate.filter(|gate| gate.state == GateState::InProgress);
    let facts = ArenaFacts {
        before,
        now,
        run: pool.run.map(String::from).unwrap_or_default(),
        published: checkpoints.iter().map(|row| (row.generation, row.published_at)).collect(),
        missing: pool.missing.iter().map(|row| row.generation).collect(),
        at_gate: gate.map(|gate| (gate.candidate, gate.games.0, gate.games.1)),
    };
    Ok(Answer { ahead, error, seconds, facts })
}

async fn learner(target: &Target) -> Result<Answer<LearnerFacts>, Unanswered> {
    let deploy = &target.deploy;
    let (url, tls) = (deploy.url(&deploy.learner), target.tls.as_ref());
    let mut client = StatusClient::new(&url, deploy.credential(), tls)?;
    let before = client.get().await?;
    let between = Stopwatch::start();
    tokio::time::sleep(target.between).await;
    let asked = Stopwatch::start();
    let now = client.get().await?;
    let (ahead, error) = asked.compare(now.process.as_ref());
    let seconds = between.seconds();
    Ok(Answer { ahead, error, seconds, facts: LearnerFacts { before, now } })
}

/// Asks the Redis server of the settings, if there is one.
async fn redis(deploy: &Deployment) -> Option<Result<ServerReport, String>> {
    let address = match StoreConfig::of(deploy).redis() {
        Ok(address) => address?,
        Err(error) => return Some(Err(error.to_string())),
    };
    let asked = tokio::task::spawn_blocking(move || ServerReport::ask(&address)).await;
    let failed = |error: &dyn std::fmt::Display| error.to_string();
    Some(
        asked
            .map_err(|error| failed(&error))
            .and_then(|report| report.map_err(|error| failed(&error))),
    )
}

/// Looks into the object store of the settings, if there is one.
async fn objects(deploy: &Deployment) -> Option<ObjectsFacts> {
    let config = WeightsConfig::of(deploy);
    let WeightsConfig::Objects { url } = &config else { return None };
    let url = url.clone();
    let count = move || {
        let store = config.open_to_read(Path::new(""))?;
        Ok(store.hashes()?.len())
    };
    let problem = match tokio::task::spawn_blocking(count).await {
        Ok(Ok(weights)) => return Some(ObjectsFacts::Holds { url, weights }),
        Ok(Err(WeightsError::NotBuilt { url })) => return Some(ObjectsFacts::NotBuilt { url }),
        Ok(Err(error)) => error.to_string(),
        Err(error) => error.to_string(),
    };
    Some(ObjectsFacts::Failed { problem })
}

/// The time since a moment, and the time of that moment.
struct Stopwatch {
    clock: SystemClock,
    unix: Duration,
}

impl Stopwatch {
    fn start() -> Self {
        let clock = SystemClock::new();
        Self { unix: clock.unix(), clock }
    }

    fn seconds(&self) -> f64 {
        self.clock.monotonic().as_secs_f64()
    }

    /// Seconds by which the clock of a process is ahead that answered since the start, and the largest
    /// error of that figure. The process answered at some time in between.
    fn compare(&self, process: Option<&ProcessReport>) -> (f64, f64) {
        let half = self.seconds() / 2.0;
        let here = self.unix.as_secs_f64() + half;
        (process.map_or(0.0, |process| process.unix_seconds - here), half)
    }
}

impl From<ArenaError> for Unanswered {
    fn from(error: ArenaError) -> Self {
        match error {
            ArenaError::Unavailable(problem) => Self::Unreachable(problem),
            ArenaError::Refused { message, .. } => Self::Refused(message),
            error => Self::Unreachable(error.to_string()),
        }
    }
}

impl From<StatusError> for Unanswered {
    fn from(error: StatusError) -> Self {
        match error.is_refusal() {
            true => Self::Refused(error.to_string()),
            false => Self::Unreachable(error.to_string()),
        }
    }
}
