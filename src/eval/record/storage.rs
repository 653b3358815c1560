//! The storage that a record's lines are written to.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

/// The storage of a record's bytes: a file, or in tests a storage that fails.
pub trait Storage: Send {
    /// Writes all of `bytes` at the end.
    ///
    /// # Errors
    /// The system's; a part may have been written.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Returns when everything written is on the disk.
    ///
    /// # Errors
    /// The system's.
    fn sync(&mut self) -> io::Result<()>;

    /// Truncates the file to `length` bytes; later writes follow these.
    ///
    /// # Errors
    /// The system's.
    fn cut(&mut self, length: u64) -> io::Result<()>;

    /// Whether the file still has `length` bytes, the last of which are `end`: another program may have cut it.
    ///
    /// # Errors
    /// The system's.
    fn is_as_left(&mut self, length: u64, end: &[u8]) -> io::Result<bool>;
}

impl Storage for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)?;
        self.seek(SeekFrom::Start(length)).map(drop)
    }

    fn is_as_left(&mut self, length: u64, end: &[u8]) -> io::Result<bool> {
        if self.metadata()?.len() != length {
            return Ok(false);
        }
        // Reading to the end also leaves the position there, where the next line is written.
        let mut found = vec![0; end.len()];
        self.seek(SeekFrom::Start(length - end.len() as u64))?;
        self.read_exact(&mut found)?;
        Ok(found == end)
    }
}

/// A file that is read only when it is complete, so it is synced once, at its end.
pub(super) struct Unfinished(pub(super) File);

impl Storage for Unfinished {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.0.cut(length)
    }

    fn is_as_left(&mut self, _: u64, _: &[u8]) -> io::Result<bool> {
        Ok(true)
    }
}
