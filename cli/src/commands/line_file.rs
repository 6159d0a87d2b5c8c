//! A file of JSON lines that a long run adds to: one line with the settings of the run, then one for
//! each result.
//!
//! Contract: a line counts once it is complete. What follows the last complete line, as after a crash,
//! is removed when the run continues. A file of another run is never changed, and one process at a time
//! writes to a file.

use std::fmt::Display;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use ouro_service::files::read_regular;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::failure::Failure;

/// Largest file that is read, in bytes.
const LARGEST: u64 = 1 << 30;

/// What a file is for, in errors.
#[derive(Clone, Copy, Debug)]
pub(super) struct Purpose {
    /// What the file should be, such as `the path of this run`.
    pub(super) is: &'static str,
    /// The option that names it, such as `--path`.
    pub(super) option: &'static str,
}

/// An open file.
#[derive(Debug)]
pub(super) struct LineFile {
    path: PathBuf,
    file: File,
    purpose: Purpose,
}

impl LineFile {
    /// Opens the file of a run, or starts one. Returns the lines after that with the settings.
    ///
    /// `check` refuses a line with the reason. Its first argument is the index of the line among those
    /// returned.
    pub(super) fn open<H, L>(
        path: &Path,
        header: &H,
        purpose: Purpose,
        check: impl Fn(usize, &L) -> Result<(), String>,
    ) -> Result<(Self, Vec<L>), Failure>
    where
        H: Serialize + DeserializeOwned + PartialEq,
        L: DeserializeOwned,
    {
        let foreign = |problem: &dyn Display| {
            Failure::usage(format_args!(
                "{} is not {}: {problem}; name another file with {}",
                path.display(),
                purpose.is,
                purpose.option
            ))
        };
        let failed = |error: io::Error| write_failed(path, purpose, &error);
        let read = || match read_regular(path, LARGEST) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Failure::read(path.display(), &error)),
        };
        // Read before it is opened, because opening what is not a file could block. Read again once it is
        // locked, because another process may have added to it.
        let is_new = read()?.is_none();
        let opened = OpenOptions::new().append(true).create(is_new).open(path);
        let file = locked(opened.map_err(failed)?, path)?;
        let bytes = read()?.unwrap_or_default();
        let text = String::from_utf8(bytes).map_err(|_| foreign(&"it is not text"))?;
        let whole = &text[..text.rfind('\n').map_or(0, |end| end + 1)];
        if whole.is_empty() && !text.is_empty() {
            return Err(foreign(&"it has no complete line"));
        }
        let mut lines = whole.lines();
        if let Some(first) = lines.next() {
            let found: H = serde_json::from_str(first).map_err(|error| foreign(&error))?;
            if found != *header {
                return Err(foreign(&format_args!("it has {}", difference(&found, header))));
            }
        }
        let mut results = Vec::new();
        for (number, text) in lines.enumerate() {
            let line: L = serde_json::from_str(text)
                .map_err(|error| foreign(&format_args!("line {}: {error}", number + 2)))?;
            check(number, &line)
                .map_err(|problem| foreign(&format_args!("line {} {problem}", number + 2)))?;
            results.push(line);
        }
        file.set_len(whole.len() as u64).map_err(failed)?;
        let mut opened = Self { path: path.to_owned(), file, purpose };
        if whole.is_empty() {
            opened.append(header)?;
        }
        Ok((opened, results))
    }

    /// Adds a line.
    pub(super) fn append<T: Serialize>(&mut self, value: &T) -> Result<(), Failure> {
        let mut text = serde_json::to_vec(value).map_err(Failure::bug)?;
        text.push(b'\n');
        let written = self.file.write_all(&text);
        written.map_err(|error| write_failed(&self.path, self.purpose, &error))
    }
}

/// The file, which no other process has locked.
fn locked(file: File, path: &Path) -> Result<File, Failure> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(Failure::unavailable(format_args!(
            "{} is in use by another process; wait for its end or name another file",
            path.display()
        ))),
        // Some file systems have no locks. There, users must run one process at a time.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(file),
    }
}

/// The first setting in which two runs differ.
fn difference<H: Serialize>(found: &H, wanted: &H) -> String {
    let [found, wanted] = [found, wanted].map(|header| serde_json::to_value(header).ok());
    let fields = found.as_ref().and_then(|found| found.as_object()).into_iter().flatten();
    let mut different = fields.filter_map(|(key, value)| {
        let own = wanted.as_ref()?.get(key)?;
        (own != value).then(|| format!("{key} = {value}, not {own}"))
    });
    different.next().unwrap_or_else(|| "other settings".to_owned())
}

fn write_failed(path: &Path, purpose: Purpose, error: &io::Error) -> Failure {
    Failure::io(format_args!(
        "cannot write {}: {error}; free space or name another file with {}, then run the same command again",
        path.display(),
        purpose.option
    ))
}
