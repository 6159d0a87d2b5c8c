//! The ranges of values: hyperbolic tangent and softmax, from operations with equal rounding on every
//! processor.

use crate::spec::ValueRange;

/// Maps the value head's numbers to the range of the architecture. Both slices have its
/// [`width`](ValueRange::width).
pub(super) fn apply(range: ValueRange, numbers: &[f32], values: &mut [f32]) {
    match range {
        ValueRange::Unbounded => values.copy_from_slice(numbers),
        ValueRange::Tanh => {
            values.iter_mut().zip(numbers).for_each(|(value, &number)| *value = tanh(number));
        }
        ValueRange::Outcome => softmax(numbers, values),
    }
}

/// Probabilities in proportion to `e^number`, with an absolute error of at most 1e-7. All are NaN if
/// a number is NaN or infinite.
fn softmax(numbers: &[f32], probabilities: &mut [f32]) {
    if numbers.iter().any(|number| !number.is_finite()) {
        probabilities.fill(f32::NAN);
        return;
    }
    let top = f64::from(numbers.iter().copied().fold(f32::NEG_INFINITY, f32::max));
    // A share of e^-40 is far below the error.
    let weight = |number: f32| 1.0 / exp((top - f64::from(number)).min(40.0));
    let sum: f64 = numbers.iter().map(|&number| weight(number)).sum();
    for (probability, &number) in probabilities.iter_mut().zip(numbers) {
        *probability = (weight(number) / sum) as f32;
    }
}

/// `tanh(x)` with an absolute error of at most 6e-8, the distance of neighbours just below 1 in
/// f32. NaN stays NaN.
///
/// The standard library's function differs between platforms, but values must not.
fn tanh(x: f32) -> f32 {
    let x = f64::from(x);
    // `min` would map NaN to 20, so a diverged network would report certain wins.
    if x.is_nan() {
        return f32::NAN;
    }
    // Beyond 20 the result equals 1 in f32.
    let doubled = 2.0 * x.abs().min(20.0);
    let result = 1.0 - 2.0 / (exp(doubled) + 1.0);
    if x < 0.0 { -result as f32 } else { result as f32 }
}

/// `e^x` for `x` from 0 to 40: 2^n · e^r with |r| ≤ ln 2 / 2. The first omitted term of the Taylor
/// series for e^r is below 1e-17.
fn exp(x: f64) -> f64 {
    let n = (x * std::f64::consts::LOG2_E).round();
    let r = x - n * std::f64::consts::LN_2;
    let series = (1..=14).rev().fold(1.0, |sum, k| 1.0 + sum * r / f64::from(k));
    let power = f64::from_bits((1023 + n as u64) << 52);
    power * series
}

#[cfg(test)]
mod tests {
    use super::{softmax, tanh};

    #[test]
    fn it_agrees_with_the_standard_library() {
        let tiny = (-40..0).map(|power| 10.0_f32.powi(power));
        for x in (-4_000..=4_000).map(|step| step as f32 / 150.0).chain(tiny) {
            let expected = f64::from(x).tanh();
            let error = (f64::from(tanh(x)) - expected).abs();
            assert!(error <= 6e-8, "{x}: {} {expected}", tanh(x));
        }
        assert_eq!(tanh(f32::MAX), 1.0);
        assert_eq!(tanh(f32::MIN), -1.0);
        assert_eq!(tanh(0.0), 0.0);
        assert_eq!(tanh(f32::INFINITY), 1.0);
        assert_eq!(tanh(f32::NEG_INFINITY), -1.0);
    }

    #[test]
    fn nan_stays_nan() {
        assert!(tanh(f32::NAN).is_nan());
        assert!(tanh(-f32::NAN).is_nan());
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let mut probabilities = [0.0; 3];
            softmax(&[0.0, bad, 1.0], &mut probabilities);
            assert!(probabilities.iter().all(|share| share.is_nan()), "{bad}: {probabilities:?}");
        }
    }

    #[test]
    fn softmax_agrees_with_the_standard_library_and_sums_to_1() {
        for step in -600..=600 {
            let numbers = [step as f32 / 10.0, 0.25, -(step as f32) / 30.0];
            let mut probabilities = [f32::NAN; 3];
            softmax(&numbers, &mut probabilities);
            let top = numbers.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let weights = numbers.map(|number| f64::from(number - top).exp());
            for (got, weight) in probabilities.iter().zip(weights) {
                let expected = weight / weights.iter().sum::<f64>();
                assert!(
                    (f64::from(*got) - expected).abs() <= 1e-7,
                    "{numbers:?}: {got} {expected}"
                );
            }
            let sum: f64 = probabilities.iter().map(|&share| f64::from(share)).sum();
            assert!((sum - 1.0).abs() < 1e-6, "{numbers:?}");
        }
    }
}
