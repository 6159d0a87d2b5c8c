//! Times forward and backward passes of a [`Trunk`]: microseconds per position, best of several
//! runs.
//!
//! `cargo run --release -p ouro-bench --example bench_trunk [BATCH]`

#![expect(clippy::print_stdout, reason = "the output of the program")]

use std::time::Instant;

use ouro_bench::network_cases;
use ouro_net::synthetic::random_planes;
use ouro_net::{Trunk, Weights, WeightsMeta};

/// Runs per figure, of which the fastest counts.
const RUNS: usize = 7;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let batch = std::env::args().nth(1).map_or(Ok(32), |text| text.parse())?;
    println!(
        "{:<16}{:>12}{:>12}  us per position, batch {batch}",
        "network", "forward", "backward"
    );
    for case in network_cases() {
        let Some(mut trunk) = Trunk::new(&case.spec) else { continue };
        let weights = Weights::initialize(case.spec.clone(), WeightsMeta::default(), 1)?;
        let tensors = case.spec.tensors().into_iter().zip(weights.tensors());
        let trained = tensors.filter(|(tensor, _)| !tensor.name.contains("running"));
        let trained: Vec<f32> = trained.flat_map(|(_, values)| values.iter().copied()).collect();
        let planes = random_planes(&case.spec, batch, 1);
        let mut best = [f64::INFINITY; 2];
        for _ in 0..RUNS {
            let start = Instant::now();
            let (features, _) = trunk.forward(&trained, &planes);
            let middle = Instant::now();
            std::hint::black_box(trunk.backward(&trained, &features));
            let times = [middle - start, middle.elapsed()];
            for (best, time) in best.iter_mut().zip(times) {
                *best = best.min(time.as_secs_f64() * 1e6 / batch as f64);
            }
        }
        println!("{:<16}{:>12.1}{:>12.1}", case.name, best[0], best[1]);
    }
    Ok(())
}
