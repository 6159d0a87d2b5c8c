//! What the learner needs of a game's rules, whatever the game.
//!
//! [`Rules`] hides the game's type: it examines what actors report, reads journalled games back,
//! and makes batches of drawn positions. A game passes through it twice: once when it arrives and
//! everything in it is checked, and again whenever one of its positions is drawn, since only
//! moves are kept.

mod batch;
mod examine;

use ouro_game::record::ReplayError;
use ouro_game::{Game, GameConfig, GameVisitor, Rng, Symmetry};
use ouro_net::Generation;
use ouro_proto::Trajectory;
use ouro_replay::{Draw, Episode, EpisodeError, PackedGame};

use crate::alphazero::Positions;
use crate::batch::RowShape;
use crate::config::{AlgorithmConfig, AlphaZeroConfig, Config};
use crate::refusal::Refusal;
use crate::reinforce::Segments;

/// A game that passed.
#[derive(Clone, Debug, PartialEq)]
pub struct Examined {
    /// The game, with the positions that may be trained on.
    pub game: PackedGame,
    /// Undiscounted, unscaled return of each learning seat.
    pub returns: Vec<f32>,
}

/// Why a game of the journal cannot be trained on any more.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum UnpackError {
    /// Its bytes are no game.
    #[error(transparent)]
    Episode(#[from] EpisodeError),
    /// The rules do not allow it.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// The rules lead somewhere else.
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
pub trait Rules: Send + Sync {
    /// Checks a game as an actor reports it, trusting nothing. `newest` is the newest generation
    /// published.
    fn examine(&self, trajectory: &Trajectory, newest: Generation) -> Result<Examined, Refusal>;

    /// A game that was accepted before, as the journal has it.
    fn restore(&self, payload: &[u8], generation: Generation) -> Result<PackedGame, UnpackError>;

    /// Drawn positions with what a search found in them, each under a symmetry drawn from
    /// `augmentation`. Rows are in the order of games, not of draws.
    fn positions(
        &self,
        draws: &[Draw<PackedGame>],
        augmentation: &mut Rng,
    ) -> Result<Positions, UnpackError>;

    /// Drawn positions as segments of play, each under a symmetry drawn from `augmentation`.
    /// Draws that follow each other within a game become one segment; one that does not end its
    /// seat's play gets the state behind it as one more row.
    fn segments(
        &self,
        draws: &[Draw<PackedGame>],
        augmentation: &mut Rng,
    ) -> Result<Segments, UnpackError>;

    /// Sizes of a row.
    fn shape(&self) -> RowShape;
}

/// The rules for a configuration that [validates](Config::validate).
pub fn rules(config: &Config) -> Result<Box<dyn Rules>, ouro_game::ConfigError> {
    struct Build<'a>(&'a Config);
    impl GameVisitor for Build<'_> {
        type Output = Box<dyn Rules>;
        fn visit<G: Game>(self, game: G) -> Box<dyn Rules> {
            let train = &self.0.train;
            Box::new(OfGame {
                game,
                config: self.0.game.clone(),
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
    config: GameConfig,
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

    /// The numbers of AlphaZero, if that is the algorithm.
    fn alphazero(&self) -> Option<&AlphaZeroConfig> {
        match &self.algorithm {
            AlgorithmConfig::AlphaZero(config) => Some(config),
            AlgorithmConfig::Reinforce(_) => None,
        }
    }

    /// Every state of an accepted game, the last included.
    fn unpack(&self, packed: &[u8]) -> Result<(Episode, Vec<G::State>), UnpackError> {
        let episode = Episode::decode(packed)?;
        let states = self.states(episode.seed, &episode.plies)?;
        let (got, expected) = (self.game.digest(&states[states.len() - 1]), episode.digest);
        if got != expected {
            return Err(UnpackError::Rules { got, expected });
        }
        Ok((episode, states))
    }

    /// Every state of a game of these moves, the last included.
    fn states(
        &self,
        seed: u64,
        plies: &[Vec<ouro_game::Action>],
    ) -> Result<Vec<G::State>, ReplayError> {
        let mut replay = ouro_game::record::Replay::of_moves(&self.game, seed, plies);
        let mut states = Vec::with_capacity(plies.len() + 1);
        states.push(replay.state().clone());
        while replay.advance()? {
            states.push(replay.state().clone());
        }
        Ok(states)
    }
}

impl<G: Game> Rules for OfGame<G> {
    fn examine(&self, trajectory: &Trajectory, newest: Generation) -> Result<Examined, Refusal> {
        self.check(trajectory, newest)?;
        let states = self.replay(trajectory)?;
        self.check_outcomes(trajectory, &states)?;
        self.check_searches(trajectory, &states)?;
        let episode = examine::episode(trajectory, self.game.digest(&states[states.len() - 1]));
        let generation = examine::generation(&episode);
        let bytes = episode.encode()?;
        let game = self.pack(&bytes, &episode, &states, generation);
        if game.places().is_empty() {
            return Err(Refusal::NothingToLearn);
        }
        let last = &states[states.len() - 1];
        let learning = episode.seats.iter().enumerate().filter(|(_, seat)| seat.learns);
        let returns = learning.map(|(seat, _)| self.game.returns(last, seat)).collect();
        Ok(Examined { game, returns })
    }

    fn restore(&self, payload: &[u8], generation: Generation) -> Result<PackedGame, UnpackError> {
        let (episode, states) = self.unpack(payload)?;
        Ok(self.pack(payload, &episode, &states, generation))
    }

    fn positions(
        &self,
        draws: &[Draw<PackedGame>],
        augmentation: &mut Rng,
    ) -> Result<Positions, UnpackError> {
        self.batch_of_positions(draws, augmentation)
    }

    fn segments(
        &self,
        draws: &[Draw<PackedGame>],
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
