//! A file of JSON lines with a maximum size.
//!
//! Each line is one write, so a killed process leaves no incomplete line. After a failed write the
//! file is closed with one line in the log, and play continues.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use tracing::warn;

/// An optional file; `None` writes nothing.
#[derive(Debug, Default)]
pub(crate) struct AppendFile(Option<Open>);

#[derive(Debug)]
struct Open {
    /// The setting that names the file.
    setting: &'static str,
    file: File,
    /// Remaining bytes up to the maximum size.
    room: u64,
}

impl AppendFile {
    /// Opens the file at a path, if any, to append up to `max_bytes`. Missing folders are created.
    pub(crate) fn open(
        setting: &'static str,
        path: Option<&Path>,
        max_bytes: u64,
    ) -> Result<Self, (&'static str, io::Error)> {
        let open = path.map(|path| Open::new(setting, path, max_bytes));
        Ok(Self(open.transpose().map_err(|error| (setting, error))?))
    }

    /// Appends a line. `line` is called only if there is an open file.
    pub(crate) fn append(&mut self, line: impl FnOnce() -> serde_json::Value) {
        if let Some(open) = &mut self.0
            && !open.append(&line().to_string())
        {
            self.0 = None;
        }
    }
}

impl Open {
    fn new(setting: &'static str, path: &Path, max_bytes: u64) -> io::Result<Self> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        let room = max_bytes.saturating_sub(file.metadata()?.len());
        Ok(Self { setting, file, room })
    }

    /// Appends a line. Returns whether it fits and was written.
    fn append(&mut self, line: &str) -> bool {
        let bytes = line.len() as u64 + 1;
        if bytes > self.room {
            warn!(file = self.setting, "the file is full; nothing more is written to it");
            return false;
        }
        self.room -= bytes;
        match self.file.write_all(format!("{line}\n").as_bytes()) {
            Ok(()) => true,
            Err(error) => {
                warn!(file = self.setting, %error, "cannot write; nothing more is written to it");
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_opened_is_named_by_its_setting() {
        let folder = tempfile::tempdir().unwrap();
        let open = |path: &Path| AppendFile::open("log_records", Some(path), 0);
        assert_eq!(open(folder.path()).unwrap_err().0, "log_records");
        // A missing folder is created; a file in its place is an error.
        let file = folder.path().join("a");
        assert!(open(&file).is_ok());
        assert!(open(&file.join("no/such")).is_err());
        assert!(open(&folder.path().join("no/such")).is_ok());
    }
}
