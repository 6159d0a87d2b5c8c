//! The rules of the run's game, behind an interface without the game's type.
//!
//! [`Rules`] examines received games, restores games from the journal, and makes batches of drawn
//! positions. A game is replayed when it arrives, to check it. It is replayed again whenever one of
//! its positions is drawn, because the replay window keeps only moves.

mod batch;
mod examine;

pub(crate) use examine::LEAST_PROBABILITY;

use std::sync::Arc;

use ouro_game::record::{Replay, ReplayError};
use ouro_game::{Game, GameConfig, GameVisitor, Rng, Symmetry};
use ouro_net::Generation;
use ouro_replay::{Draw, EncodedTrajectory, Ply, Trajectory, TrajectoryError};

use crate::alphazero::Positions;
use crate::batch::RowShape;
use crate::config::{AlgorithmConfig, AlphaZeroConfig, Config};
use crate::refusal::Refusal;
use crate::reinforce::Segments;

/// A game that passed the rules check.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AcceptedGame {
    /// The game with the positions that training may use.
    pub game: EncodedTrajectory,
    /// Undiscounted, unscaled return of each learning seat.
    pub returns: Vec<f32>,
}

/// Why a game of the journal cannot be trained on any more.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum UnpackError {
    /// The bytes are not a trajectory.
    #[error(transparent)]
    Trajectory(#[from] TrajectoryError),
    /// The rules do not allow the game.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// The replay ends in another state.
    #[error(
        "the last state is {got:016x}, the journal says {expected:016x}: the rules have changed since; start a new run"
    )]
    Rules {
        /// Fingerprint of the replayed state.
        got: u64,
        /// Fingerprint in the journal.
        expected: u64,
    },
}

/// The rules of the run. See the [module](self).
pub(crate) trait Rules: Send + Sync {
    /// Checks every part of a received game. `newest` is the newest published generation.
    fn examine(&self, trajectory: &Trajectory, newest: Generation)
    -> Result<AcceptedGame, Refusal>;

    /// Restores an accepted game from its bytes in the journal.
    fn restore(
        &self,
        payload: &[u8],
        generation: Generation,
    ) -> Result<EncodedTrajectory, UnpackError>;

    /// Makes a batch of drawn positions with their search targets. Each position is transformed by
    /// a symmetry drawn from `augmentation`. Rows are in the order of games, not of draws.
    fn positions(
        &self,
        draws: &[Draw<EncodedTrajectory>],
        augmentation: &mut Rng,
    ) -> Result<Positions, UnpackError>;

    /// Makes a batch of segments from drawn positions. Each segment is transformed by a symmetry
    /// drawn from `augmentation`.
    ///
    /// Consecutive draws of one seat in a game form one segment. If the seat plays on after the
    /// segment, the next state becomes one more row.
    fn segments(
        &self,
        draws: &[Draw<EncodedTrajectory>],
        augmentation: &mut Rng,
    ) -> Result<Segments, UnpackError>;

    /// Sizes of a row.
    fn shape(&self) -> RowShape;
}

/// The rules for a configuration that [validates](Config::validate).
pub(crate) fn rules(config: &Config) -> Result<Box<dyn Rules>, ouro_game::ConfigError> {
    struct Build<'a>(&'a Config);
    impl GameVisitor for Build<'_> {
        type Output = Box<dyn Rules>;
        fn visit<G: Game>(self, game: G) -> Box<dyn Rules> {
            let train = &self.0.train;
            Box::new(OfGame {
                game,
                config: Arc::new(self.0.game.clone()),
                algorithm: train.algorithm.clone(),
                discount: self.0.discount,
                reward_scale: train.reward_scale,
                augment: train.augment,
                max_plies: self.0.intake.max_plies,
                max_staleness: self.0.intake.max_staleness,
            })
        }
    }
    config.game.visit(Build(config))
}

/// [`Rules`] of one type of game.
struct OfGame<G> {
    game: G,
    config: Arc<GameConfig>,
    algorithm: AlgorithmConfig,
    discount: f32,
    reward_scale: f32,
    augment: bool,
    max_plies: usize,
    max_staleness: u32,
}

impl<G: Game> OfGame<G> {
    fn symmetries(&self) -> &'static [Symmetry] {
        if self.augment { self.game.symmetries() } else { &[Symmetry::Identity] }
    }

    /// The settings of AlphaZero; `None` for another algorithm.
    fn alphazero(&self) -> Option<&AlphaZeroConfig> {
        match &self.algorithm {
            AlgorithmConfig::AlphaZero(config) => Some(config),
            AlgorithmConfig::Reinforce(_) => None,
        }
    }

    /// Decodes an accepted game and replays it. Returns every state, the last included.
    fn restored(&self, bytes: &[u8]) -> Result<(Trajectory, Vec<G::State>), UnpackError> {
        let trajectory = Trajectory::decode(bytes, &self.config)?;
        let seed = trajectory.record.seed;
        let plies = &trajectory.plies;
        let states = states(Replay::of_plies(&self.game, seed, plies), plies.len())?;
        // The journal keeps only the fingerprint of the last state.
        let got = self.game.digest(&states[states.len() - 1]);
        let expected = trajectory.record.last_digest();
        if got != expected {
            return Err(UnpackError::Rules { got, expected });
        }
        Ok((trajectory, states))
    }
}

/// Every state of a game, the last included.
fn states<G: Game>(
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

impl<G: Game> Rules for OfGame<G> {
    fn examine(
        &self,
        trajectory: &Trajectory,
        newest: Generation,
    ) -> Result<AcceptedGame, Refusal> {
        self.check(trajectory, newest)?;
        let states = states(trajectory.replay(&self.game)?, trajectory.plies.len())?;
        self.check_outcomes(trajectory, &states)?;
        self.check_searches(trajectory, &states)?;
        let bytes = trajectory.encode()?;
        let game = self.encoded(bytes, trajectory, &states, trajectory.generation());
        if game.position_refs().is_empty() {
            return Err(Refusal::NothingToLearn);
        }
        let last = &states[states.len() - 1];
        let learning = trajectory.seats.iter().enumerate().filter(|(_, seat)| seat.learns);
        let returns = learning.map(|(seat, _)| self.game.returns(last, seat)).collect();
        Ok(AcceptedGame { game, returns })
    }

    fn restore(
        &self,
        payload: &[u8],
        generation: Generation,
    ) -> Result<EncodedTrajectory, UnpackError> {
        let (trajectory, states) = self.restored(payload)?;
        Ok(self.encoded(payload, &trajectory, &states, generation))
    }

    fn positions(
        &self,
        draws: &[Draw<EncodedTrajectory>],
        augmentation: &mut Rng,
    ) -> Result<Positions, UnpackError> {
        self.batch_of_positions(draws, augmentation)
    }

    fn segments(
        &self,
        draws: &[Draw<EncodedTrajectory>],
        augmentation: &mut Rng,
    ) -> Result<Segments, UnpackError> {
        self.batch_of_segments(draws, augmentation)
    }

    fn shape(&self) -> RowShape {
        RowShape { planes: self.game.planes().len(), actions: self.game.action_count() }
    }
}

#[cfg(test)]
mod tests;
