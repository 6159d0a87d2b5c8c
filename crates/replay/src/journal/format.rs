//! The journal's format on disk. All numbers are little-endian.
//!
//! ```text
//! segment  = header frame*           the first frame holds one snapshot, and nothing else does
//! header   = magic[8] version:u32 identity_length:u32
//!            segment:u64 first_commit:u64 first_record:u64 crc:u32 identity
//! frame    = magic[4] body_length:u32 commit:u64 entries:u32 crc:u32 body end:u8
//! body     = entry*
//! entry    = length:u32 crc:u32 kind:u8 actor_length:u8 epoch:u64 sequence:u64 generation:u32
//!            actor payload           length counts from `kind` on
//! ```
//!
//! A frame is one commit: one write and one sync. Every checksum is CRC32C. The checksum of a
//! frame's header is salted with the segment and the offset. The checksum of an entry is salted
//! with the commit and the entry's index. Intact bytes in the wrong place are therefore detected
//! as damage. The first and the last byte of a frame are not zero. If only one of them lies in a
//! disk sector, that sector still differs from one that was never written.
//!
//! The payload of a purge is `before:u64 records:u64 at:u64`, then the name of who purged. Purges exist
//! only in segments of version 2. All other segments have version 1, which earlier programs read.
//!
//! The layout of the header never changes, so every version can distinguish a newer format from
//! damage.

use crc32c::{crc32c, crc32c_append};

use ouro_net::Generation;

use crate::bytes::Reader;

/// First bytes of a segment.
pub(crate) const MAGIC: [u8; 8] = *b"OUROJRNL";
/// The newest format version that this code reads. It writes this version to segments that may hold
/// a [purge](Kind::Purge), and `BASE_VERSION` to all others.
pub const FORMAT_VERSION: u32 = 2;
/// The format version of segments without purges.
pub(crate) const BASE_VERSION: u32 = 1;
/// Bytes of a segment's header before the identity.
pub(crate) const HEADER_BYTES: usize = 44;
/// First bytes of a frame.
pub(crate) const FRAME_MAGIC: [u8; 4] = *b"OFRM";
/// Bytes of a frame before its body.
pub(crate) const FRAME_BYTES: usize = 24;
/// Last byte of a frame, any value but zero.
pub(crate) const FRAME_END: u8 = 0xE5;
/// Bytes of an entry before the part that its length counts: length and checksum.
const ENTRY_PREFIX: usize = 8;
/// Bytes of an entry from its kind up to the actor's name.
const ENTRY_FIXED: usize = 22;

/// The kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A record was accepted; the payload is the record.
    Record = 1,
    /// A record was permanently refused; the payload is the reason.
    Refused = 2,
    /// A new epoch was issued to an actor, which ends all its older ones.
    Epoch = 3,
    /// The deduplication state after all earlier segments, as the payload.
    Snapshot = 4,
    /// The earlier records of an actor are void; the payload says who purged them and when.
    Purge = 5,
}

impl Kind {
    fn from_byte(byte: u8) -> Option<Self> {
        [Self::Record, Self::Refused, Self::Epoch, Self::Snapshot, Self::Purge]
            .into_iter()
            .find(|kind| *kind as u8 == byte)
    }
}

/// One entry of a journal, borrowed from the bytes of its segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The entry's kind.
    pub kind: Kind,
    /// The actor's name; empty in a snapshot.
    pub actor: &'a str,
    /// Epoch of the actor; 0 in a snapshot and in a purge.
    pub epoch: u64,
    /// The record's sequence number in the epoch, from 1; 0 if there is no record.
    pub sequence: u64,
    /// Generation of the weights that played the record; 0 if there is no record.
    pub generation: Generation,
    /// Record, reason, deduplication state or purge.
    pub payload: &'a [u8],
}

/// A deviation from the format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// Bytes from the start of the segment.
    pub(crate) offset: usize,
    pub(crate) what: &'static str,
    pub(crate) expected: String,
    pub(crate) found: String,
}

impl Fault {
    pub(crate) fn new(
        offset: usize,
        what: &'static str,
        expected: impl ToString,
        found: impl ToString,
    ) -> Self {
        Self { offset, what, expected: expected.to_string(), found: found.to_string() }
    }
}

fn hex(number: u32) -> String {
    format!("{number:08x}")
}

