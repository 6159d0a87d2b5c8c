//! Maintenance commands of the project: `cargo xtask <command>`.
//!
//! `ci` runs all checks that a change must pass, cheapest first.

mod attack;
mod budget;
mod chaos;
mod ci;
mod flaky;
mod fuzz;
mod gpu_kit;
mod layers;
mod limited;
mod load;
mod metrics;
mod mistakes;
mod protos;
mod random;
mod scale;
mod screenshots;
mod settings;
mod shell;
mod simulate;

use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask <command>

  ci [--skip-tests]  budget, layers, protos, format, lints, docs, tests, mistakes
  protos             buf lint finds nothing in the .proto files
  layers             no crate depends on a layer above its own
  budget             no source file is longer than 500 lines
  mistakes           20 rule mistakes planted in the Battlesnake engine are all caught
  mistakes replay    45 faults planted in the journal and the window are all caught
  mistakes cluster [NAME ...]
                     faults planted in arena, learner and actor are all caught, some by chaos
  flaky [--runs N] [--busy N] [-- ARGS]
                     `cargo test` N times (20) beside N busy loops (0); every failure by name
  settings           writes docs/settings.md from the types
  metrics            writes docs/metrics.md from the code
  screenshots        takes the documentation's pictures of the web page, in docs/img
  attack [settings|files|signals|floods ...]
                     every case of the hostile tests, with a report
  chaos [--kills N | --faults N | --seconds N] [--seed N] [--stall SECONDS] [--binaries DIR] [--json]
                     faults in a cluster of real processes: 100 kills, or a shorter run
  load [actors=N] [rate=N] [seconds=N] [rounds=N]
                     a learner process under the load of N actors (200), beside hostile peers and without
  scale [KEY=VALUE ...] [--simulate]
                     what each part of a run can carry, from measured costs; checked by simulation
  simulate [--seeds N] [--from SEED] [--faults N] [--repeat N] [--log] [--program FILE]
                     500 simulations of a cluster with 20 faults each, 20 of them twice
  gpu-kit [--profile NAME] [--variants NAME,NAME]
                     packs target/ouro-gpu-kit.tar.gz, which measures a GPU on another machine
  gpu-kit --rehearse a kit of the test programs, on a software adapter; its report is complete
  fuzz [--seconds N] [TARGET ...]
                     hostile files, requests, messages, records, logs and credentials, 60 s
                     each; no crash";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let result = match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["ci"] => ci::run(ci::Tests::Run),
        ["ci", "--skip-tests"] => ci::run(ci::Tests::Skip),
        ["layers"] => layers::run(),
        ["protos"] => protos::run(),
        ["budget"] => budget::run(),
        ["mistakes"] => mistakes::run(),
        ["mistakes", "replay"] => mistakes::replay::run(),
        ["mistakes", "cluster", ref names @ ..] => mistakes::cluster::run(names),
        ["flaky", ref words @ ..] => flaky::Plan::parse(words).and_then(|plan| flaky::run(&plan)),
        ["settings"] => settings::run(),
        ["metrics"] => metrics::run(),
        ["screenshots"] => screenshots::run(),
        ["attack", ref names @ ..] => attack::run(names),
        ["chaos", ref words @ ..] => chaos::run(words),
        ["load", ref words @ ..] => load::run(words),
        ["scale", ref words @ ..] => scale::run(words),
        ["simulate", ref words @ ..] => simulate::run(words),
        ["gpu-kit", ref words @ ..] => gpu_kit::run(words),
        ["fuzz", ref words @ ..] => fuzz::run(words),
        _ => {
            shell::say(USAGE);
            return ExitCode::from(64);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            shell::say(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}
