//! File names of segments.

const PREFIX: &str = "segment-";
const SUFFIX: &str = ".journal";

/// File name of a segment.
pub(crate) fn segment_name(number: u64) -> String {
    format!("{PREFIX}{number:012}{SUFFIX}")
}

/// The number in a segment's file name.
pub(crate) fn segment_number(file: &str) -> Option<u64> {
    let number = file.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?.parse().ok()?;
    (segment_name(number) == file).then_some(number)
}
