//! What an arena process needs: the shared settings of its run, and where this process listens and
//! stores.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use ouro_service::server::Limits;
use ouro_settings::Settings;

use crate::store::Run;

mod check;

pub use check::ConfigError;
pub(crate) use check::{Checked, check};
pub use ouro_settings::MatchConfig;

/// Everything that an arena process needs.
#[derive(Clone, Debug)]
pub struct ArenaConfig {
    /// Where to listen; port 0 takes a free one.
    pub address: SocketAddr,
    /// Where the web page listens, port 0 for a free one; `None` for no page.
    pub web: Option<SocketAddr>,
    /// Folder of the store and the weights; created if it is missing.
    pub data: PathBuf,
    /// Game and seed of the run.
    pub run: Run,
    /// How candidates are matched and rated.
    pub matches: MatchConfig,
    /// Largest accepted weights file, in bytes.
    pub max_weights_bytes: u64,
    /// Limits of a connection.
    pub limits: Limits,
}

impl ArenaConfig {
    /// An arena of `run` with its data in `data`, on a free loopback port, without a web page.
    pub fn new(run: Run, data: impl Into<PathBuf>) -> Self {
        Self {
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            web: None,
            data: data.into(),
            run,
            matches: MatchConfig::default(),
            max_weights_bytes: ouro_proto::chunks::DEFAULT_MAX_WEIGHTS_BYTES,
            limits: Limits::default(),
        }
    }

    /// An arena of the run with these settings and this folder, listening on `address`.
    pub fn of_run(settings: &Settings, run: &Path, address: SocketAddr) -> Self {
        let data = run.join("arena");
        let run = Run { game: settings.game.clone(), seed: settings.seed };
        Self {
            address,
            web: settings.deploy.web.0,
            matches: settings.arena.clone(),
            max_weights_bytes: settings.deploy.max_weights_bytes,
            ..Self::new(run, data)
        }
    }

    /// Checks everything that can be checked before a port or a file is opened.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.check().map(drop)
    }

    /// Like [`validate`](Self::validate), and returns what follows from the game.
    pub(crate) fn check(&self) -> Result<Checked, ConfigError> {
        check(&self.matches, &self.run.game)
    }
}
