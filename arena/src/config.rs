//! Configuration of an arena process: the shared settings of its run, and the addresses and the
//! data folder of this process.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use ouro_net::NetSpec;
use ouro_proto::Credential;
use ouro_service::access::Guard;
use ouro_service::files::read_regular;
use ouro_service::server::Limits;
use ouro_settings::{Deployment, Settings};
use ouro_tls::{ClientTls, ServerTls};

use crate::store::{
    RedisAddress, RedisTls, Run, StoreError, WEIGHTS_FOLDER, WeightsError, WeightsFolder,
    WeightsStore,
};

/// Largest file with a password, in bytes.
const MAX_PASSWORD_BYTES: u64 = 4_096;
/// Largest file with certificates or a key, in bytes.
const MAX_PEM_BYTES: u64 = 1 << 20;

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
    /// Folder of weights and results in files; created if it is missing.
    pub data: PathBuf,
    /// URL of the learner, whose figures the page shows; `None` watches no learner.
    pub learner: Option<String>,
    /// What the arena presents to the learner.
    pub credential: Credential,
    /// Where the results are.
    pub store: StoreConfig,
    /// Where the weights are.
    pub weights: WeightsConfig,
    /// Game and seed of the run.
    pub run: Run,
    /// The network of the run, with which the name of the networks' player is checked before there are
    /// weights. `None`: a small network that estimates outcomes.
    pub net: Option<NetSpec>,
    /// How candidates are matched and rated.
    pub matches: MatchConfig,
    /// Largest accepted weights file, in bytes.
    pub max_weights_bytes: u64,
    /// Limits of a connection.
    pub limits: Limits,
    /// Who may call; `None` lets everybody.
    pub guard: Option<Guard>,
    /// How the ports prove who they are; `None` without TLS.
    pub server_tls: Option<ServerTls>,
    /// How the learner is verified; needed for an `https` address.
    pub client_tls: Option<ClientTls>,
}

/// Where an arena keeps its results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreConfig {
    /// In files in the data folder.
    Files,
    /// In Redis.
    Redis {
        /// `redis://[USER[:PASSWORD]@]HOST[:PORT][/DB]`, or `rediss://` for TLS.
        url: String,
        /// Name of the run in the keys.
        name: String,
        /// File with the password.
        password_file: Option<PathBuf>,
        /// The files of its certificates.
        tls: Box<StoreTls>,
    },
}

/// The files of the certificates of a store in Redis, all PEM.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreTls {
    /// Authorities that sign the server's certificate; `None`: those of the machine.
    pub authorities: Option<PathBuf>,
    /// The certificate of the arena.
    pub certificate: Option<PathBuf>,
    /// Its private key.
    pub key: Option<PathBuf>,
}

/// Reads a file that may be named.
fn read(path: &Option<PathBuf>, most: u64) -> Result<Option<Vec<u8>>, StoreError> {
    let Some(path) = path else { return Ok(None) };
    let read = read_regular(path, most).map_err(|source| StoreError::Io {
        action: "read",
        path: path.display().to_string(),
        source,
    });
    read.map(Some)
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
                tls: Box::new(StoreTls {
                    authorities: deploy.store_ca.clone(),
                    certificate: deploy.store_certificate.clone(),
                    key: deploy.store_key.clone(),
                }),
            },
        }
    }

    /// The address of a store in Redis, with the password from its file; `None` for files.
    pub fn redis(&self) -> Result<Option<RedisAddress>, StoreError> {
        let Self::Redis { url, name, password_file, tls } = self else { return Ok(None) };
        let password = read(password_file, MAX_PASSWORD_BYTES)?;
        let password = password.map(|text| String::from_utf8_lossy(&text).trim_end().to_owned());
        let own = read(&tls.certificate, MAX_PEM_BYTES)?.zip(read(&tls.key, MAX_PEM_BYTES)?);
        let tls = RedisTls { authorities: read(&tls.authorities, MAX_PEM_BYTES)?, own };
        Ok(Some(RedisAddress { url: url.clone(), password, name: name.clone(), tls }))
    }
}

/// Where an arena keeps weights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WeightsConfig {
    /// In files in the data folder.
    Files,
    /// In an object store.
    Objects {
        /// `s3://BUCKET/PREFIX` or `file:///FOLDER`.
        url: String,
    },
}

impl WeightsConfig {
    /// The store that the settings name.
    pub fn of(deploy: &Deployment) -> Self {
        match &deploy.weights {
            None => Self::Files,
            Some(url) => Self::Objects { url: url.clone() },
        }
    }

    /// Checks that this program can open the store.
    pub fn check(&self) -> Result<(), WeightsError> {
        match self {
            Self::Objects { url } if !cfg!(feature = "object-store") => {
                Err(WeightsError::NotBuilt { url: url.clone() })
            }
            _ => Ok(()),
        }
    }

    /// Opens the store of an arena whose data folder is `data`.
    pub fn open(&self, data: &Path) -> Result<Box<dyn WeightsStore>, WeightsError> {
        Ok(match self {
            Self::Files => Box::new(WeightsFolder::open(&data.join(WEIGHTS_FOLDER))?),
            #[cfg(feature = "object-store")]
            Self::Objects { url } => Box::new(crate::store::WeightsObjects::open(url)?),
            #[cfg(not(feature = "object-store"))]
            Self::Objects { url } => return Err(WeightsError::NotBuilt { url: url.clone() }),
        })
    }

    /// Like [`open`](Self::open), but creates no folder of an object store.
    pub fn open_to_read(&self, data: &Path) -> Result<Box<dyn WeightsStore>, WeightsError> {
        match self {
            #[cfg(feature = "object-store")]
            Self::Objects { url } => Ok(Box::new(crate::store::WeightsObjects::open_to_read(url)?)),
            _ => self.open(data),
        }
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
            learner: None,
            credential: Credential::None,
            store: StoreConfig::Files,
            weights: WeightsConfig::Files,
            run,
            net: None,
            matches: MatchConfig::default(),
            max_weights_bytes: ouro_proto::chunks::DEFAULT_MAX_WEIGHTS_BYTES,
            limits: Limits::default(),
            guard: None,
            server_tls: None,
            client_tls: None,
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
            learner: Some(settings.deploy.url(&settings.deploy.learner)),
            credential: settings.deploy.credential(),
            // The check of the settings refuses those without a network.
            net: settings.net_spec().ok(),
            matches: settings.arena.clone(),
            max_weights_bytes: settings.deploy.max_weights_bytes,
            store: StoreConfig::of(&settings.deploy),
            weights: WeightsConfig::of(&settings.deploy),
            ..Self::new(run, data)
        }
    }

    /// Checks everything that can be checked before a port or a file is opened.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.check().map(drop)
    }

    /// Like [`validate`](Self::validate), and returns what follows from the game.
    pub(crate) fn check(&self) -> Result<Checked, ConfigError> {
        self.weights.check()?;
        check(&self.matches, &self.run.game, self.net.as_ref())
    }
}
