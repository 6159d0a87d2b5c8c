//! The collector of traces on the command line.

use std::fs;
use std::process::Command;

use ouro_testkit::process::run;

#[test]
fn a_collector_that_is_no_url_is_refused_by_its_key() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("run.toml"), "preset = \"tictactoe\"\n").unwrap();
    for url in ["collector:4317", "http://"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ouro-actor"));
        command.args(["--config", "run.toml", "--otlp", url]).current_dir(folder.path());
        let refused = run(command.env_remove("OURO_RUN"));
        refused.assert_refused(64, &["deploy.otlp", url, "http://HOST:4317"]);
    }
}

#[test]
fn a_collector_with_tls_is_refused_by_its_variable() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("run.toml"), "preset = \"tictactoe\"\n").unwrap();
    let (variable, url) = ("OTEL_EXPORTER_OTLP_ENDPOINT", "https://collector:4317");
    let mut command = Command::new(env!("CARGO_BIN_EXE_ouro-actor"));
    command.args(["--config", "run.toml"]).current_dir(folder.path());
    let refused = run(command.env_remove("OURO_RUN").env_remove("OURO_OTLP").env(variable, url));
    refused.assert_refused(64, &[variable, url, "http://HOST:4317"]);
}
