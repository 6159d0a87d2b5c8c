//! Reading the binary form, trusting nothing in it.

use ouro_game::Action;
use ouro_net::Generation;

use super::{
    EPISODE_VERSION, Episode, EpisodeError, GENERATION, LEARNS, MAX_PLIES, MAX_SEATS, SEARCHED,
    Searched, Seat,
};
use crate::bytes::Reader;

/// Fewest bytes of a ply: its count, one action, one probability.
const LEAST_PLY: usize = 6;
/// Fewest bytes of a policy target.
const LEAST_TARGET: usize = 5;

const SHORT: &str = "the episode ends too soon";
const NUMBER: &str = "not a number as it is written here";

struct Decoder<'a> {
    reader: Reader<'a>,
    length: usize,
}

impl Decoder<'_> {
    fn wrong(&self, what: &'static str) -> EpisodeError {
        let (offset, length) = (self.length - self.reader.left(), self.length);
        EpisodeError::Malformed { offset, length, what }
    }

    fn u8(&mut self) -> Result<u8, EpisodeError> {
        self.reader.u8().ok_or_else(|| self.wrong(SHORT))
    }

    fn u64(&mut self) -> Result<u64, EpisodeError> {
        self.reader.u64().ok_or_else(|| self.wrong(SHORT))
    }

    fn f32(&mut self) -> Result<f32, EpisodeError> {
        self.reader.f32().ok_or_else(|| self.wrong(SHORT))
    }

    fn varint(&mut self) -> Result<u32, EpisodeError> {
        self.reader.varint().ok_or_else(|| self.wrong(NUMBER))
    }

    /// A count of things that take at least `least` bytes each, so that a false one cannot
    /// reserve more than what was sent.
    fn count(&mut self, least: usize, what: &'static str) -> Result<usize, EpisodeError> {
        let count = self.varint()? as usize;
        if count > self.reader.left() / least { Err(self.wrong(what)) } else { Ok(count) }
    }

    fn seat(&mut self) -> Result<(Seat, f32), EpisodeError> {
        let flags = self.u8()?;
        if flags & !(LEARNS | GENERATION) != 0 {
            return Err(self.wrong("a seat has unknown flags"));
        }
        let generation =
            if flags & GENERATION == 0 { None } else { Some(Generation(self.varint()?)) };
        Ok((Seat { generation, learns: flags & LEARNS != 0 }, self.f32()?))
    }

    fn searched(&mut self) -> Result<Searched, EpisodeError> {
        let value = self.f32()?;
        let targets = self.count(LEAST_TARGET, "more policy targets than bytes")?;
        if targets == 0 {
            return Ok(Searched { policy: Vec::new(), value, surprise: 0.0 });
        }
        let surprise = self.f32()?;
        let mut policy = Vec::with_capacity(targets);
        for _ in 0..targets {
            policy.push((Action(self.varint()?), self.f32()?));
        }
        Ok(Searched { policy, value, surprise })
    }

    fn episode(&mut self) -> Result<Episode, EpisodeError> {
        if self.u8()? != EPISODE_VERSION {
            return Err(self.wrong("another version than this program's"));
        }
        let flags = self.u8()?;
        if flags & !SEARCHED != 0 {
            return Err(self.wrong("unknown flags"));
        }
        let mut episode = Episode { seed: self.u64()?, digest: self.u64()?, ..Episode::default() };
        let seats = self.varint()? as usize;
        if !(1..=MAX_SEATS).contains(&seats) {
            return Err(self.wrong("no seats, or too many"));
        }
        for _ in 0..seats {
            let (seat, outcome) = self.seat()?;
            episode.seats.push(seat);
            episode.outcomes.push(outcome);
        }
        let plies = self.count(LEAST_PLY, "more plies than bytes")?;
        if plies > MAX_PLIES || (plies == 0 && flags != 0) {
            return Err(self.wrong("too many plies, or a search without any"));
        }
        episode.plies.reserve_exact(plies);
        episode.behaviour.reserve_exact(plies);
        episode.searched.reserve_exact(if flags == 0 { 0 } else { plies });
        for _ in 0..plies {
            let movers = usize::from(self.u8()?);
            if !(1..=MAX_SEATS).contains(&movers) {
                return Err(self.wrong("no movers in a ply, or too many"));
            }
            let (mut actions, mut behaviour) = (Vec::with_capacity(movers), Vec::new());
            behaviour.reserve_exact(movers);
            let mut searched = Vec::with_capacity(if flags == 0 { 0 } else { movers });
            for _ in 0..movers {
                actions.push(Action(self.varint()?));
                behaviour.push(self.f32()?);
                if flags & SEARCHED != 0 {
                    searched.push(self.searched()?);
                }
            }
            episode.plies.push(actions);
            episode.behaviour.push(behaviour);
            if flags & SEARCHED != 0 {
                episode.searched.push(searched);
            }
        }
        if self.reader.left() > 0 {
            return Err(self.wrong("bytes behind the last ply"));
        }
        Ok(episode)
    }
}

impl Episode {
    /// Reads the binary form; refuses anything that [`encode`](Self::encode) would not write.
    pub fn decode(bytes: &[u8]) -> Result<Self, EpisodeError> {
        Decoder { reader: Reader::new(bytes), length: bytes.len() }.episode()
    }
}
