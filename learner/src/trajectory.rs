//! From a reported game to training samples, trusting nothing in between.
//!
//! An [`Examiner`] replays a trajectory with the same rules that the actor claims to have
//! used, and refuses it with a typed [`Refusal`] as soon as anything disagrees. What passes is
//! a game that happened under these rules; that its actions were drawn with the stated
//! probabilities cannot be checked, only that they could have been.

use ouro_game::record::{Replay, ReplayError};
use ouro_game::{ActionMask, Game, GameConfig, GameVisitor, Stream, Symmetry, Turn};
use ouro_proto::Trajectory;
use ouro_proto::learner::v1::RefusalReason;

use crate::config::Config;
use crate::samples::{RowShape, Samples};

/// Most of an unseen future that a return may leave out. A game that was cut short is trained
/// on only where γ^Δt, with Δt the time to its last state, is at most this: nearer to the cut
/// a return of 0 says that the game was cut, not what the moves were worth.
const UNSEEN: f64 = 0.05;

/// Why a trajectory is not trained on. It must not be sent again.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// Another game, or other rules.
    #[error("trajectory is for another game configuration than this run's")]
    Game,
    /// Longer than this learner accepts.
    #[error("game has {got} plies; this run accepts {max}")]
    Oversize {
        /// Plies in the game.
        got: usize,
        /// Most that are accepted.
        max: usize,
    },
    /// The game ended before anybody moved.
    #[error("game has no plies")]
    Empty,
    /// Not one seat per player.
    #[error("trajectory has {got} seats; the game has {expected} players")]
    Seats {
        /// Seats in the message.
        got: usize,
        /// Players of the game.
        expected: usize,
    },
    /// The actor saw another result.
    #[error("seat {seat} claims outcome {got}; the rules say {expected}")]
    Outcome {
        /// The seat.
        seat: usize,
        /// What the message says.
        got: f32,
        /// What the rules say.
        expected: f32,
    },
    /// Nobody's moves may be trained on.
    #[error("no seat learns")]
    NobodyLearns,
    /// A seat learns but does not say which weights it played.
    #[error("seat {seat} learns but names no generation")]
    NoGeneration {
        /// The seat.
        seat: usize,
    },
    /// Weights that this learner has not published.
    #[error("seat {seat} played generation {got}; the newest published is {newest}")]
    Future {
        /// The seat.
        seat: usize,
        /// Generation in the message.
        got: u32,
        /// Newest generation published.
        newest: u32,
    },
    /// Weights that are too old to learn from.
    #[error("seat {seat} played generation {got}; the oldest accepted is {oldest}")]
    Stale {
        /// The seat.
        seat: usize,
        /// Generation in the message.
        got: u32,
        /// Oldest generation accepted.
        oldest: u32,
    },
    /// Not one probability per action.
    #[error("ply {ply} has {got} probabilities for {actions} actions")]
    BehaviourCount {
        /// Ply, from 0.
        ply: usize,
        /// Probabilities in the message.
        got: usize,
        /// Actions in the message.
        actions: usize,
    },
    /// A probability that no choice can have had.
    #[error("ply {ply} has probability {got}; it must be above 0 and at most 1")]
    Probability {
        /// Ply, from 0.
        ply: usize,
        /// What the message says.
        got: f32,
    },
    /// The rules disagree with the record.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// The game was played to the end, but no learning seat ever moved.
    #[error("no learning seat moved")]
    NoMoves,
    /// The game was not played to the end, and what followed matters to every move.
    #[error("game was cut short after {plies} plies, too soon for its returns; raise max_plies")]
    CutShort {
        /// Plies in the game.
        plies: usize,
    },
    /// The replay panicked: a fault of the rules, which this game would meet again.
    #[error("replaying the game failed; report its record as a bug")]
    Panicked,
}

impl Refusal {
    /// The wire's name for it.
    pub fn reason(&self) -> RefusalReason {
        match self {
            Self::Game | Self::Empty => RefusalReason::Malformed,
            Self::Oversize { .. } => RefusalReason::Oversize,
            Self::Seats { .. } | Self::NobodyLearns | Self::NoGeneration { .. } => {
                RefusalReason::Seats
            }
            Self::Outcome { .. } => RefusalReason::Outcome,
            Self::Future { .. } => RefusalReason::UnknownGeneration,
            Self::Stale { .. } => RefusalReason::Stale,
            Self::BehaviourCount { .. } | Self::Probability { .. } => RefusalReason::Behaviour,
            Self::Replay(_) => RefusalReason::Replay,
            Self::NoMoves | Self::CutShort { .. } => RefusalReason::NothingToLearn,
            Self::Panicked => RefusalReason::Internal,
        }
    }
}

