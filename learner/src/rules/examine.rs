//! Checks a reported game against the rules, and finds what can be learned from it.
//!
//! What passes is a game that happened under these rules; that its actions were drawn with the
//! stated probabilities, or that a search said what is claimed, cannot be checked, only that it
//! could have been.

use ouro_game::record::Replay;
use ouro_game::{ActionMask, Game, Turn};
use ouro_net::Generation;
use ouro_proto::{Searched, Trajectory};
use ouro_replay::{Episode, PackedGame, Place, episode, surprise_weights};

use super::OfGame;
use crate::refusal::Refusal;

/// How far a policy target's sum may be from 1.
const SUM_TOLERANCE: f32 = 1e-3;

/// How far a root value may be outside -1 to 1: means of values in that range, rounded.
const VALUE_TOLERANCE: f32 = 1e-3;

impl<G: Game> OfGame<G> {
    /// What can be checked without playing.
    pub(super) fn check(&self, trajectory: &Trajectory, newest: Generation) -> Result<(), Refusal> {
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
        self.check_seats(trajectory, newest)?;
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
        let searched = &trajectory.searched;
        let same = |(actions, searched): (&Vec<_>, &Vec<_>)| actions.len() == searched.len();
        let fits = searched.len() == plies.len() && plies.iter().zip(searched).all(same);
        if !(searched.is_empty() || fits) {
            return Err(Refusal::search(0, "has not one result per action"));
        }
        Ok(())
    }

    fn check_seats(&self, trajectory: &Trajectory, newest: Generation) -> Result<(), Refusal> {
        let expected = self.game.players();
        for got in [trajectory.seats.len(), trajectory.outcomes.len()] {
            if got != expected {
                return Err(Refusal::Seats { got, expected });
            }
        }
        if !trajectory.seats.iter().any(|seat| seat.learns) {
            return Err(Refusal::NobodyLearns);
        }
        let oldest = newest.before(self.max_staleness);
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
        Ok(())
    }

    /// Every state of the game, the last included, each compared with its fingerprint.
    pub(super) fn replay(&self, trajectory: &Trajectory) -> Result<Vec<G::State>, Refusal> {
        let mut replay = Replay::new(&self.game, &trajectory.record)?;
        let mut states = Vec::with_capacity(trajectory.record.plies.len() + 1);
        states.push(replay.state().clone());
        while replay.advance()? {
            states.push(replay.state().clone());
        }
        Ok(states)
    }

    /// Refuses a result that is not, bit for bit, the one of the last state.
    pub(super) fn check_outcomes(
        &self,
        trajectory: &Trajectory,
        states: &[G::State],
    ) -> Result<(), Refusal> {
        for (seat, &got) in trajectory.outcomes.iter().enumerate() {
            let expected = self.game.outcome(&states[states.len() - 1], seat);
            if got.to_bits() != expected.to_bits() {
                return Err(Refusal::Outcome { seat, got, expected });
            }
        }
        Ok(())
    }

    /// Refuses what no search can have said.
    pub(super) fn check_searches(
        &self,
        trajectory: &Trajectory,
        states: &[G::State],
    ) -> Result<(), Refusal> {
        let mut legal = ActionMask::default();
        for (ply, searched) in trajectory.searched.iter().enumerate() {
            let Turn::Move(movers) = self.game.turn(&states[ply]) else { continue };
            for (mover, searched) in movers.iter().zip(searched) {
                self.game.legal(&states[ply], mover, &mut legal);
                check_search(ply, searched, &legal)?;
            }
        }
        Ok(())
    }

    /// The moves of a game that can be learned from, seat by seat in order of play: those of
    /// learning seats, with AlphaZero only where there is a policy target.
    pub(super) fn pack(
        &self,
        bytes: &[u8],
        episode: &Episode,
        states: &[G::State],
        generation: Generation,
    ) -> PackedGame {
        let alphazero = self.alphazero();
        let (mut places, mut surprises) = (Vec::new(), Vec::new());
        for (seat, _) in episode.seats.iter().enumerate().filter(|(_, seat)| seat.learns) {
            for (ply, state) in states.iter().enumerate().take(episode.plies.len()) {
                let Turn::Move(movers) = self.game.turn(state) else { continue };
                let Some(mover) = movers.iter().position(|player| player == seat) else { continue };
                let searched = episode.searched.get(ply).and_then(|ply| ply.get(mover));
                let target = searched.filter(|searched| !searched.policy.is_empty());
                if alphazero.is_some() && target.is_none() {
                    continue;
                }
                surprises.push(target.map_or(0.0, |searched| searched.surprise));
                // All fit: see the limits of an episode.
                places.push(Place { ply: ply as u16, mover: mover as u8, seat: seat as u8 });
            }
        }
        let game = PackedGame::new(bytes, generation, &places);
        match alphazero {
            Some(config) if config.surprise_share > 0.0 => {
                game.weighted(&surprise_weights(&surprises, config.surprise_share))
            }
            _ => game,
        }
    }
}

fn check_search(ply: usize, searched: &Searched, legal: &ActionMask) -> Result<(), Refusal> {
    let Searched { policy, value, surprise } = searched;
    let most = 1.0 + VALUE_TOLERANCE;
    if !(-most..=most).contains(value) {
        return Err(Refusal::search(ply, format_args!("has value {value}; it must be -1 to 1")));
    }
    if !(*surprise >= 0.0 && surprise.is_finite()) {
        let what = format_args!("has surprise {surprise}; it must be finite and not below 0");
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

/// What the journal keeps of a game that passed.
pub(super) fn episode(trajectory: &Trajectory, digest: u64) -> Episode {
    let searched = |searched: &Searched| episode::Searched {
        policy: searched.policy.clone(),
        value: searched.value,
        // A form that has no target has no surprise either.
        surprise: if searched.policy.is_empty() { 0.0 } else { searched.surprise },
    };
    let searched = trajectory.searched.iter().map(|ply| ply.iter().map(searched).collect());
    let seats = trajectory
        .seats
        .iter()
        .map(|seat| episode::Seat { generation: seat.generation, learns: seat.learns });
    Episode {
        seed: trajectory.record.seed,
        digest,
        plies: trajectory.record.plies.clone(),
        behaviour: trajectory.behaviour.clone(),
        searched: searched.collect(),
        seats: seats.collect(),
        outcomes: trajectory.outcomes.clone(),
    }
}

/// Generation of the oldest weights that a learning seat played.
pub(super) fn generation(episode: &Episode) -> Generation {
    let learning = episode.seats.iter().filter(|seat| seat.learns);
    learning.filter_map(|seat| seat.generation).min().unwrap_or_default()
}
