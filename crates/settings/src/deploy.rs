//! Where the processes of a run are, and what each may use there.
//!
//! These keys do not affect what is learned, so they may change at every start of a run. A flag
//! `--KEY` of a process, or a variable `OURO_KEY`, overrides the key of the same name.

use std::path::PathBuf;

use clap::ValueEnum;
use ouro_proto::trajectory::MAX_ACTOR_NAME;
use ouro_service::telemetry::LogFormat;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::SettingError;
use crate::schema::check_ranges;

mod access;
mod address;
mod limits;
mod tls;
mod web_address;

pub use address::{Address, AddressError};
pub use limits::LimitsConfig;
pub use web_address::{WebAddress, WebAddressError};

/// Where the processes of a run are, and what each may use there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Deployment {
    /// Address of the arena, `HOST:PORT`. Actors and the learner connect to it; the arena
    /// listens on it unless `--listen` names another.
    pub arena: Address,
    /// Address of the learner, `HOST:PORT`. Actors connect to it; the learner listens on it
    /// unless `--listen` names another.
    pub learner: Address,
    /// Address of the arena's web page, `IP:PORT`, or `off`.
    pub web: WebAddress,
    /// Names of the machine under which browsers ask for the arena's web page, besides its IP addresses
    /// and `localhost`. Requests that name another host are refused.
    pub web_names: Vec<String>,
    /// Address of this process's metrics for Prometheus, `IP:PORT`, or `off`. Processes on one
    /// machine need different ports: use `--metrics`.
    pub metrics: WebAddress,
    /// Form of the log lines of the three services.
    pub log: Log,
    /// Name of an actor, unique in the run: 1 to 64 letters, digits, `.`, `_` or `-`. `{hostname}`
    /// stands for the name of the machine or container.
    pub name: String,
    /// Threads of an actor that play games. Left out: one per core, and in `ouro train` one
    /// less than that.
    #[schemars(range(min = 1, max = 1_024))]
    pub threads: Option<usize>,
    /// Where the learner trains.
    pub device: DeviceChoice,
    /// Whether an adapter that computes on the CPU counts as a GPU. It is slow; meant for tests.
    pub allow_software_adapter: bool,
    /// Folder where actors keep weights over restarts. Several actors of a machine may share it.
    /// Left out: weights are not kept.
    pub cache: Option<PathBuf>,
    /// Largest size of the folder `cache`, in MiB. The least recently used weights are removed first.
    #[schemars(range(min = 1, max = 1_073_741_824))]
    pub cache_mib: u64,
    /// Finished games that an actor keeps until the learner has acknowledged them.
    #[schemars(range(min = 1, max = 16_777_216))]
    pub outbox_games: usize,
    /// Whether an actor that stops plays its games to their end. Otherwise it drops them.
    pub finish_games: bool,
    /// Time that an actor has to finish its games and to have them acknowledged, and that a worker
    /// of the arena has to finish its own, in seconds.
    #[schemars(range(min = 0, max = 86_400))]
    pub drain_seconds: f64,
    /// Whether an actor notes each game that it sent or that was acknowledged in `records.log`,
    /// to check that none is lost.
    pub log_records: bool,
    /// Largest size of an actor's file of refused games, in MiB. Later ones are only logged.
    pub dead_letters_mib: u64,
    /// Training states that the learner keeps. At least 2, so that a damaged one can be skipped.
    #[schemars(range(min = 2, max = 65_536))]
    pub kept_training_states: usize,
    /// Time that a stopping learner waits for the arena to accept the last weights, in
    /// milliseconds.
    pub publish_grace_ms: u64,
    /// Largest weights file that the arena accepts, in bytes.
    #[schemars(range(min = 1))]
    pub max_weights_bytes: u64,
    /// File of the tokens that the services accept, as `ouro token` writes it. Left out: everybody
    /// who reaches a port may call.
    pub tokens: Option<PathBuf>,
    /// File with the token that this process presents to the services.
    pub token_file: Option<PathBuf>,
    /// Whether services may listen beyond loopback without tokens or clients' certificates. Meant for
    /// private networks.
    pub insecure: bool,
    /// File of this process's certificate (PEM). A service then speaks TLS on its ports, the web page
    /// included; a client presents it to the services. Left out: no TLS, and no certificate.
    pub tls_certificate: Option<PathBuf>,
    /// File of the private key of `tls_certificate` (PEM).
    pub tls_key: Option<PathBuf>,
    /// File of the authorities that sign the certificates of services (PEM). Clients then connect by
    /// TLS only. Left out: clients connect without TLS.
    pub tls_ca: Option<PathBuf>,
    /// File of the authorities that sign the certificates of clients (PEM). A service then takes role
    /// and name of a caller from the URI `ouro://ROLE/NAME` of its certificate.
    pub tls_client_ca: Option<PathBuf>,
    /// What one token or certificate may use.
    pub limits: LimitsConfig,
    /// Redis or Valkey server that keeps the arena's results, `redis://[USER@]HOST[:PORT][/DB]`, or
    /// `rediss://` for TLS. Left out: files in the folder of the run.
    pub store: Option<String>,
    /// Name of the run in the keys of the server `store`, 1 to 64 letters, digits, `.`, `_` or `-`.
    /// Runs that share a server need names of their own.
    pub store_name: String,
    /// File with the password of the server `store`.
    pub store_password_file: Option<PathBuf>,
    /// File of the authorities that sign the certificate of the server `store` (PEM). Left out: those
    /// of the machine.
    pub store_ca: Option<PathBuf>,
    /// File of the certificate that the arena presents to the server `store` (PEM).
    pub store_certificate: Option<PathBuf>,
    /// File of the private key of `store_certificate` (PEM).
    pub store_key: Option<PathBuf>,
    /// Object store that keeps the arena's weights, `s3://BUCKET/PREFIX` or `file:///FOLDER`. Left out:
    /// files in the folder of the run. Programs know object stores if they are built with the feature
    /// `object-store`. Credentials, region and endpoint come from the usual variables of AWS. Runs
    /// that share a bucket need prefixes of their own.
    pub weights: Option<String>,
    /// Collector of traces, `http://HOST:4317` (OTLP over gRPC). Actors and the learner send it one trace
    /// for each of some games, from the first move to the first training step. Left out: no traces,
    /// unless `OTEL_EXPORTER_OTLP_ENDPOINT` names a collector. Programs know traces if they are
    /// built with the feature `otlp`.
    pub otlp: Option<String>,
    /// Games of which one is traced. Actors and the learner need the same number.
    #[schemars(range(min = 1))]
    pub trace_games: u64,
}

