//! Opening a journal. Every byte is read and validated before the first append.

use std::io;

use super::cut::{self, Cut};
use super::dedup::{Dedup, Verdict};
use super::error::JournalError;
use super::format::{BASE_VERSION, FORMAT_VERSION};
use super::format::{Entry, FRAME_BYTES, Fault, FramePlace, Header, HeaderRead, Kind};
use super::purge::Purge;
use super::scan::{Found, commit_at};
use super::segment_name::{segment_name, segment_number};
use super::segments::{self, Segment, TEMPORARY};
use super::{Journal, MAX_IDENTITY_BYTES, Options};
use crate::disk::{Disk, SegmentFile, is_exhausted, write_all};

/// Upper bound of the sizes in [`Options`]; it keeps the length of a frame within 32 bits.
const MAX_OPTION_BYTES: usize = 1 << 30;

/// Result of opening a journal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Opened {
    /// Segments found; 0 if the journal is new.
    pub segments: usize,
    /// Bytes read.
    pub bytes: u64,
    /// Commits read.
    pub commits: u64,
    /// An incomplete write at the end. If a crash left it, none of it was acknowledged.
    pub cut: Option<Cut>,
}

/// Reads segments in order and checks that each continues the one before.
pub(crate) struct Walk {
    pub(crate) dedup: Dedup,
    /// The purges, oldest first.
    pub(crate) purges: Vec<Purge>,
    /// The previous segment; `None` before the first.
    before: Option<Segment>,
    last_commit: u64,
    records: u64,
}

/// The result of reading one segment.
pub(crate) struct Walked {
    pub(crate) segment: Segment,
    pub(crate) commits: u64,
    /// Offset of the last commit.
    last_frame: usize,
    /// Bytes after the last complete commit.
    pub(crate) torn: usize,
}

/// Why a segment cannot be read.
pub(crate) enum Unreadable {
    Newer(u32),
    OtherRun(Vec<u8>),
    Fault(Fault),
}

impl From<Fault> for Unreadable {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl Unreadable {
    pub(crate) fn into_error(self, path: String, identity: &[u8]) -> JournalError {
        let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        match self {
            Self::Newer(found) => JournalError::Newer { path, found, newest: FORMAT_VERSION },
            Self::OtherRun(found) => {
                JournalError::OtherRun { path, expected: shown(identity), found: shown(&found) }
            }
            Self::Fault(Fault { offset, what, expected, found }) => {
                JournalError::Damaged { path, offset: offset as u64, what, expected, found }
            }
        }
    }
}

impl Walk {
    pub(crate) fn new() -> Self {
        Self {
            dedup: Dedup::default(),
            purges: Vec::new(),
            before: None,
            last_commit: 0,
            records: 0,
        }
    }

