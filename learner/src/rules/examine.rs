//! Checks a received game against the rules, and selects the positions for training.
//!
//! A game that passes is possible under these rules. The learner cannot check that actions were
//! drawn with the stated probabilities, or that a search returned the stated targets. It checks
//! only that both are possible.

use ouro_game::{ActionMask, Game, Turn};
use ouro_net::Generation;
use ouro_replay::{EncodedTrajectory, PositionRef, SearchTarget, Trajectory, surprise_weights};

use super::OfGame;
use crate::refusal::Refusal;

/// Largest difference between the sum of a policy target and 1.
const SUM_TOLERANCE: f32 = 1e-3;

/// Largest excess of a root value over the range -1 to 1. A root value is a mean of values in that
/// range, with rounding.
const VALUE_TOLERANCE: f32 = 1e-3;

/// Least probability of a move. No generator of 64 bits draws a move that is less probable, and a
/// smaller divisor would leave the range of f32.
pub(crate) const LEAST_PROBABILITY: f32 = 1e-30;

/// Largest surprise, in nats. A KL divergence from a policy is at most the negative logarithm of its
/// smallest probability, and that of the smallest positive f32 is 103.3.
const MOST_SURPRISE: f32 = 104.0;

impl<G: Game> OfGame<G> {
    /// Checks everything that needs no replay.
    pub(super) fn check(&self, trajectory: &Trajectory, newest: Generation) -> Result<(), Refusal> {
        let plies = &trajectory.plies;
        if trajectory.record.config != self.config {
            return Err(Refusal::Game);
        }
        if plies.len() > self.max_plies {
            return Err(Refusal::Oversize { got: plies.len(), max: self.max_plies });
        }
        if plies.is_empty() {
            return Err(Refusal::Empty);
        }
        self.check_seats(trajectory, newest)?;
        for (ply, played) in plies.iter().enumerate() {
            let mut behaviour = played.moves.iter().map(|one| one.behaviour);
            // NaN is in no range.
            if let Some(got) = behaviour.find(|&p| !(LEAST_PROBABILITY..=1.0).contains(&p)) {
                return Err(Refusal::Probability { ply, got });
            }
        }
        Ok(())
    }

    fn check_seats(&self, trajectory: &Trajectory, newest: Generation) -> Result<(), Refusal> {
        let expected = self.game.players();
        let got = trajectory.seats.len();
        if got != expected {
            return Err(Refusal::Seats { got, expected });
        }
        if !trajectory.seats.iter().any(|seat| seat.learns) {
            return Err(Refusal::NobodyLearns);
        }
        let oldest = newest.before(self.max_staleness);
        for (seat, taken) in trajectory.seats.iter().enumerate() {
            match taken.generation {
                Some(got) if got > newest => return Err(Refusal::Future { seat, got, newest }),
                // Opponents may be older, because training uses only the moves of learning seats.
                Some(got) if taken.learns && got < oldest => {
                    return Err(Refusal::Stale { seat, got, oldest });
                }
                None if taken.learns => return Err(Refusal::NoGeneration { seat }),
                _ => {}
            }
        }
        Ok(())
    }

    /// Refuses outcomes that differ from those of the last state, bit for bit.
    pub(super) fn check_outcomes(
        &self,
        trajectory: &Trajectory,
        states: &[G::State],
    ) -> Result<(), Refusal> {
        for (seat, got) in trajectory.seats.iter().map(|seat| seat.outcome).enumerate() {
            let expected = self.game.outcome(&states[states.len() - 1], seat);
            if got.to_bits() != expected.to_bits() {
                return Err(Refusal::Outcome { seat, got, expected });
            }
        }
        Ok(())
    }

    /// Refuses search targets that no search can return.
    pub(super) fn check_searches(
        &self,
        trajectory: &Trajectory,
        states: &[G::State],
    ) -> Result<(), Refusal> {
        let mut legal = ActionMask::default();
        for (ply, played) in trajectory.plies.iter().enumerate() {
            let Turn::Move(movers) = self.game.turn(&states[ply]) else { continue };
            for (mover, one) in movers.iter().zip(&played.moves) {
                let Some(target) = &one.search else { continue };
                self.game.legal(&states[ply], mover, &mut legal);
                check_target(ply, target, &legal)?;
            }
        }
        Ok(())
    }

    /// The game for the replay, with the positions for training: seat by seat, in order of play.
    ///
    /// These are the moves of learning seats; AlphaZero also needs a policy target. `bytes` is the
    /// canonical form of `trajectory`, and `states` are all its states.
    pub(super) fn encoded(
        &self,
        bytes: impl Into<Box<[u8]>>,
        trajectory: &Trajectory,
        states: &[G::State],
        generation: Generation,
    ) -> EncodedTrajectory {
        let alphazero = self.alphazero();
        let (mut positions, mut surprises) = (Vec::new(), Vec::new());
        for (seat, _) in trajectory.seats.iter().enumerate().filter(|(_, seat)| seat.learns) {
            for (ply, played) in trajectory.plies.iter().enumerate() {
                let Turn::Move(movers) = self.game.turn(&states[ply]) else { continue };
                let Some(mover) = movers.iter().position(|player| player == seat) else { continue };
                let search = played.moves.get(mover).and_then(|one| one.search.as_ref());
                let target = search.filter(|target| !target.policy.is_empty());
                if alphazero.is_some() && target.is_none() {
                    continue;
                }
                surprises.push(target.map_or(0.0, |target| target.surprise));
                // No cast truncates, because the limits of a trajectory are lower.
                let (ply, mover, seat) = (ply as u16, mover as u8, seat as u8);
                positions.push(PositionRef { ply, mover, seat });
            }
        }
        let game = EncodedTrajectory::new(bytes, generation, positions);
        match alphazero {
            Some(config) if config.surprise_share > 0.0 => {
                game.weighted(&surprise_weights(&surprises, config.surprise_share))
            }
            _ => game,
        }
    }
}

fn check_target(ply: usize, target: &SearchTarget, legal: &ActionMask) -> Result<(), Refusal> {
    let SearchTarget { policy, value, surprise } = target;
    let most = 1.0 + VALUE_TOLERANCE;
    if !(-most..=most).contains(value) {
        return Err(Refusal::search(ply, format_args!("has value {value}; it must be -1 to 1")));
    }
    if !(0.0..=MOST_SURPRISE).contains(surprise) {
        let what = format_args!("has surprise {surprise}; it must be 0 to {MOST_SURPRISE}");
        return Err(Refusal::search(ply, what));
    }
    if policy.is_empty() {
        return Ok(());
    }
    let mut sum = 0.0;
    for (index, &(action, share)) in policy.iter().enumerate() {
        if !legal.contains(action) {
            let what = format_args!("gives illegal action {} a share of {share}", action.0);
            return Err(Refusal::search(ply, what));
        }
        if policy[..index].iter().any(|&(before, _)| before == action) {
            return Err(Refusal::search(ply, format_args!("names action {} twice", action.0)));
        }
        if !(share > 0.0 && share <= 1.0 + SUM_TOLERANCE) {
            let what = format_args!("gives action {} a share of {share}", action.0);
            return Err(Refusal::search(ply, what));
        }
        sum += share;
    }
    if (sum - 1.0).abs() > SUM_TOLERANCE {
        return Err(Refusal::search(
            ply,
            format_args!("has a policy that adds up to {sum}, not 1"),
        ));
    }
    Ok(())
}
