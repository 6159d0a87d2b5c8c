//! The targets of the value head, as pure functions.

/// The outcome of a game, discounted to a position `left` time steps before its end: γ^left · outcome.
///
/// `outcome` is the mover's own, for any number of players. In a game that was cut off, the root
/// value of the mover's last search replaces it, for outcome classes on their scale
/// ([`outcome_of_root`]). `left` then counts the time steps to that search.
pub(crate) fn discounted(gamma: f32, outcome: f32, left: u32) -> f32 {
    (f64::from(gamma).powf(f64::from(left)) * f64::from(outcome)) as f32
}

/// The root value of a search on the scale of outcomes, on which a draw is worth 0 instead of `draw`.
/// Wins and losses keep their values. The values between are mapped linearly on each side of the
/// draw.
///
/// If a draw is worth as much as a win, or as a loss, the value that they share becomes a draw.
pub(crate) fn outcome_of_root(root: f32, draw: f32) -> f32 {
    let above = root - draw;
    let range = if above >= 0.0 { 1.0 - draw } else { 1.0 + draw };
    if range > 0.0 { above / range } else { 0.0 }
}

/// Shares of win, draw and loss in an outcome from −1 to 1: (max(o, 0), 1 − |o|, max(−o, 0)).
///
/// A discounted outcome, or that of a game that was cut off, is a mixture of a draw and a win or loss.
/// The settings refuse a discount if a draw is not worth 0 in searches, because these would value the
/// draw in a distant win.
pub(crate) fn classes(outcome: f32) -> [f32; 3] {
    let outcome = outcome.clamp(-1.0, 1.0);
    [outcome.max(0.0), 1.0 - outcome.abs(), (-outcome).max(0.0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outcome_counts_less_the_farther_it_is() {
        assert_eq!(discounted(0.5, 1.0, 3), 0.125);
        assert_eq!(discounted(0.5, -1.0, 1), -0.5);
        assert_eq!(discounted(0.97, -1.0, 0), -1.0);
        assert_eq!(discounted(1.0, 0.25, 1_000), 0.25);
    }

    #[test]
    fn a_root_value_as_high_as_a_draw_is_an_outcome_of_0() {
        for draw in [-0.5, 0.0, 0.5] {
            assert_eq!([-1.0, draw, 1.0].map(|root| outcome_of_root(root, draw)), [-1.0, 0.0, 1.0]);
        }
        assert_eq!(outcome_of_root(0.25, -0.5), 0.5);
        assert_eq!(outcome_of_root(-0.75, -0.5), -0.5);
        assert_eq!(outcome_of_root(-0.3, 0.0), -0.3);
        // A draw is worth as much as a loss, or as a win.
        assert_eq!([-1.0, 0.0, 1.0].map(|root| outcome_of_root(root, -1.0)), [0.0, 0.5, 1.0]);
        assert_eq!([-1.0, 0.0, 1.0].map(|root| outcome_of_root(root, 1.0)), [-1.0, -0.5, 0.0]);
    }

    #[test]
    fn classes_are_shares_whose_difference_is_the_outcome() {
        assert_eq!(classes(1.0), [1.0, 0.0, 0.0]);
        assert_eq!(classes(0.0), [0.0, 1.0, 0.0]);
        assert_eq!(classes(-1.0), [0.0, 0.0, 1.0]);
        for step in -100..=100 {
            let outcome = step as f32 / 100.0;
            let [win, draw, loss] = classes(outcome);
            assert!([win, draw, loss].iter().all(|share| (0.0..=1.0).contains(share)));
            assert!((win + draw + loss - 1.0).abs() < 1e-6);
            assert_eq!(win - loss, outcome);
        }
    }
}
