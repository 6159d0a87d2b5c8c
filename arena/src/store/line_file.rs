//! A file of numbered lines with checksums.
//!
//! Line `n` is `CRC n TEXT`, where `CRC` is the CRC-32C of the rest of the line in eight hex digits.
//! A changed, lost or repeated line is therefore noticed, and the lines after it stay readable.
//! [`LineFile::append`] returns once its line is on disk.

use std::io;
use std::ops::Range;

use ouro_replay::disk::{Disk, SegmentFile, write_all};

use super::error::{StoreError, io_error};

/// Digits of a checksum.
const CRC_DIGITS: usize = 8;

/// Most files with removed bytes that are kept beside a file of lines.
const KEPT_CUTS: usize = 4;

/// Formats a line with its checksum and the newline.
pub(super) fn format_line(number: u64, text: &str) -> String {
    let rest = format!("{number} {text}");
    format!("{:08x} {rest}\n", crc32c::crc32c(rest.as_bytes()))
}

/// The number and the text of a line without its newline; `None` if the line is damaged.
pub(super) fn parse_line(line: &[u8]) -> Option<(u64, &str)> {
    let line = std::str::from_utf8(line).ok()?;
    let (crc, rest) = line.split_at_checked(CRC_DIGITS)?;
    let rest = rest.strip_prefix(' ')?;
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    if !crc.bytes().all(is_digit)
        || u32::from_str_radix(crc, 16).ok()? != crc32c::crc32c(rest.as_bytes())
    {
        return None;
    }
    let (number, text) = rest.split_once(' ')?;
    Some((number.parse().ok()?, text))
}

/// One line of a file that may be damaged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line<'a> {
    /// Number and text; `None` if the line is damaged.
    pub(super) content: Option<(u64, &'a str)>,
    /// Its bytes in the file, with the newline.
    pub(super) bytes: Range<usize>,
}

/// Splits a file into lines.
pub(super) fn lines(file: &[u8]) -> impl Iterator<Item = Line<'_>> {
    let mut start = 0;
    file.split_inclusive(|&byte| byte == b'\n').map(move |line| {
        let bytes = start..start + line.len();
        start = bytes.end;
        Line { content: parse_line(line.strip_suffix(b"\n").unwrap_or(line)), bytes }
    })
}

/// Where the intact lines of a file end.
#[derive(Debug, PartialEq, Eq)]
struct Intact {
    /// End of each line, in bytes.
    ends: Vec<u64>,
    /// Whether the newline of the last line is missing.
    lacks_newline: bool,
}

/// Finds the lines of a file, numbered from 0.
///
/// An append that a crash interrupted leaves an incomplete last line: without its newline, or with
/// zeros where a part was not written. Such a line is not counted. Any other defect is damage,
/// which is returned as an error with the number of the line and its offset.
fn intact(file: &[u8]) -> Result<Intact, (u64, u64)> {
    let mut ends: Vec<u64> = Vec::new();
    let mut defect = None;
    for Line { content, bytes } in lines(file) {
        let number = ends.len() as u64;
        if defect.is_some() {
            return Err((number, ends.last().copied().unwrap_or(0)));
        }
        match content {
            Some((found, _)) if found == number => ends.push(bytes.end as u64),
            Some(_) => return Err((number, bytes.start as u64)),
            None => defect = Some(bytes),
        }
    }
    if let Some(last) = defect {
        let bytes = &file[last.clone()];
        let is_ended = bytes.ends_with(b"\n");
        // An interrupted write leaves no byte after a whole line but its newline.
        let has_other_end = bytes
            .split_last()
            .is_some_and(|(end, line)| *end != 0 && !is_ended && parse_line(line).is_some());
        // The first line is written at once with its file, so it is never incomplete.
        if ends.is_empty() || has_other_end || is_ended && !bytes.contains(&0) {
            return Err((ends.len() as u64, last.start as u64));
        }
    }
    let end = ends.last().copied().unwrap_or(0);
    let lacks_newline = end as usize == file.len() && !file.is_empty() && !file.ends_with(b"\n");
    Ok(Intact { ends, lacks_newline })
}

/// An open file of lines.
#[derive(Debug)]
pub(super) struct LineFile<F> {
    file: F,
    /// The file, for messages.
    path: String,
    /// End of each line, in bytes.
    ends: Vec<u64>,
    /// Whether bytes of a failed write may follow the last line.
    has_tail: bool,
}

