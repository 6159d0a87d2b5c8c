//! The name that weights go by everywhere: the hash of their bytes.

use std::fmt::Write;

use sha2::{Digest, Sha256};

/// SHA-256 of `bytes`, as 64 lower-case hexadecimal digits.
pub fn content_hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::with_capacity(64), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::content_hash;

    #[test]
    fn the_hash_is_the_published_sha_256() {
        // FIPS 180-4 example: the message "abc".
        assert_eq!(
            content_hash(b"abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }
}
