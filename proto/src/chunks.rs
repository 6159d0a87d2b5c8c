//! Chunked transfer of weights: splitting a file and reassembling it.
//!
//! A gRPC decoder reserves the declared length of a message before its bytes arrive, so messages
//! must be small. The receiver's memory is bounded by the bytes that have arrived, not by the
//! announced size. An [`Assembly`] returns a file only if its size and hash are as announced.

use bytes::Bytes;
use sha2::{Digest, Sha256};

use ouro_net::ContentHash;

/// Largest chunk, in bytes.
pub const CHUNK_BYTES: usize = 1 << 20;

/// Largest message with a chunk: the chunk and 64 KiB for framing.
pub const MESSAGE_BYTES: usize = CHUNK_BYTES + (64 << 10);

/// Largest weights file accepted unless configured otherwise, in bytes.
pub const DEFAULT_MAX_WEIGHTS_BYTES: u64 = 64 << 20;

/// Reason why chunks do not form the announced file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChunkError {
    /// The announced size exceeds the limit.
    #[error("weights of {size} bytes are over the limit of {limit}")]
    TooLarge {
        /// Size announced.
        size: u64,
        /// Largest size accepted.
        limit: u64,
    },
    /// One chunk exceeds the limit.
    #[error("chunk of {size} bytes is over the limit of {CHUNK_BYTES}")]
    ChunkTooLarge {
        /// Bytes in the chunk.
        size: usize,
    },
    /// A chunk is empty. Without this error a sender could prolong a transfer without end.
    #[error("a chunk is empty; send chunks of 1 to {CHUNK_BYTES} bytes")]
    Empty,
    /// More bytes arrived than were announced.
    #[error("more than the announced {announced} bytes of weights arrived")]
    TooMany {
        /// Size announced.
        announced: u64,
    },
    /// The chunks ended before the announced size.
    #[error("{got} bytes of weights arrived, {announced} were announced")]
    TooFew {
        /// Bytes that arrived.
        got: u64,
        /// Size announced.
        announced: u64,
    },
    /// The bytes do not have the announced hash.
    #[error("weights hash to {got}, {announced} was announced")]
    Hash {
        /// Hash of the bytes that arrived.
        got: ContentHash,
        /// Hash announced.
        announced: ContentHash,
    },
}

/// Splits a file into chunks, in order. An empty file has none. The chunks share its memory.
pub fn split(mut file: Bytes) -> impl Iterator<Item = Bytes> + Send + use<> {
    std::iter::from_fn(move || {
        let size = file.len().min(CHUNK_BYTES);
        (size > 0).then(|| file.split_to(size))
    })
}

/// A file that is being received.
#[derive(Debug)]
pub struct Assembly {
    hash: ContentHash,
    size: u64,
    file: Vec<u8>,
    hasher: Sha256,
}

impl Assembly {
    /// Starts a file of `size` bytes with this hash. More than `limit` bytes are an error.
    pub fn new(hash: ContentHash, size: u64, limit: u64) -> Result<Self, ChunkError> {
        if size > limit {
            return Err(ChunkError::TooLarge { size, limit });
        }
        Ok(Self { hash, size, file: Vec::new(), hasher: Sha256::new() })
    }

    /// Appends the next chunk.
    pub fn push(&mut self, chunk: &[u8]) -> Result<(), ChunkError> {
        if chunk.is_empty() {
            return Err(ChunkError::Empty);
        }
        if chunk.len() > CHUNK_BYTES {
            return Err(ChunkError::ChunkTooLarge { size: chunk.len() });
        }
        if (self.file.len() + chunk.len()) as u64 > self.size {
            return Err(ChunkError::TooMany { announced: self.size });
        }
        self.hasher.update(chunk);
        self.file.extend_from_slice(chunk);
        Ok(())
    }

    /// Returns the complete file if its size and hash are as announced.
    pub fn finish(self) -> Result<Vec<u8>, ChunkError> {
        let got = self.file.len() as u64;
        if got != self.size {
            return Err(ChunkError::TooFew { got, announced: self.size });
        }
        let got = ContentHash::from_digest(self.hasher.finalize().into());
        if got != self.hash {
            return Err(ChunkError::Hash { got, announced: self.hash });
        }
        Ok(self.file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(size: usize) -> Bytes {
        (0..size).map(|index| (index % 251) as u8).collect()
    }

    #[test]
    fn a_file_survives_being_split_and_assembled() {
        for size in [0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 3 * CHUNK_BYTES + 7] {
            let file = file(size);
            let size = size as u64;
            let mut assembly = Assembly::new(ContentHash::of(&file), size, size).unwrap();
            for chunk in split(file.clone()) {
                assert!(!chunk.is_empty());
                assembly.push(&chunk).unwrap();
            }
            assert_eq!(assembly.finish().unwrap(), file);
        }
    }

    #[test]
    fn a_file_that_is_not_the_announced_one_is_refused_by_name() {
        let file = file(10);
        let hash = ContentHash::of(&file);
        let assembly = |size| Assembly::new(hash, size, 100).unwrap();

        assert_eq!(
            Assembly::new(hash, 101, 100).unwrap_err(),
            ChunkError::TooLarge { size: 101, limit: 100 }
        );
        assert_eq!(assembly(10).push(&[]), Err(ChunkError::Empty));
        assert_eq!(assembly(9).push(&file), Err(ChunkError::TooMany { announced: 9 }));
        let mut short = assembly(11);
        short.push(&file).unwrap();
        assert_eq!(short.finish(), Err(ChunkError::TooFew { got: 10, announced: 11 }));
        let mut other = assembly(10);
        other.push(&[0; 10]).unwrap();
        assert!(
            matches!(other.finish(), Err(ChunkError::Hash { announced, .. }) if announced == hash)
        );
        let mut large = Assembly::new(hash, u64::MAX, u64::MAX).unwrap();
        assert_eq!(
            large.push(&vec![0; CHUNK_BYTES + 1]),
            Err(ChunkError::ChunkTooLarge { size: CHUNK_BYTES + 1 })
        );
    }
}
