//! Errors of opening, writing and reading a journal.

use std::io;

use crate::disk::Shortage;

/// Error of a journal. Messages name the file and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The folder belongs to another process.
    #[error("{path} is in use by another process; stop it, or choose another folder")]
    Locked {
        /// The folder.
        path: String,
    },
    /// A file operation failed, with no effect on acknowledged entries.
    #[error("cannot {action} {path}: {source}; check the path, its permissions and the disk")]
    Io {
        /// The failed action.
        action: &'static str,
        /// The file or folder.
        path: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The disk is full, or too many files are open. Uncommitted entries stay in memory, and the
    /// commit may be repeated.
    #[error(
        "{} for {path}: {source}; {}, nothing is acknowledged until then",
        Shortage::name(source),
        Shortage::remedy(source)
    )]
    Exhausted {
        /// The file.
        path: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The content of the disk is unknown and this handle is unusable. Opening the journal again
    /// reads what is on disk.
    #[error("{path}: {reason}; restart to go on from what is on disk")]
    Fatal {
        /// The file or folder.
        path: String,
        /// The first failure.
        reason: String,
    },
    /// Completely written bytes have changed since.
    #[error(
        "{path} is damaged at byte {offset}: {what} is {found}, not {expected}; restore the file from a copy; without one, if the run has its results in files on this machine, move the folder of the learner away and run `ouro repair`"
    )]
    Damaged {
        /// The segment.
        path: String,
        /// Offset in the file, in bytes.
        offset: u64,
        /// The damaged part.
        what: &'static str,
        /// The expected content.
        expected: String,
        /// The content found.
        found: String,
    },
    /// A segment between two others is missing.
    #[error(
        "{path} is missing, though segment {next} is there; restore it from a copy; without one, if the run has its results in files on this machine, move the folder of the learner away and run `ouro repair`"
    )]
    Missing {
        /// The missing segment.
        path: String,
        /// Number of the next segment found.
        next: u64,
    },
    /// The journal belongs to another run.
    #[error(
        "{path} belongs to another run: it is for {found}, this run is {expected}; choose another folder"
    )]
    OtherRun {
        /// The segment.
        path: String,
        /// Identity of this run.
        expected: String,
        /// Identity in the segment.
        found: String,
    },
    /// The journal was written by a newer program.
    #[error(
        "{path} has format version {found}; this program reads up to {newest}: use the program that wrote it"
    )]
    Newer {
        /// The segment.
        path: String,
        /// Version in the segment.
        found: u32,
        /// Newest version that this program reads.
        newest: u32,
    },
    /// A name, reason, payload or identity has an invalid length.
    #[error("{what} has {found} bytes; {min} to {max} are possible")]
    Size {
        /// The part with the invalid length.
        what: &'static str,
        /// Its length.
        found: usize,
        /// Minimum length.
        min: usize,
        /// Maximum length.
        max: usize,
    },
    /// Too many bytes are uncommitted.
    #[error("{waiting} bytes wait for a commit; {max} may: commit before going on")]
    Backlog {
        /// Uncommitted bytes.
        waiting: usize,
        /// The limit.
        max: usize,
    },
    /// The journal does not hold the requested records.
    #[error(
        "records from {from} on were asked for; the journal holds {oldest} to {next} (the last not included): it does not belong to this training state"
    )]
    Range {
        /// First record requested.
        from: u64,
        /// Oldest record held.
        oldest: u64,
        /// One past the newest.
        next: u64,
    },
}
