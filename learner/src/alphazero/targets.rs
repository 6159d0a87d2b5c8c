//! From a finished game to value targets and weights. Pure; the rules are not needed.

use super::AlphaZeroConfig;

/// What is known of one move of one seat.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Move {
    /// Who moved.
    pub seat: usize,
    /// Time steps from the start of the game to the position moved in.
    pub elapsed: u32,
    /// Value that the search gave the position, from the mover's side; none without a search.
    pub root_value: Option<f32>,
    /// How far the search's policy was from the network's, in nats (the Kullback-Leibler
    /// divergence of the target from the prior); none if there is no policy target.
    pub surprise: Option<f32>,
}

/// What a move teaches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target {
    /// Value target, from the mover's side.
    pub value: f32,
    /// Weight; over the moves of a game the mean is 1.
    pub weight: f32,
}

/// The targets of `moves`, in their order, in a game that ended at time `end` with `outcomes`,
/// one per seat, and with discount `gamma` per time step:
///
/// ```text
/// value  = (1 − λ) · γ^(end − elapsed) · outcome of the seat + λ · root value
/// weight = (1 − σ) + σ · n · surprise / Σ surprise
/// ```
///
/// λ is `root_value_share`, 0 where no search ran; σ is `surprise_share`, and the sum runs over
/// the game's `n` moves, after policy-surprise weighting in KataGo (Wu, "Other methods
/// implemented in `KataGo`"). Each seat's value is its own, whatever the number of players. Where
/// the search surprised nobody all weights are 1.
///
/// # Panics
///
/// If a move's seat has no outcome.
pub fn targets(
    config: &AlphaZeroConfig,
    gamma: f32,
    outcomes: &[f32],
    end: u32,
    moves: &[Move],
) -> Vec<Target> {
    let surprise = |one: &Move| f64::from(one.surprise.unwrap_or(0.0).max(0.0));
    let total: f64 = moves.iter().map(surprise).sum();
    let share = if total > 0.0 { f64::from(config.surprise_share) } else { 0.0 };
    let per_nat = share * moves.len() as f64 / total.max(f64::MIN_POSITIVE);
    let target = |one: &Move| {
        let left = f64::from(end.saturating_sub(one.elapsed));
        let outcome = f64::from(gamma).powf(left) * f64::from(outcomes[one.seat]);
        let value = match one.root_value {
            Some(root) => {
                let share = f64::from(config.root_value_share);
                (1.0 - share) * outcome + share * f64::from(root)
            }
            None => outcome,
        };
        let weight = 1.0 - share + per_nat * surprise(one);
        Target { value: value as f32, weight: weight as f32 }
    };
    moves.iter().map(target).collect()
}

#[cfg(test)]
mod tests {
    use ouro_game::Stream;

    use super::*;

    fn moves(count: usize, stream: &mut Stream) -> Vec<Move> {
        let mut one = |index: usize| Move {
            seat: stream.below(3) as usize,
            elapsed: index as u32,
            root_value: (stream.below(3) > 0).then(|| (2.0 * stream.unit() - 1.0) as f32),
            surprise: (stream.below(2) > 0).then(|| stream.unit() as f32),
        };
        (0..count).map(&mut one).collect()
    }

    #[test]
    fn a_hand_computed_game_agrees() {
        let config = AlphaZeroConfig {
            root_value_share: 0.25,
            surprise_share: 0.5,
            ..AlphaZeroConfig::default()
        };
        let one =
            |seat, elapsed, root_value, surprise| Move { seat, elapsed, root_value, surprise };
        let moves = [
            one(0, 0, Some(0.4), Some(0.3)),
            one(1, 0, None, None),
            one(0, 2, Some(-1.0), Some(0.1)),
        ];
        let targets = targets(&config, 0.5, &[1.0, -1.0], 3, &moves);
        let expected = [
            (0.75 * 0.125 + 0.25 * 0.4, 0.5 + 0.5 * 3.0 * 0.75),
            (-0.125, 0.5),
            (0.75 * 0.5 - 0.25, 0.5 + 0.5 * 3.0 * 0.25),
        ];
        for (target, (value, weight)) in targets.iter().zip(expected) {
            assert!((f64::from(target.value) - value).abs() < 1e-6, "{target:?} {value}");
            assert!((f64::from(target.weight) - weight).abs() < 1e-6, "{target:?} {weight}");
        }
    }

    #[test]
    fn weights_have_mean_one_and_values_stay_in_range_whatever_the_game() {
        for round in 0..200 {
            let mut stream = Stream::indexed(3, "targets", round);
            let moves = moves(1 + stream.below(40) as usize, &mut stream);
            let config = AlphaZeroConfig {
                root_value_share: stream.unit() as f32,
                surprise_share: stream.unit() as f32,
                ..AlphaZeroConfig::default()
            };
            let outcomes = [1.0, -1.0, 0.0];
            let targets = targets(&config, 0.97, &outcomes, moves.len() as u32, &moves);
            let mean =
                targets.iter().map(|t| f64::from(t.weight)).sum::<f64>() / moves.len() as f64;
            assert!((mean - 1.0).abs() < 1e-5, "{mean}");
            assert!(targets.iter().all(|t| t.value.abs() <= 1.0 && t.weight >= 0.0));
        }
    }

    #[test]
    fn without_surprise_every_move_weighs_the_same() {
        let plain = Move { seat: 0, elapsed: 0, root_value: None, surprise: Some(0.0) };
        let targets = targets(&AlphaZeroConfig::default(), 1.0, &[1.0], 1, &[plain; 3]);
        assert!(targets.iter().all(|t| *t == Target { value: 1.0, weight: 1.0 }));
    }
}
