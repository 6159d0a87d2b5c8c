//! Reads numbers from a slice, with bounds checks.

/// A reader of the remaining bytes of a slice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// A reader of everything in `bytes`.
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Bytes left.
    pub(crate) fn left(&self) -> usize {
        self.rest.len()
    }

    /// The next `count` bytes, if there are as many.
    pub(crate) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(*taken)
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.array().map(|[byte]| byte)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }
}

impl<'a> Reader<'a> {
    pub(crate) fn f32(&mut self) -> Option<f32> {
        self.array().map(f32::from_le_bytes)
    }

    /// Reads a number below 2^32 in LEB128. Padded forms are rejected, so each number has exactly
    /// one encoding.
    pub(crate) fn varint(&mut self) -> Option<u32> {
        let mut number = 0_u64;
        for shift in (0..35).step_by(7) {
            let byte = self.u8()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                let is_padded = byte == 0 && shift > 0;
                return if is_padded { None } else { u32::try_from(number).ok() };
            }
        }
        None
    }
}

/// Appends a number in the form that [`Reader::varint`] reads.
pub(crate) fn push_varint(mut number: u32, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_one_varint() {
        let edges = (0..32).flat_map(|bit| [(1_u32 << bit) - 1, 1 << bit]).chain([u32::MAX]);
        for number in edges {
            let mut bytes = Vec::new();
            push_varint(number, &mut bytes);
            assert_eq!(Reader::new(&bytes).varint(), Some(number));
            let (last, rest) = bytes.split_last().expect("at least one byte");
            assert_eq!(Reader::new(rest).varint(), None);
            let padded = [rest, &[last | 0x80, 0]].concat();
            assert_eq!(Reader::new(&padded).varint(), None, "{number} padded");
        }
        assert_eq!(Reader::new(&[0xff, 0xff, 0xff, 0xff, 0x1f]).varint(), None);
        assert_eq!(Reader::new(&[0x80; 9]).varint(), None);
    }
}
