//! The metrics of a run: every series of the tables, with values that follow the run.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use crate::support::http::{value, wait};
use crate::support::promoting_run::SETTINGS;
use ouro_service::access;
use ouro_service::metrics::{Kind, Series, page, process};
use ouro_testkit::process::Process;
use serde_json::Value;

/// The page of all series.
const PAGE: &str = "../docs/metrics.md";

/// The tables of the documentation.
const TABLES: [(&str, &[Series]); 5] = [
    ("Learner", ouro_learner::metrics::SERIES),
    ("Arena", ouro_arena::metrics::SERIES),
    ("Actor", ouro_actor::metrics::SERIES),
    ("Callers", access::metrics::SERIES),
    ("Every process", process::SERIES),
];

#[test]
fn the_page_in_the_documentation_is_up_to_date() {
    if std::env::var_os("OURO_GENERATE").is_some() {
        fs::write(PAGE, page(&TABLES)).expect("the page is written");
    }
    let written = fs::read_to_string(PAGE).expect("the page is there");
    assert!(written == page(&TABLES), "docs/metrics.md is stale; run cargo xtask metrics");
}

/// A running `ouro train` with its metrics.
struct Run {
    process: Process,
    metrics: SocketAddr,
    _home: tempfile::TempDir,
}

/// `ouro train` in a new folder with the settings.
fn train(home: &Path, metrics: &str) -> Command {
    fs::write(home.join("settings.toml"), SETTINGS).expect("settings are written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_ouro"));
    command
        .args(["train", "--config", "settings.toml", "--run", "run", "--device", "cpu"])
        .args(["--threads", "1", "--arena", "127.0.0.1:0", "--learner", "127.0.0.1:0"])
        .args(["--web", "off", "--metrics", metrics])
        .current_dir(home)
        .env_remove("OURO_RUN");
    command
}

fn start() -> Run {
    let home = tempfile::tempdir().expect("a scratch folder");
    let mut process = Process::start(train(home.path(), "127.0.0.1:0").stdout(Stdio::piped()));
    let mut lines = BufReader::new(process.stdout()).lines().map_while(Result::ok);
    let start: Value = serde_json::from_str(&lines.next().expect("an event")).expect("JSON");
    let metrics = start["metrics"].as_str().expect("the metrics are on");
    let address = metrics.trim_start_matches("http://").trim_end_matches("/metrics");
    let metrics = address.parse().expect("an address");
    // The other events are read, so that the pipe never fills.
    thread::spawn(move || lines.for_each(drop));
    Run { process, metrics, _home: home }
}

/// The names of the labels of each sample, by its name.
fn samples(text: &str) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut samples: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (sample, _) = line.rsplit_once(' ').expect("a value");
        let (name, labels) = sample.split_once('{').unwrap_or((sample, ""));
        let names = labels.split("\",").filter_map(|label| Some(label.split_once('=')?.0));
        samples.entry(name).or_default().extend(names);
    }
    samples
}

#[test]
fn a_run_reports_every_series_and_its_values_follow_the_run() {
    let mut run = start();
    // On a busy machine the first champion may be rated before the actor watches the pool.
    let is_connected = |text: &str| {
        ["arena", "learner"].iter().all(|service| {
            value(text, &format!("ouro_actor_connected{{service=\"{service}\"}}")) == Some(1.0)
        })
    };
    // Nor may training have waited for games yet.
    let waited = "ouro_learner_training_waiting_seconds_total{reason=\"games\"}";
    let is_rated = |text: &str| {
        value(text, "ouro_arena_champion_elo_high").is_some()
            && is_connected(text)
            && value(text, waited).is_some_and(|seconds| seconds >= 0.001)
    };
    let text = wait(run.metrics, "/metrics", "a rated champion", is_rated);

    let all: Vec<&Series> = TABLES.iter().flat_map(|(_, series)| series.iter()).collect();
    let declared: BTreeMap<String, &str> =
        all.iter().map(|one| (one.family().to_owned(), one.kind.name())).collect();
    assert_eq!(declared.len(), all.len(), "two series have the same name");
    let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
    let reported: BTreeMap<String, &str> =
        types.map(|(name, kind)| (name.to_owned(), kind)).collect();
    assert_eq!(reported, declared);
    let samples = samples(&text);
    // This run refuses no caller and has no certificate, so the series of callers have no values.
    for series in all.into_iter().filter(|one| !access::metrics::SERIES.contains(one)) {
        let name = match series.kind {
            Kind::Histogram => format!("{}_count", series.name),
            _ => series.name.to_owned(),
        };
        let labels = samples.get(&*name).unwrap_or_else(|| panic!("{name} has no value"));
        assert_eq!(*labels, series.labels.iter().copied().collect(), "{name}");
    }

    for (name, least) in [
        ("ouro_learner_games_accepted_total", 1.0),
        ("ouro_learner_positions_accepted_total", 1.0),
        ("ouro_learner_positions_sampled_total", 1.0),
        ("ouro_learner_training_steps_total", 1.0),
        ("ouro_learner_training_waiting_seconds_total{reason=\"games\"}", 0.001),
        ("ouro_learner_published_generation", 1.0),
        ("ouro_learner_connected_actors", 1.0),
        ("ouro_learner_acknowledgement_seconds_count", 1.0),
        ("ouro_learner_journal_sync_seconds_count", 1.0),
        ("ouro_learner_journal_bytes", 1_000.0),
        ("ouro_learner_disk_free_bytes", 1.0),
        ("ouro_arena_pool_members", 1.0),
        ("ouro_arena_decisions_total{verdict=\"promoted\"}", 1.0),
        ("ouro_arena_match_games_total{kind=\"gate\"}", 2.0),
        ("ouro_arena_rating_fit_seconds_count", 1.0),
        ("ouro_arena_watchers{stream=\"pool\"}", 1.0),
        ("ouro_arena_uploads_accepted_total", 1.0),
        ("ouro_arena_store_append_seconds_count{store=\"files\"}", 1.0),
        ("ouro_actor_games_total", 1.0),
        ("ouro_actor_positions_total", 1.0),
        ("ouro_actor_evaluations_total", 1.0),
        ("ouro_actor_games_accepted_total", 1.0),
        ("ouro_actor_connected{service=\"learner\"}", 1.0),
        ("ouro_actor_connected{service=\"arena\"}", 1.0),
        ("process_resident_memory_bytes", 1_000_000.0),
    ] {
        let found = value(&text, name).unwrap_or_else(|| panic!("{name} is missing"));
        assert!(found >= least, "{name} is {found}");
    }
    assert_eq!(value(&text, "ouro_draining"), Some(0.0));
    assert_eq!(value(&text, "ouro_learner_blocked{condition=\"journal\"}"), Some(0.0));
    let build = text.lines().find(|line| line.starts_with("ouro_build_info{")).expect("a line");
    assert!(build.contains("service=\"train\",game=\"tic_tac_toe\",run=\""), "{build}");
    assert!(!build.contains("run=\"\""), "{build}");
    run.process.signal("-INT");
    assert_eq!(run.process.wait().code(), Some(0), "a clean end");
}

#[test]
fn a_taken_port_is_refused_with_the_remedy_and_leaves_no_folder() {
    let home = tempfile::tempdir().expect("a scratch folder");
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("it has one").to_string();
    let refused = ouro_testkit::process::run(&mut train(home.path(), &address));
    let remedy = "choose another address, with --metrics or deploy.metrics";
    refused.assert_refused(69, &["metrics: cannot listen on", &address, remedy]);
    assert!(!home.path().join("run").exists());
}