/// A segment's header: the position of the segment in its journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) version: u32,
    pub(crate) segment: u64,
    pub(crate) first_commit: u64,
    pub(crate) first_record: u64,
}

/// A header read from a segment.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum HeaderRead<'a> {
    Known(Header, &'a [u8]),
    Newer(u32),
}

impl Header {
    pub(crate) fn encode(&self, identity: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER_BYTES + identity.len());
        bytes.extend(MAGIC);
        bytes.extend(self.version.to_le_bytes());
        bytes.extend((identity.len() as u32).to_le_bytes());
        for number in [self.segment, self.first_commit, self.first_record] {
            bytes.extend(number.to_le_bytes());
        }
        let checksum = crc32c_append(crc32c(&bytes), identity);
        bytes.extend(checksum.to_le_bytes());
        bytes.extend(identity);
        bytes
    }

    /// Decodes the header at the start of a segment.
    pub(crate) fn decode(bytes: &[u8]) -> Result<HeaderRead<'_>, Fault> {
        let magic = &bytes[..bytes.len().min(MAGIC.len())];
        if *magic != MAGIC {
            let found = magic.escape_ascii().to_string();
            return Err(Fault::new(0, "the magic of a journal segment", "OUROJRNL", found));
        }
        let short = || {
            let found = format!("{} bytes", bytes.len());
            Fault::new(bytes.len(), "the segment's header", "longer", found)
        };
        let mut reader = Reader::new(&bytes[MAGIC.len()..]);
        let mut numbers = || {
            let (version, length) = (reader.u32()?, reader.u32()? as usize);
            let header = Self {
                version,
                segment: reader.u64()?,
                first_commit: reader.u64()?,
                first_record: reader.u64()?,
            };
            Some((header, reader.u32()?, reader.take(length)?))
        };
        let (header, stored, identity) = numbers().ok_or_else(short)?;
        let computed = crc32c_append(crc32c(&bytes[..HEADER_BYTES - 4]), identity);
        if stored != computed {
            let (stored, computed) = (hex(stored), hex(computed));
            return Err(Fault::new(
                HEADER_BYTES - 4,
                "the checksum of the header",
                computed,
                stored,
            ));
        }
        match header.version {
            BASE_VERSION..=FORMAT_VERSION => Ok(HeaderRead::Known(header, identity)),
            newer if newer > FORMAT_VERSION => Ok(HeaderRead::Newer(newer)),
            old => Err(Fault::new(MAGIC.len(), "the format version", BASE_VERSION, old)),
        }
    }
}

/// Checksum of the frame header at `offset`, over its other `fields`.
fn frame_checksum(fields: &[u8], segment: u64, offset: usize) -> u32 {
    let salt = crc32c_append(crc32c(&segment.to_le_bytes()), &(offset as u64).to_le_bytes());
    crc32c_append(salt, fields)
}

/// Writes the header into the first [`FRAME_BYTES`] of `frame` and appends the last byte. The
/// body must already be in `frame`.
pub(crate) fn seal_frame(frame: &mut Vec<u8>, at: FramePlace, commit: u64, entries: u32) {
    let body = (frame.len() - FRAME_BYTES) as u32;
    frame[..4].copy_from_slice(&FRAME_MAGIC);
    frame[4..8].copy_from_slice(&body.to_le_bytes());
    frame[8..16].copy_from_slice(&commit.to_le_bytes());
    frame[16..20].copy_from_slice(&entries.to_le_bytes());
    let checksum = frame_checksum(&frame[..20], at.segment, at.offset);
    frame[20..24].copy_from_slice(&checksum.to_le_bytes());
    frame.push(FRAME_END);
}

/// Position of a frame on disk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FramePlace {
    pub(crate) segment: u64,
    pub(crate) offset: usize,
}

/// The numbers in a frame's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameHeader {
    pub(crate) commit: u64,
    pub(crate) entries: u32,
    pub(crate) body: usize,
}