/// A game that passed.
#[derive(Clone, Debug, PartialEq)]
pub struct Examined {
    /// One row per move of a learning seat, by seat, then in order of play. A game that was
    /// cut short lacks the moves whose return depends on what was not played.
    pub samples: Samples,
    /// Undiscounted, unscaled return of each learning seat.
    pub returns: Vec<f32>,
}

/// Replays trajectories under one game configuration.
pub trait Examiner: Send + Sync {
    /// Checks a trajectory and computes its samples. `newest` is the newest generation
    /// published, `augmentation` the stream that symmetries are drawn from.
    fn examine(
        &self,
        trajectory: &Trajectory,
        newest: u32,
        augmentation: Stream,
    ) -> Result<Examined, Refusal>;

    /// Sizes of a row.
    fn shape(&self) -> RowShape;
}

/// The examiner for a configuration that [validates](Config::validate).
pub fn examiner(config: &Config) -> Result<Box<dyn Examiner>, ouro_game::ConfigError> {
    struct Build<'a>(&'a Config);
    impl GameVisitor for Build<'_> {
        type Output = Box<dyn Examiner>;
        fn visit<G: Game>(self, game: G) -> Box<dyn Examiner> {
            Box::new(Rules {
                game,
                config: self.0.game.clone(),
                gamma: self.0.train.gamma,
                reward_scale: self.0.train.reward_scale,
                augment: self.0.train.augment,
                max_plies: self.0.intake.max_plies,
                max_staleness: self.0.intake.max_staleness,
            })
        }
    }
    config.game.visit(Build(config))
}

struct Rules<G> {
    game: G,
    config: GameConfig,
    gamma: f32,
    reward_scale: f32,
    augment: bool,
    max_plies: usize,
    max_staleness: u32,
}

impl<G: Game> Rules<G> {
    /// What can be checked without playing.
    fn check(&self, trajectory: &Trajectory, newest: u32) -> Result<(), Refusal> {
        let plies = &trajectory.record.plies;
        if trajectory.record.config != self.config {
            return Err(Refusal::Game);
        }
        if plies.len() > self.max_plies {
            return Err(Refusal::Oversize { got: plies.len(), max: self.max_plies });
        }
        if plies.is_empty() {
            return Err(Refusal::Empty);
        }
        let (got, expected) = (trajectory.seats.len(), self.game.players());
        if got != expected {
            return Err(Refusal::Seats { got, expected });
        }
        let got = trajectory.outcomes.len();
        if got != expected {
            return Err(Refusal::Seats { got, expected });
        }
        if !trajectory.seats.iter().any(|seat| seat.learns) {
            return Err(Refusal::NobodyLearns);
        }
        let oldest = newest.saturating_sub(self.max_staleness);
        for (seat, taken) in trajectory.seats.iter().enumerate() {
            match taken.generation {
                Some(got) if got > newest => return Err(Refusal::Future { seat, got, newest }),
                Some(got) if taken.learns && got < oldest => {
                    return Err(Refusal::Stale { seat, got, oldest });
                }
                None if taken.learns => return Err(Refusal::NoGeneration { seat }),
                _ => {}
            }
        }
        if trajectory.behaviour.len() != plies.len() {
            let (ply, got, actions) = (plies.len(), trajectory.behaviour.len(), plies.len());
            return Err(Refusal::BehaviourCount { ply, got, actions });
        }
        for (ply, (actions, behaviour)) in plies.iter().zip(&trajectory.behaviour).enumerate() {
            if behaviour.len() != actions.len() {
                let (got, actions) = (behaviour.len(), actions.len());
                return Err(Refusal::BehaviourCount { ply, got, actions });
            }
            // Written so that NaN is refused.
            if let Some(&got) = behaviour.iter().find(|&&p| !(p > 0.0 && p <= 1.0)) {
                return Err(Refusal::Probability { ply, got });
            }
        }
        Ok(())
    }

    /// Every state of the game, the last included.
    fn replay(&self, trajectory: &Trajectory) -> Result<Vec<G::State>, Refusal> {
        let mut replay = Replay::new(&self.game, &trajectory.record)?;
        let mut states = Vec::with_capacity(trajectory.record.plies.len() + 1);
        states.push(replay.state().clone());
        while replay.advance()? {
            states.push(replay.state().clone());
        }
        Ok(states)
    }

