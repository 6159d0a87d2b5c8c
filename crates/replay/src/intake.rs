//! Checks a received game against the rules, and selects the positions for training.
//!
//! A game that passes is possible under these rules. The check cannot show that actions were drawn
//! with the stated probabilities, or that a search returned the stated targets. It shows only that
//! both are possible.

use std::sync::Arc;

use ouro_game::record::{Replay, ReplayError};
use ouro_game::{ActionMask, Game, GameConfig, PlayerSet, Turn};
use ouro_net::Generation;

use crate::refusal::Refusal;
use crate::trajectory::{
    EncodedTrajectory, GameSummary, Move, Ply, PositionRef, SearchTarget, Trajectory,
};
use crate::window::surprise_weights;

/// Largest difference between the sum of a policy target and 1.
const SUM_TOLERANCE: f32 = 1e-3;

/// Largest excess of a root value over the range -1 to 1. A root value is a mean of values in that
/// range, with rounding.
const VALUE_TOLERANCE: f32 = 1e-3;

/// Least probability of a move. No generator of 64 bits draws a move that is less probable, and a
/// smaller divisor would leave the range of f32.
pub const LEAST_PROBABILITY: f32 = 1e-30;

/// Largest surprise, in nats. A KL divergence from a policy is at most the negative logarithm of its
/// smallest probability, and that of the smallest positive f32 is 103.3.
const MOST_SURPRISE: f32 = 104.0;

/// The games that a run accepts.
#[derive(Clone, Debug, PartialEq)]
pub struct Intake {
    /// The run's game.
    pub config: Arc<GameConfig>,
    /// Maximum number of plies of a game.
    pub max_plies: usize,
    /// Maximum age of the weights of a learning seat, in generations.
    pub max_staleness: u32,
    /// Which moves of a learning seat are trained on.
    pub trained_moves: TrainedMoves,
}

/// Which moves of a learning seat are trained on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TrainedMoves {
    /// Every move.
    All,
    /// Moves with a policy target.
    Searched {
        /// Share of the sampling weight that is distributed in proportion to the surprise.
        surprise_share: f32,
    },
}

/// A game that passed the check.
#[derive(Clone, Debug, PartialEq)]
pub struct AcceptedGame {
    /// The game with the positions that training may use.
    pub game: EncodedTrajectory,
    /// Undiscounted, unscaled return of each learning seat.
    pub returns: Vec<f32>,
    /// Players, results and length.
    pub summary: GameSummary,
}

/// Every state of a replayed game of `plies` plies, the last included.
pub fn states<G: Game>(
    mut replay: Replay<'_, G, Ply>,
    plies: usize,
) -> Result<Vec<G::State>, ReplayError> {
    let mut states = Vec::with_capacity(plies + 1);
    states.push(replay.state().clone());
    while replay.advance()? {
        states.push(replay.state().clone());
    }
    Ok(states)
}

/// Replays a game with one state in memory at a time: all states of a long game on a large board
/// take gigabytes. Returns the players that move in each ply, and the last state. `each` is called
/// with every ply, the players that move in it, and the state in which they move.
pub fn play_through<G: Game>(
    game: &G,
    mut replay: Replay<'_, G, Ply>,
    mut each: impl FnMut(usize, PlayerSet, &G::State),
) -> Result<(Vec<PlayerSet>, G::State), ReplayError> {
    let mut movers = Vec::new();
    while replay.next_actions()?.is_some() {
        // Always a move, because there are next actions.
        if let Turn::Move(players) = game.turn(replay.state()) {
            each(replay.ply(), players, replay.state());
            movers.push(players);
        }
        replay.advance()?;
    }
    Ok((movers, replay.finish()?))
}

