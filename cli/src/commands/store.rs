//! `ouro store`: copies the results of a run to another store.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use ouro_arena::config::StoreConfig;
use ouro_arena::store::{
    self, Copied, CopyError, EmbeddedStore, LOG_FILE, LoggedStore, RedisStore, StoreError,
};
use ouro_settings::arguments::StoreArguments;
use ouro_settings::{Deployment, SETTINGS_FILE, Settings};
use serde::Serialize;

use crate::failure::Failure;
use crate::output::Output;

/// Work with the store of a run's results.
#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    Copy(Copy),
}

/// Copy the results of a run to another store: from files to Redis or back.
///
/// The run must not be running. Weights, the journal and training states stay where they are. The
/// source is not changed; afterwards set deploy.store in run.toml, so that the next start uses the
/// copy. An interrupted copy continues when the command is repeated.
#[derive(Debug, Args)]
pub(crate) struct Copy {
    /// Folder of the run.
    run: PathBuf,
    /// Where to: the URL of a Redis server, or files for the folder of the run.
    #[arg(long, value_name = "URL")]
    to: String,
    /// Name of the run in the keys of that server [default: deploy.store_name of the settings].
    #[arg(long, value_name = "NAME")]
    to_name: Option<String>,
    /// File with the password of that server [default: deploy.store_password_file of the settings].
    #[arg(long, value_name = "FILE")]
    to_password_file: Option<PathBuf>,
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
}

/// The result of a copy.
#[derive(Debug, Serialize)]
struct Report {
    from: String,
    to: String,
    entries: u64,
    copied: u64,
    games: u64,
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
        let mut to = from.clone();
        let target = StoreArguments {
            store: Some(self.to),
            store_name: self.to_name,
            store_password_file: self.to_password_file,
            store_ca: self.to_ca,
            store_certificate: self.to_certificate,
            store_key: self.to_key,
        };
        target.apply(&mut to);
        for deploy in [&from, &to] {
            deploy.validate().map_err(Failure::usage)?;
        }
        let configs = [&from, &to].map(StoreConfig::of);
        let [source, destination] = configs;
        if source == destination {
            return Err(Failure::usage(format_args!(
                "the run already keeps its results there; name another store with --to, or its \
                 present one with --store"
            )));
        }
        let folder = self.run.join("arena");
        // A source that is not there must not be created.
        if source == StoreConfig::Files && !folder.join(LOG_FILE).exists() {
            let path = folder.join(LOG_FILE);
            return Err(Failure::no_input(format_args!(
                "{} is missing; name the store of the run with --store",
                path.display()
            )));
        }
        let (source, destination) = (open(&from, &folder)?, open(&to, &folder)?);
        let (names, copied) = match (&source, &destination) {
            (Open::Files(from), Open::Redis(to)) => copied(from, to),
            (Open::Redis(from), Open::Files(to)) => copied(from, to),
            (Open::Redis(from), Open::Redis(to)) => copied(from, to),
            (Open::Files(from), Open::Files(to)) => copied(from, to),
        }?;
        let ([from, to], Copied { entries, before, games }) = (names, copied);
        let next = match &destination {
            Open::Files(_) => "remove deploy.store from run.toml",
            Open::Redis(_) => "set deploy.store in run.toml",
        };
        let new = entries - before;
        let text = format!(
            "{new} of {entries} entries and {games} games copied from {from} to {to}\n{next} before \
             the next start\n"
        );
        output.result(&Report { from, to, entries, copied: new, games }, text)?;
        Ok(ExitCode::SUCCESS)
    }
}

fn open(deploy: &Deployment, folder: &Path) -> Result<Open, Failure> {
    let address = StoreConfig::of(deploy).redis().map_err(Failure::unavailable)?;
    let open = || -> Result<Open, StoreError> {
        Ok(match &address {
            None => Open::Files(Box::new(EmbeddedStore::open(folder)?)),
            // Takes the store over, so an arena that still runs can change nothing meanwhile.
            Some(address) => Open::Redis(Box::new(RedisStore::open(address)?)),
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