/// The placeholder for the host name in the name of an actor.
const HOST_NAME: &str = "{hostname}";

/// The starts of the address of a Redis server: without TLS and with it.
const REDIS: [&str; 2] = ["redis://", "rediss://"];

/// Where tensors live.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ValueEnum,
)]
#[serde(rename_all = "snake_case")]
pub enum DeviceChoice {
    /// A GPU if the machine has one, else the CPU.
    #[default]
    Auto,
    /// A GPU through Vulkan, or an error.
    Vulkan,
    /// A GPU through any API that wgpu supports (Vulkan, Metal, DirectX 12), or an error.
    Wgpu,
    /// The CPU.
    Cpu,
}

impl DeviceChoice {
    /// The name in files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Vulkan => "vulkan",
            Self::Wgpu => "wgpu",
            Self::Cpu => "cpu",
        }
    }
}

/// Form of log lines. `RUST_LOG` selects which events are logged.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ValueEnum,
)]
#[serde(rename_all = "snake_case")]
pub enum Log {
    /// Text if standard error is a terminal, else JSON.
    #[default]
    Auto,
    /// One line of text per event.
    Text,
    /// One JSON object per event.
    Json,
}

impl From<Log> for LogFormat {
    fn from(log: Log) -> Self {
        match log {
            Log::Auto => Self::Auto,
            Log::Text => Self::Text,
            Log::Json => Self::Json,
        }
    }
}

impl Default for Deployment {
    fn default() -> Self {
        Self {
            arena: Address::loopback(50_061),
            learner: Address::loopback(50_062),
            web: WebAddress::default(),
            web_names: Vec::new(),
            metrics: WebAddress(None),
            log: Log::default(),
            name: "actor".to_owned(),
            threads: None,
            device: DeviceChoice::default(),
            allow_software_adapter: false,
            cache: None,
            cache_mib: 1_024,
            outbox_games: 256,
            finish_games: false,
            drain_seconds: 10.0,
            log_records: false,
            dead_letters_mib: 64,
            kept_training_states: 3,
            publish_grace_ms: 10_000,
            max_weights_bytes: ouro_proto::chunks::DEFAULT_MAX_WEIGHTS_BYTES,
            tokens: None,
            token_file: None,
            insecure: false,
            tls_certificate: None,
            tls_key: None,
            tls_ca: None,
            tls_client_ca: None,
            limits: LimitsConfig::default(),
            store: None,
            store_name: "ouro".to_owned(),
            store_password_file: None,
            store_ca: None,
            store_certificate: None,
            store_key: None,
            weights: None,
            otlp: None,
            trace_games: 1_000,
        }
    }
}

impl Deployment {
    /// Replaces `{hostname}` in the name of the actor. Where the system does not report its name,
    /// the placeholder stays, and an actor refuses to start with it.
    pub fn resolve_name(&mut self) {
        if !self.name.contains(HOST_NAME) {
            return;
        }
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname");
        if let Ok(host) = host {
            self.name = self.name.replace(HOST_NAME, host.trim());
        }
    }

