//! The flags that the programs share. Names and environment variables are the same everywhere.
//!
//! A flag overrides the variable. The variable overrides the file, and the file the preset.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::Args;
use ouro_service::{ExitStatus, Failure};

use crate::deploy::{Address, Deployment, DeviceChoice, Log, WebAddress};
use crate::error::SettingError;
use crate::file::FileError;
use crate::memory::Process;
use crate::settings::{SETTINGS_FILE, Settings};

/// Why a process cannot use its settings.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The file cannot be read, is not TOML, or has a wrong key.
    #[error(transparent)]
    File(#[from] FileError),
    /// A value is not valid.
    #[error("config {}: {error}", path.display())]
    Value {
        /// The file.
        path: PathBuf,
        /// The key, its value and the remedy.
        error: SettingError,
    },
}

impl From<SettingsError> for Failure {
    fn from(error: SettingsError) -> Self {
        Self::new(ExitStatus::BadConfiguration, error)
    }
}

/// The settings file of a service, and the folder of its run.
#[derive(Clone, Debug, Args)]
pub struct FileArguments {
    /// Settings of the run (TOML), the same file for all processes; see `ouro config`
    /// [default: run.toml].
    #[arg(long, value_name = "FILE", env = "OURO_CONFIG")]
    pub config: Option<PathBuf>,
    /// Folder of the run [default: the folder of run.toml; runs/NAME for a file NAME.toml].
    #[arg(long, value_name = "DIR", env = "OURO_RUN")]
    pub run: Option<PathBuf>,
}

impl FileArguments {
    /// Reads the file, applies `overrides` and validates all settings. Fails if `process` may need
    /// more memory than this machine has.
    pub fn load(
        &self,
        process: Process,
        overrides: impl FnOnce(&mut Deployment),
    ) -> Result<Settings, SettingsError> {
        let path = self.path();
        let mut settings = Settings::load(path)?;
        overrides(&mut settings.deploy);
        settings.deploy.resolve_name();
        let checked = settings.validate().and_then(|()| settings.check_machine(&[process]));
        checked.map_err(|error| SettingsError::Value { path: path.to_owned(), error })?;
        Ok(settings)
    }

    fn path(&self) -> &Path {
        self.config.as_deref().unwrap_or(Path::new(SETTINGS_FILE))
    }

    /// Folder of the run.
    pub fn folder(&self) -> PathBuf {
        self.run.clone().unwrap_or_else(|| Settings::folder(self.path()))
    }
}

/// Where the services are.
#[derive(Clone, Debug, Default, Args)]
pub struct AddressArguments {
    /// Address of the arena [default: deploy.arena of the settings, 127.0.0.1:50061].
    #[arg(long, value_name = "HOST:PORT", env = "OURO_ARENA")]
    pub arena: Option<Address>,
    /// Address of the learner [default: deploy.learner of the settings, 127.0.0.1:50062].
    #[arg(long, value_name = "HOST:PORT", env = "OURO_LEARNER")]
    pub learner: Option<Address>,
}

/// Where a service listens, if other than at its own address.
#[derive(Clone, Debug, Default, Args)]
pub struct ListenArguments {
    /// Address to listen on, such as 0.0.0.0:50061 [default: the address of the service].
    #[arg(long, value_name = "IP:PORT", env = "OURO_LISTEN")]
    pub listen: Option<SocketAddr>,
}

/// Where the web page is.
#[derive(Clone, Debug, Default, Args)]
pub struct WebArguments {
    /// Address of the web page, or off [default: deploy.web of the settings, 127.0.0.1:8080].
    #[arg(long, value_name = "IP:PORT", env = "OURO_WEB")]
    pub web: Option<WebAddress>,
}

/// Where the metrics of a process are.
#[derive(Clone, Debug, Default, Args)]
pub struct MetricsArguments {
    /// Address of the metrics for Prometheus, or off [default: deploy.metrics of the settings, off].
    #[arg(long, value_name = "IP:PORT", env = "OURO_METRICS")]
    pub metrics: Option<WebAddress>,
}

