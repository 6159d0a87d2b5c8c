//! `ouro store`: copies the results or the weights of a run to another store.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{ArgGroup, Args, Subcommand};
use ouro_arena::config::{StoreConfig, WeightsConfig};
use ouro_arena::store::{
    self, Copied, CopyError, EmbeddedStore, LOG_FILE, LoggedStore, RedisAddress, RedisStore,
    StoreError, WeightsError,
};
use ouro_net::RunId;
use ouro_settings::arguments::{StoreArguments, WeightsArguments};
use ouro_settings::{Deployment, SETTINGS_FILE, SettingError, Settings};
use serde::Serialize;

use crate::failure::Failure;
use crate::output::Output;

/// Work with the stores of a run's results and weights.
#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    Copy(Copy),
}

/// Copy the results of a run to another store, from files to Redis or back, or its weights.
///
/// The run must not be running. The journal and training states stay where they are. The source is
/// not changed; afterwards set deploy.store or deploy.weights in run.toml, so that the next start uses
/// the copy. An interrupted copy continues when the command is repeated.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("destination").required(true).multiple(true))]
pub(crate) struct Copy {
    /// Folder of the run.
    run: PathBuf,
    /// Where the results go: the URL of a Redis server, or files for the folder of the run.
    #[arg(long, value_name = "URL", group = "destination")]
    to: Option<String>,
    /// Name of the run in the keys of that server [default: deploy.store_name of the settings].
    #[arg(long, value_name = "NAME")]
    to_name: Option<String>,
    /// File with the password of that server [default: deploy.store_password_file of the settings].
    #[arg(long, value_name = "FILE")]
    to_password_file: Option<PathBuf>,
    /// Where the weights go: the URL of an object store, or files for the folder of the run.
    #[arg(long, value_name = "URL", group = "destination")]
    to_weights: Option<String>,
    /// File of the authorities that sign the certificate of that server, for rediss://
    /// [default: deploy.store_ca of the settings].
    #[arg(long, value_name = "FILE")]
    to_ca: Option<PathBuf>,
    /// File of the certificate that is presented to that server [default: deploy.store_certificate
    /// of the settings].
    #[arg(long, value_name = "FILE")]
    to_certificate: Option<PathBuf>,
    /// File of the private key of that certificate [default: deploy.store_key of the settings].
    #[arg(long, value_name = "FILE")]
    to_key: Option<PathBuf>,
    /// The store of the run, if other than in its settings.
    #[command(flatten)]
    from: StoreArguments,
    /// The store of its weights, if other than in its settings.
    #[command(flatten)]
    from_weights: WeightsArguments,
}

/// The result of a copy.
#[derive(Debug, Serialize)]
struct Report {
    #[serde(flatten)]
    results: Option<ResultsReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    weights: Option<WeightsReport>,
}

/// The result of a copy of results.
#[derive(Debug, Serialize)]
struct ResultsReport {
    from: String,
    to: String,
    entries: u64,
    copied: u64,
    games: u64,
}

/// The result of a copy of weights.
#[derive(Debug, Serialize)]
struct WeightsReport {
    from: String,
    to: String,
    files: usize,
}

/// An open store. The variants are boxed, because they are large.
enum Open {
    Files(Box<EmbeddedStore>),
    Redis(Box<RedisStore>),
}

impl StoreCommand {
    pub(crate) fn run(self, output: &mut Output) -> Result<ExitCode, Failure> {
        let Self::Copy(copy) = self;
        copy.run(output)
    }
}