impl<F: SegmentFile> LineFile<F> {
    /// Opens the file `name`, or creates it, and passes each line to `visit`.
    ///
    /// The bytes of an incomplete last line are moved to a file beside it, before they are removed.
    pub(super) fn open<D: Disk<File = F>>(
        disk: &D,
        name: &str,
        mut visit: impl FnMut(u64, &str) -> Result<(), StoreError>,
    ) -> Result<Self, StoreError> {
        let path = disk.describe(name);
        let at = |action| io_error(action, &path);
        let is_new = !disk.names().map_err(at("list"))?.iter().any(|known| known == name);
        let mut file =
            if is_new { disk.create(name) } else { disk.open(name) }.map_err(at("open"))?;
        let content = file.read().map_err(at("read"))?;
        let Intact { ends, lacks_newline } = intact(&content)
            .map_err(|(entry, offset)| StoreError::Damaged { path: path.clone(), entry, offset })?;
        for (number, line) in (0..).zip(lines(&content).take(ends.len())) {
            let (_, text) = line.content.ok_or_else(|| StoreError::Damaged {
                path: path.clone(),
                entry: number,
                offset: line.bytes.start as u64,
            })?;
            visit(number, text)?;
        }
        let end = ends.last().copied().unwrap_or(0);
        let start = ends.len().checked_sub(2).map_or(0, |before| ends[before]);
        let mut opened = Self { file, path: path.clone(), ends, has_tail: false };
        // The process before may have died between a write and its sync, or after a failed sync. What was
        // visited must be durable before it is served.
        opened
            .write(start, &content[start as usize..end as usize])
            .and_then(|()| disk.sync())
            .map_err(at("sync"))?;
        if lacks_newline {
            opened.write(end, b"\n").map_err(at("write"))?;
            if let Some(end) = opened.ends.last_mut() {
                *end += 1;
            }
        }
        let tail = content.get(end as usize..).unwrap_or_default();
        if !tail.is_empty() {
            let kept = keep_cut(disk, name, tail).map_err(at("keep the cut bytes of"))?;
            opened.file.truncate(end).and_then(|()| opened.file.sync()).map_err(at("cut"))?;
            tracing::warn!(
                path = opened.path,
                entry = opened.ends.len(),
                kept,
                "the last entry is incomplete, as after a crash; its {} bytes were moved",
                tail.len()
            );
        }
        Ok(opened)
    }

    /// Number of lines.
    pub(super) fn len(&self) -> u64 {
        self.ends.len() as u64
    }

    /// Length of all lines, in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Replaces the file `name`, which has no line yet, by one with line 0.
    pub(super) fn start<D: Disk<File = F>>(
        &mut self,
        disk: &D,
        name: &str,
        text: &str,
    ) -> Result<(), StoreError> {
        let (new, line) = (format!("{name}.new"), format_line(0, text));
        let replaced = write_file(disk, &new, line.as_bytes()).and_then(|file| {
            disk.rename(&new, name)?;
            disk.sync()?;
            Ok(file)
        });
        self.file = replaced.map_err(io_error("start", &self.path))?;
        self.ends.push(line.len() as u64);
        Ok(())
    }

    /// Appends a line durably and returns its number. After an error the file holds what it held
    /// before, and the call can be repeated.
    pub(super) fn append(&mut self, text: &str) -> Result<u64, StoreError> {
        let (number, start) = (self.len(), self.ends.last().copied().unwrap_or(0));
        let line = format_line(number, text);
        let written = self.cut_tail(start).and_then(|()| {
            self.has_tail = true;
            self.write(start, line.as_bytes())
        });
        if let Err(error) = written {
            // A shorter file also frees the space for others. The next append cuts it if this fails.
            let _ = self.cut_tail(start);
            return Err(io_error("write", &self.path)(error));
        }
        self.has_tail = false;
        self.ends.push(start + line.len() as u64);
        Ok(number)
    }

    /// The texts of lines, at most `limit`, from line `first` on.
    pub(super) fn read(&mut self, first: u64, limit: usize) -> Result<Vec<String>, StoreError> {
        let first = usize::try_from(first).unwrap_or(usize::MAX).min(self.ends.len());
        let last = first.saturating_add(limit).min(self.ends.len());
        let start = first.checked_sub(1).map_or(0, |before| self.ends[before]);
        let end = last.checked_sub(1).map_or(0, |before| self.ends[before]).max(start);
        let bytes = self.file.read_at(start, (end - start) as usize);
        let bytes = bytes.map_err(io_error("read", &self.path))?;
        lines(&bytes)
            .zip(first..last)
            .map(|(line, number)| match line.content {
                Some((found, text)) if found == number as u64 => Ok(text.to_owned()),
                _ => Err(StoreError::Damaged {
                    path: self.path.clone(),
                    entry: number as u64,
                    offset: start + line.bytes.start as u64,
                }),
            })
            .collect()
    }

    fn cut_tail(&mut self, end: u64) -> io::Result<()> {
        if self.has_tail {
            self.file.truncate(end)?;
            self.has_tail = false;
        }
        Ok(())
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        write_all(&mut self.file, offset, bytes)?;
        self.file.sync()
    }
}

/// Writes removed bytes to a new file `NAME.cut-N` and returns its path. The oldest such files are
/// removed.
pub(super) fn keep_cut<D: Disk>(disk: &D, name: &str, bytes: &[u8]) -> io::Result<String> {
    let prefix = format!("{name}.cut-");
    let names = disk.names()?;
    let number = |name: &String| name.strip_prefix(&prefix)?.parse::<u64>().ok();
    let mut numbers: Vec<u64> = names.iter().filter_map(number).collect();
    numbers.sort_unstable();
    let next = numbers.last().map_or(0, |last| last.saturating_add(1));
    let kept = format!("{prefix}{next}");
    write_file(disk, &kept, bytes)?;
    for old in numbers.iter().rev().skip(KEPT_CUTS - 1) {
        disk.remove(&format!("{prefix}{old}"))?;
    }
    Ok(disk.describe(&kept))
}

/// Writes a new file durably. After an error no part of it takes up space.
pub(super) fn write_file<D: Disk>(disk: &D, name: &str, bytes: &[u8]) -> io::Result<D::File> {
    let write = || {
        let mut file = disk.create(name)?;
        write_all(&mut file, 0, bytes)?;
        file.sync()?;
        disk.sync()?;
        Ok(file)
    };
    // A part that cannot be removed is overwritten by the next attempt.
    write().inspect_err(|_| drop(disk.remove(name)))
}

#[cfg(test)]
mod tests;
