//! Configuration of an actor process: the settings of its run and its own deployment.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ouro_game::{Game, GameConfig, GameVisitor};
use ouro_net::NetSpec;
use ouro_proto::Credential;
use ouro_proto::trajectory::MAX_ACTOR_NAME;
use ouro_settings::{Deployment, PlayConfig, SettingError, Settings};
use ouro_tls::ClientTls;

use crate::error::ActorError;
use crate::worker::{Worker, WorkerError, WorkerSettings};

/// Configuration of one actor process.
#[derive(Clone, Debug, PartialEq)]
pub struct ActorConfig {
    /// Name of this actor, unique in the run: 1 to 64 letters, digits, `.`, `_` or `-`.
    pub name: String,
    /// The game to play; must equal the learner's.
    pub game: GameConfig,
    /// The network of the run, with which the names of scripted players are checked before there are
    /// weights. `None`: a small network that estimates outcomes.
    pub net: Option<NetSpec>,
    /// Address of the arena, `http://host:port`.
    pub arena: String,
    /// Address of the learner, `http://host:port`.
    pub learner: String,
    /// What this actor presents to both.
    pub credential: Credential,
    /// How the services are verified; needed for `https` addresses.
    pub tls: Option<ClientTls>,
    /// Threads that play.
    pub threads: usize,
    /// Settings of self-play.
    pub play: PlayConfig,
    /// Maximum number of finished games that await an answer of the learner.
    pub outbox_games: usize,
    /// The cache of fetched weights.
    pub cache: CacheConfig,
    /// How the actor drains after a stop signal.
    pub drain: DrainConfig,
    /// File to which refused games are appended, one line of JSON each. `None` drops them.
    pub dead_letters: Option<PathBuf>,
    /// Maximum size of the dead-letter file in MiB. Further refused games are only logged.
    pub dead_letters_mib: u64,
    /// File to which a line is appended for each game sent or acknowledged. It allows a check that
    /// no game is lost or duplicated.
    pub log_records: Option<PathBuf>,
    /// Seed of games and opponents. Unless `deterministic` is set, actors and restarts play
    /// different games even with the same seed.
    pub seed: u64,
    /// Whether the seed alone determines the games, for runs that must repeat bit for bit. Each
    /// start of a run then needs its own seed.
    pub deterministic: bool,
}

/// Settings of the weights cache on disk, so a restart does not fetch weights again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheConfig {
    /// Folder, which several actors of a machine may share. `None` keeps no weights.
    pub folder: Option<PathBuf>,
    /// Maximum size in MiB. The least recently used files are removed first.
    pub mib: u64,
}

/// How an actor drains after a stop signal.
#[derive(Clone, Debug, PartialEq)]
pub struct DrainConfig {
    /// Whether running games are finished. Otherwise they are dropped.
    pub finish_games: bool,
    /// Maximum time in seconds to finish games and to receive acknowledgements.
    pub seconds: f64,
}

impl DrainConfig {
    /// The maximum time of a drain.
    pub fn grace(&self) -> Duration {
        Duration::try_from_secs_f64(self.seconds).unwrap_or_default()
    }
}

impl ActorConfig {
    /// The default configuration for a game and the URLs of arena and learner.
    pub fn new(game: GameConfig, arena: String, learner: String) -> Self {
        let deploy = Deployment::default();
        Self {
            name: deploy.name,
            game,
            net: None,
            arena,
            learner,
            credential: Credential::None,
            tls: None,
            threads: cores(),
            play: PlayConfig::default(),
            outbox_games: deploy.outbox_games,
            cache: CacheConfig { folder: None, mib: deploy.cache_mib },
            drain: DrainConfig { finish_games: deploy.finish_games, seconds: deploy.drain_seconds },
            dead_letters: None,
            dead_letters_mib: deploy.dead_letters_mib,
            log_records: None,
            seed: 0,
            deterministic: false,
        }
    }

    /// The configuration of an actor of a run, from its settings, its folder and the URLs of arena
    /// and learner.
    pub fn of_run(settings: &Settings, run: &Path, arena: String, learner: String) -> Self {
        let deploy = &settings.deploy;
        let folder = run.join(deploy.actor_folder());
        Self {
            name: deploy.name.clone(),
            // The check of the settings refuses those without a network.
            net: settings.net_spec().ok(),
            credential: deploy.credential(),
            threads: deploy.threads.unwrap_or_else(cores),
            play: settings.play(),
            outbox_games: deploy.outbox_games,
            cache: CacheConfig { folder: deploy.cache.clone(), mib: deploy.cache_mib },
            drain: DrainConfig { finish_games: deploy.finish_games, seconds: deploy.drain_seconds },
            dead_letters: Some(folder.join("refused.jsonl")),
            dead_letters_mib: deploy.dead_letters_mib,
            log_records: deploy.log_records.then(|| folder.join("records.log")),
            seed: settings.seed,
            ..Self::new(settings.game.clone(), arena, learner)
        }
    }

    /// Checks every field. The error names the first invalid field with its value and a remedy.
    pub fn validate(&self) -> Result<(), SettingError> {
        check("threads", self.threads, self.threads >= 1, "give at least 1")?;
        check("outbox_games", self.outbox_games, self.outbox_games >= 1, "give at least 1")?;
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        let holds = (1..=MAX_ACTOR_NAME).contains(&self.name.len()) && self.name.bytes().all(plain);
        let name: String = self.name.chars().take(MAX_ACTOR_NAME).collect();
        let remedy = "give 1 to 64 letters, digits, dots, underscores or dashes";
        check("name", format!("{name:?}"), holds, remedy)?;
        let seconds = self.drain.seconds;
        let holds = seconds.is_finite() && (0.0..=86_400.0).contains(&seconds);
        check("drain.seconds", seconds, holds, "give 0 to 86400")?;
        check("cache.mib", self.cache.mib, self.cache.mib >= 1, "give at least 1")?;
        self.play.validate()
    }

    /// Builds one worker, which fails if the settings of self-play do not fit the game.
    pub fn check_play(&self) -> Result<(), ActorError> {
        struct Check<'a>(&'a ActorConfig);
        impl GameVisitor for Check<'_> {
            type Output = Result<(), WorkerError>;
            fn visit<G: Game>(self, game: G) -> Self::Output {
                Worker::new(game, Arc::new(self.0.game.clone()), self.0.worker(0, 0)).map(drop)
            }
        }
        self.game.visit(Check(self))?.map_err(ActorError::Play)
    }

    /// Settings of the worker thread `index`, with `seed` as the seed of its games.
    pub(crate) fn worker(&self, seed: u64, index: usize) -> WorkerSettings {
        let net = self.net.clone();
        WorkerSettings { net, ..WorkerSettings::new(&self.play, self.threads, seed, index) }
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

pub(crate) fn check(
    key: &str,
    value: impl ToString,
    holds: bool,
    remedy: &str,
) -> Result<(), SettingError> {
    if holds { Ok(()) } else { Err(SettingError::new(key, value, remedy)) }
}

#[cfg(test)]
mod tests;
