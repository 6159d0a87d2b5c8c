use super::*;
use crate::device::TrainDevice;
use crate::parity::random_batch;
use crate::testing::{spec, weights};
use ouro_game::Stream;
use ouro_net::{Engine, Scratch, reference};

#[test]
fn the_burn_network_agrees_with_the_engine_and_the_reference() {
    let (spec, rows) = (spec(), 9);
    let weights = weights(&spec);
    let planes = random_batch(&spec, rows, &mut Stream::new(3, "test")).planes;
    let device = TrainDevice::cpu();
    let net = Net::new(&weights, device.plain());
    let (logits, values) = net.forward(planes_tensor(&spec, planes.clone(), device.plain()));
    let logits: Vec<f32> = logits.try_into_vec_as().unwrap();
    let values: Vec<f32> = values.try_into_vec_as().unwrap();

    let (mut slow_logits, mut slow_values) = (vec![0.0; rows * spec.actions], vec![0.0; rows]);
    reference::evaluate(&weights, &planes, &mut slow_logits, &mut slow_values);
    let (mut fast_logits, mut fast_values) = (slow_logits.clone(), slow_values.clone());
    let engine = Engine::new(&weights);
    engine.evaluate(&mut Scratch::new(), &planes, &mut fast_logits, &mut fast_values);
    for (burn, others) in
        [(&logits, [&slow_logits, &fast_logits]), (&values, [&slow_values, &fast_values])]
    {
        for other in others {
            assert_eq!(burn.len(), other.len());
            assert!(burn.iter().zip(other).all(|(a, b)| (a - b).abs() < 1e-4));
        }
    }
}

#[test]
fn weights_leave_as_they_came() {
    let weights = weights(&spec());
    let net = Net::new(&weights, &TrainDevice::cpu().autodiff());
    assert_eq!(net.tensors().unwrap(), weights.tensors());
}