/// The store that is neither a server nor a bucket.
const FILES: &str = "files";

/// Where the arena keeps its results.
#[derive(Clone, Debug, Default, Args)]
pub struct StoreArguments {
    /// Redis server of the arena's results, such as redis://user@host:6379/0, or files for the folder
    /// of the run [default: deploy.store of the settings, files].
    #[arg(long, value_name = "URL", env = "OURO_STORE", hide_env_values = true)]
    pub store: Option<String>,
    /// Name of the run in the keys of that server [default: deploy.store_name of the settings,
    /// ouro].
    #[arg(long, value_name = "NAME", env = "OURO_STORE_NAME")]
    pub store_name: Option<String>,
    /// File with the password of that server [default: deploy.store_password_file of the settings;
    /// none].
    #[arg(long, value_name = "FILE", env = "OURO_STORE_PASSWORD_FILE")]
    pub store_password_file: Option<PathBuf>,
    /// File of the authorities that sign the certificate of that server, for rediss://
    /// [default: deploy.store_ca of the settings; those of the machine].
    #[arg(long, value_name = "FILE", env = "OURO_STORE_CA")]
    pub store_ca: Option<PathBuf>,
    /// File of the certificate that is presented to that server [default: deploy.store_certificate
    /// of the settings; none].
    #[arg(long, value_name = "FILE", env = "OURO_STORE_CERTIFICATE")]
    pub store_certificate: Option<PathBuf>,
    /// File of the private key of that certificate [default: deploy.store_key of the settings; none].
    #[arg(long, value_name = "FILE", env = "OURO_STORE_KEY")]
    pub store_key: Option<PathBuf>,
}

/// Where the arena keeps weights.
#[derive(Clone, Debug, Default, Args)]
pub struct WeightsArguments {
    /// Object store of the arena's weights, such as s3://bucket/prefix, or files for the folder of the
    /// run [default: deploy.weights of the settings, files].
    #[arg(long, value_name = "URL", env = "OURO_WEIGHTS")]
    pub weights: Option<String>,
}

/// Who may call the services, and what this process presents to them.
#[derive(Clone, Debug, Default, Args)]
pub struct AccessArguments {
    /// File of the tokens that the services accept; see `ouro token` [default: deploy.tokens of the
    /// settings; none, so that everybody may call].
    #[arg(long, value_name = "FILE", env = "OURO_TOKENS")]
    pub tokens: Option<PathBuf>,
    /// File with the token that this process presents [default: deploy.token_file of the settings;
    /// none].
    #[arg(long, value_name = "FILE", env = "OURO_TOKEN_FILE")]
    pub token_file: Option<PathBuf>,
    /// Listen beyond loopback without tokens or clients' certificates, in a private network.
    #[arg(long, env = "OURO_INSECURE", value_parser = truth)]
    pub insecure: bool,
    /// File of this process's certificate [default: deploy.tls_certificate of the settings; none, so
    /// that ports speak no TLS].
    #[arg(long, value_name = "FILE", env = "OURO_TLS_CERTIFICATE")]
    pub tls_certificate: Option<PathBuf>,
    /// File of the private key of that certificate [default: deploy.tls_key of the settings; none].
    #[arg(long, value_name = "FILE", env = "OURO_TLS_KEY")]
    pub tls_key: Option<PathBuf>,
    /// File of the authorities that sign the certificates of services [default: deploy.tls_ca of the
    /// settings; none, so that clients speak no TLS].
    #[arg(long, value_name = "FILE", env = "OURO_TLS_CA")]
    pub tls_ca: Option<PathBuf>,
    /// File of the authorities that sign the certificates of clients [default: deploy.tls_client_ca
    /// of the settings; none, so that certificates identify nobody].
    #[arg(long, value_name = "FILE", env = "OURO_TLS_CLIENT_CA")]
    pub tls_client_ca: Option<PathBuf>,
}