    /// Checks every field.
    pub fn validate(&self) -> Result<(), SettingError> {
        check_ranges("deploy", self)?;
        let name = self.name.replace(HOST_NAME, "host");
        check_name("deploy.name", &name)?;
        check_name("deploy.store_name", &self.store_name)?;
        self.validate_tls()?;
        match &self.store {
            Some(url) if !REDIS.iter().any(|start| url.starts_with(start)) => {
                let shown = format!("{:?}", without_credentials(url));
                let remedy = "give redis://HOST:PORT or rediss://HOST:PORT; for files in the folder of \
                              the run, leave it out or give --store files";
                Err(SettingError::new("deploy.store", shown, remedy))
            }
            _ => Ok(()),
        }?;
        match &self.weights {
            Some(url) if !is_object_store(url) => {
                let remedy = "give s3://BUCKET/PREFIX or file:///FOLDER; for files in the folder of \
                              the run, leave it out or give --weights files";
                Err(SettingError::new("deploy.weights", format!("{url:?}"), remedy))
            }
            _ => Ok(()),
        }?;
        match &self.otlp {
            Some(url) if !url.starts_with("http://") => {
                let remedy = "give http://HOST:4317, or leave it out for no traces";
                Err(SettingError::new("deploy.otlp", format!("{url:?}"), remedy))
            }
            _ => Ok(()),
        }
    }

    /// Folder of an actor's files, relative to the folder of the run: `actor` for the default name,
    /// otherwise `actor-NAME`.
    pub fn actor_folder(&self) -> PathBuf {
        match self.name.as_str() {
            "actor" => PathBuf::from("actor"),
            name => PathBuf::from(format!("actor-{name}")),
        }
    }
}

/// An address in a message: without the part before `@`, which may hold a password.
fn without_credentials(url: &str) -> String {
    url.rsplit_once('@').map_or_else(|| url.to_owned(), |(_, host)| format!("…@{host}"))
}

/// Whether this is the address of an object store that the arena may know.
fn is_object_store(url: &str) -> bool {
    let names_bucket = |rest: &str| !rest.is_empty() && !rest.starts_with('/');
    url.strip_prefix("s3://").is_some_and(names_bucket)
        || url.strip_prefix("file://").is_some_and(|folder| folder.starts_with('/'))
}

/// Checks a name that becomes part of a path or a key.
fn check_name(key: &str, name: &str) -> Result<(), SettingError> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    if (1..=MAX_ACTOR_NAME).contains(&name.len()) && name.bytes().all(is_plain) {
        return Ok(());
    }
    let remedy = "give 1 to 64 letters, digits, dots, underscores or dashes";
    Err(SettingError::new(key, format!("{name:?}"), remedy))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_in_a_bucket_or_in_an_absolute_folder() {
        let with =
            |url: &str| Deployment { weights: Some(url.to_owned()), ..Deployment::default() };
        for url in ["s3://bucket", "s3://bucket/runs/mine", "file:///srv/weights"] {
            with(url).validate().expect(url);
        }
        for url in ["s3://", "s3:///runs", "file://srv", "bucket", "gs://bucket", ""] {
            let error = with(url).validate().expect_err(url).to_string();
            assert!(error.contains("deploy.weights") && error.contains("s3://BUCKET"), "{error}");
        }
    }

    #[test]
    fn results_are_in_redis_and_a_refusal_shows_no_password() {
        let with = |url: &str| Deployment { store: Some(url.to_owned()), ..Deployment::default() };
        for url in ["redis://host", "rediss://user@host:6379/1"] {
            with(url).validate().expect(url);
        }
        for (url, shown) in
            [("foo", "\"foo\""), ("http://user:secret@host:6379", "\"…@host:6379\""), ("", "\"\"")]
        {
            let error = with(url).validate().expect_err(url).to_string();
            let start = format!("deploy.store is {shown}; give redis://HOST:PORT or ");
            assert!(error.starts_with(&start) && error.ends_with("--store files"), "{error}");
        }
    }

    #[test]
    fn an_actor_can_be_named_after_its_machine() {
        let mut deploy = Deployment { name: "gpu-{hostname}".to_owned(), ..Deployment::default() };
        deploy.validate().expect("the placeholder is valid");
        deploy.resolve_name();
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname");
        let expected = host.map_or("{hostname}".to_owned(), |host| host.trim().to_owned());
        assert_eq!(deploy.name, format!("gpu-{expected}"));
        deploy.name = "{host}".to_owned();
        assert!(deploy.validate().is_err(), "other braces are not");
    }
}
