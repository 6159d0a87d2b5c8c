//! Content hashes: weights files are named by the SHA-256 of their bytes.

use std::fmt;
use std::io::{self, Read};
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// SHA-256 of a file, written as 64 lower-case hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ContentHash([u8; 32]);

/// What is wrong with a hash.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("hash {0:?} is not 64 lower-case hex digits")]
pub struct HashError(String);

impl ContentHash {
    /// The hash of some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The hash of all bytes of a reader, which need not fit into memory.
    pub fn of_reader(mut reader: impl Read) -> io::Result<Self> {
        let mut hasher = Sha256::new();
        let mut buffer = vec![0; 1 << 16];
        loop {
            match reader.read(&mut buffer) {
                Ok(0) => return Ok(Self(hasher.finalize().into())),
                Ok(count) => hasher.update(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// A finished SHA-256 digest, for content that is hashed piece by piece.
    pub fn from_digest(digest: [u8; 32]) -> Self {
        Self(digest)
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ContentHash({self})")
    }
}

impl FromStr for ContentHash {
    type Err = HashError;

    fn from_str(text: &str) -> Result<Self, HashError> {
        // The text may come from the network, so the message quotes a bounded part of it.
        let refused = || HashError(text.chars().take(80).collect());
        let digits = text.as_bytes();
        let mut hash = [0; 32];
        if digits.len() != 2 * hash.len() {
            return Err(refused());
        }
        for (byte, pair) in hash.iter_mut().zip(digits.chunks_exact(2)) {
            let (Some(high), Some(low)) = (nibble(pair[0]), nibble(pair[1])) else {
                return Err(refused());
            };
            *byte = high << 4 | low;
        }
        Ok(Self(hash))
    }
}

fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

impl TryFrom<String> for ContentHash {
    type Error = HashError;

    fn try_from(text: String) -> Result<Self, HashError> {
        text.parse()
    }
}

impl From<ContentHash> for String {
    fn from(hash: ContentHash) -> Self {
        hash.to_string()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// SHA-256 of nothing, from FIPS 180-4's example values.
    const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    #[test]
    fn the_hash_is_the_published_sha_256() {
        // FIPS 180-4 example: the message "abc".
        assert_eq!(
            ContentHash::of(b"abc").to_string(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    #[test]
    fn a_reader_has_the_hash_of_its_bytes() {
        for length in [0, 1, (1 << 16) - 1, 1 << 16, 200_000] {
            let bytes: Vec<u8> = (0..length).map(|index| index as u8).collect();
            let hash = ContentHash::of_reader(&bytes[..]).unwrap();
            assert_eq!(hash, ContentHash::of(&bytes), "{length}");
        }
    }

    #[test]
    fn a_hash_reads_only_what_it_writes() {
        assert_eq!(ContentHash::of(b"").to_string(), EMPTY);
        assert_eq!(EMPTY.parse(), Ok(ContentHash::of(b"")));
        for bad in
            ["", "e3b0", &EMPTY.to_uppercase(), &EMPTY.replace('e', "g"), "ä".repeat(32).as_str()]
        {
            assert!(bad.parse::<ContentHash>().is_err(), "{bad}");
        }
        let json = serde_json::to_string(&ContentHash::of(b"")).unwrap();
        assert_eq!(json, format!("\"{EMPTY}\""));
        assert!(serde_json::from_str::<ContentHash>("\"../../etc/passwd\"").is_err());
    }

    proptest! {
        #[test]
        fn any_hash_survives_its_text(bytes: Vec<u8>) {
            let hash = ContentHash::of(&bytes);
            prop_assert_eq!(hash.to_string().parse(), Ok(hash));
        }
    }
}