impl Copy {
    fn run(self, output: &mut Output) -> Result<ExitCode, Failure> {
        let path = self.run.join(SETTINGS_FILE);
        let mut from = Settings::load(&path).map_err(Failure::unreadable)?.deploy;
        self.from.apply(&mut from);
        self.from_weights.apply(&mut from);
        let mut to = from.clone();
        let target = StoreArguments {
            store: self.to.clone(),
            store_name: self.to_name,
            store_password_file: self.to_password_file,
            store_ca: self.to_ca,
            store_certificate: self.to_certificate,
            store_key: self.to_key,
        };
        target.apply(&mut to);
        WeightsArguments { weights: self.to_weights.clone() }.apply(&mut to);
        from.validate().map_err(Failure::usage)?;
        // The settings are valid, so the error is that of a flag.
        to.validate().map_err(|error| Failure::usage(of_flag(error)))?;
        let folder = self.run.join("arena");
        let [source, destination] = [&from, &to].map(StoreConfig::of);
        if self.to.is_some() && source == destination {
            return Err(Failure::usage(format_args!(
                "the run already keeps its results there; name another store with --to, or its \
                 present one with --store"
            )));
        }
        let [weights, new_weights] = [&from, &to].map(WeightsConfig::of);
        if self.to_weights.is_some() && weights == new_weights {
            return Err(Failure::usage(format_args!(
                "the run already keeps its weights there; name another store with --to-weights, or \
                 its present one with --weights"
            )));
        }
        // A source that is not there must not be created.
        if source == StoreConfig::Files && !folder.join(LOG_FILE).exists() {
            let path = folder.join(LOG_FILE);
            return Err(Failure::no_input(format_args!(
                "{} is missing; name the store of the run with --store",
                path.display()
            )));
        }
        // An open store also shows that no arena runs.
        let source = open(&from, &folder, |address| RedisStore::open_in(address, &folder))?;
        let (mut report, mut text) = (Report { results: None, weights: None }, String::new());
        if self.to_weights.is_some() {
            let copied = copy_weights(source.run()?, &weights, &new_weights, &folder)?;
            let WeightsReport { from, to, files } = &copied;
            text += &format!(
                "{files} weights copied from {from} to {to}\n{} before the next start\n",
                next("deploy.weights", new_weights == WeightsConfig::Files)
            );
            report.weights = Some(copied);
        }
        if self.to.is_some() {
            let (names, copied) = match (&source, &open(&to, &folder, RedisStore::open)?) {
                (Open::Files(from), Open::Redis(to)) => copied(from, to),
                (Open::Redis(from), Open::Files(to)) => copied(from, to),
                (Open::Redis(from), Open::Redis(to)) => copied(from, to),
                (Open::Files(from), Open::Files(to)) => copied(from, to),
            }?;
            let ([from, to], Copied { entries, before, games }) = (names, copied);
            let new = entries - before;
            text += &format!(
                "{new} of {entries} entries and {games} games copied from {from} to {to}\n{} before \
                 the next start\n",
                next("deploy.store", destination == StoreConfig::Files)
            );
            report.results = Some(ResultsReport { from, to, entries, copied: new, games });
        }
        output.result(&report, text)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// The error of a destination, with its flag instead of the key that the flag replaces.
fn of_flag(mut error: SettingError) -> SettingError {
    let (flag, remedy) = match error.key.as_str() {
        "deploy.store" => ("--to", Some("give redis://HOST:PORT, rediss://HOST:PORT or files")),
        "deploy.store_name" => ("--to-name", None),
        "deploy.store_certificate" => ("--to-certificate", None),
        "deploy.store_key" => ("--to-key", None),
        "deploy.weights" => {
            ("--to-weights", Some("give s3://BUCKET/PREFIX, file:///FOLDER or files"))
        }
        _ => return error,
    };
    if let Some(remedy) = remedy {
        remedy.clone_into(&mut error.remedy);
    }
    flag.clone_into(&mut error.key);
    error
}

/// What to do with a key after a copy.
fn next(key: &str, to_files: bool) -> String {
    if to_files {
        return format!("remove {key} from run.toml");
    }
    format!("set {key} in run.toml")
}

impl Open {
    /// The run of the store.
    fn run(&self) -> Result<RunId, Failure> {
        let (run, name) = match self {
            Self::Files(store) => (store.run(), store.name()),
            Self::Redis(store) => (store.run(), store.name()),
        };
        run.ok_or_else(|| Failure::no_input(CopyError::Empty(name)))
    }
}

/// Copies the weights of a run.
fn copy_weights(
    run: RunId,
    from: &WeightsConfig,
    to: &WeightsConfig,
    folder: &Path,
) -> Result<WeightsReport, Failure> {
    let open = |config: &WeightsConfig, flag: &str| {
        config.check().map_err(|error| match error {
            WeightsError::NotBuilt { url } => Failure::usage(format_args!(
                "this program cannot keep weights in {url}: build it with `--features object-store`, \
                 or name another place with {flag}"
            )),
            error => Failure::usage(error),
        })?;
        config.open(folder).map_err(Failure::unavailable)
    };
    let from = open(from, "--weights or deploy.weights")?;
    let to = open(to, "--to-weights")?;
    let files = store::copy_weights(run, from.as_ref(), to.as_ref());
    let files = files.map_err(|error| match error {
        WeightsError::OtherRun { .. } => Failure::usage(error),
        error => Failure::unavailable(error),
    })?;
    Ok(WeightsReport { from: from.name(), to: to.name(), files })
}

/// Opens the results in the folder of an arena, or those in Redis with `redis`, which takes them over: an
/// arena that still runs can change nothing meanwhile. Only the source must have what the arena of the
/// folder remembers.
fn open(
    deploy: &Deployment,
    folder: &Path,
    redis: impl Fn(&RedisAddress) -> Result<RedisStore, StoreError>,
) -> Result<Open, Failure> {
    let address = StoreConfig::of(deploy).redis().map_err(Failure::unavailable)?;
    let open = || -> Result<Open, StoreError> {
        Ok(match &address {
            None => Open::Files(Box::new(EmbeddedStore::open(folder)?)),
            Some(address) => Open::Redis(Box::new(redis(address)?)),
        })
    };
    open().map_err(Failure::unavailable)
}

/// Copies, and returns the names of both.
fn copied<A: store::Backend, B: store::Backend>(
    from: &LoggedStore<A>,
    to: &LoggedStore<B>,
) -> Result<([String; 2], Copied), Failure> {
    let copied = store::copy(from, to).map_err(|error| match error {
        CopyError::Store(error) => Failure::unavailable(error),
        CopyError::Empty(_) => Failure::no_input(error),
        CopyError::Differs { .. } => Failure::usage(error),
    })?;
    Ok(([from.name(), to.name()], copied))
}
