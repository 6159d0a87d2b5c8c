//! The value target of a position, as a pure function.

use crate::config::AlphaZeroConfig;

/// The value target of a position, from the mover's side, −1 to 1 like its inputs:
///
/// ```text
/// (1 − λ) · γ^left · outcome + λ · root value
/// ```
///
/// `outcome` is the mover's own, for any number of players. In a game that was cut off, the root value
/// of the mover's last search replaces it. `left` counts the time steps from the position to the end
/// of the game, or to that search, and `gamma` is the discount for each. λ is
/// [`root_value_share`](AlphaZeroConfig::root_value_share).
pub(crate) fn value_target(
    config: &AlphaZeroConfig,
    gamma: f32,
    outcome: f32,
    left: u32,
    root_value: f32,
) -> f32 {
    let share = f64::from(config.root_value_share);
    let outcome = f64::from(gamma).powf(f64::from(left)) * f64::from(outcome);
    ((1.0 - share) * outcome + share * f64::from(root_value)) as f32
}

#[cfg(test)]
mod tests {
    use ouro_game::Rng;

    use super::*;

    fn config(root_value_share: f32) -> AlphaZeroConfig {
        AlphaZeroConfig { root_value_share, ..AlphaZeroConfig::default() }
    }

    #[test]
    fn hand_computed_positions_agree() {
        let target = |outcome, left, root| value_target(&config(0.25), 0.5, outcome, left, root);
        assert!((target(1.0, 3, 0.4) - (0.75 * 0.125 + 0.25 * 0.4)).abs() < 1e-6);
        assert!((target(-1.0, 1, -1.0) - (-0.75 * 0.5 - 0.25)).abs() < 1e-6);
        assert!((target(1.0, 0, 1.0) - 1.0).abs() < 1e-6);
    }

    #[test]
    fn targets_stay_in_range_whatever_the_game() {
        let mut rng = Rng::new(3, "targets");
        let mut unit = || (2.0 * rng.unit() - 1.0) as f32;
        for left in 0..1_000 {
            let share = unit().abs();
            let target = value_target(&config(share), 0.97, unit(), left, unit());
            assert!(target.abs() <= 1.0, "{target}");
        }
    }
}
