//! The size of a game's message, computed without building the message.
//!
//! Protocol Buffers write each field as a tag and its content. Lists of numbers are packed: a tag,
//! the length in bytes, and the numbers. All tags of these messages take one byte.

use ouro_replay::{Seat, Trajectory};
use prost::length_delimiter_len;

use super::targets;

/// Longest message of a push that a learner reads, in bytes.
pub const MAX_MESSAGE_BYTES: usize = 1 << 20;

/// Upper bound for the bytes around a game in its own message: a tag and a length.
const AROUND: usize = 16;

/// Upper bound for the size of a game's message, in bytes. Compare it with [`MAX_MESSAGE_BYTES`]
/// before sending.
pub fn message_bytes(sequence: u64, game: &Trajectory) -> usize {
    let moves = game.moves().count();
    let (sequence, seed) = (number(sequence), number(game.record.seed));
    let actions = packed(game.moves().map(|one| varint(one.action.0.into())).sum());
    let lengths = packed(game.plies.iter().map(|ply| varint(ply.moves.len() as u64)).sum());
    let digests = packed(8 * game.record.digests.len());
    let behaviour = packed(4 * moves);
    let seats: usize = game.seats.iter().map(|one| delimited(seat(one))).sum();
    let outcomes = packed(4 * game.seats.len());
    let search = if game.is_searched() { delimited(search(game, moves)) } else { 0 };
    AROUND + sequence + seed + actions + lengths + digests + behaviour + seats + outcomes + search
}

fn seat(seat: &Seat) -> usize {
    let generation = seat.generation.map_or(0, |generation| 1 + varint(generation.0.into()));
    generation + 2 * usize::from(seat.learns)
}

fn search(game: &Trajectory, moves: usize) -> usize {
    let (mut lengths, mut actions, mut entries) = (0, 0, 0);
    for target in targets(game) {
        lengths += varint(target.policy.len() as u64);
        actions += target.policy.iter().map(|(action, _)| varint(action.0.into())).sum::<usize>();
        entries += target.policy.len();
    }
    packed(lengths) + packed(actions) + packed(4 * entries) + 2 * packed(4 * moves)
}

/// Size of a field with one number; 0 is left out.
fn number(number: u64) -> usize {
    if number == 0 { 0 } else { 1 + varint(number) }
}

/// Size of a number.
fn varint(number: u64) -> usize {
    (64 - number.max(1).leading_zeros() as usize).div_ceil(7)
}

/// Size of a field of `bytes` bytes with its tag and length.
fn delimited(bytes: usize) -> usize {
    1 + length_delimiter_len(bytes) + bytes
}

/// Size of a list of numbers; an empty list is left out.
fn packed(bytes: usize) -> usize {
    if bytes == 0 { 0 } else { delimited(bytes) }
}
