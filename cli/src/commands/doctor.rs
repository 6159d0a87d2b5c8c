//! `ouro doctor`: checks a running cluster from outside, and says what to do.
//!
//! [`collect`] asks the services and the store, [`checks`] judges the [`facts`]. The judgement is
//! pure, so every check has tests without a cluster.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use ouro_settings::arguments::{AddressArguments, StoreArguments, WeightsArguments};
use ouro_settings::{Deployment, SETTINGS_FILE, Settings};
use serde::Serialize;

use crate::failure::{Failure, answer};
use crate::output::Output;

use finding::{Finding, Level};

mod checks;
mod collect;
mod facts;
mod finding;

/// Check a running cluster: services, versions, clocks, store, disks, throughput, actors and tokens.
///
/// Each check prints a line: OK, WARN or FAIL, what was checked, the value, and what to do. Nothing
/// is changed. The addresses are those of run.toml, or of the flags. With tokens, give one of role
/// reader. Exit code 1: a check failed.
#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Settings of the run (TOML) [default: run.toml, if it is here].
    #[arg(long, value_name = "FILE", env = "OURO_CONFIG")]
    config: Option<PathBuf>,
    #[command(flatten)]
    addresses: AddressArguments,
    #[command(flatten)]
    store: StoreArguments,
    #[command(flatten)]
    weights: WeightsArguments,
    /// File with a token of role reader [default: deploy.token_file of the settings; none].
    #[arg(long, value_name = "FILE", env = "OURO_TOKEN_FILE")]
    token_file: Option<PathBuf>,
    /// File of the authorities that sign the certificates of the services [default: deploy.tls_ca of
    /// the settings; none, so that the doctor speaks no TLS].
    #[arg(long, value_name = "FILE", env = "OURO_TLS_CA")]
    tls_ca: Option<PathBuf>,
    /// File of a certificate of role reader [default: deploy.tls_certificate of the settings; none].
    #[arg(long, value_name = "FILE", env = "OURO_TLS_CERTIFICATE")]
    tls_certificate: Option<PathBuf>,
    /// File of the private key of that certificate [default: deploy.tls_key of the settings; none].
    #[arg(long, value_name = "FILE", env = "OURO_TLS_KEY")]
    tls_key: Option<PathBuf>,
    /// Seconds between the two samples of which rates are made.
    #[arg(long, default_value_t = 5.0, value_parser = seconds)]
    seconds: f64,
}

/// All findings.
#[derive(Serialize)]
struct Report<'a> {
    /// Whether no check failed.
    healthy: bool,
    findings: &'a [Finding],
}

impl Doctor {
    pub(crate) fn run(self, output: &mut Output) -> Result<ExitCode, Failure> {
        let target = self.target()?;
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let facts = runtime.block_on(collect::collect(&target));
        runtime.shutdown_background();
        let findings = checks::findings(&facts);
        let count = |level| findings.iter().filter(|finding| finding.level == level).count();
        let (warnings, failures) = (count(Level::Warn), count(Level::Fail));
        let mut text: String = findings.iter().map(|finding| format!("{finding}\n")).collect();
        text.push_str(&format!(
            "{} checks: {failures} failed, {warnings} with a warning\n",
            findings.len()
        ));
        let healthy = failures == 0;
        output.verdict(answer(healthy), &Report { healthy, findings: &findings }, text)
    }

    /// What to ask, by the settings, the variables and the flags.
    fn target(&self) -> Result<collect::Target, Failure> {
        let here = Path::new(SETTINGS_FILE);
        let path = self.config.as_deref().or_else(|| here.exists().then_some(here));
        let settings = path.map(Settings::load).transpose().map_err(Failure::unreadable)?;
        let game = settings.as_ref().map(|settings| settings.game.name().to_owned());
        let mut deploy = settings.map_or_else(Deployment::default, |settings| settings.deploy);
        self.addresses.apply(&mut deploy);
        self.store.apply(&mut deploy);
        self.weights.apply(&mut deploy);
        for (key, file) in [
            (&mut deploy.token_file, &self.token_file),
            (&mut deploy.tls_ca, &self.tls_ca),
            (&mut deploy.tls_certificate, &self.tls_certificate),
            (&mut deploy.tls_key, &self.tls_key),
        ] {
            if file.is_some() {
                key.clone_from(file);
            }
        }
        deploy.validate().map_err(Failure::usage)?;
        let tls = deploy.client_tls().map_err(Failure::usage)?;
        deploy.credential().token().map_err(|error| match &deploy.token_file {
            Some(path) if path.exists() => Failure::io(error),
            _ => Failure::no_input(error),
        })?;
        Ok(collect::Target { game, deploy, tls, between: Duration::from_secs_f64(self.seconds) })
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| (0.1..=600.0).contains(seconds));
    seconds.ok_or_else(|| "give 0.1 to 600 seconds".to_owned())
}
