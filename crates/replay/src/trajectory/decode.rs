//! Decodes the canonical form from untrusted bytes.

use std::sync::Arc;

use ouro_game::record::RECORD_VERSION;
use ouro_game::{Action, GameConfig};
use ouro_net::Generation;

use super::{
    GENERATION, LEARNS, MAX_PLIES, MAX_SEATS, Move, Ply, RecordHeader, SEARCHED, SearchTarget,
    Seat, TRAJECTORY_VERSION, Trajectory, TrajectoryError,
};
use crate::bytes::Reader;

/// Fewest bytes of a ply: its count (1), one action (1) and one probability (4).
const LEAST_PLY: usize = 6;
/// Fewest bytes of an entry of a policy target: its action (1) and its weight (4).
const LEAST_ENTRY: usize = 5;

const SHORT: &str = "the trajectory ends too soon";
const NUMBER: &str = "not a number as it is written here";

struct Decoder<'a> {
    reader: Reader<'a>,
    length: usize,
}

impl Decoder<'_> {
    fn wrong(&self, what: &'static str) -> TrajectoryError {
        let (offset, length) = (self.length - self.reader.left(), self.length);
        TrajectoryError::Malformed { offset, length, what }
    }

    fn u8(&mut self) -> Result<u8, TrajectoryError> {
        self.reader.u8().ok_or_else(|| self.wrong(SHORT))
    }

    fn u64(&mut self) -> Result<u64, TrajectoryError> {
        self.reader.u64().ok_or_else(|| self.wrong(SHORT))
    }

    fn f32(&mut self) -> Result<f32, TrajectoryError> {
        self.reader.f32().ok_or_else(|| self.wrong(SHORT))
    }

    fn varint(&mut self) -> Result<u32, TrajectoryError> {
        self.reader.varint().ok_or_else(|| self.wrong(NUMBER))
    }

    /// Reads a count of elements of at least `least` bytes each. A count beyond the remaining
    /// bytes is an error, so a false count cannot reserve memory.
    fn count(&mut self, least: usize, what: &'static str) -> Result<usize, TrajectoryError> {
        let count = self.varint()? as usize;
        if count > self.reader.left() / least { Err(self.wrong(what)) } else { Ok(count) }
    }

    fn seat(&mut self) -> Result<Seat, TrajectoryError> {
        let flags = self.u8()?;
        if flags & !(LEARNS | GENERATION) != 0 {
            return Err(self.wrong("a seat has unknown flags"));
        }
        let generation =
            if flags & GENERATION == 0 { None } else { Some(Generation(self.varint()?)) };
        Ok(Seat { generation, learns: flags & LEARNS != 0, outcome: self.f32()? })
    }

    fn target(&mut self) -> Result<SearchTarget, TrajectoryError> {
        let value = self.f32()?;
        let entries = self.count(LEAST_ENTRY, "a policy target has more entries than bytes")?;
        if entries == 0 {
            return Ok(SearchTarget { policy: Vec::new(), value, surprise: 0.0 });
        }
        let surprise = self.f32()?;
        let mut policy = Vec::with_capacity(entries);
        for _ in 0..entries {
            policy.push((Action(self.varint()?), self.f32()?));
        }
        Ok(SearchTarget { policy, value, surprise })
    }

    fn ply(&mut self, is_searched: bool) -> Result<Ply, TrajectoryError> {
        let count = usize::from(self.u8()?);
        if !(1..=MAX_SEATS).contains(&count) {
            return Err(self.wrong("no moves in a ply, or too many"));
        }
        let mut moves = Vec::with_capacity(count);
        for _ in 0..count {
            let (action, behaviour) = (Action(self.varint()?), self.f32()?);
            let search = if is_searched { Some(self.target()?) } else { None };
            moves.push(Move { action, behaviour, search });
        }
        Ok(Ply { moves })
    }

    fn trajectory(&mut self, config: &Arc<GameConfig>) -> Result<Trajectory, TrajectoryError> {
        if self.u8()? != TRAJECTORY_VERSION {
            return Err(self.wrong("another version than this program's"));
        }
        let flags = self.u8()?;
        if flags & !SEARCHED != 0 {
            return Err(self.wrong("unknown flags"));
        }
        let (seed, digest) = (self.u64()?, self.u64()?);
        let count = self.varint()? as usize;
        if !(1..=MAX_SEATS).contains(&count) {
            return Err(self.wrong("no seats, or too many"));
        }
        let mut seats = Vec::with_capacity(count);
        for _ in 0..count {
            seats.push(self.seat()?);
        }
        let count = self.count(LEAST_PLY, "more plies than bytes")?;
        if count > MAX_PLIES || (count == 0 && flags != 0) {
            return Err(self.wrong("too many plies, or a search without any"));
        }
        let mut plies = Vec::with_capacity(count);
        for _ in 0..count {
            plies.push(self.ply(flags & SEARCHED != 0)?);
        }
        if self.reader.left() > 0 {
            return Err(self.wrong("bytes behind the last ply"));
        }
        let (config, digests) = (Arc::clone(config), vec![digest]);
        let record = RecordHeader { version: RECORD_VERSION, config, seed, digests };
        Ok(Trajectory { record, seats, plies })
    }
}

impl Trajectory {
    /// Decodes the canonical bytes of a game. The bytes do not hold the configuration `config`.
    /// Bytes that [`encode`](Self::encode) would not write are an error.
    pub fn decode(bytes: &[u8], config: &Arc<GameConfig>) -> Result<Self, TrajectoryError> {
        Decoder { reader: Reader::new(bytes), length: bytes.len() }.trajectory(config)
    }
}
