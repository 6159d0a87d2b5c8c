//! Reading files that a user names, and copying files that may be in use.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Refuses anything but a regular file: opening or reading a named pipe may block for ever, and a device
/// may have no end.
pub fn check_regular(path: &Path) -> io::Result<()> {
    let kind = std::fs::metadata(path)?.file_type();
    if kind.is_file() {
        return Ok(());
    }
    let found = if kind.is_dir() { "a folder" } else { "not a regular file" };
    Err(io::Error::other(format!("it is {found}; name a file")))
}

/// Reads a whole [regular](check_regular) file of at most `most` bytes.
pub fn read_regular(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let invalid = |text: String| io::Error::new(io::ErrorKind::InvalidInput, text);
    check_regular(path)?;
    let mut bytes = Vec::new();
    // One byte more detects a longer file. The length in the metadata may be out of date.
    File::open(path)?.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(invalid(format!("it has more than {most} bytes")));
    }
    Ok(bytes)
}

/// Copies a file durably, replaces the destination, and returns the number of bytes.
///
/// The source may grow meanwhile. The copy then ends at some byte of the growth. The permissions are
/// those of a new file.
pub fn copy_file(from: &Path, to: &Path) -> io::Result<u64> {
    let mut source = File::open(from)?;
    let mut copy = File::create(to)?;
    let bytes = io::copy(&mut source, &mut copy)?;
    copy.sync_all()?;
    Ok(bytes)
}

/// Makes the file names in a folder durable. Windows cannot open folders, so there the function does
/// nothing.
pub fn sync_folder(path: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(path)?.sync_all() } else { Ok(()) }
}

/// Whether an operation succeeded. A file that is not there any more is no error: a running process
/// may have removed it.
pub fn unless_gone(result: io::Result<u64>) -> io::Result<bool> {
    match result {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_replaces_what_was_there_and_a_source_may_be_gone() {
        let folder = tempfile::tempdir().unwrap();
        let [from, to] = ["from", "to"].map(|name| folder.path().join(name));
        assert!(!unless_gone(copy_file(&from, &to)).unwrap());
        std::fs::write(&from, b"new").unwrap();
        std::fs::write(&to, b"older").unwrap();
        assert!(unless_gone(copy_file(&from, &to)).unwrap());
        assert_eq!(std::fs::read(&to).unwrap(), b"new");
    }

    #[test]
    fn only_regular_files_up_to_the_limit_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, b"1234").unwrap();
        assert_eq!(read_regular(&path, 4).unwrap(), b"1234");
        assert_eq!(read_regular(&path, 3).unwrap_err().to_string(), "it has more than 3 bytes");
        let refused = read_regular(folder.path(), 3).unwrap_err();
        assert_eq!(refused.to_string(), "it is a folder; name a file");
        if cfg!(unix) {
            let refused = read_regular(Path::new("/dev/zero"), 3).unwrap_err();
            assert_eq!(refused.to_string(), "it is not a regular file; name a file");
        }
        assert_eq!(
            read_regular(&folder.path().join("none"), 3).unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
    }
}
