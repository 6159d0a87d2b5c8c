//! The network written down plainly, in f64: slow, obvious, and what [`crate::Engine`] and the
//! learner's network are compared with.

use crate::{Architecture, Weights};

/// Evaluates `values.len()` positions one after the other.
///
/// Shapes as in [`Engine::evaluate`](crate::Engine::evaluate): `planes` `[batch, C, H, W]`,
/// `logits` `[batch, actions]`, `values` `[batch]`.
///
/// # Panics
///
/// If the three slices are not of one batch size.
pub fn evaluate(weights: &Weights, planes: &[f32], logits: &mut [f32], values: &mut [f32]) {
    let spec = weights.spec();
    let (input, actions, batch) = (spec.planes.len(), spec.actions, values.len());
    assert_eq!(planes.len(), batch * input, "planes must be [batch, {input}]");
    assert_eq!(logits.len(), batch * actions, "logits must be [batch, {actions}]");
    let positions = planes.chunks_exact(input).zip(logits.chunks_exact_mut(actions));
    for ((planes, logits), value) in positions.zip(values) {
        *value = position(weights, planes, logits);
    }
}

fn position(weights: &Weights, planes: &[f32], logits: &mut [f32]) -> f32 {
    let spec = weights.spec();
    let mut tensors = weights.tensors().iter();
    let mut next = || tensors.next().expect("weights hold every tensor of their spec");
    let mut x: Vec<f64> = planes.iter().map(|&value| f64::from(value)).collect();
    match spec.architecture {
        Architecture::Conv { layers, .. } => {
            for _ in 0..layers {
                let (weight, bias) = (next(), next());
                x = relu(convolve(&x, weight, bias, spec.planes.height, spec.planes.width));
            }
            let (weight, bias) = (next(), next());
            x = relu(linear(&x, weight, bias));
        }
    }
    let (weight, bias) = (next(), next());
    for (logit, value) in logits.iter_mut().zip(linear(&x, weight, bias)) {
        *logit = value as f32;
    }
    let (weight, bias) = (next(), next());
    linear(&x, weight, bias)[0] as f32
}

/// 3×3, stride 1, zero padding 1. `x` is `[in, height, width]`, `weight` `[out, in, 3, 3]`.
fn convolve(x: &[f64], weight: &[f32], bias: &[f32], height: usize, width: usize) -> Vec<f64> {
    let cells = height * width;
    let inputs = x.len() / cells;
    let mut out = vec![0.0; bias.len() * cells];
    for (output, &bias) in bias.iter().enumerate() {
        for row in 0..height {
            for column in 0..width {
                let mut sum = f64::from(bias);
                for input in 0..inputs {
                    for (dy, dx) in (0..3).flat_map(|dy| (0..3).map(move |dx| (dy, dx))) {
                        let (y, x_) = (row + dy, column + dx);
                        if (1..=height).contains(&y) && (1..=width).contains(&x_) {
                            let value = x[input * cells + (y - 1) * width + x_ - 1];
                            let tap = weight[((output * inputs + input) * 3 + dy) * 3 + dx];
                            sum += value * f64::from(tap);
                        }
                    }
                }
                out[output * cells + row * width + column] = sum;
            }
        }
    }
    out
}

/// `weight` is `[out, in]`.
fn linear(x: &[f64], weight: &[f32], bias: &[f32]) -> Vec<f64> {
    weight
        .chunks_exact(x.len())
        .zip(bias)
        .map(|(row, &bias)| {
            let products = row.iter().zip(x).map(|(&w, &x)| f64::from(w) * x);
            f64::from(bias) + products.sum::<f64>()
        })
        .collect()
}

fn relu(mut x: Vec<f64>) -> Vec<f64> {
    for value in &mut x {
        *value = value.max(0.0);
    }
    x
}
