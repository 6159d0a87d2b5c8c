//! Reading files that a user names.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Reads a whole file of at most `most` bytes.
///
/// Refuses anything but a regular file: reading a named pipe may block for ever, and a device may
/// have no end.
pub fn read_regular(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let invalid = |text: String| io::Error::new(io::ErrorKind::InvalidInput, text);
    if !std::fs::metadata(path)?.is_file() {
        return Err(invalid("it is not a regular file".to_owned()));
    }
    let mut bytes = Vec::new();
    // One byte more detects a longer file. The length in the metadata may be out of date.
    File::open(path)?.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(invalid(format!("it has more than {most} bytes")));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_up_to_the_limit_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, b"1234").unwrap();
        assert_eq!(read_regular(&path, 4).unwrap(), b"1234");
        assert_eq!(read_regular(&path, 3).unwrap_err().to_string(), "it has more than 3 bytes");
        let refused = read_regular(folder.path(), 3).unwrap_err();
        assert_eq!(refused.to_string(), "it is not a regular file");
        if cfg!(unix) {
            assert!(read_regular(Path::new("/dev/zero"), 3).is_err());
        }
        assert_eq!(
            read_regular(&folder.path().join("none"), 3).unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
    }
}