/// Where traces go.
#[derive(Clone, Debug, Default, Args)]
pub struct TraceArguments {
    /// Collector of traces, such as http://host:4317 [default: deploy.otlp of the settings, none].
    #[arg(long, value_name = "URL", env = "OURO_OTLP")]
    pub otlp: Option<String>,
    /// Games of which one is traced [default: deploy.trace_games of the settings, 1000].
    #[arg(long, value_name = "N", env = "OURO_TRACE_GAMES")]
    pub trace_games: Option<u64>,
}

/// What the log of a service looks like.
#[derive(Clone, Debug, Default, Args)]
pub struct LogArguments {
    /// Form of the log lines; RUST_LOG selects events [default: deploy.log of the settings, auto].
    #[arg(long, value_enum, env = "OURO_LOG")]
    pub log: Option<Log>,
}

/// Where the learner trains.
#[derive(Clone, Debug, Default, Args)]
pub struct DeviceArguments {
    /// Where to train [default: deploy.device of the settings, auto].
    #[arg(long, value_enum, env = "OURO_DEVICE")]
    pub device: Option<DeviceChoice>,
    /// Let an adapter that computes on the CPU count as a GPU.
    #[arg(long, env = "OURO_ALLOW_SOFTWARE_ADAPTER", value_parser = truth)]
    pub allow_software_adapter: bool,
}

/// What a new run starts with.
#[derive(Clone, Debug, Default, Args)]
pub struct FromArguments {
    /// Weights that a new run starts with. Layers of another shape, such as the heads for another
    /// board size, start anew.
    #[arg(long, value_name = "FILE", env = "OURO_FROM")]
    pub from: Option<PathBuf>,
}

/// What an actor is.
#[derive(Clone, Debug, Default, Args)]
pub struct ActorArguments {
    /// Name of the actor, unique in the run; {hostname} stands for the name of the machine or
    /// container [default: deploy.name of the settings, actor].
    #[arg(long, env = "OURO_NAME")]
    pub name: Option<String>,
    /// Threads that play [default: deploy.threads of the settings; one per core].
    #[arg(long, env = "OURO_THREADS", value_parser = clap::value_parser!(u16).range(1..=1_024))]
    pub threads: Option<u16>,
    /// Folder that keeps weights over restarts [default: deploy.cache of the settings; none].
    #[arg(long, value_name = "DIR", env = "OURO_CACHE")]
    pub cache: Option<PathBuf>,
    /// Note each game sent or acknowledged in records.log, to check that none is lost.
    #[arg(long, env = "OURO_LOG_RECORDS", value_parser = truth)]
    pub log_records: bool,
}

/// The variable of a flag without a value. The flag itself stands for `true`.
fn truth(text: &str) -> Result<bool, String> {
    match text {
        "true" | "yes" | "on" | "1" => Ok(true),
        "false" | "no" | "off" | "0" => Ok(false),
        _ => Err("write true or false".to_owned()),
    }
}

fn set<T: Clone>(value: &mut T, given: &Option<T>) {
    if let Some(given) = given {
        value.clone_from(given);
    }
}

/// The value of a key that is left out for files.
fn unless_files(given: Option<&String>) -> Option<Option<String>> {
    given.map(|url| Some(url.clone()).filter(|url| url != FILES))
}

impl AddressArguments {
    /// Overrides the keys that are given.
    pub fn apply(&self, deploy: &mut Deployment) {
        set(&mut deploy.arena, &self.arena);
        set(&mut deploy.learner, &self.learner);
    }
}

impl WebArguments {
    /// Overrides the key if it is given.
    pub fn apply(&self, deploy: &mut Deployment) {
        set(&mut deploy.web, &self.web);
    }
}

