//! One accepted game as the journal keeps it: what was played and what was learned while
//! playing, without observations and without anything that is the same for the whole run.
//!
//! An [`Episode`] is the record of a game (seed and joint actions) with what training needs
//! besides. The rules are those of the run, which every segment of the journal names, so the
//! episode replays under them; [`digest`](Episode::digest) tells if they have changed since.
//!
//! The [binary form](Episode::encode) is canonical: an episode has one form, and bytes that are
//! no such form are refused. Numbers are little-endian, `varint` is LEB128 without padding:
//!
//! ```text
//! episode  = version:u8 flags:u8 seed:u64 digest:u64 seats:varint seat* plies:varint ply*
//! seat     = flags:u8 [generation:varint] outcome:f32      bit 0: learns, bit 1: generation
//! ply      = movers:u8 mover*
//! mover    = action:varint behaviour:f32 [searched]        with bit 0 of the episode's flags
//! searched = value:f32 targets:varint [surprise:f32 target*]      the rest if targets > 0
//! target   = action:varint weight:f32
//! ```
//!
//! Floats keep their bits. Forty plies of a duel with a search of three moves behind every
//! choice take 2.3 kB, without any search 0.5 kB.

use ouro_game::Action;
use ouro_net::Generation;

use crate::bytes::push_varint;

mod decode;
mod game;

pub use game::{PackedGame, Place};

/// The version this code writes and reads.
pub const EPISODE_VERSION: u8 = 1;
/// Most seats of a game, and most players that move together.
pub const MAX_SEATS: usize = 16;
/// Most plies of a game.
pub const MAX_PLIES: usize = 1 << 16;

/// Flag of an episode: moves carry what a search said.
const SEARCHED: u8 = 1;
/// Flag of a seat: the learner trains on its moves.
const LEARNS: u8 = 1;
/// Flag of a seat: weights played it.
const GENERATION: u8 = 2;

/// One accepted game. `plies`, `behaviour` and `searched` hold one list per ply with an entry
/// for each player that moved, in seat order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Episode {
    /// Seed of the game's generator.
    pub seed: u64,
    /// Fingerprint of the last state ([`ouro_game::Game::digest`]).
    pub digest: u64,
    /// Actions.
    pub plies: Vec<Vec<Action>>,
    /// Probability with which each action was chosen.
    pub behaviour: Vec<Vec<f32>>,
    /// What the search said before each action; no plies if none was made.
    pub searched: Vec<Vec<Searched>>,
    /// Who sat where, in seat order.
    pub seats: Vec<Seat>,
    /// Result of each seat, 1 win to −1 loss.
    pub outcomes: Vec<f32>,
}

/// Who sat in a seat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seat {
    /// Generation of the weights that played; `None` for a player without weights.
    pub generation: Option<Generation>,
    /// Whether its moves are trained on.
    pub learns: bool,
}

/// What a search said before a move.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Searched {
    /// Policy target; empty where there is none.
    pub policy: Vec<(Action, f32)>,
    /// Value of the position for the mover, −1 to 1.
    pub value: f32,
    /// Divergence of the target from the network's policy, nats; 0 without a target.
    pub surprise: f32,
}

/// Why an episode has no binary form, or bytes are no episode.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EpisodeError {
    /// Lists that belong together have different lengths, or a list is too long or too short.
    #[error("{list} has {got} entries; {expected}")]
    Shape {
        /// The list.
        list: &'static str,
        /// Its entries.
        got: usize,
        /// What is possible.
        expected: String,
    },
    /// A surprise without a policy target to be surprised by.
    #[error("ply {ply} has a surprise but no policy target")]
    Surprise {
        /// Ply, from 0.
        ply: usize,
    },
    /// The bytes are no episode.
    #[error("byte {offset} of {length}: {what}")]
    Malformed {
        /// Bytes that were understood.
        offset: usize,
        /// Bytes there are.
        length: usize,
        /// What is wrong.
        what: &'static str,
    },
}

fn expect(list: &'static str, got: usize, expected: usize) -> Result<(), EpisodeError> {
    if got == expected {
        return Ok(());
    }
    Err(EpisodeError::Shape { list, got, expected: format!("{expected} are due") })
}

impl Episode {
    /// Whether the episode has a binary form.
    pub fn check(&self) -> Result<(), EpisodeError> {
        let ranges =
            [("seats", self.seats.len(), 1, MAX_SEATS), ("plies", self.plies.len(), 0, MAX_PLIES)];
        let movers = self.plies.iter().map(|actions| ("a ply", actions.len(), 1, MAX_SEATS));
        for (list, got, least, most) in ranges.into_iter().chain(movers) {
            if !(least..=most).contains(&got) {
                let expected = format!("{least} to {most} are possible");
                return Err(EpisodeError::Shape { list, got, expected });
            }
        }
        expect("outcomes", self.outcomes.len(), self.seats.len())?;
        expect("behaviour", self.behaviour.len(), self.plies.len())?;
        for (actions, behaviour) in self.plies.iter().zip(&self.behaviour) {
            expect("a ply of behaviour", behaviour.len(), actions.len())?;
        }
        if self.searched.is_empty() {
            return Ok(());
        }
        expect("searched", self.searched.len(), self.plies.len())?;
        for (ply, (actions, searched)) in self.plies.iter().zip(&self.searched).enumerate() {
            expect("a ply of searched", searched.len(), actions.len())?;
            let surprises = |searched: &Searched| {
                searched.policy.is_empty() && searched.surprise.to_bits() != 0
            };
            if searched.iter().any(surprises) {
                return Err(EpisodeError::Surprise { ply });
            }
        }
        Ok(())
    }

    /// The binary form.
    pub fn encode(&self) -> Result<Vec<u8>, EpisodeError> {
        self.check()?;
        let moves: usize = self.plies.iter().map(Vec::len).sum();
        let mut out = Vec::with_capacity(32 + 8 * self.seats.len() + 32 * moves);
        out.push(EPISODE_VERSION);
        out.push(if self.searched.is_empty() { 0 } else { SEARCHED });
        out.extend(self.seed.to_le_bytes());
        out.extend(self.digest.to_le_bytes());
        push_varint(self.seats.len() as u32, &mut out);
        for (seat, outcome) in self.seats.iter().zip(&self.outcomes) {
            let learns = if seat.learns { LEARNS } else { 0 };
            match seat.generation {
                None => out.push(learns),
                Some(generation) => {
                    out.push(learns | GENERATION);
                    push_varint(generation.0, &mut out);
                }
            }
            out.extend(outcome.to_le_bytes());
        }
        push_varint(self.plies.len() as u32, &mut out);
        for (ply, actions) in self.plies.iter().enumerate() {
            out.push(actions.len() as u8);
            let mut searched = self.searched.get(ply).into_iter().flatten();
            for (action, behaviour) in actions.iter().zip(&self.behaviour[ply]) {
                push_varint(action.0, &mut out);
                out.extend(behaviour.to_le_bytes());
                if let Some(searched) = searched.next() {
                    searched.encode(&mut out);
                }
            }
        }
        Ok(out)
    }
}

impl Searched {
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

/// A fingerprint of bytes, for logs that are joined with the journal: FNV-1a, 64 bits.
pub fn fingerprint(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests;
