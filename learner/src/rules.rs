//! The rules of the run's game, behind an interface without the game's type.
//!
//! [`Rules`] examines received games, restores games from the journal, and makes batches of drawn
//! positions. A game is replayed when it arrives, to check it. It is replayed again whenever one of
//! its positions is drawn, because the replay window keeps only moves.

mod batch;

use std::sync::Arc;

use ouro_game::record::{Replay, ReplayError};
use ouro_game::{Game, GameVisitor, Rng, Symmetry};
use ouro_net::{Generation, ValueRange};
use ouro_replay::intake::{play_through, states};
use ouro_replay::{
    AcceptedGame, Draw, EncodedTrajectory, GameSummary, Intake, Ply, Refusal, TrainedMoves,
    Trajectory, TrajectoryError,
};
use ouro_settings::SettingError;

use crate::alphazero::Positions;
use crate::batch::RowShape;
use crate::config::{AlgorithmConfig, Config};
use crate::reinforce::Segments;

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
    ) -> Result<(EncodedTrajectory, GameSummary), UnpackError>;

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
pub(crate) fn rules(config: &Config) -> Result<Box<dyn Rules>, SettingError> {
    struct Build<'a>(&'a Config, RowShape, ValueRange);
    impl GameVisitor for Build<'_> {
        type Output = Box<dyn Rules>;
        fn visit<G: Game>(self, game: G) -> Box<dyn Rules> {
            let (train, value) = (&self.0.train, self.2);
            let trained_moves = match &train.algorithm {
                AlgorithmConfig::AlphaZero(config) => {
                    TrainedMoves::Searched { surprise_share: config.surprise_share }
                }
                AlgorithmConfig::Reinforce(_) => TrainedMoves::All,
            };
            let intake = Intake {
                config: Arc::new(self.0.game.clone()),
                max_plies: self.0.intake.max_plies,
                max_staleness: self.0.intake.max_staleness,
                trained_moves,
            };
            Box::new(OfGame {
                game,
                shape: self.1,
                intake,
                discount: self.0.discount,
                // Outcome classes have a class for draws.
                draw: if value == ValueRange::Outcome { 0.0 } else { self.0.draw },
                search_draw: (value == ValueRange::Outcome).then_some(self.0.draw),
                reward_scale: train.reward_scale,
                augment: train.augment,
            })
        }
    }
    let spec = config.net_spec()?;
    let build = Build(config, RowShape::of(&spec), spec.architecture.value_range());
    config.game.visit(build).map_err(SettingError::of_game)
}

/// [`Rules`] of one type of game.
struct OfGame<G> {
    game: G,
    shape: RowShape,
    intake: Intake,
    discount: f32,
    /// The value target of a draw.
    draw: f32,
    /// The value of a draw in searches, if the value head has outcome classes. Otherwise it is that
    /// of the target.
    search_draw: Option<f32>,
    reward_scale: f32,
    augment: bool,
}

impl<G: Game> OfGame<G> {
    fn symmetries(&self) -> &'static [Symmetry] {
        if self.augment { self.game.symmetries() } else { &[Symmetry::Identity] }
    }

    /// Decodes an accepted game and replays it. Returns every state, the last included.
    fn restored(&self, bytes: &[u8]) -> Result<(Trajectory, Vec<G::State>), UnpackError> {
        let trajectory = Trajectory::decode(bytes, &self.intake.config)?;
        let states = states(self.replay(&trajectory), trajectory.plies.len())?;
        self.check_last(&trajectory, &states[states.len() - 1])?;
        Ok((trajectory, states))
    }

    fn replay<'a>(&'a self, trajectory: &'a Trajectory) -> Replay<'a, G, Ply> {
        Replay::of_plies(&self.game, trajectory.record.seed, &trajectory.plies)
    }

    /// Checks the last state of a replay. The journal keeps the fingerprint of no other one.
    fn check_last(&self, trajectory: &Trajectory, last: &G::State) -> Result<(), UnpackError> {
        let (got, expected) = (self.game.digest(last), trajectory.record.last_digest());
        if got == expected { Ok(()) } else { Err(UnpackError::Rules { got, expected }) }
    }
}

impl<G: Game> Rules for OfGame<G> {
    fn examine(
        &self,
        trajectory: &Trajectory,
        newest: Generation,
    ) -> Result<AcceptedGame, Refusal> {
        self.intake.examine(&self.game, trajectory, newest)
    }

    fn restore(
        &self,
        payload: &[u8],
        generation: Generation,
    ) -> Result<(EncodedTrajectory, GameSummary), UnpackError> {
        let trajectory = Trajectory::decode(payload, &self.intake.config)?;
        let (movers, last) = play_through(&self.game, self.replay(&trajectory), |_, _, _| {})?;
        self.check_last(&trajectory, &last)?;
        let game = self.intake.encoded(payload, &trajectory, &movers, generation);
        Ok((game, trajectory.summary()))
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
        self.shape
    }
}

#[cfg(test)]
mod tests;
