//! Finished games between actors and the learner.
//!
//! A [`Trajectory`] is a game record with who sat where, the probabilities its actions were
//! chosen with and what the search said before each. The wire form is flat (one list of actions
//! for all plies); this module folds it back and refuses what does not fold, before anything is
//! allocated for it that the message itself did not already take.

use ouro_game::{Action, GameConfig, GameRecord};
use ouro_net::Generation;
use prost::Message;

use crate::learner::v1 as wire;

mod hello;
mod search;

pub use hello::{ActorId, Hello, HelloError, MAX_ACTOR_NAME, MAX_CONFIG_BYTES};
pub use search::Searched;

/// Most plies in one game on the wire.
pub const MAX_PLIES: usize = 1 << 16;

/// Longest message of a push that a learner reads, in bytes.
pub const MAX_MESSAGE_BYTES: usize = 1 << 20;

/// Most seats in one game.
pub const MAX_SEATS: usize = 16;

/// One finished game as an actor reports it. Nothing in it has been checked against the rules.
#[derive(Clone, Debug, PartialEq)]
pub struct Trajectory {
    /// Position in the actor's stream, from 1.
    pub sequence: u64,
    /// The game.
    pub record: GameRecord<GameConfig>,
    /// Probability with which each action of `record.plies` was chosen, in the same places.
    pub behaviour: Vec<Vec<f32>>,
    /// What the search said before each action, in the same places; no plies if none was made.
    pub searched: Vec<Vec<Searched>>,
    /// Who sat where, in seat order.
    pub seats: Vec<Seat>,
    /// Result of each seat, 1 win to -1 loss, as the actor saw it.
    pub outcomes: Vec<f32>,
}

/// Who sat in a seat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seat {
    /// Generation of the weights that played; `None` for a player without weights.
    pub generation: Option<Generation>,
    /// Whether the learner may train on this seat's moves.
    pub learns: bool,
}

/// Why a message is not a trajectory.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TrajectoryError {
    /// The sequence number is 0.
    #[error("sequence is 0; sequences start at 1")]
    Sequence,
    /// Too many plies.
    #[error("ply_lengths has {got} entries; at most {MAX_PLIES} are read")]
    Plies {
        /// Entries in the message.
        got: usize,
    },
    /// A ply without actions.
    #[error("ply {ply} has no actions")]
    EmptyPly {
        /// Ply, from 0.
        ply: usize,
    },
    /// The plies do not use up the actions.
    #[error("plies hold {plies} actions, but actions has {actions} entries")]
    ActionCount {
        /// Sum of the ply lengths.
        plies: u64,
        /// Entries in `actions`.
        actions: usize,
    },
    /// Not one probability per action.
    #[error("behaviour has {got} entries for {actions} actions")]
    BehaviourCount {
        /// Entries in `behaviour`.
        got: usize,
        /// Entries in `actions`.
        actions: usize,
    },
    /// Nobody sat, or too many.
    #[error("seats has {got} entries; 1 to {MAX_SEATS} are possible")]
    Seats {
        /// Entries in the message.
        got: usize,
    },
    /// Not one outcome per seat.
    #[error("outcomes has {got} entries for {seats} seats")]
    OutcomeCount {
        /// Entries in `outcomes`.
        got: usize,
        /// Entries in `seats`.
        seats: usize,
    },
    /// A list of the search's results does not fit.
    #[error("search.{field} has {got} entries; {expected} are due")]
    Search {
        /// The list.
        field: &'static str,
        /// Its entries.
        got: usize,
        /// How many the rest of the message asks for.
        expected: u64,
    },
}

impl Trajectory {
    /// Reads a message of a stream that began with `hello`.
    pub fn unfold(message: wire::Trajectory, hello: &Hello) -> Result<Self, TrajectoryError> {
        if message.sequence == 0 {
            return Err(TrajectoryError::Sequence);
        }
        if message.ply_lengths.len() > MAX_PLIES {
            return Err(TrajectoryError::Plies { got: message.ply_lengths.len() });
        }
        let seats = message.seats.len();
        if seats == 0 || seats > MAX_SEATS {
            return Err(TrajectoryError::Seats { got: seats });
        }
        if message.outcomes.len() != seats {
            return Err(TrajectoryError::OutcomeCount { got: message.outcomes.len(), seats });
        }
        let actions = message.actions.len();
        let plies = message.ply_lengths.iter().map(|&length| u64::from(length)).sum();
        if plies != actions as u64 {
            return Err(TrajectoryError::ActionCount { plies, actions });
        }
        if message.behaviour.len() != actions {
            return Err(TrajectoryError::BehaviourCount { got: message.behaviour.len(), actions });
        }
        if let Some(ply) = message.ply_lengths.iter().position(|&length| length == 0) {
            return Err(TrajectoryError::EmptyPly { ply });
        }
        let lengths = message.ply_lengths;
        let searched = match &message.search {
            Some(search) => split(search::unfold(search, actions)?, &lengths),
            None => Vec::new(),
        };
        Ok(Self {
            sequence: message.sequence,
            record: GameRecord {
                version: hello.version,
                config: hello.config.clone(),
                seed: message.seed,
                plies: split(message.actions.into_iter().map(Action), &lengths),
                digests: message.digests,
            },
            behaviour: split(message.behaviour, &lengths),
            searched,
            seats: message
                .seats
                .iter()
                .map(|seat| Seat {
                    generation: seat.generation.map(Generation),
                    learns: seat.learns,
                })
                .collect(),
            outcomes: message.outcomes,
        })
    }
}

