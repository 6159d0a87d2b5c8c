//! The trajectory of one finished game.
//!
//! A [`Trajectory`] holds the game's record and the data for training: the player of each seat,
//! the probability of each chosen action, and the search target of each move. Observations are
//! not kept, because the rules recompute them. A worker creates the trajectory, `ouro-proto`
//! transfers it to the learner, and the journal keeps its [canonical bytes](Trajectory::encode).
//!
//! A trajectory has exactly one canonical form. [`decode`](Trajectory::decode) refuses bytes that
//! [`encode`](Trajectory::encode) would not write. Numbers are little-endian; `varint` is LEB128
//! without padding:
//!
//! ```text
//! trajectory = version:u8 flags:u8 seed:u64 digest:u64 seats:varint seat* plies:varint ply*
//! seat       = flags:u8 [generation:varint] outcome:f32    bit 0: learns, bit 1: generation
//! ply        = moves:u8 move*
//! move       = action:varint behaviour:f32 [target]        with bit 0 of the trajectory's flags
//! target     = value:f32 entries:varint [surprise:f32 entry*]      the rest if entries > 0
//! entry      = action:varint weight:f32
//! ```
//!
//! Floats keep their bits. The configuration is left out, because every segment of the journal
//! holds the identity of the run. Of the digests only the last is kept; it suffices to detect
//! rules that lead to another state. A duel of 40 plies with a search target of three actions per
//! move takes 2.3 kB, without search 0.5 kB.

use std::sync::Arc;

use ouro_game::record::{RecordedPly, Replay, ReplayError};
use ouro_game::{Action, Game, GameConfig, GameRecord};
use ouro_net::Generation;

use crate::bytes::push_varint;

mod decode;
mod encoded;
mod summary;

pub use encoded::{EncodedTrajectory, PositionRef};
pub use summary::GameSummary;

/// The version of the canonical form that this code writes and reads.
pub const TRAJECTORY_VERSION: u8 = 1;
/// Most seats of a game, and most moves of a ply.
pub const MAX_SEATS: usize = 16;
/// Most plies of a game.
pub const MAX_PLIES: usize = 1 << 16;

/// Flag of a trajectory: every move has a search target.
const SEARCHED: u8 = 1;
/// Flag of a seat: the learner trains on its moves.
const LEARNS: u8 = 1;
/// Flag of a seat: weights played it.
const GENERATION: u8 = 2;

/// One finished game.
#[derive(Clone, Debug, PartialEq)]
pub struct Trajectory {
    /// The game's record, without its moves.
    pub record: RecordHeader,
    /// The players, in seat order.
    pub seats: Vec<Seat>,
    /// The moves, in order of play.
    pub plies: Vec<Ply>,
}

/// The record of a game, without its moves: all else that its replay needs.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordHeader {
    /// Version of the record format, [`RECORD_VERSION`](ouro_game::record::RECORD_VERSION).
    pub version: u32,
    /// Configuration of the game, shared by all games of a run.
    pub config: Arc<GameConfig>,
    /// Seed of the game's generator.
    pub seed: u64,
    /// [`Game::digest`] of the first state and of the state after each ply. A trajectory from the
    /// journal has only the digest of the last state.
    pub digests: Vec<u64>,
}

/// The player in a seat, and the result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seat {
    /// Generation of the weights that played; `None` for a player without weights. If weights
    /// were swapped between moves, this is the oldest.
    pub generation: Option<Generation>,
    /// Whether the learner may train on the seat's moves.
    pub learns: bool,
    /// Result in the last state, 1 win to −1 loss.
    pub outcome: f32,
}

/// One ply: the moves of all its movers, in seat order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ply {
    /// At least one move.
    pub moves: Vec<Move>,
}

/// One player's move.
#[derive(Clone, Debug, PartialEq)]
pub struct Move {
    /// The action.
    pub action: Action,
    /// Probability with which the action was chosen.
    pub behaviour: f32,
    /// Search target of the move. Either every move of a game has one, or none has.
    pub search: Option<SearchTarget>,
}

/// Result of the search before a move: the policy target and the root value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SearchTarget {
    /// Policy target: the actions with a probability above 0; the probabilities add up to 1. Empty
    /// after a fast search, for a random opening move, and for a seat that does not learn.
    pub policy: Vec<(Action, f32)>,
    /// Value of the root for the mover, −1 to 1.
    pub value: f32,
    /// Kullback-Leibler divergence of the policy target from the network's policy, in nats.
    /// Meaningless without a policy target; the canonical form then leaves it out.
    pub surprise: f32,
}

