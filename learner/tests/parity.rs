//! Tests that a GPU and the CPU compute the same gradients.
//!
//! A separate test binary, because GPU drivers may crash at exit.
//!
//! Without an adapter the test is skipped with a message. With `OURO_REQUIRE_ALL_CHECKS` set it
//! fails instead.

use ouro_game::{PlaneShape, Rng};
use ouro_learner::config::{AlphaZeroConfig, ReinforceConfig, TrainConfig};
use ouro_learner::device::TrainDevice;
use ouro_learner::parity::{self, ParityError, ParityReport, ParitySettings};
use ouro_learner::{AlphaZero, Reinforce};
use ouro_net::{Architecture, GlobalPooling, NetSpec, ValueRange};
use ouro_testkit::{not_run, print_uncaptured, requires_all_checks};

#[test]
fn losses_gradients_and_fifty_steps_agree_between_cpu_and_gpu() {
    let device = match TrainDevice::any_wgpu() {
        Ok(device) => device,
        Err(error) => {
            assert!(!requires_all_checks(), "gradient parity cannot be checked: {error}");
            not_run(&format!("gradient parity was not checked: {error}"));
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
            opponent_policy: false,
        })
    };
    let pooled = tower(Some(GlobalPooling { channels: 4, every: 2 }));
    // Without pooling the CPU uses its fast trunk instead of burn.
    let plain = tower(None);
    let train = TrainConfig::default();
    let settings = |rounds, steps| ParitySettings { rounds, steps, seed: 7 };

    let algorithm = Reinforce::from(&ReinforceConfig::default());
    for (spec, settings) in [(conv, settings(2, 0)), (pooled, settings(2, 50))] {
        let batch = |rng: &mut Rng| parity::random_segments(&spec, 32, rng);
        assert_agrees(parity::compare_devices(&algorithm, &spec, &train, batch, settings, &device));
    }
    let algorithm = AlphaZero::from(&AlphaZeroConfig::default());
    let batch = |rng: &mut Rng| parity::random_positions(&plain, 32, rng);
    assert_agrees(parity::compare_devices(
        &algorithm,
        &plain,
        &train,
        batch,
        settings(2, 50),
        &device,
    ));
}

fn assert_agrees(report: Result<ParityReport, ParityError>) {
    let report = report.expect("both devices compute");
    // Printed also when the test passes, because the figures show how close the devices are.
    print_uncaptured(&report);
    assert!(report.agrees(), "{report}");
}
