//! Finished games between actors and the learner.
//!
//! A [`Trajectory`] is a game record with the probabilities its actions were chosen with and
//! who sat where. The wire form is flat (one list of actions for all plies); this module folds
//! it back and refuses what does not fold, before anything is allocated for it that the
//! message itself did not already take.

use std::fmt;

use ouro_game::{Action, GameConfig, Record};

use crate::learner::v1 as wire;

/// Most plies in one game on the wire.
pub const MAX_PLIES: usize = 1 << 16;

/// Longest game configuration on the wire, in bytes of JSON.
pub const MAX_CONFIG_BYTES: usize = 1 << 16;

/// Longest actor name, in bytes.
pub const MAX_ACTOR_NAME: usize = 64;

/// Most seats in one game.
pub const MAX_SEATS: usize = 16;

/// Who pushes: one life of one actor process.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ActorId {
    /// Name, unique in the run: 1 to 64 letters, digits, `.`, `_` or `-`.
    pub name: String,
    /// Random number chosen when the process started.
    pub epoch: u64,
}

impl fmt::Display for ActorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{:016x}", self.name, self.epoch)
    }
}

/// One finished game as an actor reports it. Nothing in it has been checked against the rules.
#[derive(Clone, Debug, PartialEq)]
pub struct Trajectory {
    /// Position in the actor's stream, from 1.
    pub sequence: u64,
    /// The game.
    pub record: Record<GameConfig>,
    /// Probability with which each action of `record.plies` was chosen, in the same places.
    pub behaviour: Vec<Vec<f32>>,
    /// Who sat where, in seat order.
    pub seats: Vec<Seat>,
}

/// Who sat in a seat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seat {
    /// Generation of the weights that played; `None` for a player without weights.
    pub generation: Option<u32>,
    /// Whether the learner may train on this seat's moves.
    pub learns: bool,
}

/// Why a message is not a trajectory or a hello.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TrajectoryError {
    /// The sequence number is 0.
    #[error("sequence is 0; sequences start at 1")]
    Sequence,
    /// The configuration is too long.
    #[error("config_json has {got} bytes; at most {MAX_CONFIG_BYTES} are read")]
    ConfigSize {
        /// Bytes in the message.
        got: usize,
    },
    /// The configuration is not one of a known game.
    #[error("config_json is not a game configuration: {0}")]
    Config(String),
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
    /// The actor's name is empty, too long or has odd characters.
    #[error(
        "actor is {got:?}; a name has 1 to {MAX_ACTOR_NAME} letters, digits, dots, underscores or dashes"
    )]
    ActorName {
        /// The name, at most its first 64 characters.
        got: String,
    },
}

impl TryFrom<wire::Hello> for ActorId {
    type Error = TrajectoryError;

    fn try_from(hello: wire::Hello) -> Result<Self, TrajectoryError> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        let name = hello.actor;
        if name.is_empty() || name.len() > MAX_ACTOR_NAME || !name.bytes().all(plain) {
            let got = name.chars().take(MAX_ACTOR_NAME).collect();
            return Err(TrajectoryError::ActorName { got });
        }
        Ok(Self { name, epoch: hello.epoch })
    }
}

impl From<ActorId> for wire::Hello {
    fn from(actor: ActorId) -> Self {
        Self { actor: actor.name, epoch: actor.epoch }
    }
}

impl TryFrom<wire::Trajectory> for Trajectory {
    type Error = TrajectoryError;

    fn try_from(message: wire::Trajectory) -> Result<Self, TrajectoryError> {
        if message.sequence == 0 {
            return Err(TrajectoryError::Sequence);
        }
        if message.config_json.len() > MAX_CONFIG_BYTES {
            return Err(TrajectoryError::ConfigSize { got: message.config_json.len() });
        }
        if message.ply_lengths.len() > MAX_PLIES {
            return Err(TrajectoryError::Plies { got: message.ply_lengths.len() });
        }
        if message.seats.is_empty() || message.seats.len() > MAX_SEATS {
            return Err(TrajectoryError::Seats { got: message.seats.len() });
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
        let config = serde_json::from_str(&message.config_json)
            .map_err(|error| TrajectoryError::Config(error.to_string()))?;
        let lengths = message.ply_lengths;
        let plies = split(&message.actions, &lengths, |&action| Action(action));
        Ok(Self {
            sequence: message.sequence,
            record: Record {
                version: message.version,
                config,
                seed: message.seed,
                plies,
                digests: message.digests,
            },
            behaviour: split(&message.behaviour, &lengths, |&probability| probability),
            seats: message
                .seats
                .iter()
                .map(|seat| Seat { generation: seat.generation, learns: seat.learns })
                .collect(),
        })
    }
}

/// Cuts a flat list into plies. The lengths must add up to the list's.
fn split<T, U>(flat: &[T], lengths: &[u32], convert: impl Fn(&T) -> U) -> Vec<Vec<U>> {
    let mut rest = flat;
    lengths
        .iter()
        .map(|&length| {
            let (ply, tail) = rest.split_at((length as usize).min(rest.len()));
            rest = tail;
            ply.iter().map(&convert).collect()
        })
        .collect()
}

impl TryFrom<Trajectory> for wire::Trajectory {
    type Error = TrajectoryError;

