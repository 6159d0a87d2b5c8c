//! Edits of a file, four bytes each: offset (two bytes), operation and operand.

/// Most edits of an input.
const MOST: usize = 64;

/// Applies the edits in `input`.
pub(crate) fn apply(bytes: &mut Vec<u8>, input: &[u8]) {
    for four in input.as_chunks::<4>().0.iter().take(MOST) {
        edit(bytes, *four);
    }
}

fn edit(bytes: &mut Vec<u8>, edit: [u8; 4]) {
    let [low, high, what, with] = edit;
    let at = usize::from(u16::from_le_bytes([low, high])) % (bytes.len() + 1);
    let length = 1 << (what >> 4);
    let to = (at + length).min(bytes.len());
    match what % 8 {
        0 => bytes[at..to].fill(with),
        1 => bytes[at..to].fill(0),
        2 => bytes.truncate(at),
        3 => drop(bytes.drain(at..to)),
        4 => drop(bytes.splice(at..at, vec![with; length])),
        5 => bytes.resize(bytes.len() + length, with),
        6 => bytes[at..to].iter_mut().for_each(|byte| *byte ^= with),
        _ => bytes.extend_from_within(at..to),
    }
}