impl FrameHeader {
    /// Decodes the header of the frame at `at`.
    pub(crate) fn decode(bytes: &[u8], at: FramePlace) -> Result<Self, Fault> {
        let short = || {
            let found = bytes.len().saturating_sub(at.offset);
            Fault::new(at.offset, "the length of a commit's header", FRAME_BYTES, found)
        };
        let header = bytes.get(at.offset..at.offset + FRAME_BYTES).ok_or_else(short)?;
        let mut reader = Reader::new(&header[4..]);
        let mut numbers = || Some((reader.u32()?, reader.u64()?, reader.u32()?, reader.u32()?));
        let (body, commit, entries, stored) = numbers().ok_or_else(short)?;
        if header[..4] != FRAME_MAGIC {
            let found = header[..4].escape_ascii();
            return Err(Fault::new(at.offset, "the magic of a commit", "OFRM", found));
        }
        let computed = frame_checksum(&header[..20], at.segment, at.offset);
        if stored != computed {
            let what = "the checksum of a commit's header";
            return Err(Fault::new(at.offset + 20, what, hex(computed), hex(stored)));
        }
        Ok(Self { commit, entries, body: body as usize })
    }
}

/// Checksum of an entry without its checksum field.
fn entry_checksum(commit: u64, index: u32, length: [u8; 4], rest: &[u8]) -> u32 {
    let mut salt = [0; 16];
    salt[..8].copy_from_slice(&commit.to_le_bytes());
    salt[8..12].copy_from_slice(&index.to_le_bytes());
    salt[12..].copy_from_slice(&length);
    crc32c_append(crc32c(&salt), rest)
}

impl<'a> Entry<'a> {
    /// Size of the entry on disk, in bytes.
    pub(crate) fn encoded_bytes(&self) -> usize {
        ENTRY_PREFIX + ENTRY_FIXED + self.actor.len() + self.payload.len()
    }

    /// Appends the entry as number `index` of commit `commit`. The caller has checked the
    /// lengths of name and payload.
    pub(crate) fn encode(&self, commit: u64, index: u32, out: &mut Vec<u8>) {
        let start = out.len();
        let length = ((self.encoded_bytes() - ENTRY_PREFIX) as u32).to_le_bytes();
        out.extend(length);
        out.extend([0; 4]);
        out.extend([self.kind as u8, self.actor.len() as u8]);
        out.extend(self.epoch.to_le_bytes());
        out.extend(self.sequence.to_le_bytes());
        out.extend(self.generation.0.to_le_bytes());
        out.extend_from_slice(self.actor.as_bytes());
        out.extend_from_slice(self.payload);
        let checksum = entry_checksum(commit, index, length, &out[start + ENTRY_PREFIX..]);
        out[start + 4..start + ENTRY_PREFIX].copy_from_slice(&checksum.to_le_bytes());
    }

    /// Reads entry number `index` of commit `commit` from the front of `reader`. `offset` is the
    /// entry's position in the segment, for errors.
    pub(crate) fn decode(
        reader: &mut Reader<'a>,
        commit: u64,
        index: u32,
        offset: usize,
    ) -> Result<Self, Fault> {
        let left = reader.left();
        let mut fields = || {
            let (length, stored) = (reader.u32()?, reader.u32()?);
            Some((length, stored, reader.take(length as usize)?))
        };
        let (length, stored, rest) = fields()
            .ok_or_else(|| Fault::new(offset, "an entry", "inside its commit", "past its end"))?;
        debug_assert_eq!(left - reader.left(), ENTRY_PREFIX + rest.len(), "all of it was read");
        let computed = entry_checksum(commit, index, length.to_le_bytes(), rest);
        if stored != computed {
            let what = "the checksum of an entry";
            return Err(Fault::new(offset + 4, what, hex(computed), hex(stored)));
        }
        let malformed = |what, found: String| {
            Fault::new(offset + ENTRY_PREFIX, what, "as this program writes it", found)
        };
        let mut inner = Reader::new(rest);
        let mut fixed = || {
            let (kind, name) = (inner.u8()?, inner.u8()?);
            let (epoch, sequence, generation) =
                (inner.u64()?, inner.u64()?, Generation(inner.u32()?));
            Some((kind, epoch, sequence, generation, inner.take(usize::from(name))?))
        };
        let (kind, epoch, sequence, generation, name) =
            fixed().ok_or_else(|| malformed("an entry's length", length.to_string()))?;
        let kind = Kind::from_byte(kind)
            .ok_or_else(|| malformed("the kind of an entry", kind.to_string()))?;
        let actor = std::str::from_utf8(name)
            .map_err(|error| malformed("an actor's name", error.to_string()))?;
        let payload = inner.take(inner.left()).unwrap_or_default();
        Ok(Self { kind, actor, epoch, sequence, generation, payload })
    }
}