    /// Fails only if the configuration does not serialise.
    fn try_from(trajectory: Trajectory) -> Result<Self, TrajectoryError> {
        let record = trajectory.record;
        let config_json = serde_json::to_string(&record.config)
            .map_err(|error| TrajectoryError::Config(error.to_string()))?;
        Ok(Self {
            sequence: trajectory.sequence,
            version: record.version,
            config_json,
            seed: record.seed,
            ply_lengths: record.plies.iter().map(|ply| ply.len() as u32).collect(),
            actions: record.plies.iter().flatten().map(|action| action.0).collect(),
            digests: record.digests,
            behaviour: trajectory.behaviour.into_iter().flatten().collect(),
            seats: trajectory
                .seats
                .iter()
                .map(|seat| wire::Seat { generation: seat.generation, learns: seat.learns })
                .collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ouro_game::tic_tac_toe;

    fn trajectory() -> Trajectory {
        Trajectory {
            sequence: 7,
            record: Record {
                version: 1,
                config: GameConfig::TicTacToe(tic_tac_toe::Config {}),
                seed: 3,
                plies: vec![vec![Action(4)], vec![Action(0), Action(8)]],
                digests: vec![1, 2, 3],
            },
            behaviour: vec![vec![0.25], vec![0.5, 1.0]],
            seats: vec![
                Seat { generation: Some(0), learns: true },
                Seat { generation: None, learns: false },
            ],
        }
    }

    fn message() -> wire::Trajectory {
        trajectory().try_into().expect("the configuration serialises")
    }

    #[test]
    fn a_trajectory_comes_back_from_the_wire_as_it_went() {
        let sent = message();
        assert_eq!(sent.actions, [4, 0, 8]);
        assert_eq!(sent.ply_lengths, [1, 2]);
        assert_eq!(Trajectory::try_from(sent), Ok(trajectory()));
    }

    #[test]
    fn messages_that_do_not_fold_are_refused_by_field() {
        type Spoil = fn(&mut wire::Trajectory);
        let cases: [(Spoil, &str); 9] = [
            (|m| m.sequence = 0, "sequence"),
            (|m| m.config_json = "{}".into(), "config_json"),
            (|m| m.config_json = " ".repeat(MAX_CONFIG_BYTES + 1), "config_json"),
            (|m| m.ply_lengths = vec![0; MAX_PLIES + 1], "ply_lengths"),
            (|m| m.ply_lengths = vec![3, 0], "ply 1"),
            (|m| m.ply_lengths = vec![u32::MAX; 4], "plies"),
            (|m| m.behaviour.truncate(2), "behaviour"),
            (|m| m.seats.clear(), "seats"),
            (|m| m.seats = vec![wire::Seat::default(); 17], "seats"),
        ];
        for (spoil, field) in cases {
            let mut message = message();
            spoil(&mut message);
            let error = Trajectory::try_from(message).expect_err(field).to_string();
            assert!(error.starts_with(field), "{error}");
        }
    }

    #[test]
    fn actor_names_are_short_and_plain() {
        let hello = |actor: &str| wire::Hello { actor: actor.into(), epoch: 1 };
        let actor = ActorId::try_from(hello("actor-0.local")).expect("a plain name");
        assert_eq!(actor.to_string(), "actor-0.local/0000000000000001");
        for name in ["", "two words", "é", &"a".repeat(65)] {
            assert!(ActorId::try_from(hello(name)).is_err(), "{name:?}");
        }
    }
}
