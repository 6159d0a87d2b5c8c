use super::*;
use crate::config::TrainConfig;
use crate::device::TrainDevice;
use crate::testing::spec;
use ouro_game::Rng;

/// The definitions of the update rules in f64, one value at a time.
fn slow(rule: &OptimizerConfig, decay: f64, rate: f64, start: f64, gradients: &[f64]) -> f64 {
    let (mut value, mut first, mut second) = (start, 0.0, 0.0);
    for (time, gradient) in gradients.iter().enumerate() {
        let direction = match *rule {
            OptimizerConfig::AdamW { beta1, beta2, epsilon } => {
                first = beta1 * first + (1.0 - beta1) * gradient;
                second = beta2 * second + (1.0 - beta2) * gradient * gradient;
                let time = (time + 1) as f64;
                let unbiased = first / (1.0 - beta1.powf(time));
                unbiased / ((second / (1.0 - beta2.powf(time))).sqrt() + epsilon)
            }
            OptimizerConfig::Sgd { momentum } => {
                first = momentum * first + gradient;
                first
            }
        };
        value -= rate * (direction + decay * value);
    }
    value
}

#[test]
fn both_optimisers_agree_with_their_definition_and_biases_do_not_decay() {
    let device = TrainDevice::cpu();
    let layout = ParameterLayout::new(&spec());
    let length = layout.trained_len();
    let adam = OptimizerConfig::AdamW { beta1: 0.8, beta2: 0.95, epsilon: 1e-3 };
    for rule in [adam, OptimizerConfig::Sgd { momentum: 0.9 }] {
        let mut rng = Rng::new(2, "optimizer");
        let mut random = || (0..length).map(|_| rng.unit() as f32 - 0.5).collect::<Vec<_>>();
        let (start, gradients) = (random(), [random(), random(), random()]);
        let state = OptimizerState::default();
        let mut optimizer = Optimizer::new(rule.clone(), 0.3, 1e9, &layout, &state, device.plain());
        let vector = |values: &[f32]| Tensor::from_data(values, device.plain());
        let mut trained: Tensor<1> = vector(&start);
        for gradient in &gradients {
            trained = optimizer.step(trained, vector(gradient), 0.1).0;
        }
        let got = read(&trained).unwrap();
        for (tensor, place) in layout.trained() {
            let decay = if tensor.name.ends_with("weight") { f64::from(0.3_f32) } else { 0.0 };
            for index in place {
                let gradients = gradients.each_ref().map(|gradient| f64::from(gradient[index]));
                let slow = slow(&rule, decay, 0.1, f64::from(start[index]), &gradients);
                let got = f64::from(got[index]);
                assert!((slow - got).abs() < 1e-5, "{rule:?} {}: {slow} {got}", tensor.name);
            }
        }
    }
}

#[test]
fn a_decay_below_the_precision_of_a_weight_adds_up() {
    let device = TrainDevice::cpu();
    let layout = ParameterLayout::new(&spec());
    let length = layout.trained_len();
    let mut rng = Rng::new(2, "optimizer");
    let mut random = || (0..length).map(|_| rng.unit() as f32 - 0.5).collect::<Vec<_>>();
    let (start, gradients) = (random(), [random(), random(), random()]);
    let vector = |values: &[f32]| Tensor::<1>::from_data(values, device.plain());
    let trained = |decay: f32| {
        let rule = OptimizerConfig::Sgd { momentum: 0.0 };
        let state = OptimizerState::default();
        let mut optimizer = Optimizer::new(rule, decay, 1e9, &layout, &state, device.plain());
        let gradients = gradients.each_ref().map(|gradient| vector(gradient));
        let steps = (0..1_000).map(|step| gradients[step % 3].clone());
        let end =
            steps.fold(vector(&start), |values, gradient| optimizer.step(values, gradient, 2e-4).0);
        read(&end).unwrap()
    };
    let (with, without) = (trained(1e-4), trained(0.0));
    let (mut shrunk, mut squares) = (0.0, 0.0);
    for (_, place) in layout.trained().filter(|(tensor, _)| tensor.name.ends_with("weight")) {
        for index in place {
            let [with, without] = [&with, &without].map(|values| f64::from(values[index]));
            shrunk += (without - with) * without;
            squares += without * without;
        }
    }
    // 1,000 steps of 2e-4 · 1e-4. The gradients move the weights meanwhile, by a few percent.
    let share = shrunk / squares;
    assert!((share / 2e-5 - 1.0).abs() < 0.15, "{share}");
}

/// Before, an ε that rounds to 0 was accepted, and a gradient of 0 made all weights NaN.
#[test]
fn a_gradient_of_0_at_the_least_epsilon_changes_no_weight() {
    let rule = |epsilon| OptimizerConfig::AdamW { beta1: 0.9, beta2: 0.999, epsilon };
    let check = |epsilon| {
        let train = TrainConfig { optimizer: rule(epsilon), ..TrainConfig::default() };
        train.validate().map_err(|error| error.key)
    };
    let least = 1e-30;
    assert_eq!(check(least), Ok(()));
    assert_eq!(check(1e-60), Err("train.optimizer.epsilon".to_owned()));

    let device = TrainDevice::cpu();
    let layout = ParameterLayout::new(&spec());
    let (length, state) = (layout.trained_len(), OptimizerState::default());
    let mut optimizer = Optimizer::new(rule(least), 0.0, 1.0, &layout, &state, device.plain());
    let zeros = Tensor::<1>::zeros([length], device.plain());
    let (trained, norm) = optimizer.step(zeros.clone() + 0.5, zeros, 1e-3);
    assert_eq!(read(&trained).unwrap(), vec![0.5; length]);
    assert_eq!(read(&norm).unwrap(), [0.0]);
}

#[test]
fn the_gradient_is_clipped_by_its_global_norm() {
    let device = TrainDevice::cpu();
    let layout = ParameterLayout::new(&spec());
    let length = layout.trained_len();
    let gradient = Tensor::<1>::ones([length], device.plain()) * 2.0;
    let moved = |max_norm: f32| {
        let state = OptimizerState::default();
        let rule = OptimizerConfig::Sgd { momentum: 0.0 };
        let mut optimizer = Optimizer::new(rule, 0.0, max_norm, &layout, &state, device.plain());
        let zeros = Tensor::zeros([length], device.plain());
        let (trained, norm) = optimizer.step(zeros, gradient.clone(), 1.0);
        let squares = read(&trained).unwrap().into_iter().map(|x| f64::from(x).powi(2));
        (squares.sum::<f64>().sqrt(), f64::from(read(&norm).unwrap()[0]))
    };
    let whole = 2.0 * (length as f64).sqrt();
    let (free, norm) = moved(1e6);
    assert!((free - whole).abs() < 1e-3 && (norm - whole).abs() < 1e-3);
    let (clipped, norm) = moved(0.5);
    assert!((clipped - 0.5).abs() < 1e-4 && (norm - whole).abs() < 1e-3);
}
