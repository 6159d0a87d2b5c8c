//! The GPU computes the CPU's gradients. A process of its own: GPU drivers may crash at exit.
//!
//! Without any adapter nothing is compared, and the test says so; where `OURO_REQUIRE_ALL_CHECKS`
//! is set that is a failure.

use std::io::Write;

use ouro_game::PlaneShape;
use ouro_learner::config::TrainConfig;
use ouro_learner::device::TrainDevice;
use ouro_learner::parity;
use ouro_net::{Architecture, NetSpec};

/// Prints past the capture of passing tests: the figures are the point of this one.
fn say(text: std::fmt::Arguments<'_>) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

#[test]
fn loss_and_every_gradient_agree_between_cpu_and_gpu() {
    let device = match TrainDevice::any_wgpu() {
        Ok(device) => device,
        Err(error) => {
            let required = std::env::var_os("OURO_REQUIRE_ALL_CHECKS").is_some();
            assert!(!required, "gradient parity cannot be checked: {error}");
            say(format_args!("NOT RUN: gradient parity was not checked: {error}"));
            return;
        }
    };
    let spec = NetSpec {
        planes: PlaneShape { channels: 6, height: 7, width: 5 },
        actions: 4,
        architecture: Architecture::Conv { channels: 16, layers: 2, hidden: 32 },
    };
    let report = parity::compare(&spec, &TrainConfig::default(), 32, 3, 7, &device)
        .expect("both devices compute");
    say(format_args!("{report}"));
    assert!(report.agrees(), "{report}");
}
