//! Random variates for searches: Dirichlet, gamma, normal and Gumbel.

use ouro_game::Rng;

/// Fills `out` with a draw from the symmetric Dirichlet distribution of concentration `alpha`:
/// normalised gamma variates.
pub(super) fn dirichlet(alpha: f64, out: &mut [f32], rng: &mut Rng) {
    let mut total = 0.0;
    for value in out.iter_mut() {
        *value = gamma(alpha, rng) as f32;
        total += f64::from(*value);
    }
    if total >= f64::from(f32::MIN_POSITIVE) && total.is_finite() {
        out.iter_mut().for_each(|value| *value = (f64::from(*value) / total) as f32);
    } else {
        // All variates underflowed, as with tiny concentrations. The limit of the distribution is
        // one component with everything.
        let chosen = rng.below(out.len() as u32) as usize;
        out.iter_mut().enumerate().for_each(|(index, value)| {
            *value = f32::from(u8::from(index == chosen));
        });
    }
}

/// A gamma variate of shape `alpha` and scale 1: Marsaglia and Tsang 2000, "A simple method
/// for generating gamma variables", with their boost below 1.
fn gamma(alpha: f64, rng: &mut Rng) -> f64 {
    if alpha < 1.0 {
        let uniform = 1.0 - rng.unit();
        return gamma(alpha + 1.0, rng) * libm::pow(uniform, 1.0 / alpha);
    }
    let shifted = alpha - 1.0 / 3.0;
    let slope = 1.0 / (9.0 * shifted).sqrt();
    loop {
        let normal = normal(rng);
        let cube = (1.0 + slope * normal).powi(3);
        if cube <= 0.0 {
            continue;
        }
        let uniform = 1.0 - rng.unit();
        let bound = 0.5 * normal * normal + shifted * (1.0 - cube + libm::log(cube));
        if libm::log(uniform) < bound {
            return shifted * cube;
        }
    }
}

/// A standard normal variate: Marsaglia's polar method, the second of each pair dropped.
fn normal(rng: &mut Rng) -> f64 {
    loop {
        let (x, y) = (2.0 * rng.unit() - 1.0, 2.0 * rng.unit() - 1.0);
        let square = x * x + y * y;
        if square > 0.0 && square < 1.0 {
            return x * (-2.0 * libm::log(square) / square).sqrt();
        }
    }
}

/// A standard Gumbel variate: minus the logarithm of an exponential one.
pub(super) fn gumbel(rng: &mut Rng) -> f32 {
    let uniform = (1.0 - rng.unit()).min(1.0 - f64::EPSILON);
    -libm::log(-libm::log(uniform)) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gamma_variates_have_the_mean_and_variance_of_their_shape() {
        let mut rng = Rng::new(1, "test");
        for shape in [0.05, 0.3, 1.0, 2.5, 30.0] {
            let count = 40_000.0;
            let (mut sum, mut squares) = (0.0, 0.0);
            for _ in 0..count as u32 {
                let drawn = gamma(shape, &mut rng);
                assert!(drawn >= 0.0);
                sum += drawn;
                squares += drawn * drawn;
            }
            let mean = sum / count;
            let variance = squares / count - mean * mean;
            assert!((mean - shape).abs() < 5.0 * (shape / count).sqrt(), "{shape}: {mean}");
            // The fourth central moment of a gamma variate is 3a² + 6a.
            let spread = ((2.0 * shape * shape + 6.0 * shape) / count).sqrt();
            assert!((variance - shape).abs() < 6.0 * spread, "{shape}: {variance}");
        }
    }

    #[test]
    fn dirichlet_draws_sum_to_one_whatever_the_concentration() {
        let mut rng = Rng::new(2, "test");
        for alpha in [1e-6, 0.01, 0.5, 10.0] {
            let mut mean = [0.0; 4];
            for _ in 0..4_000 {
                let mut drawn = [0.0; 4];
                dirichlet(alpha, &mut drawn, &mut rng);
                assert!((drawn.iter().sum::<f32>() - 1.0).abs() < 1e-5, "{drawn:?}");
                mean.iter_mut().zip(drawn).for_each(|(mean, share)| *mean += share / 4_000.0);
            }
            // A component's variance is at most 3/16; 6 sigma.
            assert!(mean.iter().all(|share| (share - 0.25).abs() < 0.042), "{alpha}: {mean:?}");
        }
    }

    #[test]
    fn gumbel_variates_choose_like_a_softmax() {
        let mut rng = Rng::new(3, "test");
        let logits = [0.0_f32, 1.0, -0.5];
        let total: f32 = logits.iter().map(|logit| logit.exp()).sum();
        let mut counts = [0_u32; 3];
        for _ in 0..30_000 {
            let keys = logits.map(|logit| logit + gumbel(&mut rng));
            assert!(keys.iter().all(|key| key.is_finite()));
            let best = (0..3).max_by(|&a, &b| keys[a].total_cmp(&keys[b])).expect("three");
            counts[best] += 1;
        }
        for (count, logit) in counts.iter().zip(logits) {
            let expected = logit.exp() / total;
            let seen = *count as f32 / 30_000.0;
            assert!((seen - expected).abs() < 6.0 * (0.25_f32 / 30_000.0).sqrt(), "{seen}");
        }
    }
}
