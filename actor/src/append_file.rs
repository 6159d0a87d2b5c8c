//! A file of JSON lines with a maximum size.
//!
//! Each line is one write, so a killed process leaves no incomplete line. A full disk can cut off the last
//! line; after the next start, lines begin behind it. After a failed write the file is closed with one
//! line in the log, and play continues.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
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
    /// Whether the file ends within a line, which the next write ends first.
    is_torn: bool,
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
        let about = file.metadata()?;
        let room = max_bytes.saturating_sub(about.len());
        // A file that can only be written counts as not torn: at worst, the next line is appended to
        // a torn one.
        let is_torn = ends_within_a_line(path, &about).unwrap_or(false);
        Ok(Self { setting, file, room, is_torn })
    }

    /// Appends a line. Returns whether it fits and was written.
    fn append(&mut self, line: &str) -> bool {
        // One write, as for every line.
        let end = if std::mem::take(&mut self.is_torn) { "\n" } else { "" };
        let text = format!("{end}{line}\n");
        let bytes = text.len() as u64;
        if bytes > self.room {
            warn!(file = self.setting, "the file is full; nothing more is written to it");
            return false;
        }
        self.room -= bytes;
        match self.file.write_all(text.as_bytes()) {
            Ok(()) => true,
            Err(error) => {
                warn!(file = self.setting, %error, "cannot write; nothing more is written to it");
                false
            }
        }
    }
}

/// Whether the last byte of a file is not the end of a line. A pipe or a device has no last byte.
fn ends_within_a_line(path: &Path, about: &Metadata) -> io::Result<bool> {
    if !about.is_file() || about.len() == 0 {
        return Ok(false);
    }
    let mut file = File::open(path)?;
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_line_that_a_full_disk_cut_off_does_not_damage_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("records");
        let torn = "{\"actor\":\"a";
        std::fs::write(&path, torn).unwrap();
        // Each start appends two lines.
        for _ in 0..2 {
            let mut file = AppendFile::open("log_records", Some(&path), 1_000).unwrap();
            file.append(|| json!({ "actor": "b" }));
            file.append(|| json!({ "actor": "c" }));
        }
        let [b, c] = ["{\"actor\":\"b\"}", "{\"actor\":\"c\"}"];
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().collect::<Vec<_>>(), [torn, b, c, b, c]);
        assert!(text.ends_with('\n'));
        // The end of the cut line counts.
        std::fs::write(&path, torn).unwrap();
        let limit = (torn.len() + b.len() + 1) as u64;
        let mut file = AppendFile::open("log_records", Some(&path), limit).unwrap();
        file.append(|| json!({ "actor": "b" }));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), torn);
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_may_only_be_written_is_appended_to() {
        use std::os::unix::fs::PermissionsExt;

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("records");
        std::fs::write(&path, "{}\n").unwrap();
        let allow = |mode| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode));
        // Permissions do not bind root, for whom this is a file like any other.
        allow(0o200).unwrap();
        let mut file = AppendFile::open("log_records", Some(&path), 1_000).unwrap();
        file.append(|| json!({ "actor": "b" }));
        allow(0o600).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "{}\n{\"actor\":\"b\"}\n");
    }

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