    /// Reads segment `number` and calls `each` with every entry. The number passed with an entry
    /// is that of its accepted record, or of the next one. `identity` is that of the run, if known.
    pub(crate) fn segment(
        &mut self,
        number: u64,
        bytes: &[u8],
        identity: Option<&[u8]>,
        is_last: bool,
        mut each: impl FnMut(u64, &Entry<'_>),
    ) -> Result<Walked, Unreadable> {
        let (header, found) = match Header::decode(bytes)? {
            HeaderRead::Known(header, identity) => (header, identity),
            HeaderRead::Newer(version) => return Err(Unreadable::Newer(version)),
        };
        if identity.is_some_and(|identity| identity != found) {
            return Err(Unreadable::OtherRun(found.to_vec()));
        }
        self.check_header(number, &header)?;
        let mut walked = Walked {
            segment: Segment {
                version: header.version,
                number,
                bytes: 0,
                first_commit: header.first_commit,
                first_record: header.first_record,
                end_record: header.first_record,
            },
            commits: 0,
            last_frame: 0,
            torn: 0,
        };
        let start = super::format::HEADER_BYTES + found.len();
        let (mut offset, mut commit) = (start, header.first_commit);
        let mut entries = Vec::new();
        loop {
            match commit_at(bytes, FramePlace { segment: number, offset }, commit, &mut entries) {
                Found::Commit { end } => {
                    for (index, entry) in entries.iter().enumerate() {
                        let is_first = offset == start && index == 0;
                        let record = self.records;
                        self.entry(entry, offset, is_first)?;
                        each(record, entry);
                    }
                    (walked.last_frame, walked.commits) = (offset, walked.commits + 1);
                    (offset, commit) = (end, commit + 1);
                }
                // Header and snapshot are synced before the segment is renamed, so a crash cannot
                // cut them short.
                Found::End | Found::Torn if offset == start => {
                    let (expected, found) = ("whole", "cut short");
                    return Err(Fault::new(offset, "the snapshot", expected, found).into());
                }
                Found::End => break,
                Found::Torn if is_last => {
                    walked.torn = bytes.len() - offset;
                    break;
                }
                Found::Torn => {
                    let (expected, found) =
                        ("whole, as in every segment but the last", "cut short");
                    return Err(Fault::new(offset, "a commit", expected, found).into());
                }
                Found::Damaged(fault) => return Err(fault.into()),
            }
        }
        self.last_commit = commit - 1;
        walked.segment.bytes = offset as u64;
        walked.segment.end_record = self.records;
        self.before = Some(walked.segment);
        Ok(walked)
    }

    /// Checks that a segment starts where the previous one ended.
    fn check_header(&mut self, number: u64, header: &Header) -> Result<(), Fault> {
        if header.segment != number {
            return Err(Fault::new(16, "the number of the segment", number, header.segment));
        }
        if self.before.is_none() {
            (self.last_commit, self.records) = (header.first_commit, header.first_record);
        }
        let (commit, record) = (self.last_commit, self.records);
        if header.first_commit != commit {
            return Err(Fault::new(24, "the first commit", commit, header.first_commit));
        }
        if header.first_record != record {
            return Err(Fault::new(32, "the first record", record, header.first_record));
        }
        Ok(())
    }

    /// Applies an entry. An entry that contradicts earlier ones was not written by a journal and
    /// is a fault.
    fn entry(&mut self, entry: &Entry<'_>, offset: usize, is_first: bool) -> Result<(), Fault> {
        let fault =
            |what, expected: String, found: String| Err(Fault::new(offset, what, expected, found));
        if is_first != (entry.kind == Kind::Snapshot) {
            let expected = "a snapshot first and nowhere else".to_owned();
            return fault("an entry of the commit", expected, format!("{:?}", entry.kind));
        }
        match entry.kind {
            Kind::Snapshot => match (Dedup::decode(entry.payload), self.before) {
                (Some(state), None) => self.dedup = state,
                (Some(_), Some(_)) if self.dedup.encode() == entry.payload => {}
                (Some(_), Some(_)) => {
                    let expected = "what the segments before it left".to_owned();
                    return fault("the snapshot", expected, "something else".to_owned());
                }
                (None, _) => {
                    let (expected, found) = ("readable".to_owned(), "malformed".to_owned());
                    return fault("the snapshot", expected, found);
                }
            },
            Kind::Epoch => {
                if !self.dedup.begin(entry.actor, entry.epoch) {
                    let expected = format!("above {}", self.dedup.issued());
                    return fault("a new epoch", expected, entry.epoch.to_string());
                }
            }
            Kind::Purge => match Purge::decode(entry) {
                Some(purge) if purge.before == self.records => self.purges.push(purge),
                Some(purge) => {
                    let (expected, found) = (self.records.to_string(), purge.before.to_string());
                    return fault("the end of the purged records", expected, found);
                }
                None => {
                    let (expected, found) = ("readable".to_owned(), "malformed".to_owned());
                    return fault("a purge", expected, found);
                }
            },
            Kind::Record | Kind::Refused => {
                match self.dedup.decide(entry.actor, entry.epoch, entry.sequence) {
                    Verdict::New => {}
                    verdict => {
                        let Entry { actor, epoch, sequence, .. } = entry;
                        let found = format!("{verdict:?}");
                        let expected = format!("new: {actor}, epoch {epoch}, record {sequence}");
                        return fault("an entry of the commit", expected, found);
                    }
                }
                self.records += u64::from(entry.kind == Kind::Record);
            }
        }
        Ok(())
    }
}

/// Numbers of the segments among `names`, in ascending order. A gap is an error.
pub(crate) fn numbers(
    names: &[String],
    describe: impl Fn(&str) -> String,
) -> Result<Vec<u64>, JournalError> {
    let mut numbers: Vec<u64> = names.iter().filter_map(|name| segment_number(name)).collect();
    numbers.sort_unstable();
    match numbers.windows(2).find(|pair| pair[0] + 1 != pair[1]) {
        None => Ok(numbers),
        Some(pair) => {
            let path = describe(&segment_name(pair[0] + 1));
            Err(JournalError::Missing { path, next: pair[1] })
        }
    }
}

impl<D: Disk> Journal<D> {
    /// Whether `disk` holds a segment. Without one, [`open`](Self::open) creates a journal.
    pub fn exists(disk: &D) -> Result<bool, JournalError> {
        let names = disk.names().map_err(at(disk, "list", ""))?;
        Ok(names.iter().any(|name| segment_number(name).is_some()))
    }

