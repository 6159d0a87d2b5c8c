//! Measures simulations per second on one core, by game and evaluator.
//!
//! `cargo run --release -p ouro-bench --example bench_search -- [seconds] [preset]`
//!
//! Each case is measured for `seconds`, 4 by default. The network is the preset `small` by default.
//! The overhead is the share of the time outside the evaluator; with a network, outside its engine.
#![expect(clippy::print_stdout, reason = "an example prints its results")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use ouro_bench::search::{EvaluatorKind, search_cases};
use ouro_search::Clock;

/// Clock that starts with the program.
#[derive(Debug)]
struct Stopwatch(Instant);

impl Clock for Stopwatch {
    fn monotonic(&self) -> Duration {
        self.0.elapsed()
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let seconds = arguments.next().map_or(Ok(4.0), |text| text.parse())?;
    let preset = arguments.next().unwrap_or_else(|| "small".to_owned());
    let clock: Arc<dyn Clock> = Arc::new(Stopwatch(Instant::now()));
    println!("board        evaluator  games  batch   sims  simulations/s  overhead  batch fill");
    for case in search_cases(&preset.parse()?) {
        let speed = case.run(Duration::from_secs_f64(seconds), &clock)?;
        let evaluator = match case.evaluator {
            EvaluatorKind::Free => "free",
            EvaluatorKind::Rollout => "rollout",
            EvaluatorKind::Net(_) => &preset,
        };
        println!(
            "{:<12} {evaluator:<9} {:>6} {:>6} {:>6} {:>14.0} {:>7.1} % {:>9.1} %",
            format!("{:?}", case.game),
            case.games,
            case.batch,
            case.simulations,
            speed.simulations_per_second(),
            100.0 * speed.overhead(),
            100.0 * speed.fill()
        );
    }
    Ok(())
}
