use super::*;
use crate::device::TrainDevice;
use crate::testing::{architectures, spec, weights};
use ouro_net::synthetic::{random_planes, random_weights};
use ouro_net::{Architecture, reference};

fn specs() -> impl Iterator<Item = NetSpec> {
    architectures().into_iter().map(|architecture| NetSpec { architecture, ..spec() })
}

fn near(left: &[f32], right: &[f32], what: &str) {
    assert_eq!(left.len(), right.len(), "{what}");
    let differences = left.iter().zip(right).map(|(a, b)| (a - b).abs());
    // In the total order, NaN is larger than any number.
    let worst = differences.max_by(f32::total_cmp).unwrap_or(0.0);
    assert!(worst < 1e-4, "{what}: {worst}");
}

#[test]
fn every_architecture_agrees_with_the_reference_layer_by_layer() {
    let device = TrainDevice::cpu();
    for spec in specs() {
        let rows = 3;
        let weights = random_weights(&spec, 7).unwrap();
        let planes = random_planes(&spec, rows, 3);
        let net = Net::new(&weights, device.plain());
        let tensor = planes_tensor(&spec, planes.clone(), device.plain());
        let outputs = net.evaluate(tensor.clone());
        let [mut logits, mut values] =
            [spec.logits(), spec.value_width()].map(|width| vec![0.0; rows * width]);
        reference::evaluate(&weights, &planes, &mut logits, &mut values);
        near(&read(&outputs.logits).unwrap(), &logits, "logits");
        near(&read(&outputs.values).unwrap(), &values, "values");

        let trace = net.untracked(0).trace(tensor);
        let first = reference::layers(&weights, &planes[..spec.planes.len()]);
        assert_eq!(trace.len(), first.len());
        for ((layer, results), (expected_layer, expected)) in trace.iter().zip(&first) {
            assert_eq!(layer, expected_layer);
            let expected: Vec<f32> = expected.iter().map(|&value| value as f32).collect();
            near(&read(results).unwrap()[..expected.len()], &expected, layer);
        }
    }
}

#[test]
fn weights_survive_import_and_export_unchanged() {
    for spec in specs() {
        let weights = random_weights(&spec, 1).unwrap();
        let net = Net::new(&weights, TrainDevice::cpu().plain());
        assert_eq!(net.tensors().unwrap(), weights.tensors());
    }
}

#[test]
fn only_update_statistics_changes_the_running_statistics() {
    let device = TrainDevice::cpu();
    let spec = NetSpec { architecture: "tiny".parse().unwrap(), ..spec() };
    let weights = weights(&spec);
    let mut net = Net::new(&weights, device.plain());
    let bystander = net.clone();
    let (rows, cells) = (4, spec.planes.height * spec.planes.width);
    let planes = random_planes(&spec, rows, 3);
    let tensor = planes_tensor(&spec, planes.clone(), device.plain());
    let outputs = net.tracked(0).forward(tensor.clone(), Mode::Train);
    net.evaluate(tensor.clone());
    assert_eq!(net.tensors().unwrap(), weights.tensors());

    net.update_statistics(outputs.statistics, 0.25);
    assert_eq!(bystander.tensors().unwrap(), weights.tensors());
    let tensors = net.tensors().unwrap();
    // Reference for the first norm: statistics of the stem's results over rows and cells.
    let trace = Net::new(&weights, device.plain()).untracked(0).trace(tensor);
    let results = read(&trace[0].1).unwrap();
    let channels = results.len() / rows / cells;
    let pairs = tensors[3].iter().zip(&tensors[4]).enumerate();
    for (channel, (&tracked_mean, &tracked_variance)) in pairs {
        let of_channel = (0..rows).flat_map(|row| {
            let from = (row * channels + channel) * cells;
            results[from..from + cells].iter().copied().map(f64::from)
        });
        let count = (rows * cells) as f64;
        let mean = of_channel.clone().sum::<f64>() / count;
        let variance = of_channel.map(|x| (x - mean).powi(2)).sum::<f64>() / (count - 1.0);
        assert!((f64::from(tracked_mean) - 0.25 * mean).abs() < 1e-5);
        assert!((f64::from(tracked_variance) - (0.75 + 0.25 * variance)).abs() < 1e-5);
    }
    for (tensor, (before, after)) in
        spec.tensors().iter().zip(weights.tensors().iter().zip(&tensors))
    {
        assert_eq!(tensor.name.contains("running"), before != after, "{}", tensor.name);
    }
}

#[test]
fn a_parameter_without_influence_on_the_loss_has_gradient_zero() {
    let device = TrainDevice::cpu();
    let spec = NetSpec {
        architecture: Architecture::Conv { channels: 2, layers: 1, hidden: 3 },
        ..spec()
    };
    let net = Net::new(&weights(&spec), device.plain());
    let planes = planes_tensor(&spec, random_planes(&spec, 2, 3), device.plain());
    let parameters = net.tracked(0);
    let outputs = parameters.forward(planes, Mode::Train);
    let gradient = parameters.gradient(&mut outputs.values.sum().backward());
    let tensors = net.layout().split(&read(&gradient).unwrap());
    for ((tensor, _), gradient) in net.layout().trained().zip(&tensors) {
        let is_zero = gradient.iter().all(|&value| value == 0.0);
        assert_eq!(is_zero, tensor.name.starts_with("policy"), "{}", tensor.name);
    }
}
