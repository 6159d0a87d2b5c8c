//! Floods of connections, requests and games, against a whole run with 1,024 open files.
//!
//! The flood comes from another loopback address than the honest client. During each flood the
//! process keeps running, its memory and its open files stay bounded, and the honest client is
//! answered. After it, the address of the flood is answered again and games go on. The report gives
//! the figures of each flood.
#![cfg(target_os = "linux")]

mod page;
mod run;

use std::time::{Duration, Instant};

use ouro_testkit::attack;

use self::page::{HONEST, page};
use self::run::FloodedRun;
use crate::support::flood::client::{FLOODER, flood};
use crate::support::flood::table::{FLOODS, Flood, Port};

/// By default one flood in so many runs.
const ONE_IN: usize = 9;

/// Length of a flood.
const LENGTH: Duration = Duration::from_secs(3);

/// Longest time until a client is answered.
const PATIENCE: Duration = Duration::from_secs(60);

/// Largest memory during a flood, in MiB. The run itself needs about 60.
const MEMORY_MIB: u64 = 512;

/// Largest number of open files during a flood: all but those kept for the process itself.
const FILES: usize = 1024 - 128;

/// Waits for a value.
fn wait_for<T>(what: &str, mut find: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = find() {
            return found;
        }
        assert!(start.elapsed() < PATIENCE, "{what} takes more than {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Waits until `is_done`, and returns the time that it took.
fn time_until(what: &str, mut is_done: impl FnMut() -> bool) -> Duration {
    let start = Instant::now();
    wait_for(what, || is_done().then_some(()));
    start.elapsed()
}

/// Games that the learner has accepted, once it answers.
fn games(run: &FloodedRun) -> u64 {
    wait_for("the count of games", || run.games())
}

fn port_name(port: Port) -> &'static str {
    match port {
        Port::Page => "page",
        Port::Arena => "arena",
        Port::Learner => "learner",
        Port::Metrics => "metrics",
    }
}

/// Floods the run once and returns the row of the report.
fn attack(run: &mut FloodedRun, kind: &Flood) -> String {
    let address = run.address(kind.port);
    run.reset_peaks();
    let first = games(run);
    let flooding = flood(address, kind, LENGTH);
    // The honest client asks again and again while the flood lasts.
    let (start, mut slowest) = (Instant::now(), Duration::ZERO);
    while start.elapsed() < LENGTH {
        let asked = time_until("an honest request beside the flood", || page(run.web, HONEST));
        slowest = slowest.max(asked);
        run.sample();
        std::thread::sleep(Duration::from_millis(100));
    }
    let during = games(run) - first;
    let connections = flooding.end();
    // Recovery: the address of the flood is served again, and games go on.
    let answered = time_until("a request from the flooder", || page(run.web, FLOODER));
    let before = games(run);
    let played = time_until("the next game", || run.games() > Some(before));
    run.sample();
    let (memory, files) = (run.peak_memory >> 20, run.peak_files);
    assert!(memory < MEMORY_MIB, "{}: {memory} MiB", kind.name);
    assert!(files < FILES, "{}: {files} files", kind.name);
    format!(
        "| {} | {} | {connections} | {} ms | {during} | {memory} MiB | {files} | {} ms |",
        kind.name,
        port_name(kind.port),
        slowest.as_millis(),
        (answered + played).as_millis(),
    )
}

#[test]
fn a_run_survives_every_flood() {
    let mut run = FloodedRun::start();
    time_until("the first game", || run.games() > Some(0));
    let mut rows = Vec::new();
    for index in attack::cases(FLOODS.len(), ONE_IN) {
        rows.push(attack(&mut run, &FLOODS[index]));
    }
    attack::report(
        "| flood | port | connections | slowest page | games | memory | files | recovery |\n\
         |---|---|---|---|---|---|---|---|",
    );
    rows.iter().for_each(attack::report);
    run.end();
}