/// Bytes that a game takes in a message of its own, at most: to be compared with
/// [`MAX_MESSAGE_BYTES`] before it is sent.
pub fn message_bytes(game: &wire::Trajectory) -> usize {
    /// The message around it: a tag and a length.
    const AROUND: usize = 16;
    game.encoded_len() + AROUND
}

/// Cuts a flat list into plies. The lengths must add up to the list's.
fn split<T>(flat: impl IntoIterator<Item = T>, lengths: &[u32]) -> Vec<Vec<T>> {
    let mut rest = flat.into_iter();
    lengths.iter().map(|&length| rest.by_ref().take(length as usize).collect()).collect()
}

impl From<Trajectory> for wire::Trajectory {
    /// The configuration is not part of it: the hello has it.
    fn from(trajectory: Trajectory) -> Self {
        let Trajectory { sequence, record, behaviour, searched, seats, outcomes } = trajectory;
        let search = (!searched.is_empty()).then(|| search::fold(searched.iter().flatten()));
        Self {
            sequence,
            seed: record.seed,
            ply_lengths: record.plies.iter().map(|ply| ply.len() as u32).collect(),
            actions: record.plies.iter().flatten().map(|action| action.0).collect(),
            digests: record.digests,
            behaviour: behaviour.into_iter().flatten().collect(),
            seats: seats
                .iter()
                .map(|seat| wire::Seat {
                    generation: seat.generation.map(|it| it.0),
                    learns: seat.learns,
                })
                .collect(),
            outcomes,
            search,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello() -> Hello {
        let config = GameConfig::by_name("tic_tac_toe").expect("it is in the box");
        Hello { actor: "a".to_owned(), epoch: None, answered: 0, config, version: 1 }
    }

    fn searched(policy: &[(u32, f32)], value: f32) -> Searched {
        let policy = policy.iter().map(|&(action, share)| (Action(action), share)).collect();
        Searched { policy, value, surprise: 0.5 }
    }

    fn trajectory() -> Trajectory {
        Trajectory {
            sequence: 7,
            record: GameRecord {
                version: 1,
                config: hello().config,
                seed: 3,
                plies: vec![vec![Action(4)], vec![Action(0), Action(8)]],
                digests: vec![1, 2, 3],
            },
            behaviour: vec![vec![0.25], vec![0.5, 1.0]],
            searched: vec![
                vec![searched(&[(4, 0.75), (0, 0.25)], 0.5)],
                vec![searched(&[], -0.5), searched(&[(8, 1.0)], 1.0)],
            ],
            seats: vec![
                Seat { generation: Some(Generation(0)), learns: true },
                Seat { generation: None, learns: false },
            ],
            outcomes: vec![1.0, -1.0],
        }
    }

    #[test]
    fn a_trajectory_comes_back_from_the_wire_as_it_went() {
        let sent = wire::Trajectory::from(trajectory());
        assert_eq!(sent.actions, [4, 0, 8]);
        assert_eq!(sent.ply_lengths, [1, 2]);
        assert_eq!(Trajectory::unfold(sent, &hello()), Ok(trajectory()));
    }

    #[test]
    fn a_game_without_a_search_carries_no_results() {
        let unsearched = Trajectory { searched: Vec::new(), ..trajectory() };
        let sent = wire::Trajectory::from(unsearched.clone());
        assert_eq!(sent.search, None);
        assert_eq!(Trajectory::unfold(sent, &hello()), Ok(unsearched));
    }

    #[test]
    fn messages_that_do_not_fold_are_refused_by_field() {
        type Spoil = fn(&mut wire::Trajectory);
        fn search(message: &mut wire::Trajectory) -> &mut wire::SearchResults {
            message.search.get_or_insert_default()
        }
        let cases: [(Spoil, &str); 14] = [
            (|m| m.sequence = 0, "sequence"),
            (|m| m.ply_lengths = vec![0; MAX_PLIES + 1], "ply_lengths"),
            (|m| m.ply_lengths = vec![3, 0], "ply 1"),
            (|m| m.ply_lengths = vec![u32::MAX; 4], "plies"),
            (|m| m.behaviour.truncate(2), "behaviour"),
            (|m| m.seats.clear(), "seats"),
            (|m| m.seats = vec![wire::Seat::default(); 17], "seats"),
            (|m| m.outcomes.truncate(1), "outcomes"),
            (|m| search(m).policy_lengths.truncate(1), "search.policy_lengths"),
            (|m| search(m).policy_lengths[0] = u32::MAX, "search.policy_actions"),
            (|m| search(m).policy_actions.truncate(1), "search.policy_actions"),
            (|m| search(m).policy_probabilities.push(0.0), "search.policy_probabilities"),
            (|m| search(m).values.clear(), "search.values"),
            (|m| search(m).surprises.push(0.0), "search.surprises"),
        ];
        for (spoil, field) in cases {
            let mut message = trajectory().into();
            spoil(&mut message);
            let error = Trajectory::unfold(message, &hello()).expect_err(field).to_string();
            assert!(error.starts_with(field), "{error}");
        }
    }
}
