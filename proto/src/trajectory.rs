//! The wire form of trajectories, between actors and the learner.
//!
//! The domain type is [`ouro_replay::Trajectory`]. Its wire form is flat, with one list of actions
//! for all plies. [`from_wire`] splits the lists into plies. It checks their lengths before it
//! allocates more memory than the message has. [`to_wire`] cannot fail.

use std::sync::Arc;

use ouro_game::Action;
use ouro_net::Generation;
use ouro_replay::trajectory::{MAX_PLIES, MAX_SEATS};
use ouro_replay::{Move, Ply, RecordHeader, SearchTarget, Seat, Trajectory};

use crate::learner::v1 as wire;

mod hello;
mod search;
mod size;

pub use hello::{ActorId, Hello, HelloError, MAX_ACTOR_NAME, MAX_CONFIG_BYTES};
pub use size::{MAX_MESSAGE_BYTES, message_bytes};

/// Error in a trajectory message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// The sequence number is 0.
    #[error("sequence is 0; sequences start at 1")]
    Sequence,
    /// Too many plies.
    #[error("ply_lengths has {got} entries; at most {MAX_PLIES} are read")]
    Plies {
        /// Entries in the message.
        got: usize,
    },
    /// A ply has no actions.
    #[error("ply {ply} has no actions")]
    EmptyPly {
        /// Ply, from 0.
        ply: usize,
    },
    /// The ply lengths do not add up to the number of actions.
    #[error("plies hold {plies} actions, but actions has {actions} entries")]
    ActionCount {
        /// Sum of the ply lengths.
        plies: u64,
        /// Entries in `actions`.
        actions: usize,
    },
    /// The number of probabilities differs from the number of actions.
    #[error("behaviour has {got} entries for {actions} actions")]
    BehaviourCount {
        /// Entries in `behaviour`.
        got: usize,
        /// Entries in `actions`.
        actions: usize,
    },
    /// There are no seats, or too many.
    #[error("seats has {got} entries; 1 to {MAX_SEATS} are possible")]
    Seats {
        /// Entries in the message.
        got: usize,
    },
    /// The number of outcomes differs from the number of seats.
    #[error("outcomes has {got} entries for {seats} seats")]
    OutcomeCount {
        /// Entries in `outcomes`.
        got: usize,
        /// Entries in `seats`.
        seats: usize,
    },
    /// A list of search results has the wrong length.
    #[error("search.{field} has {got} entries; {expected} are due")]
    Search {
        /// The list.
        field: &'static str,
        /// Its entries.
        got: usize,
        /// Length that the rest of the message requires.
        expected: u64,
    },
}

/// Converts a message of a push that started with `hello` to the game and its sequence number.
/// The game is not checked against the rules.
pub fn from_wire(
    message: wire::Trajectory,
    hello: &Hello,
) -> Result<(u64, Trajectory), MessageError> {
    check(&message)?;
    let mut targets = match &message.search {
        Some(search) => Some(search::Targets::new(search, message.actions.len())?),
        None => None,
    };
    let mut moves = message.actions.iter().zip(&message.behaviour).map(|(&action, &behaviour)| {
        let search = targets.as_mut().and_then(Iterator::next);
        Move { action: Action(action), behaviour, search }
    });
    let ply = |&length: &u32| Ply { moves: moves.by_ref().take(length as usize).collect() };
    let plies = message.ply_lengths.iter().map(ply).collect();
    let seat = |(seat, &outcome): (&wire::Seat, &f32)| Seat {
        generation: seat.generation.map(Generation),
        learns: seat.learns,
        outcome,
    };
    let seats = message.seats.iter().zip(&message.outcomes).map(seat).collect();
    let record = RecordHeader {
        version: hello.version,
        config: Arc::clone(&hello.config),
        seed: message.seed,
        digests: message.digests,
    };
    Ok((message.sequence, Trajectory { record, seats, plies }))
}

/// Checks the lengths on which [`from_wire`] relies.
fn check(message: &wire::Trajectory) -> Result<(), MessageError> {
    if message.sequence == 0 {
        return Err(MessageError::Sequence);
    }
    if message.ply_lengths.len() > MAX_PLIES {
        return Err(MessageError::Plies { got: message.ply_lengths.len() });
    }
    let seats = message.seats.len();
    if seats == 0 || seats > MAX_SEATS {
        return Err(MessageError::Seats { got: seats });
    }
    if message.outcomes.len() != seats {
        return Err(MessageError::OutcomeCount { got: message.outcomes.len(), seats });
    }
    let actions = message.actions.len();
    let plies = message.ply_lengths.iter().map(|&length| u64::from(length)).sum();
    if plies != actions as u64 {
        return Err(MessageError::ActionCount { plies, actions });
    }
    if message.behaviour.len() != actions {
        return Err(MessageError::BehaviourCount { got: message.behaviour.len(), actions });
    }
    match message.ply_lengths.iter().position(|&length| length == 0) {
        Some(ply) => Err(MessageError::EmptyPly { ply }),
        None => Ok(()),
    }
}

/// Converts a game to a message with this sequence number. The message leaves out the
/// configuration, because the hello holds it.
pub fn to_wire(sequence: u64, game: &Trajectory) -> wire::Trajectory {
    let Trajectory { record, seats, plies } = game;
    let count = game.moves().count();
    let (mut actions, mut behaviour) = (Vec::with_capacity(count), Vec::with_capacity(count));
    for one in game.moves() {
        actions.push(one.action.0);
        behaviour.push(one.behaviour);
    }
    let seat = |seat: &Seat| wire::Seat {
        generation: seat.generation.map(|generation| generation.0),
        learns: seat.learns,
    };
    wire::Trajectory {
        sequence,
        seed: record.seed,
        actions,
        ply_lengths: plies.iter().map(|ply| ply.moves.len() as u32).collect(),
        digests: record.digests.clone(),
        behaviour,
        seats: seats.iter().map(seat).collect(),
        outcomes: seats.iter().map(|seat| seat.outcome).collect(),
        search: game.is_searched().then(|| search::fold(targets(game), count)),
    }
}

/// The search targets of a game's moves.
fn targets(game: &Trajectory) -> impl Iterator<Item = &SearchTarget> {
    game.moves().filter_map(|one| one.search.as_ref())
}

#[cfg(test)]
mod tests;
