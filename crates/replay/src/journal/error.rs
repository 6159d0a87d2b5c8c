//! Why a journal cannot be opened, written or read.

use std::io;

/// What went wrong, where, and what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The folder belongs to another process.
    #[error("{path} is in use by another process; stop it, or choose another folder")]
    Locked {
        /// The folder.
        path: String,
    },
    /// The file system failed before anything was promised.
    #[error("cannot {action} {path}: {source}; check the path, its permissions and the disk")]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file or folder.
        path: String,
        /// What the system says.
        source: io::Error,
    },
    /// There is no room. Nothing was lost: what waits stays in memory, and the commit may be
    /// tried again.
    #[error("no space for {path}: {source}; free some, nothing is acknowledged until then")]
    NoSpace {
        /// The file.
        path: String,
        /// What the system says.
        source: io::Error,
    },
    /// Nobody knows any more what is on disk. This handle is of no further use; opening the
    /// journal again finds out.
    #[error("{path}: {reason}; restart to go on from what is on disk")]
    Fatal {
        /// The file or folder.
        path: String,
        /// What failed first.
        reason: String,
    },
    /// Bytes that were written whole are not what was written.
    #[error(
        "{path} is damaged at byte {offset}: {what} is {found}, not {expected}; restore the file from a copy, or move the folder away to start with an empty journal"
    )]
    Damaged {
        /// The segment.
        path: String,
        /// Where, from the start of the file.
        offset: u64,
        /// Which part.
        what: &'static str,
        /// What should be there.
        expected: String,
        /// What is there.
        found: String,
    },
    /// A segment between others is not there.
    #[error("{path} is missing, though segment {next} is there; restore it from a copy")]
    Missing {
        /// The segment that should be there.
        path: String,
        /// Number of the next one that is.
        next: u64,
    },
    /// The journal of something else.
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
    /// Written by a newer program.
    #[error(
        "{path} has format version {found}; this program reads up to {newest}: use the program that wrote it"
    )]
    Newer {
        /// The segment.
        path: String,
        /// Version in the segment.
        found: u32,
        /// Newest version known here.
        newest: u32,
    },
    /// A name, reason, payload or identity that no journal takes.
    #[error("{what} has {found} bytes; {min} to {max} are possible")]
    Size {
        /// Of what.
        what: &'static str,
        /// Bytes given.
        found: usize,
        /// Fewest.
        min: usize,
        /// Most.
        max: usize,
    },
    /// Too much waits for a commit.
    #[error("{waiting} bytes wait for a commit; {max} may: commit before going on")]
    Backlog {
        /// Bytes that wait.
        waiting: usize,
        /// Most that may.
        max: usize,
    },
    /// Records that were asked for are not in the journal.
    #[error(
        "records from {from} on were asked for; the journal holds {oldest} to {next} (the last not included): it does not belong to this checkpoint"
    )]
    Range {
        /// First record asked for.
        from: u64,
        /// Oldest record held.
        oldest: u64,
        /// One past the newest.
        next: u64,
    },
}

/// Whether an error only says that there is no room.
pub(crate) fn is_no_space(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}