    /// Opens the journal on `disk`, or creates one for the run with this `identity`. The
    /// identity is any text that is unique to the run; errors quote it.
    ///
    /// An unfinished write at the end is cut off, and its bytes are kept in a file beside the
    /// segment. Any other deviation is an error.
    pub fn open(
        disk: D,
        identity: &[u8],
        options: Options,
    ) -> Result<(Self, Opened), JournalError> {
        // With these bounds a full backlog and one more payload fit the 32-bit length of a
        // frame.
        let sizes = [
            ("identity of a run", identity.len(), MAX_IDENTITY_BYTES),
            ("largest payload", options.max_payload, MAX_OPTION_BYTES),
            ("longest backlog", options.max_waiting, MAX_OPTION_BYTES),
        ];
        if let Some((what, found, max)) = sizes.into_iter().find(|(_, found, max)| found > max) {
            return Err(JournalError::Size { what, found, min: 0, max });
        }
        let names = disk.names().map_err(at(&disk, "list", ""))?;
        for temporary in [TEMPORARY, cut::TEMPORARY] {
            if names.iter().any(|name| name == temporary) {
                disk.remove(temporary).map_err(at(&disk, "remove", temporary))?;
            }
        }
        let numbers = numbers(&names, |name| disk.describe(name))?;
        let mut walk = Walk::new();
        let mut opened = Opened { segments: numbers.len(), ..Opened::default() };
        let mut segments = Vec::with_capacity(numbers.len() + 1);
        let mut tail = None;
        for (index, &number) in numbers.iter().enumerate() {
            let (name, is_last) = (segment_name(number), index + 1 == numbers.len());
            let mut file = disk.open(&name).map_err(at(&disk, "open", &name))?;
            let bytes = file.read().map_err(at(&disk, "read", &name))?;
            let walked = walk
                .segment(number, &bytes, Some(identity), is_last, |_, _| {})
                .map_err(|reason| reason.into_error(disk.describe(&name), identity))?;
            opened.bytes += bytes.len() as u64;
            opened.commits += walked.commits;
            if is_last {
                // The copy is durable before the segment is cut, so a crash loses no byte.
                let torn = &bytes[walked.segment.bytes as usize..];
                let kept = cut::keep(&disk, &names, &name, torn)?;
                settle(&mut file, &bytes, &walked).map_err(at(&disk, "settle", &name))?;
                if let Some(kept) = &kept {
                    cut::remove_old(&disk, &names, kept)?;
                }
                opened.cut = (!torn.is_empty()).then(|| Cut {
                    path: disk.describe(&name),
                    offset: walked.segment.bytes,
                    bytes: torn.len() as u64,
                    kept: kept.map(|kept| disk.describe(&kept)),
                });
                tail = Some(file);
            }
            segments.push(walked.segment);
        }
        let tail = match tail {
            Some(tail) => {
                // The last process may have died between the rename of a segment and the sync of
                // the folder.
                disk.sync().map_err(at(&disk, "sync the folder of", &segment_name(1)))?;
                tail
            }
            None => {
                let header =
                    Header { version: BASE_VERSION, segment: 1, first_commit: 0, first_record: 0 };
                let made = segments::create(&disk, header, identity, &walk.dedup);
                let (segment, file) = made.map_err(|(action, source)| {
                    let path = disk.describe(&segment_name(1));
                    if is_exhausted(&source) {
                        JournalError::Exhausted { path, source }
                    } else {
                        JournalError::Io { action, path, source }
                    }
                })?;
                segments.push(segment);
                file
            }
        };
        let journal = Self {
            disk,
            identity: identity.to_vec(),
            options,
            segments,
            tail,
            staged: walk.dedup.clone(),
            durable: walk.dedup,
            purges: walk.purges,
            frame: vec![0; FRAME_BYTES],
            entries: 0,
            decisions: Vec::new(),
            next_commit: walk.last_commit + 1,
            records: walk.records,
            waiting_records: 0,
            fatal: None,
        };
        Ok((journal, opened))
    }
}

/// Removes a torn write and rewrites the last commit, so that it is certainly on disk.
///
/// The previous process may have died before the sync, or after a failed one. After a failed
/// sync the system may treat pages as clean that never reached the disk. A second sync alone
/// would not write them.
fn settle(file: &mut impl SegmentFile, bytes: &[u8], walked: &Walked) -> io::Result<()> {
    let length = walked.segment.bytes as usize;
    if walked.torn > 0 {
        file.truncate(length as u64)?;
    }
    write_all(file, walked.last_frame as u64, &bytes[walked.last_frame..length])?;
    file.sync()
}

fn at<'a, D: Disk>(
    disk: &'a D,
    action: &'static str,
    name: &'a str,
) -> impl FnOnce(io::Error) -> JournalError + 'a {
    move |source| JournalError::Io { action, path: disk.describe(name), source }
}
