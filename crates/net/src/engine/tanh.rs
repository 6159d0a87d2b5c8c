//! The hyperbolic tangent, from operations with equal rounding on every processor.

/// `tanh(x)` with an absolute error of at most 6e-8, the distance of neighbours just below 1 in
/// f32. NaN stays NaN.
///
/// The standard library's function differs between platforms, but values must not.
pub(super) fn tanh(x: f32) -> f32 {
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
    use super::tanh;

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
    }
}
