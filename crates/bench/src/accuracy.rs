//! Compares the engine with the reference on positions of real games.

use ouro_game::battlesnake::{Config, Small};
use ouro_game::{ConfigError, Game, PlaneShape, Rng, Turn};
use ouro_net::{Engine, Scratch, Weights, reference};

/// Differences between the engine and the reference over some positions.
#[derive(Clone, Debug, PartialEq)]
pub struct Accuracy {
    /// Positions compared.
    pub positions: usize,
    /// Largest Kullback–Leibler divergence of the engine's policy from that of the reference, in
    /// nats. A policy is the softmax of the logits of one player.
    pub largest_divergence: f64,
    /// Mean Kullback–Leibler divergence, in nats.
    pub mean_divergence: f64,
    /// Largest absolute difference of the values.
    pub largest_value_error: f64,
}

/// Returns observations of standard Battlesnake duels on 11×11, as shape and planes
/// `[positions, channels, height, width]`.
///
/// The snakes move at random but avoid walls and bodies. From each of `games` games, up to `each`
/// positions are drawn from all turns and both seats.
pub fn duel_positions(
    games: u64,
    each: usize,
    seed: u64,
) -> Result<(PlaneShape, Vec<f32>), ConfigError> {
    let rules = Small::new(Config { snakes: 2, ..Config::default() })?;
    let mut planes = vec![0.0; rules.planes().len()];
    let mut all = Vec::new();
    for game in 0..games {
        let mut rng = Rng::indexed(seed, "duel", game);
        let mut state = rules.initial(&mut rng);
        let mut seen = Vec::new();
        while let Turn::Move(movers) = rules.turn(&state) {
            seen.extend(movers.iter().map(|player| (state, player)));
            rules.random_turn(&mut state, &mut rng);
        }
        rng.shuffle(&mut seen);
        for (state, player) in seen.iter().take(each) {
            rules.observe(state, *player, &mut planes);
            all.extend_from_slice(&planes);
        }
    }
    Ok((rules.planes(), all))
}

/// Compares the engine with the reference on `planes`, `[positions, channels, height, width]`.
pub fn accuracy(weights: &Weights, planes: &[f32]) -> Accuracy {
    let spec = weights.spec();
    let positions = planes.len() / spec.planes.len();
    let empty = || {
        let values = positions * spec.value_width();
        (vec![f32::NAN; positions * spec.logits()], vec![f32::NAN; values])
    };
    let (mut logits, mut values) = empty();
    Engine::new(weights).evaluate(&mut Scratch::new(), planes, &mut logits, &mut values);
    let (mut expected, mut expected_values) = empty();
    reference::evaluate(weights, planes, &mut expected, &mut expected_values);

    let policies = expected.chunks_exact(spec.actions).zip(logits.chunks_exact(spec.actions));
    let divergences: Vec<f64> = policies.map(|(p, q)| divergence(p, q)).collect();
    let errors = expected_values.iter().zip(&values);
    let errors = errors.map(|(&left, &right)| (f64::from(left) - f64::from(right)).abs());
    Accuracy {
        positions,
        largest_divergence: largest(divergences.iter().copied()),
        mean_divergence: divergences.iter().sum::<f64>() / positions.max(1) as f64,
        largest_value_error: largest(errors),
    }
}

/// Returns the largest absolute value: NaN if any number is NaN, 0 without numbers.
fn largest(numbers: impl Iterator<Item = f64>) -> f64 {
    numbers.map(f64::abs).max_by(f64::total_cmp).unwrap_or(0.0)
}

/// Kullback–Leibler divergence of the softmax of `q` from the softmax of `p`, in nats.
fn divergence(p: &[f32], q: &[f32]) -> f64 {
    let terms = log_softmax(p).zip(log_softmax(q));
    terms.map(|(p, q)| p.exp() * (p - q)).sum()
}

fn log_softmax(logits: &[f32]) -> impl Iterator<Item = f64> {
    let highest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let highest = f64::from(highest);
    let shifted = logits.iter().map(move |&logit| f64::from(logit) - highest);
    let total = shifted.clone().map(f64::exp).sum::<f64>().ln();
    shifted.map(move |logit| logit - total)
}

#[cfg(test)]
mod tests {
    use ouro_net::NetSpec;
    use ouro_net::synthetic::random_weights;

    use super::*;

    #[test]
    fn the_engine_decides_as_the_reference_does_on_positions_of_games() {
        let (shape, planes) = duel_positions(16, 4, 1).unwrap();
        let spec = NetSpec { planes: shape, actions: 4, architecture: "small".parse().unwrap() };
        let accuracy = accuracy(&random_weights(&spec, 1).unwrap(), &planes);
        assert_eq!(accuracy.positions, 64);
        assert!(accuracy.largest_divergence < 1e-8, "{accuracy:?}");
        assert!(accuracy.mean_divergence <= accuracy.largest_divergence);
        assert!(accuracy.largest_value_error < 1e-4, "{accuracy:?}");
    }

    #[test]
    fn a_divergence_is_that_of_the_policies_and_propagates_nan() {
        // Of 1/2, 1/2 from 3/4, 1/4: ln(2/3) / 2 + ln 2 / 2.
        let third = 3.0_f32.ln();
        let expected = 0.5 * (2.0_f64 / 3.0).ln() + 0.5 * 2.0_f64.ln();
        assert!((divergence(&[7.0, 7.0], &[third, 0.0]) - expected).abs() < 1e-7);
        assert_eq!(divergence(&[1.0, 2.0, 3.0], &[1.0, 2.0, 3.0]), 0.0);
        assert!(
            largest([1.0, divergence(&[0.0, f32::NAN], &[0.0, 0.0]), 2.0].into_iter()).is_nan()
        );
        assert_eq!(largest([].into_iter()), 0.0);
    }
}
