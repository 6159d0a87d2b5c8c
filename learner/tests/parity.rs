//! The GPU computes the CPU's gradients. A process of its own: GPU drivers may crash at exit.
//!
//! Without any adapter nothing is compared, and the test says so; where `OURO_REQUIRE_ALL_CHECKS`
//! is set that is a failure.

use std::io::Write;

use ouro_game::{PlaneShape, Rng};
use ouro_learner::alphazero::{AlphaZero, AlphaZeroConfig};
use ouro_learner::config::TrainConfig;
use ouro_learner::device::TrainDevice;
use ouro_learner::parity::{self, Extent, ParityError, Report};
use ouro_learner::reinforce::{Reinforce, ReinforceConfig};
use ouro_net::{Architecture, GlobalPooling, NetSpec, ValueRange};

/// Prints past the capture of passing tests: the figures are the point of this one.
fn say(text: std::fmt::Arguments<'_>) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

#[test]
fn losses_gradients_and_fifty_steps_agree_between_cpu_and_gpu() {
    let device = match TrainDevice::any_wgpu() {
        Ok(device) => device,
        Err(error) => {
            let required = std::env::var_os("OURO_REQUIRE_ALL_CHECKS").is_some();
            assert!(!required, "gradient parity cannot be checked: {error}");
            say(format_args!("NOT RUN: gradient parity was not checked: {error}"));
            return;
        }
    };
    let planes = PlaneShape { channels: 6, height: 7, width: 5 };
    let net = |architecture| NetSpec { planes, actions: 4, architecture };
    let conv = net(Architecture::Conv { channels: 16, layers: 2, hidden: 32 });
    let tower = |global_pooling| {
        net(Architecture::Residual {
            channels: 8,
            blocks: 2,
            policy_channels: 2,
            value_channels: 2,
            value_hidden: 16,
            value: ValueRange::Tanh,
            global_pooling,
        })
    };
    let pooled = tower(Some(GlobalPooling { channels: 4, every: 2 }));
    // Without pooling the CPU takes its own way through the tower.
    let plain = tower(None);
    let train = TrainConfig::default();
    let extent = |rounds, steps| Extent { rounds, steps, seed: 7 };

    let algorithm = Reinforce::from(&ReinforceConfig::default());
    for (spec, extent) in [(conv, extent(2, 0)), (pooled, extent(2, 50))] {
        let batch = |stream: &mut Rng| parity::random_segments(&spec, 32, stream);
        judge(parity::compare(&algorithm, &spec, &train, batch, extent, &device));
    }
    let algorithm = AlphaZero::from(&AlphaZeroConfig::default());
    let batch = |stream: &mut Rng| parity::random_positions(&plain, 32, stream);
    judge(parity::compare(&algorithm, &plain, &train, batch, extent(2, 50), &device));
}

fn judge(report: Result<Report, ParityError>) {
    let report = report.expect("both devices compute");
    say(format_args!("{report}"));
    assert!(report.agrees(), "{report}");
}
