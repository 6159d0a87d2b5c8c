//! Configuration of an arena process: the shared settings of its run, and the addresses and the
//! data folder of this process.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use ouro_service::access::Guard;
use ouro_service::files::read_regular;
use ouro_service::server::Limits;
use ouro_settings::{Deployment, Settings};

use crate::store::{RedisAddress, Run, StoreError};

/// Largest file with a password, in bytes.
const MAX_PASSWORD_BYTES: u64 = 4_096;

mod check;

pub use check::ConfigError;
pub(crate) use check::{Checked, check};
pub use ouro_settings::MatchConfig;

/// The complete configuration of an arena process.
#[derive(Clone, Debug)]
pub struct ArenaConfig {
    /// Address of the gRPC server; port 0 selects a free port.
    pub address: SocketAddr,
    /// Address of the web page; port 0 selects a free port, and `None` disables the page.
    pub web: Option<SocketAddr>,
    /// Host names that requests to the web page may use, besides IP addresses and `localhost`.
    pub web_names: Vec<String>,
    /// Folder of the weights, and of the store unless it is in Redis; created if it is missing.
    pub data: PathBuf,
    /// Where the results are.
    pub store: StoreConfig,
    /// Game and seed of the run.
    pub run: Run,
    /// How candidates are matched and rated.
    pub matches: MatchConfig,
    /// Largest accepted weights file, in bytes.
    pub max_weights_bytes: u64,
    /// Limits of a connection.
    pub limits: Limits,
    /// Who may call; `None` lets everybody.
    pub guard: Option<Guard>,
}

/// Where an arena keeps its results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreConfig {
    /// In files in the data folder.
    Files,
    /// In Redis.
    Redis {
        /// `redis://[USER[:PASSWORD]@]HOST[:PORT][/DB]`.
        url: String,
        /// Name of the run in the keys.
        name: String,
        /// File with the password.
        password_file: Option<PathBuf>,
    },
}

impl StoreConfig {
    /// The store that the settings name.
    pub fn of(deploy: &Deployment) -> Self {
        match &deploy.store {
            None => Self::Files,
            Some(url) => Self::Redis {
                url: url.clone(),
                name: deploy.store_name.clone(),
                password_file: deploy.store_password_file.clone(),
            },
        }
    }

    /// The address of a store in Redis, with the password from its file; `None` for files.
    pub fn redis(&self) -> Result<Option<RedisAddress>, StoreError> {
        let Self::Redis { url, name, password_file } = self else { return Ok(None) };
        let read = |path: &PathBuf| {
            let bytes = read_regular(path, MAX_PASSWORD_BYTES);
            let text = bytes.map(|bytes| String::from_utf8_lossy(&bytes).trim_end().to_owned());
            text.map_err(|source| StoreError::Io {
                action: "read",
                path: path.display().to_string(),
                source,
            })
        };
        let password = password_file.as_ref().map(read).transpose()?;
        Ok(Some(RedisAddress { url: url.clone(), password, name: name.clone() }))
    }
}

impl ArenaConfig {
    /// A configuration for `run` with data folder `data`, a free loopback port and no web page.
    pub fn new(run: Run, data: impl Into<PathBuf>) -> Self {
        Self {
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            web: None,
            web_names: Vec::new(),
            data: data.into(),
            store: StoreConfig::Files,
            run,
            matches: MatchConfig::default(),
            max_weights_bytes: ouro_proto::chunks::DEFAULT_MAX_WEIGHTS_BYTES,
            limits: Limits::default(),
            guard: None,
        }
    }

    /// A configuration for the run with these settings and this folder, listening on `address`.
    pub fn of_run(settings: &Settings, run: &Path, address: SocketAddr) -> Self {
        let data = run.join("arena");
        let run = Run { game: settings.game.clone(), seed: settings.seed };
        Self {
            address,
            web: settings.deploy.web.0,
            web_names: settings.deploy.web_names.clone(),
            matches: settings.arena.clone(),
            max_weights_bytes: settings.deploy.max_weights_bytes,
            store: StoreConfig::of(&settings.deploy),
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
