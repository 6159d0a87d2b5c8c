//! A file of JSON lines that a long run adds to: one line with the settings of the run, then one for
//! each result.
//!
//! Contract: a line counts once it is complete. What follows the last complete line, as after a crash,
//! is removed when the run continues. After a failed write no line is added. A file of another run is never
//! changed, and one process at a time writes to a file.

use std::fmt::Display;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use ouro_service::files::check_regular;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::failure::Failure;

/// Longest line that is read, in bytes. The first line has the names of all players and the whole game.
const LONGEST_LINE: u64 = 16 << 20;

/// What a file is for, in errors.
#[derive(Clone, Copy, Debug)]
pub(super) struct Purpose {
    /// What the file should be, such as `the path of this run`.
    pub(super) is: &'static str,
    /// What to do about a file that is something else, such as `name another file with --path`.
    pub(super) remedy: &'static str,
}

/// The first line of a file: the settings of its run.
pub(super) trait FirstLine: Clone + Serialize + DeserializeOwned + PartialEq {
    /// These settings, with those of `found` in which the runs of one file may differ. A file that starts
    /// with `found` is of a run with these settings if the result equals `found`.
    fn allowing(&self, found: &Self) -> Self;
}

/// What lines are written to, at its end.
pub(super) trait LineStore: Write {
    /// Removes everything after the first `length` bytes.
    fn truncate(&mut self, length: u64) -> io::Result<()>;
}

impl LineStore for File {
    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }
}

/// An open file.
#[derive(Debug)]
pub(super) struct LineFile<F = File> {
    path: PathBuf,
    file: F,
    purpose: Purpose,
    /// Length of the complete lines, in bytes.
    length: u64,
    /// The kind of the error that made a write fail.
    failed: Option<io::ErrorKind>,
}

impl LineFile {
    /// Opens the file of a run, or starts one. Returns its first line, which has the settings, and the
    /// lines after it.
    ///
    /// `check` refuses a line with the reason. Its first argument is the index of the line among those
    /// returned.
    pub(super) fn open<H, L>(
        path: &Path,
        header: &H,
        purpose: Purpose,
        check: impl Fn(usize, &L) -> Result<(), String>,
    ) -> Result<(Self, H, Vec<L>), Failure>
    where
        H: FirstLine,
        L: DeserializeOwned,
    {
        let foreign = |problem: &dyn Display| {
            Failure::usage(format_args!(
                "{} is not {}: {problem}; {}",
                path.display(),
                purpose.is,
                purpose.remedy
            ))
        };
        let damaged = |index: usize, problem: &dyn Display| {
            Failure::data(format_args!(
                "{}: line {} {problem}; remove the lines from there on, or {}",
                path.display(),
                index + 2,
                purpose.remedy
            ))
        };
        let failed = |error: io::Error| write_failed(path, purpose, &error);
        let unread = |error: io::Error| match error.kind() {
            io::ErrorKind::FileTooLarge => {
                Failure::data(format_args!("{}: {error}; {}", path.display(), purpose.remedy))
            }
            _ => Failure::read(path.display(), &error),
        };
        // The type of the file is checked before the file is opened, because opening a named pipe could
        // block. The lines are read once the file is locked, because another process may add lines.
        let is_new = match check_regular(path) {
            Ok(()) => false,
            Err(error) if error.kind() == io::ErrorKind::NotFound => true,
            Err(error) => return Err(unread(error)),
        };
        let opened = OpenOptions::new().read(true).append(true).create(is_new).open(path);
        let file = locked(opened.map_err(failed)?, path)?;
        let mut lines = Lines::new(BufReader::new(&file));
        let mut first = header.clone();
        if let Some(text) = lines.next_line().map_err(unread)? {
            first = serde_json::from_slice(text).map_err(|error| foreign(&error))?;
            let wanted = header.allowing(&first);
            if wanted != first {
                return Err(foreign(&format_args!("it has {}", difference(&first, &wanted))));
            }
        } else if file.metadata().map_err(unread)?.len() > 0 {
            return Err(foreign(&"it has no complete line"));
        }
        let mut results = Vec::new();
        while let Some(text) = lines.next_line().map_err(unread)? {
            let number = results.len();
            let line: L = serde_json::from_slice(text).map_err(|error| {
                // The error counts lines within this one.
                let text = error.to_string();
                let problem = text.rsplit_once(" at line ").map_or(&*text, |(problem, _)| problem);
                damaged(number, &format_args!("is damaged at column {}: {problem}", error.column()))
            })?;
            check(number, &line).map_err(|problem| damaged(number, &problem))?;
            results.push(line);
        }
        let length = lines.length;
        drop(lines);
        file.set_len(length).map_err(failed)?;
        let mut opened = Self { path: path.to_owned(), file, purpose, length, failed: None };
        if length == 0 {
            opened.append(header)?;
        }
        Ok((opened, first, results))
    }
}

impl<F: LineStore> LineFile<F> {
    /// Adds a line. After an error every further line is refused with an error of the same kind.
    pub(super) fn append<T: Serialize>(&mut self, value: &T) -> Result<(), Failure> {
        let mut text = serde_json::to_vec(value).map_err(Failure::bug)?;
        text.push(b'\n');
        if let Some(kind) = self.failed {
            return Err(write_failed(&self.path, self.purpose, &io::Error::from(kind)));
        }
        if let Err(error) = self.file.write_all(&text) {
            self.failed = Some(error.kind());
            // The file may end with a part of the line. If that part cannot be removed now, the next run
            // removes it, since no line follows it.
            let _ = self.file.truncate(self.length);
            return Err(write_failed(&self.path, self.purpose, &error));
        }
        self.length += text.len() as u64;
        Ok(())
    }
}