/// Reason why a trajectory has no canonical form, or why bytes are not one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TrajectoryError {
    /// A list is too long or too short.
    #[error("{list} has {got} entries; {least} to {most} are possible")]
    Length {
        /// The list.
        list: &'static str,
        /// Its entries.
        got: usize,
        /// Fewest entries.
        least: usize,
        /// Most entries.
        most: usize,
    },
    /// Some moves have a search target and others do not.
    #[error("ply {ply} has a move {} search target, unlike the first ply", if *.has_target { "with a" } else { "without a" })]
    MixedSearch {
        /// Ply, from 0.
        ply: usize,
        /// Whether the move has a target.
        has_target: bool,
    },
    /// The bytes are not a canonical form.
    #[error("byte {offset} of {length}: {what}")]
    Malformed {
        /// Offset of the error.
        offset: usize,
        /// Number of all bytes.
        length: usize,
        /// The error.
        what: &'static str,
    },
}

impl RecordHeader {
    /// Digest of the last state; 0 without digests.
    pub fn last_digest(&self) -> u64 {
        self.digests.last().copied().unwrap_or_default()
    }
}

impl RecordedPly for Ply {
    fn actions(&self) -> impl ExactSizeIterator<Item = Action> {
        self.moves.iter().map(|one| one.action)
    }
}

impl Trajectory {
    /// The moves of all players, in order of play.
    pub fn moves(&self) -> impl Iterator<Item = &Move> {
        self.plies.iter().flat_map(|ply| &ply.moves)
    }

    /// Whether a search preceded the moves.
    pub fn is_searched(&self) -> bool {
        self.moves().next().is_some_and(|first| first.search.is_some())
    }

    /// Starts a replay of the game. Every state is compared with its digest. `game` must have
    /// been built from the record's configuration.
    pub fn replay<'a, G: Game>(&'a self, game: &'a G) -> Result<Replay<'a, G, Ply>, ReplayError> {
        let RecordHeader { version, seed, digests, .. } = &self.record;
        Replay::verified(game, *version, *seed, &self.plies, digests)
    }

    /// Converts the game to a record, for `ouro show` and other readers of records.
    pub fn to_record(&self) -> GameRecord<GameConfig> {
        let RecordHeader { version, config, seed, digests } = &self.record;
        GameRecord {
            version: *version,
            config: config.as_ref().clone(),
            seed: *seed,
            plies: self.plies.iter().map(|ply| ply.actions().collect()).collect(),
            digests: digests.clone(),
        }
    }

    /// Checks the lengths that the canonical form bounds.
    fn check(&self) -> Result<(), TrajectoryError> {
        let ranges =
            [("seats", self.seats.len(), 1, MAX_SEATS), ("plies", self.plies.len(), 0, MAX_PLIES)];
        let plies = self.plies.iter().map(|ply| ("a ply", ply.moves.len(), 1, MAX_SEATS));
        for (list, got, least, most) in ranges.into_iter().chain(plies) {
            if !(least..=most).contains(&got) {
                return Err(TrajectoryError::Length { list, got, least, most });
            }
        }
        let is_searched = self.is_searched();
        let differs = |ply: &Ply| ply.moves.iter().any(|one| one.search.is_some() != is_searched);
        match self.plies.iter().position(differs) {
            Some(ply) => Err(TrajectoryError::MixedSearch { ply, has_target: !is_searched }),
            None => Ok(()),
        }
    }

    /// Encodes the game to its canonical bytes. A surprise without a policy target is left out.
    pub fn encode(&self) -> Result<Vec<u8>, TrajectoryError> {
        self.check()?;
        let moves: usize = self.plies.iter().map(|ply| ply.moves.len()).sum();
        let mut out = Vec::with_capacity(32 + 8 * self.seats.len() + 32 * moves);
        out.push(TRAJECTORY_VERSION);
        out.push(if self.is_searched() { SEARCHED } else { 0 });
        out.extend(self.record.seed.to_le_bytes());
        out.extend(self.record.last_digest().to_le_bytes());
        push_varint(self.seats.len() as u32, &mut out);
        for seat in &self.seats {
            let learns = if seat.learns { LEARNS } else { 0 };
            match seat.generation {
                None => out.push(learns),
                Some(generation) => {
                    out.push(learns | GENERATION);
                    push_varint(generation.0, &mut out);
                }
            }
            out.extend(seat.outcome.to_le_bytes());
        }
        push_varint(self.plies.len() as u32, &mut out);
        for ply in &self.plies {
            out.push(ply.moves.len() as u8);
            for Move { action, behaviour, search } in &ply.moves {
                push_varint(action.0, &mut out);
                out.extend(behaviour.to_le_bytes());
                if let Some(target) = search {
                    target.encode(&mut out);
                }
            }
        }
        Ok(out)
    }
}

impl SearchTarget {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend(self.value.to_le_bytes());
        push_varint(self.policy.len() as u32, out);
        if self.policy.is_empty() {
            return;
        }
        out.extend(self.surprise.to_le_bytes());
        for (action, weight) in &self.policy {
            push_varint(action.0, out);
            out.extend(weight.to_le_bytes());
        }
    }
}

/// Fingerprint of canonical bytes (64-bit FNV-1a), which logs and the journal check compare.
pub fn fingerprint(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests;
