//! Files (leaf module). Only regular files are read: reading a pipe may never return, and a device never ends. Written
//! files appear whole ([`outputs`]).

mod lock;
pub(crate) mod outputs;

pub(crate) use lock::lock;

use crate::error::{MootError, Result};
use std::fs::{File, Metadata};
use std::io::{self, BufRead, Read};
use std::path::Path;

/// Of something that is there but no regular file, its kind.
pub(crate) fn irregular(found: &Metadata) -> Option<&'static str> {
    if found.is_file() {
        return None;
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        let kind = found.file_type();
        if kind.is_fifo() {
            return Some("a named pipe");
        }
        if kind.is_socket() {
            return Some("a socket");
        }
        if kind.is_char_device() || kind.is_block_device() {
            return Some("a device");
        }
    }
    Some(if found.is_dir() { "a folder" } else { "something else" })
}

fn refuse_irregular(path: &Path, found: &Metadata) -> Result<()> {
    irregular(found).map_or(Ok(()), |kind| {
        let (expected, found) = ("a regular file".to_owned(), kind.to_owned());
        Err(MootError::Input { path: path.into(), line: None, expected, found })
    })
}

/// A regular file, open to be read.
///
/// # Errors
/// [`MootError::Io`]; [`MootError::Input`] for anything but a regular file.
pub(crate) fn open(path: &Path) -> Result<File> {
    let refused = |e| MootError::io(path, "open", e);
    // Before it is opened: opening a named pipe waits until another program opens its other end.
    refuse_irregular(path, &std::fs::metadata(path).map_err(refused)?)?;
    File::open(path).map_err(refused)
}

/// One line with its end, at most `limit` bytes of it; `None` where the line is longer. Empty at the end of the file.
///
/// # Errors
/// Errors of reading.
pub(crate) fn line(lines: &mut impl BufRead, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    // One byte above the limit is read: if it is there, the line is too long.
    lines.take(limit.saturating_add(1)).read_until(b'\n', &mut bytes)?;
    Ok((bytes.len() as u64 <= limit).then_some(bytes))
}

/// Creates the folder `dir` and those above it that are missing, on Unix for this user alone: what is in it was copied from files
/// that others may not be allowed to read.
///
/// # Errors
/// It cannot be created.
pub(crate) fn private_folder(dir: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    // The mode above is for a new folder; one that was there already is restricted below.
    builder.create(dir)?;
    restrict(dir, 0o700)
}

/// Opens the file at `path` to be read and written, creating it if it is missing; on Unix for this user alone.
///
/// # Errors
/// It cannot be opened.
pub(crate) fn private_file(path: &Path) -> io::Result<File> {
    let mut options = std::fs::OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    // The mode above is for a new file alone.
    restrict(path, 0o600)?;
    Ok(file)
}

/// Restricts the files and folders below `dir`, and `dir`, to this user. One that cannot be restricted is passed over.
pub(crate) fn make_private(dir: &Path) {
    let _ = restrict(dir, 0o700);
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        // `DirEntry::file_type` follows no link, so files elsewhere keep their modes.
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => make_private(&entry.path()),
            Ok(kind) if kind.is_file() => drop(restrict(&entry.path(), 0o600)),
            _ => {}
        }
    }
}

#[cfg(unix)]
fn restrict(path: &Path, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn restrict(_: &Path, _: u32) -> io::Result<()> {
    Ok(())
}
