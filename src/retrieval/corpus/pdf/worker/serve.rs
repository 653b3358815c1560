//! The side of the worker process.

use super::super::extract;
use super::{frame, limits};
use std::io::{self, Read, Write};

/// Reads PDF files from `files`, one message each, until it ends, and answers each on `replies`.
///
/// # Errors
/// Errors of reading and writing, which mean that the program that asked has ended.
pub(super) fn serve(files: &mut impl Read, replies: &mut impl Write) -> io::Result<()> {
    limits::limit_memory();
    while let Some(file) = frame::read(files, extract::MAX_FILE)? {
        limits::limit_time(file.len());
        let reply = extract::read(file);
        frame::write(replies, &serde_json::to_vec(&reply)?)?;
    }
    Ok(())
}
