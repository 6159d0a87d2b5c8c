//! The input of a command: a file, or standard input as `-`.

use std::io::{self, Read};
use std::path::Path;

use ouro_service::files::read_regular;

/// Whether a path stands for standard input.
pub(super) fn is_standard(path: &Path) -> bool {
    path == Path::new("-")
}

/// The input in messages.
pub(super) fn name(path: &Path) -> String {
    if is_standard(path) { "standard input".to_owned() } else { path.display().to_string() }
}

/// Reads the whole input of at most `most` bytes. A longer one is an error of the kind
/// [`InvalidInput`](io::ErrorKind::InvalidInput).
pub(super) fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    if !is_standard(path) {
        return read_regular(path, most);
    }
    let mut bytes = Vec::new();
    // One byte more detects a longer input.
    io::stdin().lock().take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let problem = format!("it has more than {most} bytes");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
    }
    Ok(bytes)
}
