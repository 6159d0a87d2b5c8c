//! f32 buffers that start on a cache line.
//!
//! A vector that straddles two cache lines costs two reads. Allocators align to 16 bytes, so
//! 64-byte vectors of a plain `Vec<f32>` would straddle.

/// f32 values per cache line, and the multiple that channels are padded to.
pub(super) const LINE: usize = 16;

#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Line([f32; LINE]);

/// A growable slice of f32 whose first value lies on a cache line. Its length is a multiple of
/// [`LINE`].
#[derive(Clone, Debug, Default)]
pub(super) struct Buffer(Vec<Line>);

impl Buffer {
    /// Zeros, at least `len` of them.
    pub(super) fn zeros(len: usize) -> Self {
        let mut buffer = Self::default();
        buffer.grow(len);
        buffer
    }

    /// Grows to at least `len` values; new values are 0.
    pub(super) fn grow(&mut self, len: usize) {
        let lines = len.div_ceil(LINE);
        if self.0.len() < lines {
            self.0.resize(lines, Line([0.0; LINE]));
        }
    }

    /// Removes all values and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

impl std::ops::Deref for Buffer {
    type Target = [f32];

    #[inline]
    fn deref(&self) -> &[f32] {
        // SAFETY: a line is an array of f32 without padding: 16 values, 64 bytes.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr().cast(), self.0.len() * LINE) }
    }
}

impl std::ops::DerefMut for Buffer {
    #[inline]
    fn deref_mut(&mut self) -> &mut [f32] {
        // SAFETY: as in `deref`; the borrow is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), self.0.len() * LINE) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_start_on_a_cache_line_and_grow_with_zeros() {
        let mut buffer = Buffer::zeros(1);
        assert_eq!(buffer.len(), LINE);
        buffer[3] = 7.0;
        for len in [5, 17, 1_000] {
            buffer.grow(len);
            assert!(buffer.as_ptr().addr().is_multiple_of(64));
            assert!(buffer.len() >= len && buffer[3] == 7.0 && buffer[len - 1] == 0.0);
        }
        buffer.clear();
        buffer.grow(4);
        assert_eq!(buffer[3], 0.0);
    }
}
