//! The hyperbolic tangent, from operations that every processor rounds alike.

/// `tanh(x)` to an absolute error of 6e-8, the distance of neighbours just below 1 in f32. The
/// standard library's differs between platforms, and a value must not. What is not a number
/// stays so.
pub(super) fn tanh(x: f32) -> f32 {
    let x = f64::from(x);
    // `min` would take a NaN for 20 and call a network that has gone astray sure to win.
    if x.is_nan() {
        return f32::NAN;
    }
    // Beyond 20 the result is 1 to more digits than an f32 has.
    let doubled = 2.0 * x.abs().min(20.0);
    let result = 1.0 - 2.0 / (exp(doubled) + 1.0);
    if x < 0.0 { -result as f32 } else { result as f32 }
}

/// `e^x` for `x` from 0 to 40: 2^n · e^r with |r| ≤ ln 2 / 2, and Taylor's series for e^r,
/// whose first term left out is below 1e-17.
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
    fn what_is_not_a_number_stays_so() {
        assert!(tanh(f32::NAN).is_nan());
        assert!(tanh(-f32::NAN).is_nan());
    }
}