/// The complete lines of a file, read one at a time: a long match has gigabytes of them.
struct Lines<R> {
    reader: R,
    /// The last line, with its end.
    line: Vec<u8>,
    /// Number of complete lines so far.
    count: u64,
    /// Their length, in bytes.
    length: u64,
}

impl<R: BufRead> Lines<R> {
    fn new(reader: R) -> Self {
        Self { reader, line: Vec::new(), count: 0, length: 0 }
    }

    /// The next line, without its end; `None` if no complete line follows.
    fn next_line(&mut self) -> io::Result<Option<&[u8]>> {
        self.line.clear();
        self.reader.by_ref().take(LONGEST_LINE + 1).read_until(b'\n', &mut self.line)?;
        let Some((b'\n', line)) = self.line.split_last() else {
            if self.line.len() as u64 <= LONGEST_LINE {
                return Ok(None);
            }
            let text = format!("line {} has more than {LONGEST_LINE} bytes", self.count + 1);
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
        };
        self.count += 1;
        self.length += line.len() as u64 + 1;
        Ok(Some(line))
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
        "cannot write {}: {error}; free space or {}, then run the same command again",
        path.display(),
        purpose.remedy
    ))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde::Deserialize;

    use super::*;

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct Header {
        version: u32,
        /// Files of any author are accepted.
        author: String,
    }

    impl FirstLine for Header {
        fn allowing(&self, found: &Self) -> Self {
            Self { author: found.author.clone(), ..self.clone() }
        }
    }

    /// A file on a disk with space for `room` more bytes.
    struct FullDisk {
        file: File,
        room: usize,
        truncates: bool,
    }

    impl Write for FullDisk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.room == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            let written = self.file.write(&bytes[..bytes.len().min(self.room)])?;
            self.room -= written;
            Ok(written)
        }

        fn flush(&mut self) -> io::Result<()> {
            self.file.flush()
        }
    }

    impl LineStore for FullDisk {
        fn truncate(&mut self, length: u64) -> io::Result<()> {
            if self.truncates {
                return self.file.set_len(length);
            }
            Err(io::ErrorKind::PermissionDenied.into())
        }
    }

    type Opened = Result<(LineFile, Header, Vec<String>), Failure>;

    fn open_as(version: u32, author: &str, path: &Path) -> Opened {
        let purpose =
            Purpose { is: "a file of this test", remedy: "name another file with --file" };
        let header = Header { version, author: author.to_owned() };
        LineFile::open(path, &header, purpose, |_, _: &String| Ok(()))
    }

    fn open(path: &Path) -> (LineFile, Vec<String>) {
        let (file, _, lines) = open_as(1, "a", path).expect("it is ours");
        (file, lines)
    }

    #[test]
    fn lines_are_read_one_at_a_time_up_to_the_last_complete_one() {
        let mut lines = Lines::new(&b"one\n\nthree\nhalf"[..]);
        for expected in ["one", "", "three"] {
            let line = lines.next_line().expect("memory can be read");
            assert_eq!(line, Some(expected.as_bytes()));
        }
        assert_eq!(lines.next_line().expect("memory can be read"), None);
        assert_eq!((lines.count, lines.length), (3, 11));
        // A line without an end is not read into memory.
        let mut lines = Lines::new(BufReader::new(io::repeat(b'x')));
        let error = lines.next_line().expect_err("it has no end");
        assert_eq!(error.to_string(), "line 1 has more than 16777216 bytes");
    }

    #[test]
    fn runs_of_one_file_may_differ_in_what_the_first_line_allows() {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let path = folder.path().join("lines");
        open(&path).0.append(&"first").expect("there is space");
        let (_, first, lines) = open_as(1, "b", &path).expect("any author is accepted");
        assert_eq!((first.author.as_str(), lines), ("a", vec!["first".to_owned()]));
        let refused = open_as(2, "b", &path).expect_err("it has another version");
        assert!(format!("{refused:?}").contains("it has version = 1, not 2"), "{refused:?}");
    }

    #[test]
    fn after_a_failed_write_no_line_is_added_and_the_complete_lines_are_read_again() {
        for truncates in [true, false] {
            let folder = tempfile::tempdir().expect("a scratch folder");
            let path = folder.path().join("lines");
            let LineFile { file, purpose, length, failed, .. } = open(&path).0;
            let file = FullDisk { file, room: 1_000, truncates };
            let mut lines = LineFile { path: path.clone(), file, purpose, length, failed };
            lines.append(&"first").expect("there is space");
            lines.file.room = 10;
            let error = lines.append(&"longer than ten bytes").expect_err("the disk is full");
            lines.file.room = 1_000;
            let later = lines.append(&"second").expect_err("an earlier write failed");
            for error in [error, later] {
                assert!(format!("{error:?}").contains("code: 74"), "{error:?}");
            }
            drop(lines);
            let end = if truncates { "" } else { "\"longer th" };
            let text = fs::read_to_string(&path).expect("text");
            let first = "{\"version\":1,\"author\":\"a\"}";
            assert_eq!(text, format!("{first}\n\"first\"\n{end}"));
            let (mut reopened, lines) = open(&path);
            assert_eq!(lines, ["first"]);
            reopened.append(&"second").expect("there is space");
            drop(reopened);
            assert_eq!(open(&path).1, ["first", "second"]);
        }
    }
}