impl MetricsArguments {
    /// Overrides the key if it is given.
    pub fn apply(&self, deploy: &mut Deployment) {
        set(&mut deploy.metrics, &self.metrics);
    }
}

impl StoreArguments {
    /// Overrides the keys that are given.
    pub fn apply(&self, deploy: &mut Deployment) {
        set(&mut deploy.store, &unless_files(self.store.as_ref()));
        set(&mut deploy.store_name, &self.store_name);
        set(&mut deploy.store_password_file, &self.store_password_file.clone().map(Some));
        set(&mut deploy.store_ca, &self.store_ca.clone().map(Some));
        set(&mut deploy.store_certificate, &self.store_certificate.clone().map(Some));
        set(&mut deploy.store_key, &self.store_key.clone().map(Some));
    }
}

impl WeightsArguments {
    /// Overrides the key if it is given.
    pub fn apply(&self, deploy: &mut Deployment) {
        set(&mut deploy.weights, &unless_files(self.weights.as_ref()));
    }
}

impl AccessArguments {
    /// Overrides the keys that are given.
    pub fn apply(&self, deploy: &mut Deployment) {
        set(&mut deploy.tokens, &self.tokens.clone().map(Some));
        set(&mut deploy.token_file, &self.token_file.clone().map(Some));
        deploy.insecure |= self.insecure;
        set(&mut deploy.tls_certificate, &self.tls_certificate.clone().map(Some));
        set(&mut deploy.tls_key, &self.tls_key.clone().map(Some));
        set(&mut deploy.tls_ca, &self.tls_ca.clone().map(Some));
        set(&mut deploy.tls_client_ca, &self.tls_client_ca.clone().map(Some));
    }
}

impl TraceArguments {
    /// Overrides the keys that are given.
    pub fn apply(&self, deploy: &mut Deployment) {
        set(&mut deploy.otlp, &self.otlp.clone().map(Some));
        set(&mut deploy.trace_games, &self.trace_games);
    }
}

impl LogArguments {
    /// Overrides the key if it is given.
    pub fn apply(&self, deploy: &mut Deployment) {
        set(&mut deploy.log, &self.log);
    }
}

impl DeviceArguments {
    /// Overrides the keys that are given.
    pub fn apply(&self, deploy: &mut Deployment) {
        set(&mut deploy.device, &self.device);
        deploy.allow_software_adapter |= self.allow_software_adapter;
    }
}

impl ActorArguments {
    /// Overrides the keys that are given.
    pub fn apply(&self, deploy: &mut Deployment) {
        set(&mut deploy.name, &self.name);
        set(&mut deploy.threads, &self.threads.map(|threads| Some(usize::from(threads))));
        set(&mut deploy.cache, &self.cache.clone().map(Some));
        deploy.log_records |= self.log_records;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_of_a_flag_is_one_of_the_usual_words() {
        let [yes, no] = [["true", "yes", "on", "1"], ["false", "no", "off", "0"]];
        assert!(yes.iter().all(|word| truth(word) == Ok(true)));
        assert!(no.iter().all(|word| truth(word) == Ok(false)));
        for word in ["", "maybe", "TRUE", "2"] {
            assert_eq!(truth(word), Err("write true or false".to_owned()));
        }
    }

    #[test]
    fn a_run_with_a_server_in_its_settings_can_be_told_to_use_files() {
        let server = Some("redis://host".to_owned());
        for (flag, expected) in [(None, &server), (Some("files"), &None)] {
            let mut deploy = Deployment { store: server.clone(), ..Deployment::default() };
            let store = flag.map(str::to_owned);
            StoreArguments { store, ..StoreArguments::default() }.apply(&mut deploy);
            assert_eq!(deploy.store, *expected);
        }
        let mut deploy = Deployment { weights: Some("s3://b".to_owned()), ..Deployment::default() };
        WeightsArguments { weights: Some("files".to_owned()) }.apply(&mut deploy);
        assert_eq!(deploy.weights, None);
    }
}
