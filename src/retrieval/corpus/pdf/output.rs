//! The bytes that a filter decodes a stream to, within a bound.

/// Maximum decoded bytes of one stream, after each of its filters.
pub(super) const MAX_STREAM: usize = 64 << 20;

/// More than [`MAX_STREAM`] bytes, or too many filters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooLarge;

/// Decoded bytes, bounded by [`MAX_STREAM`].
#[derive(Default)]
pub(super) struct Output {
    bytes: Vec<u8>,
}

impl Output {
    /// Bytes so far.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    fn room(&self, more: usize) -> Result<(), TooLarge> {
        if self.bytes.len() + more > MAX_STREAM { Err(TooLarge) } else { Ok(()) }
    }

    pub(super) fn push(&mut self, byte: u8) -> Result<(), TooLarge> {
        self.room(1)?;
        self.bytes.push(byte);
        Ok(())
    }

    pub(super) fn extend(&mut self, bytes: &[u8]) -> Result<(), TooLarge> {
        self.room(bytes.len())?;
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    /// Appends `length` bytes from `distance` before the end; nothing if that is before the start.
    pub(super) fn repeat(&mut self, distance: usize, length: usize) -> Result<(), TooLarge> {
        let Some(start) = self.bytes.len().checked_sub(distance) else { return Ok(()) };
        self.room(length)?;
        for at in start..start + length {
            self.bytes.push(self.bytes[at]);
        }
        Ok(())
    }
}