    /// Refuses a result that is not, bit for bit, the one of the last state.
    fn check_outcomes(&self, trajectory: &Trajectory, last: &G::State) -> Result<(), Refusal> {
        for (seat, &got) in trajectory.outcomes.iter().enumerate() {
            let expected = self.game.outcome(last, seat);
            if got.to_bits() != expected.to_bits() {
                return Err(Refusal::Outcome { seat, got, expected });
            }
        }
        Ok(())
    }

    /// Discounted return of `seat` from each state on: `G(t) = r(t) + γ^Δt G(t+1)`, with r
    /// the scaled difference of returns around ply t and Δt the time it took.
    fn discounted(&self, states: &[G::State], seat: usize) -> Vec<f32> {
        let mut discounted = vec![0.0; states.len()];
        for ply in (0..states.len() - 1).rev() {
            let (before, after) = (&states[ply], &states[ply + 1]);
            let reward = self.game.returns(after, seat) - self.game.returns(before, seat);
            let time = self.game.elapsed(after).saturating_sub(self.game.elapsed(before));
            let discount = self.discount(time) as f32;
            discounted[ply] = self.reward_scale * reward + discount * discounted[ply + 1];
        }
        discounted
    }

    /// What a reward after `time` steps counts.
    fn discount(&self, time: u32) -> f64 {
        f64::from(self.gamma).powf(f64::from(time))
    }

    /// Plies from the start whose returns are known: all if the game has ended, else those
    /// far enough from the cut, see [`UNSEEN`].
    fn known(&self, states: &[G::State]) -> usize {
        let (last, before) = (&states[states.len() - 1], &states[..states.len() - 1]);
        if self.game.turn(last) == Turn::Over {
            return before.len();
        }
        let end = self.game.elapsed(last);
        let unseen = |state| self.discount(end.saturating_sub(self.game.elapsed(state)));
        before.iter().take_while(|state| unseen(state) <= UNSEEN).count()
    }
}

impl<G: Game> Examiner for Rules<G> {
    fn examine(
        &self,
        trajectory: &Trajectory,
        newest: u32,
        mut augmentation: Stream,
    ) -> Result<Examined, Refusal> {
        self.check(trajectory, newest)?;
        let states = self.replay(trajectory)?;
        self.check_outcomes(trajectory, &states[states.len() - 1])?;
        let known = self.known(&states);
        let shape = self.shape();
        let symmetries = if self.augment { self.game.symmetries() } else { &[Symmetry::Identity] };
        let mut samples = Samples::with_capacity(shape, trajectory.record.plies.len());
        let mut returns = Vec::new();
        let mut mask = ActionMask::default();
        let learning = trajectory.seats.iter().enumerate().filter(|(_, seat)| seat.learns);
        for (seat, _) in learning {
            let discounted = self.discounted(&states, seat);
            returns.push(self.game.returns(&states[states.len() - 1], seat));
            for (ply, state) in states[..known].iter().enumerate() {
                let Turn::Move(movers) = self.game.turn(state) else { continue };
                let Some(place) = movers.iter().position(|mover| mover == seat) else { continue };
                let symmetry = symmetries[augmentation.below(symmetries.len() as u32) as usize];
                let image = self.game.transform(state, symmetry);
                let from = samples.planes.len();
                samples.planes.resize(from + shape.planes, 0.0);
                self.game.observe(&image, seat, &mut samples.planes[from..]);
                let from = samples.legal.len();
                samples.legal.resize(from + shape.actions, false);
                self.game.legal(&image, seat, &mut mask);
                for action in mask.iter() {
                    samples.legal[from + action.index()] = true;
                }
                let action = trajectory.record.plies[ply][place];
                samples.actions.push(self.game.transform_action(action, symmetry).0);
                samples.behaviour.push(trajectory.behaviour[ply][place]);
                samples.returns.push(discounted[ply]);
            }
        }
        if samples.rows() == 0 {
            let plies = trajectory.record.plies.len();
            let cut = known < plies;
            return Err(if cut { Refusal::CutShort { plies } } else { Refusal::NoMoves });
        }
        Ok(Examined { samples, returns })
    }

    fn shape(&self) -> RowShape {
        RowShape { planes: self.game.planes().len(), actions: self.game.action_count() }
    }
}

#[cfg(test)]
mod tests;