impl Intake {
    /// Checks every part of a received game. `game` is the game of [`config`](Self::config), and
    /// `newest` is the newest published generation.
    pub fn examine<G: Game>(
        &self,
        game: &G,
        trajectory: &Trajectory,
        newest: Generation,
    ) -> Result<AcceptedGame, Refusal> {
        self.check(game.players(), trajectory, newest)?;
        let (mut searches, mut legal) = (Ok(()), ActionMask::default());
        let replay = trajectory.replay(game)?;
        let (movers, last) = play_through(game, replay, |ply, movers, state| {
            if searches.is_ok() {
                let moves = &trajectory.plies[ply].moves;
                searches = check_searches(game, state, ply, movers, moves, &mut legal);
            }
        })?;
        check_outcomes(game, trajectory, &last)?;
        searches?;
        let bytes = trajectory.encode()?;
        let encoded = self.encoded(bytes, trajectory, &movers, trajectory.generation());
        if encoded.position_refs().is_empty() {
            return Err(Refusal::NothingToLearn);
        }
        let learning = trajectory.seats.iter().enumerate().filter(|(_, seat)| seat.learns);
        let returns = learning.map(|(seat, _)| game.returns(&last, seat)).collect();
        Ok(AcceptedGame { game: encoded, returns, summary: trajectory.summary() })
    }

    /// Checks everything that needs no replay.
    fn check(
        &self,
        players: usize,
        trajectory: &Trajectory,
        newest: Generation,
    ) -> Result<(), Refusal> {
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
        self.check_seats(players, trajectory, newest)?;
        for (ply, played) in plies.iter().enumerate() {
            let mut behaviour = played.moves.iter().map(|one| one.behaviour);
            // NaN is in no range.
            if let Some(got) = behaviour.find(|&p| !(LEAST_PROBABILITY..=1.0).contains(&p)) {
                return Err(Refusal::Probability { ply, got });
            }
        }
        Ok(())
    }

    fn check_seats(
        &self,
        players: usize,
        trajectory: &Trajectory,
        newest: Generation,
    ) -> Result<(), Refusal> {
        let got = trajectory.seats.len();
        if got != players {
            return Err(Refusal::Seats { got, expected: players });
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

    /// The game for the replay, with the positions for training: seat by seat, in order of play.
    ///
    /// `bytes` is the canonical form of `trajectory`, and `movers` are the players that move in each
    /// of its plies.
    pub fn encoded(
        &self,
        bytes: impl Into<Box<[u8]>>,
        trajectory: &Trajectory,
        movers: &[PlayerSet],
        generation: Generation,
    ) -> EncodedTrajectory {
        let (mut positions, mut surprises) = (Vec::new(), Vec::new());
        for (seat, _) in trajectory.seats.iter().enumerate().filter(|(_, seat)| seat.learns) {
            for (ply, (played, players)) in trajectory.plies.iter().zip(movers).enumerate() {
                let mover = players.iter().position(|player| player == seat);
                let Some(mover) = mover else { continue };
                let search = played.moves.get(mover).and_then(|one| one.search.as_ref());
                let target = search.filter(|target| !target.policy.is_empty());
                if self.trained_moves != TrainedMoves::All && target.is_none() {
                    continue;
                }
                surprises.push(target.map_or(0.0, |target| target.surprise));
                // No cast truncates, because the limits of a trajectory are lower.
                let (ply, mover, seat) = (ply as u16, mover as u8, seat as u8);
                positions.push(PositionRef { ply, mover, seat });
            }
        }
        let encoded = EncodedTrajectory::new(bytes, generation, positions);
        match self.trained_moves {
            TrainedMoves::Searched { surprise_share } if surprise_share > 0.0 => {
                encoded.weighted(&surprise_weights(&surprises, surprise_share))
            }
            _ => encoded,
        }
    }
}

/// Refuses outcomes that differ from those of the last state, bit for bit.
fn check_outcomes<G: Game>(
    game: &G,
    trajectory: &Trajectory,
    last: &G::State,
) -> Result<(), Refusal> {
    for (seat, got) in trajectory.seats.iter().map(|seat| seat.outcome).enumerate() {
        let expected = game.outcome(last, seat);
        if got.to_bits() != expected.to_bits() {
            return Err(Refusal::Outcome { seat, got, expected });
        }
    }
    Ok(())
}

/// Refuses search targets of the `moves` of a ply that no search can return. `movers` move in
/// `state`. `legal` is scratch space.
fn check_searches<G: Game>(
    game: &G,
    state: &G::State,
    ply: usize,
    movers: PlayerSet,
    moves: &[Move],
    legal: &mut ActionMask,
) -> Result<(), Refusal> {
    for (mover, one) in movers.iter().zip(moves) {
        let Some(target) = &one.search else { continue };
        game.legal(state, mover, legal);
        check_target(ply, target, legal)?;
    }
    Ok(())
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

#[cfg(test)]
mod tests;
