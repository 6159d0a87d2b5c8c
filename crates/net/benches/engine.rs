//! Time of one batch on one core.
//!
//! `cargo bench -p ouro-net`; the item rate divided into a second is the time per position.

use divan::Bencher;
use divan::counter::ItemsCount;
use ouro_game::{PlaneShape, Rng};
use ouro_net::{Architecture, Engine, NetSpec, Scratch, Weights, WeightsMeta};

fn main() {
    divan::main();
}

/// Evaluates batches of one size on a network of the given sizes.
fn evaluate(
    bencher: Bencher<'_, '_>,
    planes: PlaneShape,
    [channels, layers]: [usize; 2],
    batch: usize,
) {
    let architecture = Architecture::Conv { channels, layers, hidden: 128 };
    let spec = NetSpec { planes, actions: 4, architecture };
    let weights = Weights::initialize(spec, WeightsMeta::default(), 1).expect("sizes are in range");
    let engine = Engine::new(&weights);
    let mut rng = Rng::new(2, "bench");
    let planes: Vec<f32> = (0..batch * planes.len()).map(|_| rng.below(2) as f32).collect();
    let (mut scratch, mut logits, mut values) =
        (Scratch::new(), vec![0.0; batch * 4], vec![0.0; batch]);
    bencher.counter(ItemsCount::new(batch)).bench_local(|| {
        engine.evaluate(&mut scratch, divan::black_box(&planes), &mut logits, &mut values);
        values[0]
    });
}

#[divan::bench(args = [1, 8, 64, 256])]
fn duel_7x7_32_channels_3_layers(bencher: Bencher<'_, '_>, batch: usize) {
    evaluate(bencher, PlaneShape { channels: 14, height: 7, width: 7 }, [32, 3], batch);
}

#[divan::bench(args = [1, 8, 64, 256])]
fn standard_11x11_64_channels_6_layers(bencher: Bencher<'_, '_>, batch: usize) {
    evaluate(bencher, PlaneShape { channels: 14, height: 11, width: 11 }, [64, 6], batch);
}
